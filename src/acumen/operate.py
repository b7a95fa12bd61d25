"""What an operator does with a database, with or without a running server: inspect, migrate, back up."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from msgspec import Struct

from acumen.errors import AcumenError, BadSettings
from acumen.settings import Settings
from acumen.storage import copies
from acumen.storage.accounts.api_keys import any_exist
from acumen.storage.copies import CopyPlan, CopyResult
from acumen.storage.engine import backup, migrate, restore
from acumen.storage.engine.backup import Backup
from acumen.storage.engine.copy_store import CopyStep, Report
from acumen.storage.engine.database import Database
from acumen.storage.engine.restore import Restored
from acumen.storage.memories import change_numbers
from acumen.storage.memories.candidates import engines
from acumen.storage.sqlite_errors import means_damage
from acumen.storage.store import Store, connect

T = TypeVar("T")

# Types of the copy, for callers outside of storage.
__all__ = ["CopyStep", "Report"]
NEWEST_SCHEMA = migrate.HEAD
SEARCH_ENGINE = engines.ENGINE


class SchemaChange(Struct, frozen=True):
    """The schema before and after a migration; None is an empty database."""

    before: str | None
    after: str | None
    newest: str = NEWEST_SCHEMA
    # What a person has to do so that the database can search large scopes; None: nothing.
    advice: str | None = None


def prepare(store: Store, settings: Settings) -> None:
    """The database has the schema of this version: SQLite is migrated, Postgres is left to a person."""
    if migrate.needed(store.database):
        if settings.database_url:
            raise BadSettings("The Postgres schema is not up to date: run `acumen migrate` first.")
        migrate.migrate(store.database)
    migrate.check_schema(store.database)
    change_numbers.stop_counting(store.database)
    store.database.keep_reserve()


async def reach(store: Store, settings: Settings) -> None:
    """As `prepare`, and Unavailable where the database does not answer."""
    await store.read(migrate.current)
    prepare(store, settings)


def database_exists(settings: Settings) -> bool:
    """Inspecting must not create a database. A Postgres counts as existing until it is asked."""
    return bool(settings.database_url) or settings.sqlite_path.exists()


def migrate_database(
    settings: Settings, *, only_check: bool = False, progress: Callable[[str], None] = lambda _: None
) -> SchemaChange:
    if only_check and not database_exists(settings):
        return SchemaChange(None, None)
    database = connect(settings)
    try:
        before = asyncio.run(database.read(migrate.current))
        if migrate.needed(database) and not only_check:
            migrate.migrate(database)
        if not only_check:  # also where an earlier run was interrupted, or the server has the extension only now
            engines.install(database, progress)
            change_numbers.stop_counting(database)
        after = asyncio.run(database.read(migrate.current))
        advice = asyncio.run(database.read(lambda conn: engines.advice(database, conn))) if after else None
        return SchemaChange(before, after, advice=advice)
    finally:
        database.close()


def database_name(settings: Settings) -> str:
    """The URL of the configured database."""
    return settings.database_url or f"{copies.SQLITE}{settings.sqlite_path}"


def plan_copy(source: str, target: str) -> CopyPlan:
    """What `copy_store` would do, by table; changes nothing."""
    return copies.plan(source, target)


def copy_store(source: str, target: str, report: Report) -> CopyResult:
    """Moves everything to an empty database, both named by their URLs. An interrupted copy goes on."""
    return copies.copy(source, target, report)


def back_up(settings: Settings, target: Path) -> Backup:
    """Copies a SQLite database in use to a new file and checks the copy."""
    return backup.make(settings, target)


def restore_backup(settings: Settings, source: Path, *, overwrite: bool) -> Restored:
    """Puts a checked backup in the place of the SQLite database of a stopped server."""
    return restore.restore(settings, source, overwrite=overwrite)


def last_backup(settings: Settings) -> Backup | None:
    """Of SQLite; Postgres is backed up with its own tools."""
    return None if settings.database_url else backup.last(settings)


# --- inspecting -----------------------------------------------------------------------------------------------------


def versions(settings: Settings) -> tuple[str, str | None]:
    """The name and version of the database, and the schema it is at (None: empty)."""
    return _read(settings, lambda conn, database: (database.version(conn), migrate.current(conn)))


async def running_versions(store: Store) -> tuple[str, str | None]:
    """As `versions`, of the database of a running server."""
    return await store.read(lambda conn: (store.database.version(conn), migrate.current(conn)))


async def search_problem(store: Store) -> str | None:
    """Why large scopes are searched in memory, and what to do about it; None when the database searches them."""
    return await store.read(lambda conn: engines.advice(store.database, conn))


def search_advice(settings: Settings) -> str | None:
    """As `search_problem`, without a running server."""
    return _read(settings, lambda conn, database: engines.advice(database, conn))


async def running_problem(store: Store) -> str | None:
    """Why the database of a running server would lose or refuse what is written, if it would."""
    return await store.database.problem()


def problems(settings: Settings) -> list[str]:
    """What the database's own integrity check finds."""
    try:
        return _read(settings, lambda conn, database: database.check(conn))
    except AcumenError as error:
        if error.__cause__ is None or not means_damage(error.__cause__):
            raise
        return [str(error.__cause__)]


def any_key_exists(settings: Settings) -> bool:
    return _read(settings, lambda conn, _database: migrate.current(conn) is not None and any_exist(conn))


def _read(settings: Settings, query: Callable[[Any, Database], T]) -> T:
    database = connect(settings)
    try:
        return asyncio.run(database.read(lambda conn: query(conn, database)))
    finally:
        database.close()
