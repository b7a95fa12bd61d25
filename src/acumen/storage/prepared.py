"""Statements that run with every publish, compiled once: SQLAlchemy looks them up slower than SQLite runs them."""

from collections.abc import Callable, Sequence
from typing import Any

import sqlalchemy as sa

Row = dict[str, Any]
# The text that the driver takes, and how a row becomes the values for it.
Form = tuple[str, Callable[[Row], Any]]


class Prepared:
    """An INSERT of rows that always name the same columns; all its other values are part of its text."""

    def __init__(self, statement: sa.Insert) -> None:
        self._statement = statement
        self._forms: dict[str, Form] = {}

    def run(self, conn: sa.Connection, rows: Sequence[Row]) -> int:
        """How many rows were written."""
        text, values = self._forms.get(conn.dialect.name) or self._compiled(conn.dialect, list(rows[0]))
        given = [values(row) for row in rows]
        options = {"preserve_rowcount": True}
        return conn.exec_driver_sql(text, given if len(given) > 1 else given[0], options).rowcount

    def _compiled(self, dialect: sa.Dialect, columns: list[str]) -> Form:
        compiled = self._statement.compile(dialect=dialect, column_keys=columns)
        in_order: Sequence[str] | None = compiled.positiontup
        names = columns if in_order is None else in_order
        types = [self._statement.table.c[name].type.dialect_impl(dialect) for name in names]
        to_driver = [(name, kind.bind_processor(dialect)) for name, kind in zip(names, types, strict=True)]

        def positional(row: Row) -> tuple[Any, ...]:
            return tuple([row[name] if process is None else process(row[name]) for name, process in to_driver])

        def named(row: Row) -> Row:
            return dict(zip(names, positional(row), strict=True))

        form: Form = (str(compiled), named if in_order is None else positional)
        return self._forms.setdefault(dialect.name, form)
