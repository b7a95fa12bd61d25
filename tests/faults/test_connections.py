"""Connections that take place and time: they are ended before they keep others out."""

import resource
import socket
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing

import pytest

from acumen_client.calls import Calls
from tests.faults.conftest import StartServer
from tests.faults.server import Server, wait_until

HEAD = b"POST /api/search HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as opened:
        yield opened


def connect(server: Server, stack: ExitStack, timeout: float = 30) -> socket.socket:
    return stack.enter_context(closing(socket.create_connection(("127.0.0.1", server.port), timeout)))


@pytest.mark.skipif(sys.platform != "linux", reason="limits of another process are set on Linux only")
def test_more_idle_connections_than_descriptors_lock_nobody_out(start_server: StartServer, stack: ExitStack):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    stack.callback(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
    resource.setrlimit(resource.RLIMIT_NOFILE, (1024, hard))  # the server inherits it
    server = start_server(limits__connections_per_address=5_000)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, hard), hard))

    idle = [connect(server, stack) for _ in range(1_100)]
    replies = [server.call(Calls.health_ready).status for _ in range(3)]
    profile = {"user_id": "ada", "content": "Likes tea."}
    added = server.call(Calls.add_profiles, {"user_profiles": [profile]})

    assert (replies, added.status) == ([200] * 3, 200)
    assert idle[0].recv(1) == b""  # the longest idle one gave way
    assert server.is_alive


def test_an_address_has_a_limit_that_its_idle_connections_make_room_for(start_server: StartServer, stack: ExitStack):
    server = start_server(limits__connections_per_address=8)
    clients = [connect(server, stack) for _ in range(8)]
    for client in clients:
        client.sendall(HEAD)  # begun, so not idle

    refused = connect(server, stack)
    answer = refused.recv(4096)
    clients[0].close()

    assert answer.startswith(b"HTTP/1.1 503 Service Unavailable")
    assert b"Retry-After" in answer
    wait_until(lambda: server.call(Calls.health_live).ok, 30, "the freed place")


@pytest.mark.parametrize(
    "sent, answer",
    [(b"", b""), (b"GET /hea", b"HTTP/1.1 408"), (HEAD + b"Content-Length: 10\r\n\r\n{", b"HTTP/1.1 408")],
    ids=["idle", "head", "body"],
)
def test_a_connection_that_takes_too_long_is_ended(
    start_server: StartServer, stack: ExitStack, sent: bytes, answer: bytes
):
    short = {f"limits__{name}_seconds": 0.5 for name in ("idle", "head", "body")}
    client = connect(start_server(**short), stack)

    client.sendall(sent)

    assert client.recv(12) == answer
    while answer and client.recv(4096):
        pass
