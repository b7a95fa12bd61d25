"""Every operation of the OpenAPI document, called with what its schema allows and with what it forbids."""

import logging
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis.checks import not_a_server_error
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

API = schemathesis.openapi.from_dict(document())
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
# As many as a minute allows; the same ones in every run.
BOUNDED = settings(
    max_examples=15,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture(scope="module")
def answers() -> Iterator[Counter[int]]:
    """How many answers there were of each status."""
    counted: Counter[int] = Counter()
    yield counted
    log.info("%s examples: %s", counted.total(), dict(counted))


@API.exclude(operation_id="create_key").parametrize()
@BOUNDED
def test_the_answer_is_one_that_the_document_promises(case: Case, server: Server, answers: Counter[int]) -> None:
    answer = case.call_and_validate(base_url=f"http://127.0.0.1:{server.port}", checks=CHECKS)
    answers[answer.status_code] += 1


@pytest.fixture(scope="module")
def server_with_keys(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Of its own: once the first key is made, nobody is answered without one."""
    folder: Path = tmp_path_factory.mktemp("keys")
    running = Server(folder / "data", folder / "server.log").start()
    yield running
    running.kill()


@API.include(operation_id="create_key").parametrize()
@BOUNDED
def test_making_keys_answers_as_the_document_promises(case: Case, server_with_keys: Server) -> None:
    case.call_and_validate(base_url=f"http://127.0.0.1:{server_with_keys.port}", checks=CHECKS)
