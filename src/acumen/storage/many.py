"""An INSERT of many rows in few steps: the driver makes room for other threads at every step, and waits to go on."""

import contextlib
import re
from collections.abc import Iterator, Sequence
from itertools import chain
from operator import itemgetter
from typing import Any

import sqlalchemy as sa

from acumen.storage.prepared import Form, translated

# So many rows in a statement. What is left over goes by powers of two, so that there are few texts.
MOST_ROWS = 32
MOST_FORMS = 500
_NAMED = re.compile(r"%\((\w+)\)s")
_ROW = re.compile(r"VALUES (\([^)]*\))")

Values = tuple[Any, ...]
# The dialect, how many rows, and which of the columns they fill.
Key = tuple[str, int, tuple[int, ...]]


class Many:
    """Rows of values that drivers take as they are, in the order of the columns.

    A column that none of the rows fills is left out: to bind a NULL costs as much as to bind a text. What cannot
    fail halfway says so to SQLite (`OR IGNORE`), which else keeps a copy of every page that it changes.
    """

    def __init__(self, statement: sa.Insert, columns: Sequence[str]) -> None:
        self._statement = statement
        self._columns = columns
        self._forms: dict[Key, Form] = {}

    def run(self, conn: sa.Connection, rows: Sequence[Values]) -> int:
        """How many rows were written."""
        return sum(cursor.rowcount for cursor in self._runs(conn, rows))

    def returned(self, conn: sa.Connection, rows: Sequence[Values]) -> list[Values]:
        """What the statement returns of the rows that were written."""
        return [row for cursor in self._runs(conn, rows) for row in cursor.fetchall()]

    def _runs(self, conn: sa.Connection, rows: Sequence[Values]) -> Iterator[Any]:
        for some in _parts(rows):
            used = tuple(
                place for place, values in enumerate(zip(*some, strict=True)) if values.count(None) < len(some)
            )
            key = (conn.dialect.name, len(some), used)
            text, values = self._forms.get(key) or self._compiled(key, conn.dialect)
            with translated(conn, text), contextlib.closing(conn.connection.cursor()) as cursor:
                cursor.execute(text, list(chain.from_iterable(map(values, some))))
                yield cursor

    def _compiled(self, key: Key, dialect: sa.Dialect) -> Form:
        _, size, used = key
        compiled = self._statement.compile(dialect=dialect, column_keys=[self._columns[place] for place in used])
        in_order = compiled.positiontup or _NAMED.findall(str(compiled))
        text = _ROW.sub(lambda row: f"VALUES {', '.join([row[1]] * size)}", _NAMED.sub("%s", str(compiled)), count=1)
        if len(self._forms) >= MOST_FORMS:
            self._forms.clear()
        return self._forms.setdefault(key, (text, itemgetter(*map(self._columns.index, in_order))))


def _parts(rows: Sequence[Values]) -> Iterator[Sequence[Values]]:
    place = 0
    while place < len(rows):
        size = min(MOST_ROWS, 1 << ((len(rows) - place).bit_length() - 1))
        yield rows[place : place + size]
        place += size
