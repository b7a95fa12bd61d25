"""Hours of ordinary work, short: mixed load at a modest rate, and what grows meanwhile.

Writes every sample as CSV and a plot of them as SVG. `ACUMEN_BENCH_MINUTES` (30) sets how long it takes.
"""

import csv
import os
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

import msgspec
from msgspec import Struct

from bench import machine, operations, publish, texts
from bench.failures.labelled import labelled
from bench.figures import Figure, Run, at_most
from bench.places import sqlite
from bench.plot import Panel, plot
from bench.server import Server, serving
from tests.faults.server import NO_REPLY, Caller

RESULTS = Path("bench") / "results"
MINUTES = float(os.environ.get("ACUMEN_BENCH_MINUTES", "30"))
QUICK_MINUTES = 0.25
SAMPLE_SECONDS, QUICK_SAMPLE_SECONDS = 10.0, 1.0
# What is measured before this share of the time is not part of a slope.
WARM_UP = 0.4
# Growth that is not explained by stored data, an hour.
MOST_MEGABYTES_AN_HOUR = 20.0
_MEGABYTE = 1_000_000

Send = Callable[[Caller, int], Any]


class Sample(Struct, frozen=True):
    minute: float
    server_mb: float
    worker_mb: float
    cache_mb: float
    database_mb: float
    wal_mb: float
    descriptors: int
    threads: int
    jobs: int
    turns: int


class Pace(threading.Thread):
    """One kind of request, again and again at a fixed rate, whatever the others do."""

    def __init__(self, port: int, per_second: float, send: Send, stop: threading.Event) -> None:
        super().__init__(daemon=True)
        self.answered = 0
        self.refused: list[str] = []
        self._port, self._every, self._send, self._stopping = port, 1 / per_second, send, stop

    def run(self) -> None:
        due = time.monotonic()
        with closing(Caller(self._port)) as caller:
            while not self._stopping.wait(max(0.0, due - time.monotonic())):
                reply = self._reply(caller)
                self.answered += 1
                if reply.status not in (200, 404, 409):  # a memory that learning has replaced meanwhile
                    self.refused.append(f"{reply.status} {reply.content[:200]!r}")
                due = max(due + self._every, time.monotonic() - 5)

    def _reply(self, caller: Caller) -> Any:
        try:
            return self._send(caller, self.answered)
        except NO_REPLY:  # a connection that the server closed because it was idle
            return self._send(caller, self.answered)


def load(server: Server, stop: threading.Event) -> dict[str, Pace]:
    """What agents, their users and reviewers do; rates are per second."""
    steps: dict[str, tuple[float, Send]] = {
        "publish": (3.0, _publish),
        "search": (3.0, _search),
        "operations": (1.0, _operations),
        "edit": (0.2, _edit),
        "review": (0.1, _review),
        "erase": (0.02, _erase),
        "dashboard": (0.1, _dashboard),
    }
    return {name: Pace(server.port, rate, send, stop) for name, (rate, send) in steps.items()}


def _post(caller: Caller, path: str, body: dict[str, Any]) -> Any:
    return caller.send("POST", path, msgspec.json.encode(body))


def _publish(caller: Caller, number: int) -> Any:
    ((path, body),) = publish.requests(1, seed=100_000 + number)
    return _post(caller, path, {**body, "request_id": f"soak-{number}"})


def _search(caller: Caller, number: int) -> Any:
    random = Random(number)
    asked = {"query": texts.turn(random), "user_id": f"user-{random.randrange(publish.USERS)}", "max_tokens": 300}
    return _post(caller, "/api/search", asked)


_FAILURES = list(labelled(500, 3))


def _operations(caller: Caller, number: int) -> Any:
    random = Random(number)
    batch = [operations.operation(f"soak-{number}-{place}", random, random.choice(_FAILURES)) for place in range(10)]
    return _post(caller, "/api/record_operations", {"operations": batch})


def _edit(caller: Caller, number: int) -> Any:
    user = f"user-{number % publish.USERS}"
    profiles = _post(caller, "/api/get_profiles", {"user_id": user, "top_k": 1}).json["user_profiles"]
    if not profiles:
        return _post(caller, "/api/get_interactions", {"user_id": user, "top_k": 5})
    named = {"user_id": user, "profile_id": profiles[0]["profile_id"]}
    content = profiles[0]["content"][:200] + "."
    return caller.send("PUT", "/api/update_user_profile", msgspec.json.encode({**named, "content": content}))


def _review(caller: Caller, number: int) -> Any:
    return _post(caller, "/api/get_memory_review", {"user_id": f"user-{number % publish.USERS}"})


def _erase(caller: Caller, number: int) -> Any:
    user = f"gone-{number}"
    ((path, body),) = publish.requests(1, seed=200_000 + number)
    _post(caller, path, {**body, "request_id": user, "user_id": user})
    return _post(caller, "/api/clear_user_data", {"user_id": user})


def _dashboard(caller: Caller, number: int) -> Any:
    page = ("/ui", "/ui/memories", "/ui/failures", "/ui/system")[number % 4]
    return caller.send("GET", page, None, {"Accept": "text/html"})


# --- sampling ---------------------------------------------------------------------------------------------------------


def take(server: Server, data: Path, paces: dict[str, Pace], began: float) -> Sample:
    family = [server.pid, *children(server.pid)]
    figures = metrics(server.port)
    return Sample(
        minute=round((time.monotonic() - began) / 60, 2),
        server_mb=server.rss_megabytes,
        worker_mb=sum(map(machine.rss_megabytes, family[1:])),
        cache_mb=figures.get("acumen_search_cache_bytes", 0) / _MEGABYTE,
        database_mb=figures["acumen_storage_bytes"] / _MEGABYTE,
        wal_mb=size_mb(data / "acumen.db-wal"),
        descriptors=sum(len(list(Path(f"/proc/{pid}/fd").iterdir())) for pid in family),
        threads=sum(len(list(Path(f"/proc/{pid}/task").iterdir())) for pid in family),
        jobs=int(figures.get("acumen_jobs", 0)),
        turns=2 * paces["publish"].answered,
    )


def children(pid: int) -> list[int]:
    tasks = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for task in tasks for child in task.read_text().split()]


def metrics(port: int) -> dict[str, float]:
    """Of `/metrics`, by name; summed over their labels."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60) as reply:
        return metrics_of(reply.read().decode())


def metrics_of(text: str) -> dict[str, float]:
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    sums: dict[str, float] = {}
    for line in lines:
        name = line.partition("{")[0].partition(" ")[0]
        sums[name] = sums.get(name, 0.0) + float(line.rpartition(" ")[2])
    return sums


def size_mb(path: Path) -> float:
    return path.stat().st_size / _MEGABYTE if path.exists() else 0.0


# --- the line ---------------------------------------------------------------------------------------------------------


def measure(run: Run) -> Iterator[Figure]:
    minutes = QUICK_MINUTES if run.quick else MINUTES
    with sqlite(run) as place, serving(place.environ) as server:
        stop = threading.Event()
        paces = load(server, stop)
        for pace in paces.values():
            pace.start()
        samples = _watch(server, place.data, paces, minutes, QUICK_SAMPLE_SECONDS if run.quick else SAMPLE_SECONDS)
        stop.set()
        for pace in paces.values():
            pace.join(60)
    _write(run.folder if run.quick else RESULTS, samples)
    yield from _figures(samples, paces)


def _watch(server: Server, data: Path, paces: dict[str, Pace], minutes: float, every: float) -> list[Sample]:
    began, samples = time.monotonic(), []
    while time.monotonic() - began < minutes * 60:
        time.sleep(every)
        samples.append(take(server, data, paces, began))
    return samples


def _figures(samples: Sequence[Sample], paces: dict[str, Pace]) -> Iterator[Figure]:
    steady = samples[int(len(samples) * WARM_UP) :]
    turns = max(1, steady[-1].turns - steady[0].turns)
    grown = (steady[-1].database_mb - steady[0].database_mb) * _MEGABYTE
    limit = at_most(MOST_MEGABYTES_AN_HOUR)
    outside_cache = slope(steady, lambda sample: sample.server_mb - sample.cache_mb)
    yield Figure("requests answered", sum(pace.answered for pace in paces.values()), "")
    refused = [line for pace in paces.values() for line in pace.refused]
    yield Figure("requests refused", len(refused), "", at_most(0), note=refused[0] if refused else "")
    yield Figure("server memory, at the end", steady[-1].server_mb, "MB")
    yield Figure("server memory, growth an hour", slope(steady, lambda sample: sample.server_mb), "MB")
    yield Figure("search cache, growth an hour", slope(steady, lambda sample: sample.cache_mb), "MB")
    yield Figure("server memory outside the cache, growth an hour", outside_cache, "MB", limit)
    yield Figure("worker memory, growth an hour", slope(steady, lambda sample: sample.worker_mb), "MB", limit)
    yield Figure("descriptors, growth an hour", slope(steady, lambda sample: sample.descriptors), "", at_most(5))
    yield Figure("threads, growth an hour", slope(steady, lambda sample: sample.threads), "", at_most(5))
    yield Figure("database, bytes per turn", grown / turns, "B", note="with what is learned and recorded beside it")
    yield Figure("log of writes, largest", max(sample.wal_mb for sample in samples), "MB")
    yield Figure("jobs, largest; at the end", max(sample.jobs for sample in steady), "", note=str(steady[-1].jobs))


def slope(samples: Sequence[Sample], value: Callable[[Sample], float]) -> float:
    """Growth an hour, by least squares."""
    xs, ys = [sample.minute / 60 for sample in samples], [value(sample) for sample in samples]
    mean_x, mean_y = sum(xs) / len(xs), sum(ys) / len(ys)
    spread = sum((x - mean_x) ** 2 for x in xs)
    return sum((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys, strict=True)) / spread if spread else 0.0


def _write(folder: Path, samples: Sequence[Sample]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    name = f"soak-{datetime.now(UTC):%Y%m%d-%H%M%S}"
    rows = [msgspec.structs.asdict(sample) for sample in samples]
    with (folder / f"{name}.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    minutes = [sample.minute for sample in samples]
    panels = [
        Panel(title, {line: [row[line] for row in rows] for line in lines})
        for title, lines in (
            ("Memory, MB", ("server_mb", "worker_mb", "cache_mb")),
            ("Files, MB", ("database_mb", "wal_mb")),
            ("Descriptors and threads", ("descriptors", "threads")),
            ("Jobs", ("jobs",)),
            ("Turns stored", ("turns",)),
        )
    ]
    (folder / f"{name}.svg").write_text(plot("minutes", minutes, panels))
