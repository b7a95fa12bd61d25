"""Publishing two turns: durable when answered, with learning at work beside it."""

from collections.abc import Iterator
from random import Random

from bench import client, texts
from bench.client import Request, Seen
from bench.figures import Figure, Run, at_least, at_most, median, percentile
from bench.places import MakePlace
from bench.server import Server, serving

USERS = 200
CLIENTS = 64
# The server has a database, connections and code that were used before it is measured.
WARM_UP = 100


def requests(count: int, seed: int = 0) -> list[Request]:
    random = Random(seed)
    return [("/api/publish_interaction", _body(f"{seed}-{number}", random)) for number in range(count)]


def _body(number: str, random: Random) -> dict[str, object]:
    user = random.randrange(USERS)
    return {
        "request_id": f"bench-{number}",
        "user_id": f"user-{user}",
        "session_id": f"session-{user}-{random.randrange(5)}",
        "source": "bench",
        "agent_version": "1.0",
        "interaction_data_list": [
            {"role": "User", "content": texts.turn(random)},
            {"role": "Assistant", "content": texts.turn(random)},
        ],
    }


def measure(run: Run, make_place: MakePlace, *, targets: bool = True) -> Iterator[Figure]:
    with make_place(run) as place, serving(place.environ) as server:
        client.send(server.port, requests(run.many(WARM_UP, 5), seed=1), 4)
        yield from _alone(server, run, targets=targets)
    with make_place(run) as place, serving(place.environ) as server:
        client.send(server.port, requests(run.many(WARM_UP, 5), seed=1), 4)
        yield from _together(server, run, targets=targets)


def _alone(server: Server, run: Run, *, targets: bool) -> Iterator[Figure]:
    seen, cpu_ms = timed(server, requests(run.many(500, 10), seed=2), 1)
    yield Figure("p50, 1 client", median(seen.latencies_ms), "ms", at_most(6) if targets else None, cpu_ms)
    yield Figure("p99, 1 client", percentile(seen.latencies_ms, 0.99), "ms")


def _together(server: Server, run: Run, *, targets: bool) -> Iterator[Figure]:
    seen, cpu_ms = timed(server, requests(run.many(20_000, 200), seed=3), CLIENTS)
    target = at_least(2_000) if targets else None
    yield Figure(f"requests a second, {CLIENTS} clients", seen.per_second, "/s", target, cpu_ms)
    yield Figure(f"p50, {CLIENTS} clients", median(seen.latencies_ms), "ms")
    yield Figure(f"p99, {CLIENTS} clients", percentile(seen.latencies_ms, 0.99), "ms")


def timed(server: Server, sent: list[Request], connections: int) -> tuple[Seen, float]:
    """What the callers saw, and the processor milliseconds that the server used per request."""
    before = server.cpu_seconds
    seen = client.send(server.port, sent, connections)
    return seen, (server.cpu_seconds - before) * 1000 / len(sent)
