"""kill -9 at any moment: what was acknowledged is there, once, and what was begun is finished."""

import logging
import random
import shutil
import sqlite3
import time
from contextlib import closing
from pathlib import Path

from acumen.storage.tables import metadata
from acumen_client.calls import Calls
from tests.faults.agents import Agent, Findings, compare
from tests.faults.conftest import StartServer
from tests.faults.server import Server, wait_until

log = logging.getLogger(__name__)

PUBLISHERS, KEEPERS = 4, 2
KILLS = 20
# Of these, so many come while the server is still starting.
KILLS_AT_START = 3
FINISH_SECONDS = 240.0

# Waits for its time, not for work to be done.
SCHEDULED = ("hour", "minutes", "session_quiet")


def test_nothing_acknowledged_is_lost_or_doubled_by_twenty_kills(start_server: StartServer) -> None:
    server = start_server(jobs__lease_seconds=5)
    agents = [Agent(number, server, keeps_memories=number < KEEPERS) for number in range(KEEPERS + PUBLISHERS)]
    for agent in agents:
        agent.start()

    for number in range(KILLS):
        _kill_and_start_again(server, number)
    for agent in agents:
        agent.finish()

    assert {agent.user: compare(agent, server) for agent in agents} == {
        agent.user: Findings(lost=[], doubled=[], wrong=[]) for agent in agents
    }
    assert server.problems() == []
    _assert_all_is_learned(server, agents)
    _assert_all_is_found(server, agents)
    for counted in ("acknowledged", "cut_off", "searches"):
        log.info("%s: %s", counted, sum(getattr(agent.ledger, counted) for agent in agents))


def _kill_and_start_again(server: Server, number: int) -> None:
    chance = random.Random(number)
    time.sleep(chance.uniform(0.2, 1.0))
    server.kill()
    if number < KILLS_AT_START:
        server.launch()
        time.sleep(chance.uniform(0.1, 0.8))
        server.kill()
    server.start()
    assert server.problems() == [], number


def _assert_all_is_learned(server: Server, agents: list[Agent]) -> None:
    requests = [request for agent in agents for request in agent.ledger.turns]

    wait_until(lambda: not _unfinished_jobs(server), FINISH_SECONDS, "all jobs to end", every=0.25)
    with closing(server.caller()) as caller:
        statuses = [caller.call(Calls.learning_status, {"request_id": one}).json["status"] for one in requests]

    assert statuses == ["done"] * len(requests)
    assert server.call(Calls.status).json["dead_letters"] == []


def _unfinished_jobs(server: Server) -> list[object]:
    return [job for job in server.call(Calls.status).json["jobs"] if job["kind"] not in SCHEDULED]


def _assert_all_is_found(server: Server, agents: list[Agent]) -> None:
    for agent in agents:
        said = sorted(agent.ledger.turns.items())
        for request, turns in random.Random(1).sample(said, min(len(said), 20)):
            # The agent's own turn: what the user said leaves search with a memory that later words replaced.
            asked = {"user_id": agent.user, "query": turns[1], "top_k": 1, "search_mode": "fts"}
            hits = server.call(Calls.search_interactions, asked).json["interactions"]
            assert [hit["request_id"] for hit in hits] == [request]


def test_what_a_killed_server_had_begun_does_not_wait_for_its_lease(start_server: StartServer) -> None:
    server = start_server(jobs__lease_seconds=3600)
    said = {"role": "User", "content": "No, we never deploy to us-east-1, always use us-west-2."}
    server.call(Calls.publish, {**_TURN, "request_id": "r1", "interaction_data_list": [said]})
    wait_until(lambda: bool(server.rows("SELECT 1 FROM jobs WHERE state = 'running'")), 30, "the job to begin", 0.001)

    server.kill()
    server.start()

    wait_until(lambda: _status(server, "r1") == "done", 60, "the request to be learned from")


def _status(server: Server, request_id: str) -> object:
    return server.call(Calls.learning_status, {"request_id": request_id}).json["status"]


def test_a_first_start_that_is_killed_leaves_all_of_the_schema_or_none(tmp_path: Path) -> None:
    server = Server(tmp_path / "data", tmp_path / "server.log")
    tables_left = []

    for number in range(5):
        server.launch()
        wait_until(server.database.exists, 60, "the database file")
        time.sleep(number * 0.08)
        server.kill()
        tables_left.append(_tables_after_recovery(server, tmp_path / f"copy{number}"))
    server.start()
    published = server.call(Calls.publish, _TURN)
    server.stop()

    assert all(tables in (set(), _TABLES) for tables in tables_left), tables_left
    assert set() in tables_left, "every kill came too late to prove anything"
    assert published.ok


_TURN = {"user_id": "ada", "session_id": "s1", "interaction_data_list": [{"content": "Hello"}]}
_TABLES = {*metadata.tables, "alembic_version", "sqlite_sequence"}


def _tables_after_recovery(server: Server, copy: Path) -> set[str]:
    """Read from a copy, so that the server itself has to recover what was left."""
    shutil.copytree(server.data, copy)
    with closing(sqlite3.connect(copy / server.database.name)) as conn:
        assert conn.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return {name for (name,) in conn.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
