"""`acumen worker`: a process that only runs background jobs."""

import asyncio
import json
import signal
from types import FrameType

import typer

from acumen.app import App
from acumen.cli.local.setup import job_settings, settings_of
from acumen.cli.options import AsJson, ConfigFile, Workers, examples
from acumen.errors import BadSettings
from acumen.operate import reach
from acumen.settings import Settings
from acumen.telemetry import logs

app = typer.Typer()


@app.command(epilog=examples("ACUMEN_DATABASE_URL=postgresql://… acumen worker --workers 4"))
def worker(config: ConfigFile = None, workers: Workers = None, as_json: AsJson = False) -> None:
    """Run background jobs only, on Postgres, next to `acumen serve`. SIGTERM finishes the current jobs."""
    settings = settings_of(None, config, **job_settings(workers))
    if not settings.database_url:
        raise BadSettings(
            "`acumen worker` needs Postgres (set ACUMEN_DATABASE_URL=postgresql://…). "
            "With SQLite, `acumen serve` starts its own worker process."
        )
    if not settings.jobs.workers:
        raise BadSettings("jobs.workers (ACUMEN_JOBS__WORKERS) is 0, so this worker would run nothing: pass --workers.")
    asyncio.run(_work(settings, as_json=as_json))


async def _work(settings: Settings, *, as_json: bool) -> None:
    parts = App(settings)
    try:
        await reach(parts.store, settings)
        logs.to_stderr(settings)
        await parts.start()
        stopped = _stop_signal()
        ready = {"workers": settings.jobs.workers, "data": parts.storage_label}
        text = f"Acumen worker is ready on {ready['data']}, running up to {ready['workers']} jobs at once"
        typer.echo(json.dumps(ready) if as_json else text)
        await stopped.wait()
    finally:
        await parts.stop()


def _stop_signal() -> asyncio.Event:
    """Set by the first signal; the second one ends the process at once."""
    stopped, loop = asyncio.Event(), asyncio.get_running_loop()

    def stop(number: int, _frame: FrameType | None) -> None:
        signal.signal(number, signal.SIG_DFL)
        loop.call_soon_threadsafe(stopped.set)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    return stopped
