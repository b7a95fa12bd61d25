"""Clients that dawdle: they wait for themselves, and nobody waits for them."""

import json
import socket
from collections.abc import Iterator
from contextlib import ExitStack, closing

import pytest

from acumen_client.calls import Calls
from tests.faults.server import Server

SLOW = 20
PUBLISHES = 100
BODY = json.dumps({"user_id": "slow", "session_id": "s1", "interaction_data_list": [{"content": "At last"}]}).encode()
HEAD = (
    "POST /api/publish_interaction HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    f"Connection: close\r\nContent-Length: {len(BODY)}\r\n"
).encode()


@pytest.fixture
def slow_clients(server: Server) -> Iterator[list[socket.socket]]:
    with ExitStack() as stack:
        address = ("127.0.0.1", server.port)
        yield [stack.enter_context(closing(socket.create_connection(address, 30))) for _ in range(SLOW)]


@pytest.mark.parametrize(
    "begun, rest",
    [(HEAD, b"\r\n" + BODY), (HEAD + b"\r\n" + BODY[:10], BODY[10:])],
    ids=["slow head", "slow body"],
)
def test_slow_senders_do_not_hold_up_others_and_are_answered_in_the_end(
    begun: bytes, rest: bytes, server: Server, slow_clients: list[socket.socket]
) -> None:
    for client in slow_clients:
        client.sendall(begun)

    others = _publish_many(server)
    for client in slow_clients:
        client.sendall(rest)
    at_last = [client.recv(15) for client in slow_clients]

    assert others == [200] * PUBLISHES
    assert at_last == [b"HTTP/1.1 200 OK"] * SLOW


def test_clients_that_never_read_their_answer_do_not_hold_up_others(
    server: Server, slow_clients: list[socket.socket]
) -> None:
    long = {"user_id": "long", "session_id": "s1", "interaction_data_list": [{"content": "long " * 100_000}]}
    assert server.call(Calls.publish, long).ok
    ask = b'{"user_id":"long"}'
    request = b"POST /api/get_interactions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    request += f"Content-Length: {len(ask)}\r\n\r\n".encode() + ask
    for client in slow_clients:
        client.sendall(request * 5)

    others = _publish_many(server)

    assert others == [200] * PUBLISHES


def _publish_many(server: Server) -> list[int]:
    turn = {"user_id": "quick", "session_id": "s1", "interaction_data_list": [{"content": "Quick"}]}
    with closing(server.caller()) as caller:
        return [caller.call(Calls.publish, turn).status for _ in range(PUBLISHES)]
