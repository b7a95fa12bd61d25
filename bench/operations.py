"""Recording operations: durable when answered, counted and grouped in the same transaction; and reading a million.

The callers share the machine with the server, so what they send is bytes before the clock runs.
"""

import http.client
import json
import sqlite3
import time
import zlib
from collections.abc import Iterator
from contextlib import closing
from random import Random

from bench import client, texts
from bench.client import Request
from bench.failures.labelled import Labelled, labelled
from bench.failures.logs import FORMATS, lines_of
from bench.failures.score import Score, score
from bench.figures import Figure, Run, at_least, at_most, median
from bench.places import MakePlace, Place
from bench.publish import CLIENTS, timed
from bench.server import Server, serving

BATCH = 50
# So many batches make every kind of failure known and explained before anything is measured.
KNOWN = 600
STORED = 1_000_000
LONGEST_EXPLAINING_SECONDS = 120
# Of a hundred operations so many fail.
FAILED = 10
TOOLS = ("read_file", "write_file", "search", "deploy", "query")


def operation(number: str, random: Random, failure: Labelled) -> dict[str, object]:
    """As an agent tells it: what it called, in which session, how it went."""
    one: dict[str, object] = {
        "op_id": f"op-{number}",
        "source": random.choice(("mcp", "scenario", "bot")),
        "endpoint": random.choice(TOOLS),
        "status": "ok",
        "session_id": f"session-{random.randrange(500)}",
        "user_id": f"user-{random.randrange(200)}",
        "duration_ms": random.randrange(2000),
        "input_summary": texts.turn(random)[:80],
        "tokens_in": random.randrange(4000),
    }
    if random.randrange(100) < FAILED:
        # What goes wrong goes wrong at a tool of its own.
        tool = TOOLS[zlib.crc32(failure.label.encode()) % len(TOOLS)]
        one |= {"status": "error", "endpoint": tool, "error_type": "ToolError", "error_message": failure.message}
    return one


def requests(count: int, batch: int, seed: int) -> list[Request]:
    random = Random(seed)
    failures = list(labelled(500, seed))
    return [
        (
            "/api/record_operations",
            {
                "operations": [
                    operation(f"{seed}-{number}-{place}", random, random.choice(failures)) for place in range(batch)
                ]
            },
        )
        for number in range(count)
    ]


def measure(run: Run, make_place: MakePlace, *, targets: bool = True) -> Iterator[Figure]:
    with make_place(run) as place, serving(place.environ) as server:
        client.send(server.port, requests(run.many(KNOWN, 5), BATCH, seed=1), 4)
        _wait_until_explained(server)
        seen, cpu_ms = timed(server, requests(run.many(10_000, 100), 1, seed=2), CLIENTS)
        target = at_least(2_000) if targets else None
        yield Figure(f"single requests a second, {CLIENTS} clients", seen.per_second, "/s", target, cpu_ms)
        seen, cpu_ms = timed(server, requests(run.many(2_000, 20), BATCH, seed=3), 8)
        target = at_least(10_000) if targets else None
        rate = seen.per_second * BATCH
        yield Figure(f"operations a second in batches of {BATCH}", rate, "/s", target, cpu_ms / BATCH)


def _wait_until_explained(server: Server) -> None:
    """Each kind of failure is explained once when it is new; what is measured is a server that knows them."""
    give_up_at = time.monotonic() + LONGEST_EXPLAINING_SECONDS
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    quiet = 0  # looks in a row; between two jobs none is running
    while quiet < 4 and time.monotonic() < give_up_at:
        connection.request("GET", "/api/status")
        told = json.loads(connection.getresponse().read())
        running = any(job["kind"] == "failed" and job["state"] == "running" for job in told["jobs"])
        quiet = 0 if running else quiet + 1
        time.sleep(0.5)
    connection.close()


# --- a million -------------------------------------------------------------------------------------------------------


def many(run: Run, make_place: MakePlace) -> Iterator[Figure]:
    """What is asked of all of them, with a million stored."""
    with make_place(run) as place:
        with serving(place.environ) as server:
            client.send(server.port, requests(run.many(200, 4), BATCH, seed=4), 4)
        stored = _multiplied(place, run.many(STORED, 5_000))
        with serving(place.environ) as server:
            yield Figure(f"start with {stored:,} operations", server.healthy_after, "s", at_most(2))
            yield Figure("/stats", _took(server, "GET", "/stats", run), "ms", at_most(50))
            yield Figure("groups of failures", _took(server, "POST", "/api/get_failures", run), "ms", at_most(200))
            yield Figure("the latest hundred", _took(server, "POST", "/api/get_operations", run), "ms")


def _multiplied(place: Place, wanted: int) -> int:
    """Copies of what was recorded, with their counts: sending them all would measure something else."""
    with closing(sqlite3.connect(place.settings.sqlite_path)) as conn:
        columns = [row[1] for row in conn.execute("PRAGMA table_info(operations)")]
        (have,) = conn.execute("SELECT count(*) FROM operations").fetchone()
        copied = ", ".join("op_id || '-' || :turn" if name == "op_id" else name for name in columns)
        turns = max(0, wanted // have - 1)
        for turn in range(turns):
            conn.execute(f"INSERT INTO operations SELECT {copied} FROM operations LIMIT {have}", {"turn": turn})
        for table in ("operation_hours", "failure_hours", "failure_groups"):
            conn.execute(f"UPDATE {table} SET count = count * {turns + 1}")
        conn.commit()
        return int(have * (turns + 1))


def _took(server: Server, method: str, path: str, run: Run) -> float:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    taken = []
    for _ in range(run.many(30, 3)):
        began = time.perf_counter()
        connection.request(method, path, b"{}" if method == "POST" else None, {"Content-Type": "application/json"})
        reply = connection.getresponse()
        reply.read()
        assert reply.status == 200, reply.status
        taken.append((time.perf_counter() - began) * 1000)
    connection.close()
    return median(taken)


# --- grouping --------------------------------------------------------------------------------------------------------


def grouping(run: Run) -> Iterator[Figure]:
    from acumen.observe.grouping import InMemoryGroupIndex, group_of, signature  # noqa: PLC0415 - the other lines need no more

    lines = list(labelled(run.many(20_000, 500), seed=11))
    shelf = InMemoryGroupIndex()
    began = time.perf_counter()
    groups = [group_of(signature("agent", "tool", "Error", line.message), shelf) for line in lines]
    took = time.perf_counter() - began
    found = score([line.label for line in lines], groups)
    yield Figure("messages a second", len(lines) / took, "/s", at_least(10_000))
    yield Figure(f"grouping accuracy, {found.templates} templates", found.accuracy, "", at_least(0.85))
    yield Figure("wrongly merged", found.merged * 100, "%", at_most(1))
    scores = [_of_format(name, run) for name in FORMATS]
    share = sum(one.accuracy for one in scores) / len(scores)
    yield Figure(f"accuracy over {len(scores)} formats of logs", share, "", at_least(0.85))
    merged = sum(one.merged for one in scores) / len(scores)
    yield Figure("wrongly merged, over these formats", merged * 100, "%", at_most(1))


def _of_format(name: str, run: Run) -> Score:
    from acumen.observe.grouping import InMemoryGroupIndex, group_of, signature  # noqa: PLC0415 - as above

    lines, shelf = list(lines_of(name, run.many(2_000, 200), seed=12)), InMemoryGroupIndex()
    groups = [group_of(signature(name, "log", None, line.message), shelf) for line in lines]
    return score([line.label for line in lines], groups)
