"""Copies a whole store from one database to another, table by table, and verifies it."""

from collections.abc import Callable, Iterator
from typing import Any

import sqlalchemy as sa
from msgspec import Struct

from acumen.errors import Conflict
from acumen.storage.engine.checksum import Checksum, Values
from acumen.storage.engine.copy_source import last_number
from acumen.storage.engine.copy_target import CopyTarget, TableProgress
from acumen.storage.engine.table_rows import TableReader
from acumen.storage.tables import metadata

# A batch is a transaction. It ends with either.
BATCH_ROWS = 5_000
BATCH_BYTES = 8_000_000


class CopyStep(Struct, frozen=True):
    """How far the copy is with one table."""

    action: str  # what is done: check, copy, verify
    table: str
    rows: int
    total: int


Report = Callable[[CopyStep], None]


class StoreCopy:
    """One run of a copy. What an earlier run has copied is compared with the source before it goes on."""

    def __init__(self, conn: sa.Connection, source: TableReader, target: CopyTarget, report: Report) -> None:
        self._conn = conn
        self._source = source
        self._target = target
        self._report = report

    def run(self) -> dict[str, Checksum]:
        """By table; equal in both databases."""
        self._target.begin()
        progress = self._target.progress()
        sums = {
            table.name: self._copy(table, progress.get(table.name, TableProgress())) for table in metadata.sorted_tables
        }
        for table in metadata.sorted_tables:
            self._verify(table, sums[table.name])
        self._target.finish({table.name: last_number(self._conn, table) for table in _numbered()})
        return sums

    def _copy(self, table: sa.Table, progress: TableProgress) -> Checksum:
        total = self._source.count(table)
        checksum, key = self._resume(table, progress, total)
        for batch in _batches(self._source.after(table, key)):
            for row in batch:
                checksum.add(row)
            self._target.write(table, batch, checksum.rows)
            self._report(CopyStep("copy", table.name, checksum.rows, total))
        return checksum

    def _resume(self, table: sa.Table, progress: TableProgress, total: int) -> tuple[Checksum, list[Any] | None]:
        """A table that has changed in the source since is copied again."""
        if progress.last_key is None:
            return Checksum(), None
        self._report(CopyStep("check", table.name, progress.rows, total))
        checksum = Checksum(self._source.until(table, progress.last_key))
        if checksum.agrees_with(self._target.checksum(table)):
            return checksum, progress.last_key
        self._target.clear(table)
        return Checksum(), None

    def _verify(self, table: sa.Table, expected: Checksum) -> None:
        self._report(CopyStep("verify", table.name, expected.rows, expected.rows))
        stored = self._target.checksum(table)
        if not stored.agrees_with(expected):
            raise Conflict(
                f"Table {table.name} differs: {expected.rows:,} rows with checksum {expected.digest} in the source, "
                f"{stored.rows:,} with {stored.digest} in the target. Run this again; it copies that table again."
            )


def _batches(rows: Iterator[Values]) -> Iterator[list[Values]]:
    batch: list[Values] = []
    size = 0
    for row in rows:
        batch.append(row)
        size += sum(len(value) for value in row if isinstance(value, str | bytes))
        if len(batch) >= BATCH_ROWS or size >= BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _numbered() -> list[sa.Table]:
    """Tables whose rows the database numbers."""
    return [table for table in metadata.sorted_tables if table.autoincrement_column is not None]
