"""A worker process of `acumen serve`: `python -m acumen.cli.local.child_worker`, see `jobs/child_process.py`."""

import asyncio
import contextlib
import gc
import os
import signal
import sys
import threading
import time
from collections.abc import Callable

import msgspec

from acumen.app import App
from acumen.jobs.child_process import EXIT_SECONDS, REPORT_SECONDS, STOP
from acumen.operate import reach
from acumen.settings import Settings
from acumen.telemetry import logs

# The server answers people, the worker nobody: where both want a core, the server has it three times as long.
NICENESS = 5
MOST_BYTES = 4096


def main() -> None:
    with open(sys.stdin.fileno(), "rb", buffering=0, closefd=False) as pipe:  # reads no further than the line
        settings = Settings.model_validate_json(pipe.readline())
    reports = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what a library prints is no report
    gc.freeze()  # what is imported stays
    with contextlib.suppress(OSError):
        os.nice(NICENESS)
    logs.to_stderr(settings)
    asyncio.run(_work(settings, reports))


async def _work(settings: Settings, reports: int) -> None:
    parts = App(settings)
    stop, gone = asyncio.Event(), asyncio.Event()
    _stop_on_signals(stop)
    _listen(parts.wake_worker, stop, gone)
    try:
        await reach(parts.store, settings)
        await parts.start_tasks()
        await _report_until(stop, parts, reports)
    finally:
        await parts.stop(at_once=gone.is_set())


async def _report_until(stop: asyncio.Event, parts: App, reports: int) -> None:
    while not stop.is_set():
        with contextlib.suppress(BrokenPipeError):  # the server is gone, and `_listen` says so too
            os.write(reports, msgspec.json.encode(parts.report()) + b"\n")
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), REPORT_SECONDS)


def _stop_on_signals(stop: asyncio.Event) -> None:
    """The first signal finishes the current jobs, the second ends the process at once."""
    loop = asyncio.get_running_loop()

    def leave(number: int) -> None:
        loop.remove_signal_handler(number)
        stop.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, leave, number)


def _listen(wake: Callable[[], None], stop: asyncio.Event, gone: asyncio.Event) -> None:
    """In a thread, so that the end of the server is noticed whatever the event loop is busy with."""
    loop = asyncio.get_running_loop()

    def listen() -> None:
        while received := os.read(sys.stdin.fileno(), MOST_BYTES):
            loop.call_soon_threadsafe(stop.set if STOP in received else wake)
        # The server is gone, perhaps while it waited for this process to finish its jobs.
        with contextlib.suppress(RuntimeError):  # the event loop has ended
            loop.call_soon_threadsafe(gone.set)
            loop.call_soon_threadsafe(stop.set)
        time.sleep(EXIT_SECONDS)
        os._exit(1)  # a step that does not yield would go on beside the next server's

    threading.Thread(target=listen, name="server", daemon=True).start()


if __name__ == "__main__":
    main()
