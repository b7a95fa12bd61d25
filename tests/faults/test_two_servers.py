"""Two servers on one Postgres, learning while everything is written at once: no transaction waits in a cycle."""

import itertools
import random
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any

import psycopg
import pytest

from acumen.settings import Settings
from acumen.storage.engine import migrate
from acumen.storage.store import connect
from acumen_client.calls import Calls
from tests.faults.conftest import StartServer
from tests.faults.server import Caller, Server, wait_until

LOAD_SECONDS = 6.0
PUBLISHERS = 8
# All publishers speak for these users; what they say waits for learning to go on, and learning for them.
BUSY_USERS = 6
# Learning is slow on a busy machine, and how slow is not what is tested.
LEARNED_SECONDS = 240.0

Step = Callable[[Caller], None]


@pytest.fixture
def migrated(postgres_database: str) -> str:
    database = connect(Settings(database_url=postgres_database))
    migrate.migrate(database)
    database.close()
    return postgres_database


def test_two_servers_that_publish_learn_edit_and_erase_at_once_never_deadlock_and_lose_nothing(
    start_server: StartServer, migrated: str
) -> None:
    servers = [start_server(database_url=migrated), start_server(database_url=migrated)]
    before = deadlocks(migrated)
    publishers = [Publisher(number) for number in range(PUBLISHERS)]

    under_load(servers, [*(one.publish for one in publishers), search, edit_and_delete, erase])
    wait_until(lambda: nothing_to_learn(migrated), LEARNED_SECONDS, "everything to be learned", every=0.5)
    for server in servers:
        server.stop()  # a connection that ends reports what it has counted
    sent = {request for one in publishers for request in one.acknowledged}

    assert deadlocks(migrated) - before == 0
    assert [server.log.count("the database failed") for server in servers] == [0, 0]
    assert len(sent) > PUBLISHERS
    assert stored(migrated) == dict.fromkeys(sent, 2)
    assert rows(migrated, "SELECT event, last_error FROM jobs WHERE state = 'dead'") == []
    assert rows(migrated, f"SELECT user_id FROM interactions i WHERE interaction_id > ({BOOKMARK})") == []
    assert rows(migrated, "SELECT count(*) FROM profiles")[0][0] > 0


class Publisher:
    """Publishes for users of its own and for those of everybody, one request after the other."""

    def __init__(self, number: int) -> None:
        self.acknowledged: list[str] = []
        self._requests = (f"p{number}-{count}" for count in itertools.count())
        self._random = random.Random(number)

    def publish(self, caller: Caller) -> None:
        request = next(self._requests)
        busy = self._random.random() < 0.7
        user = f"busy-{self._random.randrange(BUSY_USERS)}" if busy else f"user-{request}"
        reply = caller.call(Calls.publish, spoken(request, user))
        assert reply.ok, reply
        self.acknowledged.append(request)
        time.sleep(self._random.uniform(0, 0.1))


def spoken(request: str, user: str) -> dict[str, Any]:
    turns = [f"My colleague of {request} is called Rex.", f"Always deploy {request} to us-west-2, never to us-east-1."]
    said = [{"role": "User", "content": text} for text in turns]
    return {"request_id": request, "user_id": user, "session_id": f"s-{user}", "interaction_data_list": said}


def search(caller: Caller) -> None:
    for number in range(BUSY_USERS):
        reply = caller.call(Calls.search, {"user_id": f"busy-{number}", "query": "where to deploy", "top_k": 3})
        assert reply.ok, reply
    time.sleep(0.02)


def edit_and_delete(caller: Caller) -> None:
    """Of the memories that are learned meanwhile; one that learning has replaced or merged is not there any more."""
    for number in range(BUSY_USERS):
        user = f"busy-{number}"
        known = caller.call(Calls.profiles, {"user_id": user, "top_k": 5}).json["user_profiles"]
        for profile in known[:1]:
            named = {"user_id": user, "profile_id": profile["profile_id"]}
            assert caller.call(Calls.update_profile, {**named, "content": profile["content"] + "!"}).status in (
                200,
                404,
                409,
            )
        for profile in known[4:]:
            named = {"user_id": user, "profile_id": profile["profile_id"]}
            assert caller.call(Calls.delete_profile, named).status in (200, 404)
    time.sleep(0.05)


_erased = itertools.count()


def erase(caller: Caller) -> None:
    """A user who has just published, and whose turns are being read."""
    number = next(_erased)
    user = f"gone-{number}"
    assert caller.call(Calls.publish, spoken(f"g{number}", user)).ok
    time.sleep(0.1)
    assert caller.call(Calls.clear_user_data, {"user_id": user}).ok


def under_load(servers: list[Server], steps: list[Step]) -> None:
    """Every step again and again on every server, in threads of their own."""
    until = time.monotonic() + LOAD_SECONDS

    def repeat(server: Server, step: Step) -> None:
        with closing(server.caller()) as caller:
            while time.monotonic() < until:
                step(caller)

    # Half of the publishers speak to each server; all other steps to both.
    work = [(server, step) for server, step in spread(servers, steps[:PUBLISHERS])]
    work += [(server, step) for server in servers for step in steps[PUBLISHERS:]]
    with ThreadPoolExecutor(len(work)) as pool:
        for ended in [pool.submit(repeat, server, step) for server, step in work]:
            ended.result()


def spread(servers: list[Server], steps: list[Step]) -> Iterator[tuple[Server, Step]]:
    return zip(itertools.cycle(servers), steps, strict=False)


# How far learning of profiles has read for the user of a turn.
BOOKMARK = """
    SELECT coalesce(max(last_id), 0) FROM bookmarks b WHERE b.user_id = i.user_id AND b.extractor LIKE 'profiles%%'
"""


def rows(url: str, sql: str) -> list[Any]:
    with psycopg.connect(url) as connection:
        return connection.execute(sql.encode()).fetchall()


def deadlocks(url: str) -> int:
    ((counted,),) = rows(url, "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()")
    return int(counted)


def nothing_to_learn(url: str) -> bool:
    return rows(url, "SELECT 1 FROM jobs WHERE event = 'published' AND state <> 'dead'") == []


def stored(url: str) -> dict[str, int]:
    """How many turns each request has."""
    return dict(rows(url, "SELECT request_id, count(*) FROM interactions GROUP BY request_id"))
