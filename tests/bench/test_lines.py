"""Each line of the bench still measures what it claims; tried quickly, its numbers mean nothing."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
P = ("p50", "p99")
_QUALITY = ("pairs put together rightly", "pairs found", "lessons found")
FIGURES = {
    "machine": {"load average", "Python", "numpy", "fsync"},
    "start": {"healthy, empty data folder", "healthy, used data folder"},
    "memory": {"idle", "after the first search", "after 5 searches"},
    "users": {*(f"after {users} users" for users in (4, 20, 40)), "growth in the second half"},
    "install": {"packages", "on disk"},
    "publish": {"requests a second, 64 clients", *(f"{p}, {n} client{s}" for p in P for n, s in ((1, ""), (64, "s")))},
    "search": {f"3 × {rows}, {what}" for rows in (20, 40) for what in ("p50", "p95", "the first ever")},
    "search-in-process": {f"3 × {rows}, {what}" for rows in (20, 40) for what in ("p50", "p95")},
    "org": {
        *(f"one user's 20 of 60, {what}" for what in ("p50", "p95", "the first ever")),
        *(f"all 60, {what}" for what in ("p50", "p95", "the first ever")),
        "another user's 20, p50",
        "memory with all held",
    },
    "aggregation": {
        *(f"{part}: {what}" for part in ("open", "held") for what in _QUALITY),
        *(f"60 user playbooks, {what}" for what in ("the first time", "nothing new")),
        *(f"CPU, {what}" for what in ("60 lessons of 12 users for the first time", "one lesson more")),
    },
    "health": {
        "first look at all memories",
        *(f"injection stats, {days} days, p50" for days in (30, 90)),
        *(f"review queue, {whose}, p50" for whose in ("everyone's", "one user's")),
        *(f"{what}, p50" for what in ("citation stats", "costs by memory", "costs by day")),
    },
    "telemetry": {
        "added to a request",
        "a search of 3 × 1,000 in process",
        "share of a search",
        "a span that is off",
    },
    "metered": {"what a search waits longer for being metered", "processor time with all the counting"},
    "worth": {
        "helpful above harmful",
        "useless and expensive: recall",
        "useless and expensive: precision",
        "harmful: flagged",
        "harmful: rightly so",
        "holdout interval covers the truth",
    },
}
FIGURES["operations"] = {"single requests a second, 64 clients", "operations a second in batches of 50"}
FIGURES["observer"] = {"added to a call, p50", "added to a call, p99", "of these not stored"}
FIGURES["rerun"] = {"interactions a second, 100", "windows a second", "steps of progress seen"}
FIGURES["learning"] = {
    f"{place}: {what}"
    for place in ("in a process of its own", "in the server's process")
    for what in (
        "search p95, idle",
        *(f"search {p} while learning, of idle" for p in ("p50", "p95")),
        "publishing, p99",
        "memory of the server",
    )
}
FIGURES["backlog"] = {
    f"{database}: {what}"
    for database in ("SQLite", "PostgreSQL")
    for what in ("a claim among 200 jobs, p50", "measuring the lag")
}
FIGURES |= {f"{name}-postgres": FIGURES[name] for name in ("publish", "search")}


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a quick run over all lines writes."""
    out = tmp_path_factory.mktemp("bench") / "figures.json"
    done = _bench(*FIGURES, "--quick", "--out", str(out))
    assert done.returncode == 0, done.stdout + done.stderr
    figures: dict[str, Any] = json.loads(out.read_text())
    return figures


@pytest.mark.parametrize("line", FIGURES)
def test_a_line_yields_its_figures(line: str, told: dict[str, Any]) -> None:
    figures = told["lines"][line]["figures"]

    assert told["quick"] is True
    assert {figure["name"] for figure in figures} == FIGURES[line]
    may_be_negative = line in ("metered", "worth", "observer", "users")  # a saving, or what a harmful memory does
    assert may_be_negative or all(figure["value"] >= 0 for figure in figures)


def test_a_line_runs_alone(tmp_path: Path) -> None:
    out = tmp_path / "figures.json"

    done = _bench("install", "--out", str(out))

    assert done.returncode == 0, done.stdout + done.stderr
    assert list(json.loads(out.read_text())["lines"]) == ["install"]


def test_a_line_that_does_not_exist_is_refused() -> None:
    done = _bench("speed-of-light")

    assert done.returncode == 2
    assert "speed-of-light" in done.stderr


def _bench(*arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "bench", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)
