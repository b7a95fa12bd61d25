"""The same request sent many times at once."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from threading import Barrier
from typing import Any

from acumen_client.calls import Calls
from tests.faults.server import Reply, Server

TIMES = 50


def test_fifty_equal_publishes_at_once_are_one(server: Server) -> None:
    body = _turn("same", "I live in Lisbon and I work with Rust.")

    replies = _all_at_once(server, [body] * TIMES)

    assert [reply.status for reply in replies] == [200] * TIMES
    assert {reply.json["request_id"] for reply in replies} == {"same"}
    assert _contents(server, "same") == ["I live in Lisbon and I work with Rust."]
    assert server.rows("SELECT count(*) FROM requests WHERE request_id = 'same'") == [(1,)]


def test_of_different_publishes_under_one_id_exactly_one_wins(server: Server) -> None:
    bodies = [_turn("taken", f"I am number {number}.") for number in range(TIMES)]

    replies = _all_at_once(server, bodies)

    winners = [number for number, reply in enumerate(replies) if reply.ok]
    losers = [reply for reply in replies if not reply.ok]
    assert len(winners) == 1
    assert {(reply.status, reply.json["code"]) for reply in losers} == {(409, "conflict")}
    assert all("taken" in reply.json["detail"] for reply in losers)
    assert _contents(server, "taken") == [f"I am number {winners[0]}."]


def test_the_winner_of_a_conflict_may_be_repeated(server: Server) -> None:
    first, second = (_turn("again", f"Version {number}.") for number in (1, 2))

    statuses = [server.call(Calls.publish, body).status for body in (first, second, first, second)]

    assert statuses == [200, 409, 200, 409]
    assert _contents(server, "again") == ["Version 1."]


def _turn(request_id: str, content: str) -> dict[str, Any]:
    return {
        "request_id": request_id,
        "user_id": f"user-{request_id}",
        "session_id": "s1",
        "interaction_data_list": [{"role": "User", "content": content}],
    }


def _all_at_once(server: Server, bodies: list[dict[str, Any]]) -> list[Reply]:
    """Each on a connection of its own, sent when all are connected."""
    ready = Barrier(len(bodies))

    def send(body: dict[str, Any]) -> Reply:
        with closing(server.caller()) as caller:
            caller.call(Calls.health_live)
            ready.wait()
            return caller.call(Calls.publish, body)

    with ThreadPoolExecutor(len(bodies)) as pool:
        return list(pool.map(send, bodies))


def _contents(server: Server, request_id: str) -> list[str]:
    sessions = server.call(Calls.requests, {"request_id": request_id}).json["sessions"]
    return [
        turn["content"] for session in sessions for request in session["requests"] for turn in request["interactions"]
    ]
