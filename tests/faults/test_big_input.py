"""Input that is only big: taken up to its limit, refused beyond, and never more than a moment's work."""

import json
import socket
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from acumen_client.calls import Calls
from acumen_client.endpoint import Endpoint
from tests.faults.samples import WITH_BODY, name_of
from tests.faults.server import JSON, Caller, Server

MEGABYTE = 1_000_000
BODY_LIMIT = 10 * 1024 * 1024
WORDS = "deploy the thing on friday " * (MEGABYTE // 27)


@pytest.fixture
def caller(server: Server) -> Iterator[Caller]:
    with closing(server.caller()) as opened:
        yield opened


@pytest.mark.parametrize(
    "content",
    ["x" * MEGABYTE, WORDS, "中" * MEGABYTE, "a " * (MEGABYTE // 2), "." * MEGABYTE, "\n" * (MEGABYTE - 1) + "x"],
    ids=["one word", "words", "Chinese", "short words", "dots", "lines"],
)
def test_a_turn_of_a_megabyte_is_kept_learned_from_and_found(content: str, caller: Caller) -> None:
    asked = {"user_id": "big", "session_id": "s1", "interaction_data_list": [{"role": "User", "content": content}]}

    published = caller.call(Calls.publish, asked, "?wait_for_response=true")
    found = caller.call(Calls.search_interactions, {"user_id": "big", "query": content[:1000], "top_k": 1})

    assert published.ok, published
    assert published.json["learning_status"] == "done", published
    assert found.ok, found


@pytest.mark.parametrize(
    "endpoint, asked",
    [
        (Calls.search, {"user_id": "big", "query": WORDS}),
        (Calls.search, {"query": "x" * MEGABYTE}),
        (Calls.search, {"query": "中" * MEGABYTE}),
        (Calls.search_profiles, {"user_id": "big", "query": WORDS}),
        (Calls.search_interactions, {"user_id": "big", "query": WORDS}),
        (Calls.search_user_playbooks, {"query": WORDS}),
        (Calls.search_agent_playbooks, {"query": WORDS}),
        (Calls.profiles, {"user_id": "big", "query": WORDS}),
        (Calls.user_playbooks, {"query": WORDS}),
        (Calls.agent_playbooks, {"query": "%_\\" * (MEGABYTE // 3)}),
        (Calls.add_profiles, {"user_profiles": [{"user_id": "big", "content": WORDS}]}),
        (Calls.add_user_playbooks, {"user_playbooks": [{"content": WORDS, "trigger": WORDS}]}),
        (Calls.delete_profile, {"user_id": "big", "search_query": "y" * MEGABYTE}),
        (Calls.requests, {"top_k": MEGABYTE}),
        (Calls.delete_requests, {"request_ids": [f"none{number}" for number in range(10_000)]}),
        (Calls.delete_profiles, {"profile_ids": [f"none{number}" for number in range(10_000)]}),
        (Calls.delete_user_playbooks, {"user_playbook_ids": list(range(10**9, 10**9 + 10_000))}),
    ],
    ids=lambda value: value.name if isinstance(value, Endpoint) else "",
)
def test_a_megabyte_in_a_field_is_no_failure(
    endpoint: Endpoint[..., Any], asked: dict[str, Any], caller: Caller
) -> None:
    reply = caller.call(endpoint, asked)

    assert reply.ok, reply.content[:500]


@pytest.mark.parametrize("endpoint", WITH_BODY, ids=name_of)
def test_a_body_beyond_the_limit_is_refused_by_its_head(endpoint: Endpoint[..., Any], server: Server) -> None:
    head = f"{endpoint.method} {endpoint.path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"

    for length in (BODY_LIMIT + 1, 2**63 - 1, 10**30):
        answer = _answer_to(server, f"{head}Content-Length: {length}\r\n\r\n".encode())
        assert answer.startswith((b"HTTP/1.1 413 ", b"HTTP/1.1 400 ")), (length, answer)


def test_a_body_at_the_limit_is_read_to_its_end(caller: Caller) -> None:
    body = json.dumps({"query": "x"}).encode()
    fits, too_long = body + b" " * (BODY_LIMIT - len(body)), body + b" " * (BODY_LIMIT - len(body) + 1)

    statuses = [caller.send("POST", Calls.search.path, one, JSON).status for one in (fits, too_long)]

    assert statuses == [200, 413]


def test_a_chunked_body_that_never_ends_is_refused(server: Server) -> None:
    head = b"POST /api/search HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    chunk = b"10000\r\n" + b" " * 65536 + b"\r\n"

    answer = _answer_to(server, head + b"Transfer-Encoding: chunked\r\n\r\n", endlessly=chunk)

    assert answer.startswith(b"HTTP/1.1 413 "), answer
    assert server.call(Calls.health_live).ok


@pytest.mark.parametrize(
    "head, more",
    [
        (b"GET /", b"x" * 65536),
        (b"GET /health?", b"x" * 65536),
        (b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Long: ", b"x" * 65536),
        (b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n", b"X-Many: x\r\n" * 5000),
    ],
    ids=["path", "query", "header", "headers"],
)
def test_a_head_that_never_ends_is_refused(head: bytes, more: bytes, server: Server) -> None:
    answer = _answer_to(server, head, endlessly=more)

    assert answer.startswith((b"HTTP/1.1 4", b"closed")), answer
    assert server.call(Calls.health_live).ok


# What an attacker may send before we call the server's patience endless.
MOST_BYTES = 64 * 1024 * 1024


def _answer_to(server: Server, begin: bytes, endlessly: bytes = b"") -> bytes:
    """The beginning of the answer; `closed` when the server hung up without one."""
    with closing(socket.create_connection(("127.0.0.1", server.port), 30)) as client:
        client.sendall(begin)
        sent = 0
        client.settimeout(0.001 if endlessly else 30)
        while sent < MOST_BYTES:
            try:
                return client.recv(4096) or b"closed"
            except TimeoutError:
                if not endlessly:
                    raise
            except ConnectionError:
                return b"closed"
            try:
                client.settimeout(30)
                client.sendall(endlessly)
            except ConnectionError:
                pass
            client.settimeout(0.001)
            sent += len(endlessly)
    return b"no answer"
