"""Publishing to several servers on one PostgreSQL, as ratios to one process in the same run, with learning going on."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

from bench import client, operations, places, publish
from bench.client import Request, Seen
from bench.figures import Figure, Run, at_least, at_most, percentile
from bench.places import MakePlace
from bench.server import Server, serving

CLIENTS, WARM_UP = 64, 100
REQUESTS, QUICK_REQUESTS = 12_000, 100
BATCHES, QUICK_BATCHES = 1_000, 10
# How many processes, and what their rate should be, in rates of one process.
SEVERAL = {2: at_least(1.0), 4: at_least(0.9)}
MAX_P99_MS = 250


def measure(run: Run) -> Iterator[Figure]:
    sent = publish.requests(run.many(REQUESTS, QUICK_REQUESTS), seed=3)
    embedded = _publish(run, places.sqlite, 1, sent)
    yield Figure("SQLite, 1 process", embedded.per_second, "/s")
    single = _publish(run, places.postgres, 1, sent)
    yield Figure("PostgreSQL, 1 process", single.per_second, "/s")
    yield Figure("PostgreSQL, 1 process, of SQLite", single.per_second / embedded.per_second, "", at_least(0.8))
    yield _p99(single, "PostgreSQL, 1 process")
    for processes, target in SEVERAL.items():
        name = f"PostgreSQL, {processes} processes"
        seen = _publish(run, places.postgres, processes, sent)
        yield Figure(f"{name}, of one process", seen.per_second / single.per_second, "", target)
        yield _p99(seen, name)
    yield Figure("PostgreSQL, operations a second in batches of 50", _operations(run), "/s", at_least(10_000))


def _publish(run: Run, make_place: MakePlace, processes: int, sent: list[Request]) -> Seen:
    with make_place(run) as place, ExitStack() as stack:
        servers = [stack.enter_context(serving(place.environ)) for _ in range(processes)]
        for number, server in enumerate(servers):
            client.send(server.port, publish.requests(run.many(WARM_UP, 5), seed=10 + number), 4)
        return _send(servers, sent, CLIENTS)


def _send(servers: list[Server], sent: list[Request], connections: int) -> Seen:
    """To all servers at once, each its share of the requests and of the connections."""
    share = len(servers)
    with ThreadPoolExecutor(share) as pool:
        parts = pool.map(
            lambda place: client.send(servers[place].port, sent[place::share], connections // share), range(share)
        )
        seen = list(parts)
    latencies = [latency for part in seen for latency in part.latencies_ms]
    return Seen(latencies, max(part.seconds for part in seen))


def _p99(seen: Seen, name: str) -> Figure:
    return Figure(f"{name}, p99", percentile(seen.latencies_ms, 0.99), "ms", at_most(MAX_P99_MS))


def _operations(run: Run) -> float:
    with places.postgres(run) as place, serving(place.environ) as server:
        client.send(server.port, operations.requests(run.many(operations.KNOWN, 5), operations.BATCH, seed=1), 4)
        sent = operations.requests(run.many(BATCHES, QUICK_BATCHES), operations.BATCH, seed=3)
        return client.send(server.port, sent, 8).per_second * operations.BATCH
