"""The server as a process: how soon it answers, what it weighs in memory, what it weighs on disk."""

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack

from bench import client, places, publish, search
from bench.figures import Figure, Run, at_most, below, median
from bench.places import Place
from bench.server import serving

# Long enough for what a start leaves behind (first poll for jobs, freed buffers) to be over.
SETTLED_SECONDS = 2.0


def start(run: Run) -> Iterator[Figure]:
    """From exec to the first 200 of /health. Bytecode is compiled and files are in memory, as after any first start."""
    times = run.many(5, 1)
    with places.sqlite(run) as any_first, serving(any_first.environ):
        pass
    with ExitStack() as stack:
        fresh = [stack.enter_context(places.sqlite(run)) for _ in range(times)]
        yield _healthy("empty data folder", fresh, "migrates")
    with places.sqlite(run) as used:
        rows = run.many(1_000, 20)
        asyncio.run(search.fill(used, rows))
        with serving(used.environ) as server:
            client.send(server.port, publish.requests(run.many(500, 10)), 8)
        yield _healthy("used data folder", [used] * times, f"3 × {rows:,} memories")


def _healthy(name: str, each: Sequence[Place], note: str) -> Figure:
    wall, cpu = [], []
    for place in each:
        with serving(place.environ) as server:
            wall.append(server.healthy_after)
            cpu.append(server.cpu_seconds * 1000)
    return Figure(f"healthy, {name}", median(wall), "s", below(1), median(cpu), f"{note}; median of {len(wall)}")


def memory(run: Run) -> Iterator[Figure]:
    """Resident memory, shared libraries included."""
    with places.sqlite(run) as empty, serving(empty.environ) as server:
        time.sleep(SETTLED_SECONDS)
        yield Figure("idle", server.rss_megabytes, "MB", below(150), note="empty data folder")
    rows = run.many(1_000, 20)
    with places.sqlite(run) as used:
        asyncio.run(search.fill(used, rows))
        with serving(used.environ) as server:
            questions = search.questions(run.many(100, 5), seed=1)
            client.send(server.port, questions[:1], 1)
            yield Figure("after the first search", server.rss_megabytes, "MB", below(250), note=f"3 × {rows:,}")
            client.send(server.port, questions[1:], 1)
            yield Figure(f"after {len(questions)} searches", server.rss_megabytes, "MB", below(250))


def install(_run: Run) -> Iterator[Figure]:
    """What the lock file pins for this machine, by the files that its packages installed, and what set-up makes."""
    told = subprocess.run([sys.executable, "tools/footprint.py", "--json"], capture_output=True, text=True, check=True)
    found = json.loads(told.stdout)
    largest = sorted(found["bytes"].items(), key=lambda part: -part[1])[:3]
    note = ", ".join(f"{name} {size / 1e6:.0f}" for name, size in largest)
    yield Figure("packages", found["packages"], "", at_most(60))
    yield Figure("on disk", found["megabytes"], "MB", at_most(400), note=note)
