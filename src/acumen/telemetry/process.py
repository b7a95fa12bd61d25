"""Figures of this process, by the names that Prometheus' own clients use."""

import os
import time
from pathlib import Path

from acumen.telemetry.instruments import Family, counter, gauge

PROC = Path("/proc/self")
STARTED_AT = time.time()


def families() -> list[Family]:
    """Memory and descriptors are known on Linux only."""
    user, system, *_ = os.times()
    return [
        counter("process_cpu_seconds_total", "User and system CPU time.", user + system),
        gauge("process_start_time_seconds", "When the process started, in epoch seconds.", STARTED_AT),
        *(_of_linux() if PROC.exists() else []),
    ]


def _of_linux() -> list[Family]:
    import resource  # noqa: PLC0415 - not on every system

    pages = int((PROC / "statm").read_text().split()[1])
    return [
        gauge("process_resident_memory_bytes", "Resident memory.", pages * os.sysconf("SC_PAGE_SIZE")),
        gauge("process_open_fds", "Open file descriptors.", sum(1 for _ in (PROC / "fd").iterdir())),
        gauge(
            "process_max_fds",
            "Most file descriptors that may be open.",
            resource.getrlimit(resource.RLIMIT_NOFILE)[0],
        ),
    ]
