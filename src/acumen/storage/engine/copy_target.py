"""The database that a copy writes. Each batch is stored with how far its table is, so a copy that is killed goes on.

Until the copy is whole and verified, the schema's stamp says so, and every version of Acumen refuses to serve it.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from msgspec import Struct

from acumen.errors import BadInput, Conflict
from acumen.storage.engine import migrate
from acumen.storage.engine.bulk_insert import BulkInsert
from acumen.storage.engine.checksum import Checksum, Values
from acumen.storage.engine.database import Database
from acumen.storage.engine.table_rows import TableReader, key_of
from acumen.storage.tables import metadata

_progress = sa.Table(
    "copied_tables",
    sa.MetaData(),
    sa.Column("table_name", sa.Text, primary_key=True),
    sa.Column("row_count", sa.BigInteger, nullable=False),
    sa.Column("last_key", sa.Text, nullable=False),
)


class TableProgress(Struct, frozen=True):
    rows: int = 0
    last_key: list[Any] | None = None


class CopyTarget:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._engine = database.engine()
        self._inserts: dict[str, BulkInsert] = {}

    def find_other_data(self) -> dict[str, int]:
        """Rows by table, unless they come from a copy that was interrupted."""
        with self._engine.connect() as conn:
            if migrate.current(conn) == migrate.COPYING:
                return {}
            stored = {table for table, _ in self._database.columns(conn)}
            rows = TableReader(conn)
            counts = {table.name: rows.count(table) for table in metadata.sorted_tables if table.name in stored}
        return {name: count for name, count in counts.items() if count}

    def begin(self) -> None:
        """Or go on with an earlier copy."""
        if other := self.find_other_data():
            raise _not_empty(other)
        with self._engine.connect() as conn:
            if migrate.current(conn) == migrate.COPYING:
                return
        migrate.migrate(self._database)
        with self._engine.begin() as conn:
            _progress.create(conn, checkfirst=True)
            migrate.stamp(conn, migrate.COPYING)

    def progress(self) -> dict[str, TableProgress]:
        """By table, as far as the copy has come."""
        with self._engine.connect() as conn:
            if migrate.current(conn) != migrate.COPYING:
                return {}
            rows = conn.execute(sa.select(_progress)).all()
        return {row.table_name: TableProgress(row.row_count, json.loads(row.last_key)) for row in rows}

    def checksum(self, table: sa.Table) -> Checksum:
        with self._engine.connect() as conn:
            return Checksum(TableReader(conn).after(table, None))

    def clear(self, table: sa.Table) -> None:
        with self._engine.begin() as conn:
            conn.execute(sa.delete(table))
            conn.execute(sa.delete(_progress).where(_progress.c.table_name == table.name))

    def write(self, table: sa.Table, rows: Sequence[Values], count: int) -> None:
        """`count`: how many rows of the table are there then."""
        insert = self._inserts.setdefault(table.name, BulkInsert(sa.insert(table), [column.name for column in table.c]))
        reached = {"row_count": count, "last_key": json.dumps(key_of(table, rows[-1]))}
        put = self._database.insert(_progress).on_conflict_do_update(index_elements=["table_name"], set_=reached)
        try:
            with self._engine.begin() as conn:
                insert.run(conn, [tuple(row) for row in rows])
                conn.execute(put, {"table_name": table.name, **reached})
        except (sa.exc.DataError, sa.exc.IntegrityError) as error:
            raise BadInput(f"A row of {table.name} cannot be stored in the target: {error.orig}".strip()) from error

    def finish(self, numbers: Mapping[str, int]) -> None:
        """`numbers`: the last that was given to a row, by table. From here on the target can be served."""
        with self._engine.begin() as conn:
            for name, number in numbers.items():
                _continue_numbering(conn, metadata.tables[name], number)
            _progress.drop(conn)
            migrate.stamp(conn, migrate.HEAD)
        with self._engine.connect().execution_options(isolation_level="AUTOCOMMIT") as conn:
            conn.execute(sa.text("ANALYZE"))


def _not_empty(other: Mapping[str, int]) -> Conflict:
    listed = ", ".join(f"{name} ({count:,})" for name, count in list(other.items())[: migrate.MOST_NAMED])
    return Conflict(f"The target has data already: {listed}. Name an empty database; nothing was changed.")


def _continue_numbering(conn: sa.Connection, table: sa.Table, number: int) -> None:
    (column,) = table.primary_key.columns
    if conn.dialect.name == "sqlite":
        conn.execute(sa.text("DELETE FROM sqlite_sequence WHERE name = :table"), {"table": table.name})
        row = {"table": table.name, "number": number}
        conn.execute(sa.text("INSERT INTO sqlite_sequence (name, seq) VALUES (:table, :number)"), row)
    elif number:
        row = {"table": table.name, "column": column.name, "number": number}
        conn.execute(sa.text("SELECT setval(pg_get_serial_sequence(:table, :column), :number)"), row)
