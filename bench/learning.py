"""What callers notice of background work: searches while a backlog is learned, as ratios to the idle server."""

import asyncio
import time
from collections.abc import Iterator

from acumen_client.client import Client
from bench import client, places, publish, search
from bench.figures import Figure, Run, at_most, median, percentile
from bench.server import Server, serving

SEARCHES, QUICK_SEARCHES = 400, 5
# Learning them takes several times as long as the searches.
BACKLOG, QUICK_BACKLOG = 3_000, 20
# By how many worker processes a server starts.
PLACES = {1: "in a process of its own", 0: "in the server's process"}
SETTLED_SECONDS = 3.0


def measure(run: Run) -> Iterator[Figure]:
    for processes in PLACES:
        with places.sqlite(run) as place:
            asyncio.run(search.fill(place, run.many(1_000, 20)))
            with serving({**place.environ, "ACUMEN_JOBS__PROCESSES": str(processes)}) as server:
                yield from _searched(server, run, processes)


def _searched(server: Server, run: Run, processes: int) -> Iterator[Figure]:
    name, target = PLACES[processes], at_most(2) if processes else None
    _search(server, run.many(100, 5), 1)  # the first ones load the index and the model
    client.send(server.port, publish.requests(run.many(50, 5), seed=1), 4)
    _drain(server)
    idle = _search(server, run.many(SEARCHES, QUICK_SEARCHES), 2)
    published = client.send(server.port, publish.requests(run.many(BACKLOG, QUICK_BACKLOG), seed=3), 16)
    waiting = _waiting(server)
    busy = _search(server, run.many(SEARCHES, QUICK_SEARCHES), 3)
    note = f"{waiting} users waiting before, {_waiting(server)} after"
    before, after = percentile(idle, 0.95), percentile(busy, 0.95)
    yield Figure(f"{name}: search p95, idle", before, "ms")
    yield Figure(f"{name}: search p95 while learning, of idle", after / before, "", target, note=note)
    yield Figure(f"{name}: search p50 while learning, of idle", median(busy) / median(idle), "")
    yield Figure(f"{name}: publishing, p99", percentile(published.latencies_ms, 0.99), "ms", note="16 clients")
    yield Figure(f"{name}: memory of the server", server.rss_megabytes, "MB")


def _search(server: Server, count: int, seed: int) -> list[float]:
    return client.send(server.port, search.questions(count, seed), 1).latencies_ms


def _waiting(server: Server) -> int:
    with Client(f"http://127.0.0.1:{server.port}") as asked:
        return sum(job.count for job in asked.status().jobs if job.kind == "published")


def _drain(server: Server) -> None:
    while _waiting(server):
        time.sleep(0.1)
    time.sleep(SETTLED_SECONDS)
