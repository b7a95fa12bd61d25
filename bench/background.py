"""Work over a whole org or a long backlog: what it costs the server, its callers and its worker."""

import asyncio
import threading
import time
from collections.abc import Iterator
from random import Random
from typing import Self

import sqlalchemy as sa

from acumen.model.ids import LOCAL_ORG, Kind, Millis, UserId, now
from acumen.storage.jobs.jobs import Rotation
from acumen.storage.store import Store, connect
from acumen.storage.tables import jobs
from acumen_client.client import Client
from bench import client, memories, places, search
from bench.figures import Figure, Run, at_most, percentile
from bench.machine import rss_megabytes
from bench.memories import Statements
from bench.places import Place
from bench.server import Server, serving

MEMORIES, QUICK_MEMORIES = 20_000, 300
SEARCHES, QUICK_SEARCHES = 200, 5
LOOK_EVERY_SECONDS = 0.05
# Of one org half of them, of fifty others the rest; of all of these, every second job of one user.
JOBS, QUICK_JOBS = 200_000, 200
OTHER_ORGS, CLAIMS, QUICK_CLAIMS = 50, 100, 5
ROWS_AT_ONCE = 5_000
ATTEMPTS, LEASE_MS = 5, 60_000


def scan(run: Run) -> Iterator[Figure]:
    """The review queue is opened for the first time on many memories of one user."""
    with places.sqlite(run) as place:
        asyncio.run(search.fill(place, run.many(1_000, 20)))
        asyncio.run(_fill(place, run.many(MEMORIES, QUICK_MEMORIES)))
        with serving({**place.environ, "ACUMEN_JOBS__PROCESSES": "1"}) as server:
            yield from _opened(server, run)


def _opened(server: Server, run: Run) -> Iterator[Figure]:
    count = run.many(SEARCHES, QUICK_SEARCHES)
    client.send(server.port, search.questions(count, 1), 1)
    idle = client.send(server.port, search.questions(count, 2), 1).latencies_ms
    before = server.rss_megabytes
    with Peak([server.pid]) as of_server, Peak(server.worker_pids) as of_worker:
        began = time.perf_counter()
        waiting = _scanning(server)
        opened = time.perf_counter() - began
        busy = client.send(server.port, search.questions(count, 3), 1).latencies_ms
        while _scanning(server):
            time.sleep(LOOK_EVERY_SECONDS)
        seconds = time.perf_counter() - began
    yield Figure("opening the queue", opened * 1000, "ms", note=f"{waiting:,} memories left to a job")
    yield Figure("searches meanwhile, p95, of idle", percentile(busy, 0.95) / percentile(idle, 0.95), "", at_most(2))
    yield Figure("the server's memory grows by", of_server.megabytes - before, "MB", at_most(50))
    yield Figure("memory of the worker, most", of_worker.megabytes, "MB", at_most(400))
    yield Figure("scanned in", seconds, "s")


class Peak:
    """The most memory that processes had together."""

    def __init__(self, pids: list[int]) -> None:
        self._pids = pids
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self.megabytes = 0.0

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._over.wait(LOOK_EVERY_SECONDS):
            self.megabytes = max(self.megabytes, sum(rss_megabytes(pid) for pid in self._pids))


def _scanning(server: Server) -> int:
    with Client(f"http://127.0.0.1:{server.port}", timeout=60) as asked:
        return asked.memory_review(user_id="many").being_counted


async def _fill(place: Place, count: int) -> None:
    store = Store(connect(place.settings))
    made = memories.user_playbooks(UserId("many"), count, Statements(), Random(count), 1_000_000)
    await memories.store(Kind.USER_PLAYBOOK, made, store.of(LOCAL_ORG))
    store.close()


# --- a long backlog ----------------------------------------------------------------------------------------------


def backlog(run: Run) -> Iterator[Figure]:
    """Claims by turns of orgs and users, and the lag, while many jobs wait."""
    for name, make_place in (("SQLite", places.sqlite), ("PostgreSQL", places.postgres)):
        with make_place(run) as place:
            place.migrate()
            yield from asyncio.run(_claimed(place, run, name))


async def _claimed(place: Place, run: Run, name: str) -> list[Figure]:
    count, store, rotation = run.many(JOBS, QUICK_JOBS), Store(connect(place.settings)), Rotation()
    await _add(store, count)
    taken = []
    for _ in range(run.many(CLAIMS, QUICK_CLAIMS)):
        began, until = time.perf_counter(), Millis(now() + LEASE_MS)
        await store.peek(lambda leases: leases.has_due())
        await store.lease(lambda leases, until=until: leases.claim("bench", until, 1, ATTEMPTS, rotation))  # type: ignore[misc]
        taken.append((time.perf_counter() - began) * 1000)
    began = time.perf_counter()
    await store.peek(lambda leases: leases.get_lags())
    lag = (time.perf_counter() - began) * 1000
    store.close()
    return [
        Figure(f"{name}: a claim among {count:,} jobs, p50", percentile(taken, 0.5), "ms", note="with its commit"),
        Figure(f"{name}: measuring the lag", lag, "ms"),
    ]


async def _add(store: Store, count: int) -> None:
    at = now()
    rows = [_row(number, count, at) for number in range(count)]
    for start in range(0, count, ROWS_AT_ONCE):
        part = rows[start : start + ROWS_AT_ONCE]
        await store.database.write(lambda conn, part=part: conn.execute(sa.insert(jobs), part))  # type: ignore[misc]


def _row(number: int, count: int, at: Millis) -> dict[str, object]:
    org = "big" if number < count // 2 else f"org{number % OTHER_ORGS}"
    user = f"user{number}" if number % 2 else "busy"
    event, scope = ("published", user) if number % 2 else ("session_quiet", f"4:busy:{number}")
    payload = {"user_id": user, "request_id": "r"} if number % 2 else {"user_id": user, "session_id": str(number)}
    return {
        "org_id": org,
        "event": event,
        "scope": scope,
        "user_id": user,
        "payload": payload,
        "state": "waiting",
        "waiting_key": f"{org}\x1f{event}\x1f{scope}",
        "attempts": 0,
        "run_at": at,
        "ready": 1,
        "turns": 2,
        "created_at": at,
        "updated_at": at,
    }
