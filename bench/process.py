"""The server as a process: how soon it answers, what it weighs in memory, what it weighs on disk."""

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack

from acumen.model.ids import LOCAL_ORG, Kind
from acumen.storage.store import connect
from bench import client, places, publish, search
from bench.figures import Figure, Run, at_most, below, median
from bench.many_memories import Owners, Parts, fill, make_org
from bench.memories import Statements
from bench.places import Place
from bench.server import Server, serving

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


def users(run: Run) -> Iterator[Figure]:
    """Resident memory while many users ask once each, with a small cache: it is a limit, so memory stays as it is."""
    count, of_each = run.many(20_000, 40), 5
    with places.sqlite(run) as place:
        _fill_users(place, count, of_each)
        with serving({**place.environ, "ACUMEN_RECALL__CACHE_MB": "8"}) as server:
            asked = [_of_user(number) for number in range(count)]
            # By half of them, the page caches of the database's four readers (16 MB each) are full, too.
            rss = [_rss_after(server, part) for part in (asked[: count // 10], asked[count // 10 : count // 2])]
            rss.append(_rss_after(server, asked[count // 2 :]))
    yield Figure(f"after {count // 10:,} users", rss[0], "MB", note=f"{of_each} memories each, 8 MB of cache")
    yield Figure(f"after {count // 2:,} users", rss[1], "MB")
    yield Figure(f"after {count:,} users", rss[2], "MB")
    yield Figure("growth in the second half", rss[2] - rss[1], "MB", below(16))


def _rss_after(server: Server, asked: Sequence[client.Request]) -> float:
    client.send(server.port, asked, 4)
    return server.rss_megabytes


def _fill_users(place: Place, count: int, of_each: int) -> None:
    place.migrate()
    statements, database = Statements(), connect(place.settings)
    make_org(database, LOCAL_ORG)
    parts = Parts.of(statements.texts, statements.vectors)
    fill(database, LOCAL_ORG, Kind.USER_PLAYBOOK, parts, count * of_each, Owners(0, of_each))
    database.close()


def _of_user(number: int) -> client.Request:
    body = {"query": "which region do we deploy to", "user_id": f"user-{number + 1}", "search_mode": "fts", "top_k": 5}
    return "/api/search_user_playbooks", body


def install(_run: Run) -> Iterator[Figure]:
    """What the lock file pins for this machine, by the files that its packages installed, and what set-up makes."""
    told = subprocess.run([sys.executable, "tools/footprint.py", "--json"], capture_output=True, text=True, check=True)
    found = json.loads(told.stdout)
    largest = sorted(found["bytes"].items(), key=lambda part: -part[1])[:3]
    note = ", ".join(f"{name} {size / 1e6:.0f}" for name, size in largest)
    yield Figure("packages", found["packages"], "", at_most(60))
    yield Figure("on disk", found["megabytes"], "MB", at_most(400), note=note)
