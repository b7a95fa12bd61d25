"""Bad input, whatever it is: a 4xx that says what is wrong and names the field, and nothing has changed."""

import gzip
import json
import zlib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from acumen_client.calls import Calls
from acumen_client.endpoint import Endpoint
from acumen_client.wire.config import Config, ConfigUpdate
from acumen_client.wire.memories import NewAgentPlaybook, NewProfile, NewUserPlaybook
from acumen_client.wire.observe import InteractionData
from tests.faults.samples import WITH_BODY, WITH_QUERY, name_of, sample
from tests.faults.server import JSON, Caller, Reply, Server, wait_until

MEGABYTE = 1_000_000
BODY_LIMIT = 10 * 1024 * 1024
GZIP = {**JSON, "Content-Encoding": "gzip"}

WITH_FIELDS = tuple(endpoint for endpoint in WITH_BODY if not endpoint.takes_nothing)


@pytest.fixture(scope="module")
def seeded(server: Server) -> Server:
    """With something of every kind to spoil."""
    turn = {"role": "User", "content": "We never deploy production to us-east-1, always use us-west-2."}
    published = {"request_id": "r1", "user_id": "ada", "session_id": "s1", "interaction_data_list": [turn]}
    playbook = {"content": "Test before you deploy"}
    for endpoint, asked in (
        (Calls.publish, published),
        (Calls.add_profiles, {"user_profiles": [{"user_id": "ada", "content": "Lives in Lisbon"}]}),
        (Calls.add_user_playbooks, {"user_playbooks": [{"user_id": "ada", **playbook}]}),
        (Calls.add_agent_playbooks, {"agent_playbooks": [playbook]}),
        (Calls.update_config, {"agent_context_prompt": "An agent that deploys"}),
    ):
        assert server.call(endpoint, asked).ok
    wait_until(lambda: _only_the_schedule(server), 60, "the jobs to end")
    return server


@pytest.fixture
def unchanged(seeded: Server) -> Iterator[Server]:
    """The server, whose database must hold after the test what it held before."""
    before = _everything(seeded)
    yield seeded
    assert _everything(seeded) == before


@pytest.fixture
def caller(unchanged: Server) -> Iterator[Caller]:
    with closing(unchanged.caller()) as opened:
        yield opened


def _only_the_schedule(server: Server) -> bool:
    return {job["kind"] for job in server.call(Calls.status).json["jobs"]} <= {"hour", "minutes", "session_quiet"}


def _everything(server: Server) -> dict[str, list[Any]]:
    tables = server.rows("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    return {name: sorted(map(repr, server.rows(f"SELECT * FROM {name}"))) for (name,) in tables}


def _assert_told(reply: Reply, status: int, *, naming: str = "", case: object = "") -> None:
    assert reply.status == status, (case, reply)
    told = reply.json
    assert told["detail"], case
    assert told["code"], case
    assert told["request_id"], case
    assert naming in told["detail"], case
    assert len(reply.content) < 4096, case


# --- bodies that are no JSON, or no object ---------------------------------------------------------------------------

DEEP = 100_000
NOT_A_REQUEST: dict[str, bytes] = {
    "nothing": b"",
    "blanks": b"   \n",
    "a word": b"hello",
    "half an object": b'{"user_id": "ada"',
    "half a string": b'{"user_id": "ad',
    "two objects": b"{} {}",
    "single quotes": b"{'user_id': 'ada'}",
    "a comma too many": b'{"user_id": "ada",}',
    "a comment": b'{"user_id": "ada" /* who */}',
    "a byte order mark": b'\xef\xbb\xbf{"user_id": "ada"}',
    "UTF-16": '{"user_id": "ada"}'.encode("utf-16"),
    "broken UTF-8": b'{"user_id": "\xff\xfe\xfa"}',
    "an overlong NUL": b'{"user_id": "\xc0\x80"}',
    "half a surrogate pair": b'{"user_id": "\\ud800"}',
    "the other half": b'{"user_id": "\\udc00 x"}',
    "half a pair as a name": b'{"\\ud800": 1}',
    "half a pair, deep down": b'["\\ud800"' + b",[" * DEEP + b"]" * (DEEP + 1),
    "half a pair and no number": b'{"user_id": "\\ud800", "top_k": NaN}',
    "a raw NUL": b'{"user_id": "a\x00b"}',
    "a control character": b'{"user_id": "a\x07b"}',
    "not a number": b'{"top_k": NaN}',
    "infinity": b'{"top_k": Infinity}',
    "minus infinity": b'{"top_k": -Infinity}',
    "leading zeros": b'{"top_k": 007}',
    "hexadecimal": b'{"top_k": 0x10}',
    "a number of a million digits": b'{"top_k": ' + b"9" * MEGABYTE + b"}",
    "deep lists": b"[" * DEEP + b"]" * DEEP,
    "deep objects": b'{"a":' * DEEP + b"1" + b"}" * DEEP,
    "open brackets": b"[" * DEEP,
    "XML": b'<?xml version="1.0"?><user_id>ada</user_id>',
    "a form": b"user_id=ada",
    "null": b"null",
    "a string": b'"ada"',
    "a number": b"42",
    "a truth": b"true",
    "a list": b"[]",
    "a list of objects": b'[{"user_id": "ada"}]',
}
# An endpoint that takes nothing is content with nothing.
FINE_FOR_NOTHING = frozenset({"nothing", "null"})


@pytest.mark.parametrize("endpoint", WITH_BODY, ids=name_of)
def test_what_is_no_json_object_is_refused(endpoint: Endpoint[..., Any], caller: Caller) -> None:
    for case, body in NOT_A_REQUEST.items():
        if endpoint.takes_nothing and case in FINE_FOR_NOTHING:
            continue

        reply = caller.send(endpoint.method, endpoint.path, body)

        _assert_told(reply, 422, case=case)


@pytest.mark.parametrize("endpoint", WITH_BODY, ids=name_of)
def test_a_body_that_does_not_say_it_is_json_is_refused(endpoint: Endpoint[..., Any], caller: Caller) -> None:
    body = json.dumps(sample(endpoint)).encode()
    types = ["", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "json", "\xff"]

    replies = [caller.send(endpoint.method, endpoint.path, body, {"Content-Type": one}) for one in types]
    replies.append(caller.send(endpoint.method, endpoint.path, body, {}))

    for reply in replies:
        _assert_told(reply, 415)


# --- packed bodies ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("endpoint", WITH_BODY, ids=name_of)
def test_what_cannot_be_unpacked_is_refused(endpoint: Endpoint[..., Any], caller: Caller) -> None:
    packed = gzip.compress(json.dumps(sample(endpoint)).encode())

    replies = {
        "no gzip": (422, caller.send(endpoint.method, endpoint.path, b"{}", GZIP)),
        "cut short": (422, caller.send(endpoint.method, endpoint.path, packed[:-4], GZIP)),
        "spoiled": (422, caller.send(endpoint.method, endpoint.path, packed[:12] + b"\xff" * 9, GZIP)),
        "deflate": (415, _encoded(endpoint, "deflate", zlib.compress(b"{}"), caller)),
        "brotli": (415, _encoded(endpoint, "br", b"{}", caller)),
        "twice": (415, _encoded(endpoint, "gzip, gzip", gzip.compress(packed), caller)),
    }

    for case, (status, reply) in replies.items():
        _assert_told(reply, status, case=case)


def test_a_bomb_is_refused_before_it_is_unpacked(caller: Caller, unchanged: Server) -> None:
    bomb = gzip.compress(b'{"user_id": "' + bytes(300 * MEGABYTE), compresslevel=1)
    caller.send("POST", Calls.search.path, gzip.compress(b"{}"), GZIP)
    peak_before = _peak_memory(unchanged)

    replies = [caller.send(endpoint.method, endpoint.path, bomb, GZIP) for endpoint in WITH_BODY]

    for reply in replies:
        _assert_told(reply, 413)
    assert _peak_memory(unchanged) - peak_before < 100 * MEGABYTE


def _encoded(endpoint: Endpoint[..., Any], encoding: str, body: bytes, caller: Caller) -> Reply:
    return caller.send(endpoint.method, endpoint.path, body, {**JSON, "Content-Encoding": encoding})


def _peak_memory(server: Server) -> int:
    status = Path(f"/proc/{server.pid}/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))


# --- fields ----------------------------------------------------------------------------------------------------------

WRONG_VALUES: tuple[Any, ...] = (
    {"no": ["such", {"thing": None}]},
    [[["list"]], {}],
    "",
    "no such word",
    "a\x00b",
    "half a pair \ud800",
    "x" * (MEGABYTE + 1),
    True,
    -1,
    0,
    1.5,
    2**63,
    10**400,
    -(10**30),
    1e308,
    "2020-99-99",
    "9999999999-01-01T00:00:00Z",
)
# Whatever these are given they make the best of, so none of the values above is wrong for them.
TAKES_ANYTHING = frozenset({"reflection_config", "status"})
# Where the interesting fields stand one level down.
LISTS: dict[str, tuple[str, type[BaseModel]]] = {
    "publish_interaction": ("interaction_data_list", InteractionData),
    "add_user_profile": ("user_profiles", NewProfile),
    "add_user_playbook": ("user_playbooks", NewUserPlaybook),
    "add_agent_playbook": ("agent_playbooks", NewAgentPlaybook),
}


@pytest.mark.parametrize("endpoint", WITH_FIELDS, ids=name_of)
def test_a_field_that_cannot_be_used_is_named(endpoint: Endpoint[..., Any], caller: Caller) -> None:
    refused: dict[str, int] = {}

    for field, asked in _spoiled(endpoint):
        reply = caller.call(endpoint, asked)
        _assert_told(reply, 422, naming=field, case=(field, repr(asked)[:300]))
        refused[field] = refused.get(field, 0) + 1

    assert set(_fields(endpoint)) - refused.keys() <= TAKES_ANYTHING


def _fields(endpoint: Endpoint[..., Any]) -> list[str]:
    model = Config if endpoint.request_model is ConfigUpdate else endpoint.request_model
    inner = LISTS[endpoint.name][1].model_fields if endpoint.name in LISTS else {}
    return [*(set(model.model_fields) - endpoint.query_fields), *inner]


def _spoiled(endpoint: Endpoint[..., Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each field with each value that the shape itself refuses, the rest of the request being right."""
    model = Config if endpoint.request_model is ConfigUpdate else endpoint.request_model
    for wrong in WRONG_VALUES:
        for field in set(model.model_fields) - endpoint.query_fields:
            asked = {**sample(endpoint), field: wrong}
            base = sample(Calls.set_config) if model is Config else {}
            if _refuses(model, {**base, **asked}, field):
                yield field, asked
        if endpoint.name in LISTS:
            outer, inner = LISTS[endpoint.name]
            for field in inner.model_fields:
                item = {**sample(endpoint)[outer][0], field: wrong}
                if _refuses(inner, item, field):
                    yield field, {**sample(endpoint), outer: [item]}


def _refuses(model: type[BaseModel], asked: dict[str, Any], field: str) -> bool:
    """For what the field itself holds, not for how it goes together with others."""
    try:
        model.model_validate(asked)
    except ValidationError as wrong:
        return any(field in error["loc"] for error in wrong.errors())
    return False


# These leave unknown fields out and say so in their answers, or keep them as free attributes (`/event`).
TOLERANT = (Calls.publish, Calls.state_outcome, Calls.event)
STRICT = tuple(endpoint for endpoint in WITH_FIELDS if endpoint not in TOLERANT)


@pytest.mark.parametrize("endpoint", STRICT, ids=name_of)
def test_a_field_that_does_not_exist_is_named(endpoint: Endpoint[..., Any], caller: Caller) -> None:
    reply = caller.call(endpoint, {**sample(endpoint), "no_such_field": 1})

    _assert_told(reply, 422, naming="no_such_field")


@pytest.mark.parametrize("endpoint", WITH_FIELDS, ids=name_of)
def test_a_required_field_that_is_missing_is_named(endpoint: Endpoint[..., Any], caller: Caller) -> None:
    required = [name for name, field in endpoint.request_model.model_fields.items() if field.is_required()]

    for field in required:
        left = {name: value for name, value in sample(endpoint).items() if name != field}
        _assert_told(caller.call(endpoint, left), 422, naming=field)
        if field != "storage_config":  # which may be null, but not forgotten
            _assert_told(caller.call(endpoint, {**left, field: None}), 422, naming=field)


@pytest.mark.parametrize("endpoint", [one for one in WITH_BODY if one.takes_nothing], ids=name_of)
def test_an_endpoint_that_takes_nothing_does_not_guess_what_a_field_means(
    endpoint: Endpoint[..., Any], caller: Caller
) -> None:
    reply = caller.call(endpoint, {"user_id": "ada"})

    _assert_told(reply, 422, naming="user_id")


@pytest.mark.parametrize("endpoint", WITH_QUERY, ids=name_of)
def test_a_query_parameter_that_cannot_be_used_is_named(endpoint: Endpoint[..., Any], caller: Caller) -> None:
    for wrong in ("", "no such word", "a\x00b", "-1", "9" * 400, "x" * 60_000):
        for field in endpoint.query_fields:
            asked = {**sample(endpoint), field: wrong}
            if _refuses(endpoint.request_model, asked, field):
                reply = caller.call(endpoint, asked)
                _assert_told(reply, 422, naming=field, case=(field, wrong[:20]))
    reply = caller.call(endpoint, {**sample(endpoint), "no_such_field": 1})
    _assert_told(reply, 422, naming="no_such_field")


def test_of_two_values_under_one_name_the_last_counts(caller: Caller) -> None:
    reply = caller.send("POST", Calls.interactions.path, b'{"user_id": "nobody", "user_id": "ada"}')

    assert [turn["user_id"] for turn in reply.json["interactions"]] == ["ada"]


# --- unknown ids -----------------------------------------------------------------------------------------------------

ABOUT_ONE_THING = (
    Calls.finalize_session,
    Calls.learning_status,
    Calls.update_profile,
    Calls.update_user_playbook,
    Calls.update_agent_playbook,
    Calls.update_agent_playbook_status,
    Calls.delete_profile,
    Calls.delete_interaction,
    Calls.delete_request,
    Calls.delete_agent_playbook,
    Calls.delete_user_playbook,
    Calls.revoke_key,
)
ABOUT_MANY = (
    Calls.delete_requests,
    Calls.delete_profiles,
    Calls.delete_agent_playbooks,
    Calls.delete_user_playbooks,
)


@pytest.mark.parametrize("endpoint", ABOUT_ONE_THING, ids=name_of)
def test_a_thing_that_does_not_exist_is_not_found(endpoint: Endpoint[..., Any], caller: Caller) -> None:
    reply = caller.call(endpoint, sample(endpoint))

    _assert_told(reply, 404)


@pytest.mark.parametrize("endpoint", ABOUT_MANY, ids=name_of)
def test_deleting_many_things_that_do_not_exist_deletes_none(endpoint: Endpoint[..., Any], caller: Caller) -> None:
    reply = caller.call(endpoint, sample(endpoint))

    assert reply.ok
    assert reply.json["deleted_count"] == 0


@pytest.mark.parametrize("successor", [999_999, "abc", {"a": 1}, [1], -1, 1.5, True, 10**40])
def test_a_playbook_cannot_be_superseded_by_what_does_not_exist(successor: object, caller: Caller) -> None:
    first = caller.call(Calls.user_playbooks, {}).json["user_playbooks"][0]["user_playbook_id"]
    asked = {"user_playbook_id": first, "playbook_metadata": {"superseded_by": successor}}

    reply = caller.call(Calls.update_user_playbook, asked)

    _assert_told(reply, 422, naming="superseded_by")
