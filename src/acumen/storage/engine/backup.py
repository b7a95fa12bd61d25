"""A copy of the SQLite database, made while it is in use: whole, checked, and remembered."""

import contextlib
import json
import os
import time
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct
from msgspec.structs import asdict
from pysqlite3 import dbapi2

from acumen.errors import BadInput, Conflict, NotFound, StorageFull, Unavailable
from acumen.model.ids import Millis, now
from acumen.settings import Settings

REMEMBERED = "backup.json"
# Names of scheduled backups, whose order is that of their times. No other file is ever deleted.
SCHEDULED = f"acumen-{'[0-9]' * 8}T{'[0-9]' * 6}Z.db"


class Backup(Struct, frozen=True):
    path: str
    bytes: int
    at: Millis
    seconds: float

    @property
    def exists(self) -> bool:
        return Path(self.path).is_file()


def make(settings: Settings, target: Path) -> Backup:
    """As of one moment, without what was erased. It appears under its name only when it is whole and was checked."""
    if settings.database_url:
        raise BadInput("This copies SQLite; Postgres is copied with its own tools, such as pg_dump.")
    if not settings.sqlite_path.is_file():
        raise NotFound(f"There is no database at {settings.sqlite_path}.")
    if target.exists():
        raise Conflict(f"{target} exists already; name a new file.")
    began, at = time.monotonic(), now()
    part = target.with_name(f".{target.name}.part")
    try:
        _copy(settings.sqlite_path, part)
        part.rename(target)
        sync(target.parent)
    finally:
        part.unlink(missing_ok=True)
    made = Backup(str(target.resolve()), target.stat().st_size, at, round(time.monotonic() - began, 2))
    (settings.data_dir / REMEMBERED).write_text(json.dumps(asdict(made)))
    return made


def make_scheduled(settings: Settings) -> Backup:
    """In the folder of the settings, under the time of today (UTC). Only then the oldest of these are deleted."""
    folder = Path(settings.backup.folder).expanduser()
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        for unfinished in folder.glob(f".{SCHEDULED}.part"):  # of a process that was killed
            unfinished.unlink()
        made = make(settings, folder / f"acumen-{datetime.now(UTC):%Y%m%dT%H%M%SZ}.db")
        for old in sorted(folder.glob(SCHEDULED))[: -settings.backup.keep]:
            old.unlink()
    except OSError as error:
        raise Unavailable(f"The backup in {folder} failed: {error.strerror or error}.") from error
    return made


def last(settings: Settings) -> Backup | None:
    """The one that was made last, if it is known of any."""
    try:
        return Backup(**json.loads((settings.data_dir / REMEMBERED).read_text()))
    except (OSError, ValueError, TypeError):
        return None


def _copy(source: Path, part: Path) -> None:
    part.unlink(missing_ok=True)
    os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))  # for its owner only, like the original
    try:
        with contextlib.closing(dbapi2.connect(str(source), timeout=10)) as conn:
            conn.execute("VACUUM INTO ?", (str(part),))
        with contextlib.closing(dbapi2.connect(str(part))) as conn:
            damage = [line for (line,) in conn.execute("PRAGMA integrity_check") if line != "ok"]
    except dbapi2.Error as wrong:
        full = "full" in str(wrong)
        raise StorageFull() if full else Unavailable(f"The copy could not be made: {wrong}.") from wrong
    if damage:
        raise Unavailable(f"The copy is damaged, so it was not kept: {damage[0]}. Run `acumen doctor`.")
    sync(part)


def sync(path: Path) -> None:
    """A file or a folder: what it holds or names survives a power loss."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
