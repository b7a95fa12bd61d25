"""Requests that are strange before their body is read: paths, methods, headers."""

import socket
from collections.abc import Iterator
from contextlib import closing

import pytest

from acumen_client.calls import Calls
from tests.faults.samples import WITH_QUERY
from tests.faults.server import JSON, Caller, Server


@pytest.fixture
def caller(server: Server) -> Iterator[Caller]:
    with closing(server.caller()) as opened:
        yield opened


@pytest.mark.parametrize(
    "path",
    [
        "/no/such/thing",
        "/api",
        "/api/",
        "/api//search",
        "/API/SEARCH",
        "//example.org/api/search",
        "/%00",
        "/%ff%fe",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/static/",
        "/static/none.js",
        "/static/../../settings.py",
        "/static/%2e%2e/%2e%2e/settings.py",
        "/static/..%2f..%2fsettings.py",
        "/static/%00",
        "/static/docs.html%00.png",
        "/static/%5c..%5c..%5csettings.py",
        "/static/" + "a" * 5000,
        "/static/" + "a/" * 3000,
        "/" + "x" * 60_000,
        "/;/api/search",
        "/api/search;x=1",
    ],
    ids=lambda path: path[:40],
)
def test_what_is_not_there_is_not_found(path: str, caller: Caller) -> None:
    reply = caller.send("GET", path, None, {})

    assert reply.status in (404, 405), reply
    assert reply.json.keys() >= {"detail", "code", "request_id"}
    assert len(reply.content) < 2048


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "PROPFIND"])
def test_a_method_that_a_path_does_not_have_is_refused(method: str, caller: Caller) -> None:
    reply = caller.send(method, Calls.search.path, b"{}", JSON)

    assert reply.status == 405
    assert reply.json.keys() >= {"detail", "code", "request_id"}
    assert reply.headers["allow"] == "POST"


@pytest.mark.parametrize("host", ["example.org", "127.0.0.1.example.org", "[", "[::1", "a b", "", "0", "\xff", "[]:80"])
def test_a_host_that_is_not_this_machine_is_not_answered(host: str, caller: Caller) -> None:
    reply = caller.send("GET", Calls.whoami.path, None, {"Host": host})

    assert reply.status in (400, 401), reply


@pytest.mark.parametrize(
    "origin", ["http://example.org", "null", "http://[", "http://[::1", "//", "http://127.0.0.1.example.org", "\xff"]
)
def test_a_page_from_elsewhere_is_not_answered(origin: str, caller: Caller) -> None:
    reply = caller.send("POST", Calls.search.path, b'{"query": "x"}', {**JSON, "Origin": origin})

    assert reply.status == 401, reply


@pytest.mark.parametrize(
    "key", ["Bearer", "Bearer ", "Bearer \xff\xfe", "Bearer " + "x" * 50_000, "Basic eA==", "\x01"]
)
def test_a_key_nobody_made_is_harmless(key: str, caller: Caller) -> None:
    reply = caller.send("GET", Calls.whoami.path, None, {"Authorization": key})

    assert reply.status in (200, 400, 401), reply


@pytest.mark.parametrize("given", ["x" * 200, "a b", "<script>", "\xff", "a\tb", "../..", ""])
def test_a_request_id_that_could_spoil_a_log_is_replaced(given: str, caller: Caller) -> None:
    reply = caller.send("GET", Calls.version.path, None, {"X-Request-ID": given})

    assert reply.ok
    assert reply.headers["x-request-id"] != given


@pytest.mark.parametrize(
    "raw",
    [
        b"\x00\x01\x02\x03\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /\xff HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX : y\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: -1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"POST /api/search HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ],
    ids=["bytes", "TLS", "one word", "version", "path", "space", "negative", "two lengths", "both", "chunk", "HTTP/2"],
)
def test_what_is_no_http_is_refused(raw: bytes, server: Server) -> None:
    with closing(socket.create_connection(("127.0.0.1", server.port), 30)) as client:
        client.sendall(raw)
        client.shutdown(socket.SHUT_WR)
        answer = client.recv(4096)

    assert answer[:10] in (b"HTTP/1.1 4", b""), answer
    assert server.call(Calls.health_live).ok


@pytest.mark.parametrize("query", ["%", "%zz", "&&&==", "a=%ff", "limit=1&limit=2", "[]=1", "%00=1", "limit[]=1", "?"])
def test_a_query_string_that_makes_no_sense_is_no_failure(query: str, caller: Caller) -> None:
    statuses = [caller.send("GET", f"{endpoint.path}?{query}", None, {}).status for endpoint in WITH_QUERY]

    assert all(status in (200, 422) for status in statuses), statuses


def test_a_client_that_leaves_in_the_middle_is_no_failure(server: Server) -> None:
    head = b"POST /api/publish_interaction HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    for part in (b"", b"Content-Length: 100\r\n\r\n", b'Content-Length: 100\r\n\r\n{"user_id"'):
        with closing(socket.create_connection(("127.0.0.1", server.port), 30)) as client:
            client.sendall(head + part)

    assert server.call(Calls.health_live).ok
    assert "Traceback" not in server.log
