"""The last release and this version on one database: nothing is lost, both find everything, nothing is stuck."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from acumen.storage.engine.migrate import HEAD
from acumen_client.calls import Calls
from tests.faults import old_release
from tests.faults.agents import Agent, Findings, compare
from tests.faults.conftest import StartServer
from tests.faults.server import Caller, Server, wait_until
from tests.faults.test_two_servers import (
    BOOKMARK,
    LEARNED_SECONDS,
    Publisher,
    deadlocks,
    nothing_to_learn,
    rows,
    search,
    stored,
)

# With both versions at work; before and after it, each alone for a third of that.
LOAD_SECONDS = 6.0


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return old_release.unpack(tmp_path_factory.mktemp("release"))


def test_sqlite_is_upgraded_with_all_that_the_last_release_had_stored(
    start_server: StartServer, old: Path, tmp_path: Path
) -> None:
    server = start_server(tmp_path / "data", source=old, jobs__lease_seconds=5)
    agents = [Agent(number, server, keeps_memories=number < 1) for number in range(3)]
    for agent in agents:
        agent.start()
    time.sleep(LOAD_SECONDS / 2)
    for agent in agents:
        agent.finish()
    before = [context(server, agent.user) for agent in agents]
    server.kill()

    upgraded = start_server(tmp_path / "data", jobs__lease_seconds=5)

    assert [context(upgraded, agent.user) for agent in agents] == before
    assert {agent.user: compare(agent, upgraded) for agent in agents} == {
        agent.user: Findings(lost=[], doubled=[], wrong=[]) for agent in agents
    }
    assert upgraded.problems() == []
    assert upgraded.rows("SELECT version_num FROM alembic_version") == [(HEAD,)]


def context(server: Server, user: str) -> list[str]:
    """What is found of a user's turns, by words."""
    asked = {"user_id": user, "query": f"{user}project1", "top_k": 5, "search_mode": "fts"}
    return [turn["content"] for turn in server.call(Calls.search_interactions, asked).json["interactions"]]


def test_both_versions_serve_one_postgres_while_it_is_upgraded(
    start_server: StartServer, old: Path, postgres_database: str
) -> None:
    url = postgres_database
    old_release.migrate(url, source=old)
    first = [start_server(source=old, database_url=url), start_server(source=old, database_url=url)]
    publishers = [Publisher(number) for number in range(4)]
    before = deadlocks(url)

    work(first, publishers, LOAD_SECONDS / 3, meanwhile=lambda: old_release.migrate(url))
    second = start_server(database_url=url)
    work([first[0], second], publishers, LOAD_SECONDS, meanwhile=first[1].stop)
    find_each_others([first[0], second])
    first[0].stop()
    contracted = old_release.migrate(url)
    work([second], publishers, LOAD_SECONDS / 3)
    wait_until(lambda: nothing_to_learn(url), LEARNED_SECONDS, "everything to be learned", every=0.5)
    second.stop()
    sent = {request for publisher in publishers for request in publisher.acknowledged}

    assert "Nothing to do" in contracted
    assert deadlocks(url) - before == 0
    assert stored(url) == dict.fromkeys([*sent, "found-0", "found-1"], 2)
    assert rows(url, "SELECT event, last_error FROM jobs WHERE state = 'dead'") == []
    assert rows(url, f"SELECT user_id FROM interactions i WHERE interaction_id > ({BOOKMARK})") == []
    assert rows(url, "SELECT DISTINCT search_seq FROM orgs") == [(-1,)]
    assert rows(url, TWICE) == []


# A memory that was learned from the same turn twice.
TWICE = """
    SELECT user_id, content, interaction_ids::text FROM profiles WHERE status = 'current'
    GROUP BY 1, 2, 3 HAVING count(*) > 1
"""


def work(
    servers: list[Server], publishers: list[Publisher], seconds: float, meanwhile: Callable[[], Any] | None = None
) -> None:
    """All publish and search on every server; `meanwhile` in the middle of it."""
    until = time.monotonic() + seconds

    def repeat(server: Server, step: Callable[[Caller], None]) -> None:
        with closing(server.caller()) as caller:
            while time.monotonic() < until:
                step(caller)

    steps = [(servers[place % len(servers)], publisher.publish) for place, publisher in enumerate(publishers)]
    steps += [(server, search) for server in servers]
    with ThreadPoolExecutor(len(steps)) as pool:
        tasks = [pool.submit(repeat, server, step) for server, step in steps]
        if meanwhile:
            time.sleep(seconds / 3)
            meanwhile()
        for task in tasks:
            task.result()


def find_each_others(servers: list[Server]) -> None:
    """What one has acknowledged, the other finds at once."""
    for number, (here, there) in enumerate(zip(servers, reversed(servers), strict=True)):
        text = f"The keyword of server {number} is zanzibar{number}."
        turns = [{"role": "User", "content": text}, {"role": "Assistant", "content": "Noted."}]
        named = {"user_id": "finder", "session_id": "s1", "request_id": f"found-{number}"}
        assert here.call(Calls.publish, {**named, "interaction_data_list": turns}).ok
        asked = {"user_id": "finder", "query": f"zanzibar{number}", "top_k": 1, "search_mode": "fts"}
        for server in (there, here):
            hits = server.call(Calls.search_interactions, asked).json["interactions"]
            assert [hit["content"] for hit in hits] == [text]
