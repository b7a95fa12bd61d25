"""A whole store from one database to another, each named by its URL, sqlite:///PATH or postgresql://HOST/NAME."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import sqlalchemy as sa
from msgspec import Struct

from acumen.errors import BadInput
from acumen.storage.engine.copy_source import postgres_snapshot, sqlite_snapshot
from acumen.storage.engine.copy_store import Report, StoreCopy
from acumen.storage.engine.copy_target import CopyTarget
from acumen.storage.engine.database import Database
from acumen.storage.engine.table_rows import TableReader
from acumen.storage.memories.candidates import engines
from acumen.storage.memories.change_numbers import replaced_in_copy
from acumen.storage.tables import metadata

SQLITE = "sqlite:///"
SUFFIXES = (".db", ".sqlite", ".sqlite3")
POSTGRES = ("postgresql://", "postgres://")


class CopyPlan(Struct, frozen=True):
    """Rows by table: to copy, already copied by an interrupted copy, and in the way."""

    rows: dict[str, int]
    copied: dict[str, int]
    in_the_way: dict[str, int]


class CopyResult(Struct, frozen=True):
    """What is in both databases; empty tables are left out."""

    rows: dict[str, int]
    checksums: dict[str, str]


def plan(source: str, target: str) -> CopyPlan:
    """Changes nothing."""
    _require_two(source, target)
    with _snapshot(source) as conn:
        reader = TableReader(conn)
        rows = {table.name: reader.count(table) for table in metadata.sorted_tables}
    if target.startswith(SQLITE) and not _file(target).exists():
        return CopyPlan(rows, {}, {})
    with _opened(target) as database:
        to = CopyTarget(database)
        copied = {name: progress.rows for name, progress in to.progress().items()}
        return CopyPlan(rows, copied, to.find_other_data())


def copy(source: str, target: str, report: Report) -> CopyResult:
    """Goes on where an interrupted copy stopped. Returns when every table was verified."""
    _require_two(source, target)
    with _snapshot(source) as conn, _opened(target) as database:
        reader = TableReader(conn, replaced_in_copy(conn, database.name))
        sums = StoreCopy(conn, reader, CopyTarget(database), report).run()
        engines.install(database, lambda _line: None)
    filled = {name: checksum for name, checksum in sums.items() if checksum.rows}
    return CopyResult(
        {name: checksum.rows for name, checksum in filled.items()},
        {name: checksum.digest for name, checksum in filled.items()},
    )


def _require_two(source: str, target: str) -> None:
    for url in (source, target):
        if not url.startswith((SQLITE, *POSTGRES)):
            raise BadInput("Name a database by its URL: sqlite:///PATH (a file or a data folder) or postgresql://…")
    if source == target or (source.startswith(SQLITE) and target.startswith(SQLITE) and _file(source) == _file(target)):
        raise BadInput("Source and target are the same database.")


@contextmanager
def _snapshot(url: str) -> Iterator[sa.Connection]:
    if url.startswith(SQLITE):
        with sqlite_snapshot(_file(url)) as conn:
            yield conn
        return
    with _opened(url) as database, postgres_snapshot(database.engine()) as conn:
        yield conn


@contextmanager
def _opened(url: str) -> Iterator[Database]:
    database = _connect(url)
    try:
        yield database
    finally:
        database.close()


def _connect(url: str) -> Database:
    """The driver of the other database is never loaded."""
    if url.startswith(SQLITE):
        from acumen.storage.engine.sqlite import Sqlite  # noqa: PLC0415 - as above

        file = _file(url)
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.close(os.open(file, os.O_CREAT | os.O_WRONLY, 0o600))  # for its owner only, wherever it is
        return Sqlite(file)
    from acumen.storage.engine.postgres import Postgres  # noqa: PLC0415 - as above

    return Postgres(url.replace("postgres://", "postgresql://", 1))


def _file(url: str) -> Path:
    """In a data folder, the file that a server uses. What does not exist is a folder unless it is called a database."""
    path = Path(url.removeprefix(SQLITE)).expanduser().resolve()
    is_folder = path.is_dir() or not (path.exists() or path.suffix in SUFFIXES)
    return path / "acumen.db" if is_folder else path
