"""Two servers and two workers on one Postgres, where everything is written at once: no transaction waits in a cycle."""

import itertools
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
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


@contextmanager
def workers(url: str, folder: Path) -> Iterator[list[Path]]:
    """Two processes that only run jobs, and what they log."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("ACUMEN_")}
    environ |= {"ACUMEN_DATABASE_URL": url, "ACUMEN_DATA": str(folder / "workers")}
    logs = [folder / "worker0.log", folder / "worker1.log"]
    command = [sys.executable, "-m", "acumen.cli.main", "worker", "--workers", "2"]
    with ExitStack() as stack:
        for log in logs:
            file = stack.enter_context(log.open("wb"))
            process = subprocess.Popen(command, env=environ, stdin=subprocess.DEVNULL, stdout=file, stderr=file)
            stack.callback(process.wait, 60)
            stack.callback(process.terminate)
        yield logs


def test_servers_and_workers_that_publish_learn_review_and_erase_at_once_never_deadlock_and_lose_nothing(
    start_server: StartServer, migrated: str, tmp_path: Path
) -> None:
    without_jobs = {"database_url": migrated, "jobs__workers": 0}
    servers = [start_server(**without_jobs), start_server(**without_jobs)]
    before = deadlocks(migrated)
    publishers = [Publisher(number) for number in range(PUBLISHERS)]
    recorder = Recorder()

    with workers(migrated, tmp_path) as logs:
        steps = [search, edit_and_delete, review, recorder.record, erase]
        under_load(servers, [*(one.publish for one in publishers), *steps])
        wait_until(lambda: nothing_to_learn(migrated), LEARNED_SECONDS, "everything to be learned", every=0.5)
    for server in servers:
        server.stop()  # a connection that ends reports what it has counted
    sent = {request for one in publishers for request in one.acknowledged}

    assert deadlocks(migrated) - before == 0
    assert [log.read_text().count("the database failed") for log in logs] == [0, 0]
    assert {row[0] for row in rows(migrated, "SELECT op_id FROM operations")} == set(recorder.acknowledged)
    assert rows(migrated, "SELECT sum(count) FROM operation_hours") == [(len(recorder.acknowledged),)]
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


def review(caller: Caller) -> None:
    """A person pins what was learned last and archives another, while learning merges and replaces both."""
    for number in range(BUSY_USERS):
        known = caller.call(Calls.profiles, {"user_id": f"busy-{number}", "top_k": 5}).json["user_profiles"]
        for profile, action in zip(known, ("pin", "archive"), strict=False):
            body = {"action": action, "items": [{"kind": "profile", "id": profile["profile_id"]}]}
            assert caller.call(Calls.review_memories, body).status in (200, 404, 409)
    time.sleep(0.05)


class Recorder:
    """Records operations of which every third fails, in batches that two servers group at once."""

    def __init__(self) -> None:
        self.acknowledged: list[str] = []
        self._batches = itertools.count()

    def record(self, caller: Caller) -> None:
        ids = [f"op-{next(self._batches)}-{place}" for place in range(9)]
        reply = caller.call(Calls.record_operations, {"operations": [_operation(op_id) for op_id in ids]})
        assert reply.ok, reply
        self.acknowledged += ids
        time.sleep(0.05)


def _operation(op_id: str) -> dict[str, Any]:
    failed = int(op_id.rpartition("-")[2]) % 3 == 0
    error = {"error_type": "Timeout", "error_message": f"no answer from host {op_id[-1]}"} if failed else {}
    status = "error" if failed else "ok"
    return {"op_id": op_id, "source": "mcp", "endpoint": "deploy", "status": status, "session_id": "s", **error}


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
