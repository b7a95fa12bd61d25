"""The machine we measure on: what it can do right now, and what a process has used of it. Reads /proc (Linux)."""

import os
import platform
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.figures import Figure, Run, median

_TICKS = os.sysconf("SC_CLK_TCK")
_MEGABYTE = 1_000_000


def described() -> dict[str, Any]:
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "system": platform.platform(),
        "load_average": load_average(),
    }


def load_average() -> float:
    """Over the last minute: processes that computed or wanted to."""
    return os.getloadavg()[0]


def pace() -> float:
    """Milliseconds for a fixed piece of Python, right now: others who compute make it longer."""
    return _median_ms(_count, 5)


def cpu_seconds(pid: int) -> float:
    """Computed by a process since it began, in its own code and in the kernel's."""
    after_name = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(after_name[11]) + int(after_name[12])) / _TICKS


def rss_megabytes(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    kibibytes = next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:"))
    return kibibytes * 1024 / _MEGABYTE


def measure(run: Run) -> Iterator[Figure]:
    """Fixed pieces of work: compare two runs by the ratio of these before comparing anything else."""
    times = run.many(7, 1)
    _numbers()
    yield Figure("load average", load_average(), "", note="over the last minute, before this run")
    yield Figure("Python", _median_ms(_count, times), "ms", note="sum of 300,000 remainders")
    yield Figure("numpy", _median_ms(_multiply, times), "ms", note="40,000 × 384 floats times a vector, 5 times")
    # A file with a name: the file system has less to do for one that nobody could find again.
    with tempfile.NamedTemporaryFile(dir=run.folder, buffering=0) as file:
        yield Figure("fsync", _median_ms(lambda: _to_disk(file), run.many(50, 3)), "ms", note="after writing 600 bytes")


def _median_ms(work: Callable[[], object], times: int) -> float:
    taken = []
    for _ in range(times):
        began = time.perf_counter()
        work()
        taken.append((time.perf_counter() - began) * 1000)
    return median(taken)


def _count() -> int:
    return sum(number % 7 for number in range(300_000))


def _multiply() -> float:
    matrix, vector = _numbers()
    return sum(float((matrix @ vector)[0]) for _ in range(5))


@cache
def _numbers() -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    random = np.random.default_rng(7)
    return random.random((40_000, 384), np.float32), random.random(384, np.float32)


def _to_disk(file: Any) -> None:
    file.write(b"x" * 600)
    os.fsync(file.fileno())


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown")
