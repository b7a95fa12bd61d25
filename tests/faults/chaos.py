"""Servers and workers on one Postgres under load, while processes are killed and Postgres crashes.

Callers keep a ledger of what was acknowledged. Each repeats a request, with the same ids, until it is
answered.
"""

import os
import random
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
from msgspec import Struct, field

from acumen.operate import migrate_database
from acumen.settings import Settings
from acumen_client.calls import Calls
from acumen_client.endpoint import Endpoint
from tests import postgres as pg
from tests.faults.server import NO_REPLY, Caller, Reply, free_port, wait_until
from tests.faults.test_two_servers import BOOKMARK, deadlocks, rows, spoken, stored

SERVERS, WORKERS = 3, 3
# A worker that was killed leaves its jobs to others after so long.
LEASE_SECONDS = 5
BUSY_USERS = 6
# Between two faults; of so many, one is a crash of Postgres.
PAUSE_SECONDS = (1.0, 3.5)
FAULTS_PER_CRASH = 6
GIVE_UP_SECONDS = 180.0
LEARNED_SECONDS = 300.0
# What a server may say when it cannot do what it is asked: again, please. Everything else is an answer.
AGAIN = 503


class Process:
    """`acumen serve` or `acumen worker`; started again whenever it has ended, as a supervisor would."""

    def __init__(self, name: str, url: str, folder: Path) -> None:
        self.port = free_port()
        self.log = folder / f"{name}.log"
        self._command = [sys.executable, "-m", "acumen.cli.main"]
        if name.startswith("server"):
            self._command += ["serve", "--port", str(self.port), "--data", str(folder / name)]
        else:
            self._command += ["worker"]
        self._environ = {
            **{name: value for name, value in os.environ.items() if not name.startswith("ACUMEN_")},
            "ACUMEN_DATABASE_URL": url,
            "ACUMEN_JOBS__LEASE_SECONDS": str(LEASE_SECONDS),
            "ACUMEN_JOBS__WORKERS": "0" if name.startswith("server") else "2",
        }
        self._process: subprocess.Popen[bytes] | None = None

    def keep_alive(self) -> None:
        if self._process is None or self._process.poll() is not None:
            with self.log.open("ab") as log:
                self._process = subprocess.Popen(
                    self._command, env=self._environ, stdin=subprocess.DEVNULL, stdout=log, stderr=log
                )

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def answers(self) -> bool:
        with suppress(*NO_REPLY), closing(Caller(self.port, timeout=5)) as caller:
            return caller.call(Calls.health_live).ok
        return False


class Cluster:
    """The processes and their supervisor."""

    def __init__(self, database: pg.Server, url: str, folder: Path) -> None:
        self.url = url
        self.servers = [Process(f"server{number}", url, folder) for number in range(SERVERS)]
        self.workers = [Process(f"worker{number}", url, folder) for number in range(WORKERS)]
        self.deadlocks = 0
        self.faults: Counter[str] = Counter()
        self._database = database
        self._stop = threading.Event()
        self._supervisor = threading.Thread(target=self._supervise, daemon=True)

    @property
    def all(self) -> list[Process]:
        return [*self.servers, *self.workers]

    def start(self) -> None:
        self._supervisor.start()
        wait_until(lambda: all(server.answers() for server in self.servers), GIVE_UP_SECONDS, "the servers", every=0.2)

    def wait_for_one(self) -> None:
        wait_until(lambda: any(server.answers() for server in self.servers), GIVE_UP_SECONDS, "a server", every=0.1)

    def stop(self) -> None:
        self._stop.set()
        self._supervisor.join()
        for process in self.all:
            process.kill()

    def hurt(self, chance: random.Random) -> None:
        """One fault."""
        if chance.randrange(FAULTS_PER_CRASH) == 0:
            self.crash_postgres()
        else:
            victim = chance.choice(self.all)
            self.faults["worker killed" if victim in self.workers else "server killed"] += 1
            victim.kill()

    def crash_postgres(self) -> None:
        """Its statistics do not survive it."""
        self.deadlocks += deadlocks(self.url)
        self.faults["Postgres crashed"] += 1
        self._database.crash()

    def _supervise(self) -> None:
        while not self._stop.wait(0.2):
            for process in self.all:
                process.keep_alive()


class Ledger(Struct):
    """What was acknowledged, and what else was answered."""

    requests: set[str] = field(default_factory=set)
    operations: set[str] = field(default_factory=set)
    actions: set[str] = field(default_factory=set)
    erased: set[str] = field(default_factory=set)
    searches: int = 0
    repeated: int = 0
    wrong: list[str] = field(default_factory=list)


class ChaosCaller(threading.Thread):
    """Does one thing again and again, at whichever server answers."""

    def __init__(self, number: int, ports: Sequence[int], do: Callable[["ChaosCaller", int], None]) -> None:
        super().__init__(name=f"{do.__name__}-{number}", daemon=True)
        self.number = number
        self.ledger = Ledger()
        self.random = random.Random(number)
        self.failure: BaseException | None = None
        self.stopping = threading.Event()
        self._ports, self._do = ports, do
        self._caller = Caller(ports[0])
        self._why = ""

    def run(self) -> None:
        try:
            for count in range(1_000_000):
                if self.stopping.is_set():
                    return
                self._do(self, count)
                time.sleep(self.random.uniform(0, 0.1))
        except BaseException as failure:  # noqa: BLE001 - raised by the thread that waits for this one
            self.failure = failure
        finally:
            self._caller.close()

    def finish(self) -> None:
        self.stopping.set()
        self.join(GIVE_UP_SECONDS * 2)
        assert not self.is_alive(), f"{self.name} is stuck"
        if self.failure:
            raise self.failure

    def settle(self, endpoint: Endpoint[..., Any], asked: dict[str, Any], *expected: int) -> Reply:
        """Repeats the request until it is answered."""
        give_up_at = time.monotonic() + GIVE_UP_SECONDS
        while (reply := self._attempt(endpoint, asked)) is None:
            assert time.monotonic() < give_up_at, f"no server answers {endpoint.name}: {self._why}"
            self.ledger.repeated += 1
            time.sleep(0.1)
        if reply.status not in (200, *expected):
            self.ledger.wrong.append(f"{endpoint.name}: {reply.status} {reply.content[:300]!r}")
        return reply

    def _attempt(self, endpoint: Endpoint[..., Any], asked: dict[str, Any]) -> Reply | None:
        try:
            reply = self._caller.call(endpoint, asked)
        except NO_REPLY as failure:
            self._why = repr(failure)
            self._caller.close()
            self._caller = Caller(self.random.choice(self._ports), timeout=20)
            return None
        self._why = f"{reply.status} {reply.content[:300]!r}"
        return None if reply.status == AGAIN else reply


# --- what they do -----------------------------------------------------------------------------------------------------


def publish(caller: ChaosCaller, count: int) -> None:
    request = f"p{caller.number}-{count}"
    busy = caller.random.random() < 0.7
    user = f"busy-{caller.random.randrange(BUSY_USERS)}" if busy else f"user-{request}"
    if caller.settle(Calls.publish, spoken(request, user)).ok:
        caller.ledger.requests.add(request)


def record(caller: ChaosCaller, count: int) -> None:
    ids = [f"op{caller.number}-{count}-{place}" for place in range(5)]
    batch = [_operation(op_id, caller.random) for op_id in ids]
    if caller.settle(Calls.record_operations, {"operations": batch}).ok:
        caller.ledger.operations.update(ids)


def _operation(op_id: str, chance: random.Random) -> dict[str, Any]:
    failed = chance.random() < 0.3
    error = {"error_type": "TimeoutError", "error_message": f"no answer within {chance.randrange(99)} s"}
    told = {"op_id": op_id, "source": "chaos", "endpoint": chance.choice(("read", "deploy")), "session_id": "s1"}
    return {**told, **({"status": "error", **error} if failed else {"status": "ok"})}


def search(caller: ChaosCaller, count: int) -> None:
    asked = {"user_id": f"busy-{count % BUSY_USERS}", "query": "where to deploy", "top_k": 3}
    caller.settle(Calls.search, asked)
    caller.ledger.searches += 1


def review(caller: ChaosCaller, count: int) -> None:
    """Archives a memory that is being learned meanwhile, and every second time takes it back."""
    known = caller.settle(Calls.profiles, {"user_id": f"busy-{count % BUSY_USERS}", "top_k": 3}).json["user_profiles"]
    if not known:
        return
    items = [{"kind": "profile", "id": known[0]["profile_id"]}]
    reply = caller.settle(Calls.review_memories, {"action": "archive", "items": items}, 404, 409)
    action = reply.json.get("action_id") if reply.ok else None
    if action:
        caller.ledger.actions.add(action)
        if count % 2:
            caller.settle(Calls.undo_review, {"action_id": action}, 404, 409)
    time.sleep(0.2)


def erase(caller: ChaosCaller, count: int) -> None:
    """A user who has just published, and whose turns are being read."""
    user = f"gone-{caller.number}-{count}"
    caller.settle(Calls.publish, spoken(f"g{caller.number}-{count}", user))
    time.sleep(caller.random.uniform(0, 0.3))
    if caller.settle(Calls.clear_user_data, {"user_id": user}).ok:
        caller.ledger.erased.add(user)


CALLERS = (publish, publish, publish, publish, record, search, review, erase)


# --- the run ----------------------------------------------------------------------------------------------------------


class Outcome(Struct, frozen=True):
    """What there was to lose; and `check` says what is not as it should be: nothing, when all went well."""

    faults: dict[str, int]
    acknowledged: dict[str, int]
    check: Callable[[], dict[str, Any]]


def migrated(server: pg.Server) -> str:
    """A new database, by URL."""
    url = server.create()
    migrate_database(Settings(database_url=url))
    return url


def run(database: pg.Server, url: str, folder: Path, seconds: float, seed: int) -> Outcome:
    cluster = Cluster(database, url, folder)
    chance = random.Random(seed)
    with _ended(cluster), _parallel_learning(url) as in_parallel:
        cluster.start()
        ports = [server.port for server in cluster.servers]
        callers = [ChaosCaller(number, ports, do) for number, do in enumerate(CALLERS)]
        for caller in callers:
            caller.start()
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            time.sleep(chance.uniform(*PAUSE_SECONDS))
            cluster.wait_for_one()  # else nothing would be under way on a slow machine
            cluster.hurt(chance)
        if not cluster.faults["Postgres crashed"]:
            cluster.crash_postgres()
        for caller in callers:
            caller.finish()
        wait_until(lambda: _is_settled(url), LEARNED_SECONDS, "everything to be learned", every=0.5)
    ledgers = [caller.ledger for caller in callers]
    return Outcome(dict(cluster.faults), _counts(ledgers), partial(_problems, url, cluster, ledgers, in_parallel))


@contextmanager
def _ended(cluster: Cluster) -> Iterator[None]:
    try:
        yield
    finally:
        cluster.stop()


@contextmanager
def _parallel_learning(url: str) -> Iterator[list[str]]:
    """Users of whom two jobs are leased at once, as seen from outside, again and again."""
    seen: list[str] = []
    stop = threading.Event()

    def look() -> None:
        while not stop.wait(0.05):
            with suppress(psycopg.Error):
                seen.extend(f"{scope}: {count} jobs" for scope, count in rows(url, _LEASED_TWICE))

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield seen
    finally:
        stop.set()
        thread.join()


_LEASED_TWICE = """
    SELECT scope, count(*) FROM jobs WHERE state = 'running' AND event IN ('published', 'session_ended')
    GROUP BY org_id, scope HAVING count(*) > 1
"""
_UNFINISHED = "SELECT 1 FROM jobs WHERE state <> 'dead' AND event NOT IN ('hour', 'minutes', 'session_quiet') LIMIT 1"
_UNREAD = f"SELECT user_id FROM interactions i WHERE interaction_id > ({BOOKMARK})"
_LEARNED_TWICE = """
    SELECT user_id, content, interaction_ids::text, count(*) FROM {table} WHERE status = 'current'
    GROUP BY 1, 2, 3 HAVING count(*) > 1
"""
_HOURS = """
    SELECT coalesce(a.source, b.source), a.count, b.count FROM
    (SELECT source, kind, status, sum(count) AS count FROM operation_hours GROUP BY 1, 2, 3) AS a FULL JOIN
    (SELECT source, kind, status, count(*) AS count FROM operations GROUP BY 1, 2, 3) AS b USING (source, kind, status)
    WHERE a.count IS DISTINCT FROM b.count
"""
_GROUPS = """
    SELECT group_id, g.count, o.count FROM failure_groups AS g LEFT JOIN
    (SELECT group_id, count(*) AS count FROM operations WHERE group_id IS NOT NULL GROUP BY 1) AS o USING (group_id)
    WHERE g.count IS DISTINCT FROM o.count
"""
_OF_USERS = (
    "requests",
    "interactions",
    "profiles",
    "user_playbooks",
    "sessions",
    "bookmarks",
    "search_rows",
    "lineage",
)


def _is_settled(url: str) -> bool:
    with suppress(psycopg.Error):
        return rows(url, _UNFINISHED) == [] and rows(url, _UNREAD) == []
    return False


def _counts(ledgers: Sequence[Ledger]) -> dict[str, int]:
    return {
        "requests": sum(len(ledger.requests) for ledger in ledgers),
        "operations": sum(len(ledger.operations) for ledger in ledgers),
        "actions": sum(len(ledger.actions) for ledger in ledgers),
        "erased users": sum(len(ledger.erased) for ledger in ledgers),
        "searches": sum(ledger.searches for ledger in ledgers),
        "repeated": sum(ledger.repeated for ledger in ledgers),
    }


def _problems(url: str, cluster: Cluster, ledgers: Sequence[Ledger], in_parallel: list[str]) -> dict[str, Any]:
    turns = stored(url)
    sent = {request for ledger in ledgers for request in ledger.requests}
    operations = {op_id for (op_id,) in rows(url, "SELECT op_id FROM operations")}
    actions = {action for (action,) in rows(url, "SELECT action_id FROM actions")}
    found = {
        "answers that are no answer": [line for ledger in ledgers for line in ledger.wrong],
        "requests lost": sorted(request for request in sent if turns.get(request, 0) < 2),
        "requests doubled": sorted(request for request, count in turns.items() if count > 2),
        "operations lost": sorted({op_id for ledger in ledgers for op_id in ledger.operations} - operations),
        "actions lost": sorted({action for ledger in ledgers for action in ledger.actions} - actions),
        "erased users with rows": _left_of_erased(url),
        "learned twice": [row for table in ("profiles", "user_playbooks") for row in rows(url, _twice(table))],
        "learned in parallel": in_parallel,
        "dead jobs": rows(url, "SELECT event, scope, last_error FROM jobs WHERE state = 'dead'"),
        "operations counted wrongly": rows(url, _HOURS),
        "failures counted wrongly": rows(url, _GROUPS),
        "deadlocks": cluster.deadlocks + deadlocks(url),
        "tracebacks": [line for process in cluster.all for line in _tracebacks(process.log)],
    }
    return {name: value for name, value in found.items() if value}


def _twice(table: str) -> str:
    return _LEARNED_TWICE.format(table=table)


def _left_of_erased(url: str) -> list[str]:
    """All of them were erased, or are being erased by nobody any more."""
    queries = [f"SELECT '{table}', user_id FROM {table} WHERE user_id LIKE 'gone-%%'" for table in _OF_USERS]
    return [f"{user}: {table}" for query in queries for table, user in rows(url, query)]


def _tracebacks(log: Path) -> list[str]:
    """The last line of each; failures of the database itself are expected."""
    lines = log.read_text(errors="replace").splitlines()
    starts = [place for place, line in enumerate(lines) if line.startswith("Traceback")]
    ends = [next((line for line in lines[start + 1 :] if line and not line.startswith(" ")), "") for start in starts]
    return [f"{log.name}: {end}" for end in ends]
