"""Whole tables as rows of plain values, the same from both databases, in the order of their keys."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from acumen.storage.engine.checksum import Values

# Rows that a database sends at a time.
FETCH_ROWS = 500

# What is read in place of a column.
Replaced = Mapping[sa.Column[Any], sa.ColumnElement[Any]]


class TableReader:
    """Reads on one connection, as much as fits into memory at a time."""

    def __init__(self, conn: sa.Connection, replaced: Replaced | None = None) -> None:
        self._conn = conn
        self._replaced = replaced or {}

    def count(self, table: sa.Table) -> int:
        return int(self._conn.execute(sa.select(sa.func.count()).select_from(table)).scalar_one())

    def after(self, table: sa.Table, key: Values | None) -> Iterator[Values]:
        """All rows, or those behind a key."""
        return self._rows(table, [] if key is None else [_key(table) > sa.tuple_(*key)])

    def until(self, table: sa.Table, key: Values) -> Iterator[Values]:
        return self._rows(table, [_key(table) <= sa.tuple_(*key)])

    def _rows(self, table: sa.Table, where: Sequence[sa.ColumnElement[bool]]) -> Iterator[Values]:
        columns = [_plain(self._replaced.get(column, column)) for column in table.c]
        query = sa.select(*columns).where(*where).order_by(*table.primary_key.columns)
        with self._conn.execution_options(yield_per=FETCH_ROWS).execute(query) as result:
            for page in result.partitions():
                yield from map(tuple, page)


def key_of(table: sa.Table, row: Values) -> list[Any]:
    places = [list(table.c).index(column) for column in table.primary_key.columns]
    return [row[place] for place in places]


def _key(table: sa.Table) -> Any:
    return sa.tuple_(*table.primary_key.columns)


def _plain(column: sa.ColumnElement[Any]) -> sa.ColumnElement[Any]:
    """JSON as the text that is stored."""
    return sa.cast(column, sa.Text) if isinstance(column.type, sa.JSON) else column
