"""Backups of SQLite on a schedule: a job of the local organization makes them, in whatever process runs it."""

import asyncio
from pathlib import Path

from acumen.deps import Deps
from acumen.model.ids import Millis
from acumen.model.jobs.events import BackupDue
from acumen.model.operations.alert import Problem, backup_failing
from acumen.model.times import HOUR_MS
from acumen.settings import Settings
from acumen.storage.engine import backup


async def back_up(_event: BackupDue, deps: Deps) -> None:
    """Raises where no whole backup could be made; the job is tried again."""
    if deps.settings.backup.folder:
        await asyncio.to_thread(backup.make_scheduled, deps.settings)


def first_at(settings: Settings, at: Millis) -> Millis:
    """After a start: when the last backup is old enough, which may be now. One elsewhere counts for nothing."""
    last = backup.last(settings)
    folder = Path(settings.backup.folder).expanduser().resolve()
    if last is None or not last.exists or Path(last.path).parent != folder:
        return at
    if last.at > at:  # made while the clock was ahead
        return at
    return Millis(max(at, last.at + HOUR_MS * settings.backup.every_hours))


async def problem(deps: Deps) -> Problem | None:
    """Why there is no new backup, if there is none."""
    return await deps.store.read(lambda tx: backup_failing(tx.jobs.find_by_event(BackupDue.name), tx.at))
