"""The server under measurement: a process of its own, on a free loopback port, ended by its id."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from msgspec import Struct

from bench.machine import cpu_seconds, rss_megabytes

LONGEST_START_SECONDS = 60
LONGEST_STOP_SECONDS = 30
LOOK_EVERY_SECONDS = 0.002
_HEALTH = b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"


class Server(Struct, frozen=True):
    """A running server. `healthy_after` is from exec to the first 200 of /health, in seconds."""

    pid: int
    port: int
    healthy_after: float

    @property
    def cpu_seconds(self) -> float:
        return cpu_seconds(self.pid)

    @property
    def worker_pids(self) -> list[int]:
        """The processes that run its jobs; waits until they are started."""
        children = Path(f"/proc/{self.pid}/task/{self.pid}/children")
        while not (pids := children.read_text().split()):
            time.sleep(LOOK_EVERY_SECONDS)
        return [int(pid) for pid in pids]

    @property
    def rss_megabytes(self) -> float:
        return rss_megabytes(self.pid)


@contextmanager
def serving(environ: Mapping[str, str], python: Path = Path(sys.executable)) -> Iterator[Server]:
    """`acumen serve` with these settings and none of our own surroundings'; `python` may be another checkout's."""
    port = _free_port()
    with (Path(environ["ACUMEN_DATA"]).parent / f"server-{port}.log").open("w+b") as log:
        began = time.perf_counter()
        process = subprocess.Popen(
            [str(python), "-m", "acumen.cli.main", "serve", "--port", str(port)],
            env={**_surroundings(), **environ},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        try:
            _wait_until_healthy(process, port, Path(log.name))
            yield Server(process.pid, port, time.perf_counter() - began)
        finally:
            _end(process)


def _surroundings() -> dict[str, str]:
    """Ours, but for what would make the server another one than a user starts."""
    ours = ("ACUMEN_", "OPENBLAS_", "PYTHONDONTWRITEBYTECODE")
    return {name: value for name, value in os.environ.items() if not name.startswith(ours)}


def _wait_until_healthy(process: "subprocess.Popen[bytes]", port: int, log: Path) -> None:
    give_up_at = time.monotonic() + LONGEST_START_SECONDS
    while not _healthy(port):
        if process.poll() is not None or time.monotonic() > give_up_at:
            raise RuntimeError(f"The server did not start:\n{log.read_text(errors='replace')[-4000:]}")
        time.sleep(LOOK_EVERY_SECONDS)


def _healthy(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
        connection.sendall(_HEALTH)
        return connection.recv(16).startswith(b"HTTP/1.1 200")
    return False


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(LONGEST_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
