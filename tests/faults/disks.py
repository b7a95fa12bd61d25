"""Disks that run full: a small one of their own where we may mount it, and a limit on files where we may not."""

import contextlib
import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from tests.faults.server import Server

SIZE = "24m"


class Disk(Protocol):
    """Where a server keeps its data. `refusal` is the status by which it says that nothing fits any more."""

    folder: Path
    refusal: int

    def fill(self, server: Server) -> None: ...

    def free(self, server: Server) -> None: ...


class SmallDisk:
    """Full as disks are: ENOSPC."""

    refusal = 507

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "data"
        self._ballast = folder / "ballast"

    def fill(self, server: Server) -> None:
        with self._ballast.open("wb", buffering=0) as ballast, contextlib.suppress(OSError):
            while True:
                ballast.write(bytes(4096))

    def free(self, server: Server) -> None:
        self._ballast.unlink()


class FileLimit:
    """No file of the process can be written to: EFBIG, which SQLite takes for a broken disk rather than a full one."""

    refusal = 503

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "data"

    def fill(self, server: Server) -> None:
        self._limit(server, 0)

    def free(self, server: Server) -> None:
        self._limit(server, resource.RLIM_INFINITY)

    def _limit(self, server: Server, size: int) -> None:
        if sys.platform == "linux":
            resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


@contextmanager
def small_disk(folder: Path) -> Iterator[SmallDisk]:
    _mount(folder)
    try:
        yield SmallDisk(folder)
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def can_mount(folder: Path) -> bool:
    if os.geteuid() != 0:
        return False
    try:
        with small_disk(folder):
            return True
    except (OSError, subprocess.CalledProcessError):
        return False


def _mount(folder: Path) -> None:
    command = ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", str(folder)]
    subprocess.run(command, check=True, capture_output=True)
