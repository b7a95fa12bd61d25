"""SIGTERM: what was begun is finished, then the process leaves with 0."""

import os
import signal
import socket
import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any

import pytest

from acumen_client.calls import Calls
from tests.faults.conftest import StartServer
from tests.faults.server import NO_REPLY, Reply, Server, wait_until

# What the process itself needs to end, beyond the time it gives to what is under way.
SLACK_SECONDS = 20.0


def test_requests_under_way_are_answered_before_the_process_ends(start_server: StartServer) -> None:
    server = start_server()

    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(server.call, Calls.publish, _turn("r1"), "?wait_for_response=true")
        wait_until(lambda: _is_stored(server, "r1"), 30, "the turn to be stored")
        server.ask_to_stop()
        reply = waiting.result()
        code = server.wait(SLACK_SECONDS)

    assert reply.ok, reply
    assert (reply.json["learning_status"], reply.json["playbooks_added"]) == ("done", 1)
    assert code == 0


def test_every_publish_that_was_answered_during_the_end_is_there_afterwards(start_server: StartServer) -> None:
    server = start_server()

    with ThreadPoolExecutor(8) as pool:
        replies = [pool.submit(_publish_if_possible, server, f"r{number}") for number in range(400)]
        wait_until(lambda: _is_stored(server, "r20"), 30, "some turns to be stored")
        server.ask_to_stop()
        answered = {request for request, reply in (one.result() for one in replies) if reply is not None and reply.ok}
        code = server.wait(SLACK_SECONDS)
    server.start()

    stored = {request for (request,) in server.rows("SELECT request_id FROM requests")}
    assert code == 0
    assert 20 <= len(answered) < 400
    assert answered <= stored
    assert server.problems() == []


def test_a_stopped_server_leaves_no_lock_and_an_empty_log_behind(start_server: StartServer) -> None:
    server = start_server()
    assert server.call(Calls.publish, _turn("r1")).ok

    code = server.stop()

    assert code == 0
    assert not server.database.with_name("acumen.db-wal").exists()
    with closing(sqlite3.connect(server.database, timeout=0)) as conn:
        conn.execute("BEGIN EXCLUSIVE")
        assert conn.execute("SELECT count(*) FROM requests").fetchone() == (1,)
        conn.rollback()


def test_what_was_counted_is_written_before_the_process_ends(start_server: StartServer) -> None:
    server = start_server(meter__flush_seconds=3600)
    profile = {"user_id": "ada", "profile_id": "p1", "content": "Deploys with Nomad"}
    server.call(Calls.add_profiles, {"user_profiles": [profile]})
    assert server.call(Calls.search, {"user_id": "ada", "query": "Nomad"}).ok

    server.stop()

    with closing(sqlite3.connect(server.database)) as conn:
        shown = conn.execute("SELECT entity_id FROM usage_events WHERE event_name = 'learning_injection'").fetchall()
    assert shown == [("p1",)]


@pytest.mark.parametrize(
    "half",
    [
        b"",
        b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n",
        b"POST /api/search HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{",
    ],
    ids=["silent", "half a head", "half a body"],
)
def test_a_client_that_never_finishes_does_not_keep_the_process_alive(half: bytes, start_server: StartServer) -> None:
    server = start_server(drain_seconds=1)

    with closing(socket.create_connection(("127.0.0.1", server.port))) as client:
        client.sendall(half)
        assert server.call(Calls.health_live).ok
        code = server.stop()

    assert code == 0


def test_the_second_signal_ends_the_process_at_once(start_server: StartServer) -> None:
    server = start_server(drain_seconds=600)

    with closing(socket.create_connection(("127.0.0.1", server.port))) as client:
        client.sendall(b"POST /api/search HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 10\r\n\r\n")
        assert server.call(Calls.health_live).ok
        server.ask_to_stop()
        time.sleep(0.5)
        os.kill(server.pid, signal.SIGTERM)
        server.wait(SLACK_SECONDS)

    assert not server.is_alive


def _turn(request_id: str) -> dict[str, Any]:
    return {
        "request_id": request_id,
        "user_id": "ada",
        "session_id": "s1",
        "interaction_data_list": [
            {"role": "User", "content": "No, we never deploy production to us-east-1, always use us-west-2."}
        ],
    }


def _publish_if_possible(server: Server, request_id: str) -> tuple[str, Reply | None]:
    try:
        return request_id, server.call(Calls.publish, _turn(request_id))
    except NO_REPLY:
        return request_id, None


def _is_stored(server: Server, request_id: str) -> bool:
    return bool(server.rows(f"SELECT 1 FROM requests WHERE request_id = '{request_id}'"))
