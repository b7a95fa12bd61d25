"""A backup in the place of the SQLite database: checked before anything is touched, and exchanged in one step."""

import contextlib
import errno
import os
import secrets
import shutil
import struct
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct
from pysqlite3 import dbapi2

from acumen.errors import BadInput, Conflict, NotFound, StorageFull, Unavailable
from acumen.settings import Settings
from acumen.storage.engine import backup, migrate

# Of the shared memory next to a database: every open connection holds a shared lock on this byte.
OPEN_BYTE = 128
SIDE_FILES = ("-wal", "-shm")
RELEASE_SECONDS = 6.0
# So many generations ahead, no index file of the replaced database passes for one of the restored rows.
GENERATIONS = 1_000_000


class Restored(Struct, frozen=True):
    """`replaced` is where the previous database is now; None if there was none."""

    path: str
    source: str
    bytes: int
    schema: str
    newest: str
    counts: dict[str, int]
    replaced: str | None


def restore(settings: Settings, source: Path, *, overwrite: bool = False) -> Restored:
    """The server has to be stopped. Until the last step the previous database is untouched."""
    target = settings.sqlite_path
    _check_request(settings, source, target, overwrite=overwrite)
    settings.data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
    part = target.with_name(f".{target.name}.restore")
    try:
        _copy(source, part)
        schema, counts = _checked(part, source)
        _begin_generation(part)
        backup.sync(part)
        replaced = _keep(target) if target.exists() else None
        part.replace(target)
        backup.sync(settings.data_dir)
    finally:
        for path in _files_of(part):
            path.unlink(missing_ok=True)
    size = target.stat().st_size
    return Restored(str(target), str(source.resolve()), size, schema, migrate.HEAD, counts, replaced)


def _check_request(settings: Settings, source: Path, target: Path, *, overwrite: bool) -> None:
    if settings.database_url:
        raise BadInput("This restores SQLite; Postgres is restored with its own tools, such as pg_restore.")
    if not source.is_file():
        raise NotFound(f"There is no file {source}.")
    if target.exists() and source.samefile(target):
        raise BadInput(f"{source} is the database itself; name a backup of it.")
    if not _is_released(target):
        raise Conflict(f"{target} is in use: stop the server (and `acumen` commands on this folder) first.")
    if target.exists() and not overwrite:
        raise Conflict(f"{target} exists. `--overwrite` replaces it, and keeps it under another name.")


def _is_released(database: Path) -> bool:
    """After a server was killed, its worker has the database open for a few seconds more."""
    until = time.monotonic() + RELEASE_SECONDS
    while in_use(database):
        if time.monotonic() > until:
            return False
        time.sleep(0.1)
    return True


def in_use(database: Path) -> bool:
    """Whether another process has the database open. Asks for its locks, so it changes nothing."""
    shared_memory = database.with_name(f"{database.name}-shm")
    if sys.platform != "linux" or not shared_memory.exists():
        return False
    import fcntl  # noqa: PLC0415 - not on every system

    wanted = struct.pack("hhqqi", fcntl.F_WRLCK, os.SEEK_SET, OPEN_BYTE, 1, 0)
    with shared_memory.open("rb+") as file:
        kind = struct.unpack("hhqqi", fcntl.fcntl(file, fcntl.F_GETLK, wanted))[0]
    return bool(kind != fcntl.F_UNLCK)


def _copy(source: Path, part: Path) -> None:
    """With the log of writes, where a database was copied together with it."""
    log = source.with_name(f"{source.name}-wal")
    try:
        for origin, copy in ((source, part), (log, part.with_name(f"{part.name}-wal"))):
            copy.unlink(missing_ok=True)
            if origin.is_file():
                os.close(os.open(copy, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
                shutil.copyfile(origin, copy)
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise StorageFull from error
        raise Unavailable(f"{source} could not be copied: {error.strerror}. Nothing was changed.") from error


def _checked(part: Path, source: Path) -> tuple[str, dict[str, int]]:
    """Its schema, and how much is in it; BadInput if it is damaged, or no database of ours."""
    try:
        with contextlib.closing(dbapi2.connect(str(part))) as conn:
            damage = [line for (line,) in conn.execute("PRAGMA integrity_check") if line != "ok"]
            if damage:
                raise BadInput(f"{source} is damaged, so nothing was changed: {damage[0]}.")
            conn.execute("PRAGMA journal_mode=DELETE")  # folds in the log, if there was one
            schema = _schema(conn, source)
            tables = ("orgs", "interactions", "profiles", "user_playbooks", "agent_playbooks")
            return schema, {table: conn.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in tables}
    except dbapi2.DatabaseError as error:
        raise BadInput(f"{source} cannot be read as a SQLite database, so nothing was changed: {error}.") from error


def _schema(conn: dbapi2.Connection, source: Path) -> str:
    try:
        ((schema,),) = conn.execute("SELECT version_num FROM alembic_version").fetchall()
    except (dbapi2.OperationalError, ValueError):
        raise BadInput(f"{source} is not a database of Acumen, so nothing was changed.") from None
    if not migrate.LAST_UNRELEASED <= schema <= migrate.HEAD:
        raise BadInput(
            f"{source} has schema {schema}; this version of Acumen reads {migrate.LAST_UNRELEASED} to {migrate.HEAD}. "
            "Nothing was changed."
        )
    return str(schema)


def _begin_generation(part: Path) -> None:
    """Caches and index files of the replaced database say nothing about the restored rows."""
    ahead = GENERATIONS + secrets.randbelow(GENERATIONS)
    with contextlib.closing(dbapi2.connect(str(part))) as conn:
        conn.execute("UPDATE orgs SET generation = generation + ?", (ahead,))
        conn.commit()


def _keep(target: Path) -> str:
    """A second name for the previous database, which then is one file."""
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%fZ")
    kept = target.with_name(f"{target.stem}-replaced-{stamp}{target.suffix}")
    # A damaged one cannot fold in its log, which then is kept next to it.
    with contextlib.suppress(dbapi2.DatabaseError), contextlib.closing(dbapi2.connect(str(target))) as conn:
        conn.execute("PRAGMA journal_mode=DELETE")
    kept.hardlink_to(target)
    for suffix in SIDE_FILES:  # they belong to the previous one, and would be read into the restored one
        side = target.with_name(f"{target.name}{suffix}")
        if side.exists():
            side.rename(kept.with_name(f"{kept.name}{suffix}"))
    return str(kept)


def _files_of(database: Path) -> list[Path]:
    return [database.with_name(f"{database.name}{suffix}") for suffix in ("", *SIDE_FILES, "-journal")]
