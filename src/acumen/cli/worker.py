"""`acumen worker`: more hands for the background work of a Postgres."""

import asyncio
import json
import signal
from types import FrameType

import typer

from acumen.app import App
from acumen.cli.local import reach
from acumen.cli.serve import log_to_stderr
from acumen.errors import BadSettings
from acumen.settings import Settings


def run(settings: Settings, *, as_json: bool) -> None:
    """Until SIGTERM or SIGINT; then finishes the jobs it has begun."""
    _refuse_idleness(settings)
    asyncio.run(_work(settings, as_json=as_json))


def _refuse_idleness(settings: Settings) -> None:
    if not settings.database_url:
        raise BadSettings(
            "With SQLite `acumen serve` does the background work itself, and one machine needs no more: "
            "a worker of its own is for Postgres (set ACUMEN_DATABASE_URL=postgresql://…)."
        )
    if not settings.jobs.workers:
        raise BadSettings("With jobs.workers (ACUMEN_JOBS__WORKERS) at 0 this worker would do nothing: give --workers.")


async def _work(settings: Settings, *, as_json: bool) -> None:
    app = App(settings)
    try:
        await reach(app)
        log_to_stderr(settings.log_level)
        await app.start()
        stopped = _told_to_stop()
        _announce(app, as_json=as_json)
        await stopped.wait()
    finally:
        await app.stop()


def _told_to_stop() -> asyncio.Event:
    """Set by the first signal; the second one ends the process at once."""
    stopped, loop = asyncio.Event(), asyncio.get_running_loop()

    def stop(number: int, _frame: FrameType | None) -> None:
        signal.signal(number, signal.SIG_DFL)
        loop.call_soon_threadsafe(stopped.set)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    return stopped


def _announce(app: App, *, as_json: bool) -> None:
    told = {"workers": app.settings.jobs.workers, "data": app.storage_label}
    words = f"Acumen works on {told['data']}, {told['workers']} job(s) at once"
    typer.echo(json.dumps(told) if as_json else words)
