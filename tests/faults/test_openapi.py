"""Every operation of the OpenAPI document, called with what its schema allows and with what it forbids."""

import logging
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis.checks import not_a_server_error
from schemathesis.generation.feedback import FeedbackSources
from schemathesis.pytest._test_builder import build_operation_test
from schemathesis.schemas import APIOperation, BaseSchema
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from acumen.api.openapi import document
from tests.faults.server import Server

log = logging.getLogger(__name__)

Case = schemathesis.Case[Any]
Operation = APIOperation[Any, Any, Any, Any]

# The configuration has so many fields that walking through the limits of each takes longer than all other operations.
BY_CHANCE = schemathesis.Config.from_dict({"phases": {"coverage": {"enabled": False}}})
# Once the first key is made, nobody is answered without one: that operation has a server of its own.
API = schemathesis.openapi.from_dict(document()).exclude(operation_id=["create_key", "set_config"])
CONFIGURE = schemathesis.openapi.from_dict(document(), config=BY_CHANCE).include(operation_id="set_config")
MAKE_KEYS = schemathesis.openapi.from_dict(document()).include(operation_id="create_key")


def _operations(schema: BaseSchema) -> dict[str, Operation]:
    # An invalid operation has no `ok`.
    valid = [result.ok() for result in schema.get_all_operations()]  # type: ignore[union-attr]
    return {operation.label: operation for operation in valid}


OPERATIONS = _operations(API)

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
# Beside the limits of every field, which are always tried; the same ones in every run.
BOUNDED = settings(
    max_examples=15,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)


class Calls:
    """Calls a server and counts its answers by status."""

    def __init__(self, server: Server, session: requests.Session) -> None:
        self._url = f"http://127.0.0.1:{server.port}"
        self._session = session
        self.answers: Counter[int] = Counter()

    def check(self, case: Case) -> None:
        answer = case.call_and_validate(base_url=self._url, session=self._session, checks=CHECKS)
        self.answers[answer.status_code] += 1


@pytest.fixture(scope="module")
def calls(server: Server) -> Iterator[Calls]:
    yield from _calls(server)


@pytest.fixture(scope="module")
def calls_with_keys(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Calls]:
    folder: Path = tmp_path_factory.mktemp("keys")
    server = Server(folder / "data", folder / "server.log").start()
    yield from _calls(server)
    server.kill()


def _calls(server: Server) -> Iterator[Calls]:
    with requests.Session() as session:
        session.trust_env = False
        made = Calls(server, session)
        yield made
    log.info("%s examples: %s", made.answers.total(), dict(made.answers))


@pytest.mark.parametrize("label", OPERATIONS)
def test_the_answer_is_one_that_the_document_promises(label: str, calls: Calls) -> None:
    _try_all(OPERATIONS[label], calls)


def test_configuring_answers_as_the_document_promises(calls: Calls) -> None:
    for operation in _operations(CONFIGURE).values():
        _try_all(operation, calls)


def test_making_keys_answers_as_the_document_promises(calls_with_keys: Calls) -> None:
    for operation in _operations(MAKE_KEYS).values():
        _try_all(operation, calls_with_keys)


def _try_all(operation: Operation, calls: Calls) -> None:
    """Like `schema.parametrize()`, which works out all cases of all operations in every process that collects tests."""
    test = build_operation_test(
        config=operation.schema.config,
        operation=operation,
        test_func=_check,
        given_kwargs={},
        feedback=FeedbackSources(),
        explicit_settings=BOUNDED,
    )
    test(calls=calls)


def _check(case: Case, calls: Calls) -> None:
    calls.check(case)
