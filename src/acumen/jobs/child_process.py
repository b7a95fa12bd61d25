"""Worker processes that a server starts: woken and stopped through a pipe, restarted when they die.

The child reads its settings and then single bytes from its standard input, and writes a report per line to its
standard output. When its parent is gone, however it ended, the pipe ends and the child ends with it.
"""

import asyncio
import contextlib
import logging
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence

import msgspec
from msgspec import Struct, field

from acumen.settings import JobSettings

log = logging.getLogger(__name__)

WAKE, STOP = b"w", b"s"
# How often a child reports, and after how long without a report it is said not to respond.
REPORT_SECONDS = 2.0
SILENT_SECONDS = 30.0
FIRST_BACKOFF_SECONDS, LONGEST_BACKOFF_SECONDS = 0.5, 30.0
# A child that ran for this long is restarted at once: what ended it is not its start.
STABLE_SECONDS = 60.0
MOST_REPORT_BYTES = 1024 * 1024
# What a child needs to end beyond the time that its jobs may take.
EXIT_SECONDS = 3.0


def child_processes(settings: JobSettings) -> int:
    """How many worker processes a server starts on this machine."""
    if not settings.workers or sys.platform == "win32":
        return 0
    if settings.processes is not None:
        return settings.processes
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores - 1, 1)


class JobRun(Struct, frozen=True):
    event: str
    result: str
    seconds: float


class Report(Struct, frozen=True):
    """What a worker process says of itself, and the jobs that it ran since the last report."""

    model_problems: Mapping[str, str] = field(default_factory=dict)  # see `Gateway.problems`
    runs: Sequence[JobRun] = ()


class ChildProcess:
    """One worker process and its successors."""

    def __init__(self, command: Sequence[str], settings: str, on_report: Callable[[Report], None]) -> None:
        self._command = command
        self._settings = settings
        self._on_report = on_report
        self._process: asyncio.subprocess.Process | None = None
        self._reported_at = 0.0
        self._died: str | None = None  # how the last one ended, until the next one reports

    @property
    def pid(self) -> int | None:
        return None if self._process is None else self._process.pid

    @property
    def problem(self) -> str | None:
        if self._died:
            return self._died
        silent = time.monotonic() - self._reported_at
        if self._process is not None and silent > SILENT_SECONDS:
            return f"process {self.pid} has not responded for {silent:.0f} s"
        return None

    def wake(self) -> None:
        self._send(WAKE)

    async def serve(self, stop: asyncio.Event) -> None:
        """Keeps a process running until `stop`, which asks the last one to finish its jobs."""
        backoff = FIRST_BACKOFF_SECONDS
        stopped = asyncio.create_task(stop.wait())
        try:
            while not stop.is_set():
                began = time.monotonic()
                await self._run(stopped)
                if time.monotonic() - began > STABLE_SECONDS:
                    backoff = FIRST_BACKOFF_SECONDS
                if not stop.is_set():
                    log.error("%s; it is restarted in %g s", self._died, backoff)
                    await asyncio.wait([stopped], timeout=backoff)
                    backoff = min(2 * backoff, LONGEST_BACKOFF_SECONDS)
        finally:
            stopped.cancel()
            await self._kill()

    async def _run(self, stopped: "asyncio.Task[bool]") -> None:
        """Returns when the process has ended."""
        try:
            self._process = await self._start()
        except OSError as error:
            self._died = f"no worker process can be started: {error}"
            return
        self._reported_at = time.monotonic()
        reading = asyncio.create_task(self._read_reports(self._process))
        ended = asyncio.create_task(self._process.wait())
        try:
            await asyncio.wait([ended, stopped], return_when=asyncio.FIRST_COMPLETED)
            self._send(STOP)
            code = await ended
            self._died = f"worker process {self.pid} ended with {code}"
            self._process = None
        finally:
            reading.cancel()
            ended.cancel()

    async def _start(self) -> asyncio.subprocess.Process:
        """In a session of its own: Ctrl-C is for the server, which ends its children in order."""
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            *self._command, stdin=pipe, stdout=pipe, start_new_session=True, limit=MOST_REPORT_BYTES
        )
        if process.stdin is not None:
            process.stdin.write(self._settings.encode() + b"\n")
        return process

    async def _read_reports(self, process: asyncio.subprocess.Process) -> None:
        while process.stdout is not None and (line := await process.stdout.readline()):
            try:
                self._on_report(msgspec.json.decode(line, type=Report))
            except msgspec.MsgspecError as error:
                log.warning("a report of worker process %s cannot be read: %s", process.pid, error)
            self._reported_at = time.monotonic()
            self._died = None

    def _send(self, byte: bytes) -> None:
        """Does not wait; a process that has just ended gets nothing."""
        if self._process is None or self._process.stdin is None or self._process.stdin.is_closing():
            return
        # What is not read yet wakes it as well.
        if byte == STOP or not self._process.stdin.transport.get_write_buffer_size():
            self._process.stdin.write(byte)

    async def _kill(self) -> None:
        """Only one that did not end in time is still there."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()
            self._process = None


class ChildProcesses:
    """All worker processes of a server."""

    def __init__(self, on_report: Callable[[Report], None]) -> None:
        self._on_report = on_report
        self._children: list[ChildProcess] = []
        self._tasks: list[asyncio.Task[None]] = []

    def __bool__(self) -> bool:
        return bool(self._children)

    def start(self, count: int, command: Sequence[str], settings: str, stop: asyncio.Event) -> None:
        """Returns at once: the server answers before its workers run."""
        self._children = [ChildProcess(command, settings, self._on_report) for _ in range(count)]
        self._tasks = [asyncio.create_task(child.serve(stop)) for child in self._children]

    async def wait(self, seconds: float) -> None:
        """Until all have ended after their `stop`; what has not ended by then is killed."""
        if self._tasks:
            _, late = await asyncio.wait(self._tasks, timeout=seconds + EXIT_SECONDS)
            for task in late:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    def wake(self) -> None:
        for child in self._children:
            child.wake()

    @property
    def pids(self) -> list[int]:
        return [child.pid for child in self._children if child.pid is not None]

    @property
    def problem(self) -> str | None:
        return "; ".join(child.problem for child in self._children if child.problem) or None
