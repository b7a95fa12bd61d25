"""The database that a copy reads: one snapshot, which nobody can write to meanwhile."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import sqlalchemy as sa

from acumen.errors import BadSettings, Conflict, NotFound
from acumen.storage.engine import migrate
from acumen.storage.tables import metadata

# Writes under way have so long to end.
LOCK_SECONDS = 5

_SERVERS_CONNECTED = sa.text(
    "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() "
    "AND application_name LIKE 'acumen%' LIMIT 1"
)
_LAST_NUMBER = {
    "sqlite": sa.text("SELECT seq FROM sqlite_sequence WHERE name = :table AND :column <> ''"),
    "postgresql": sa.text("SELECT pg_sequence_last_value(pg_get_serial_sequence(:table, :column)::regclass)"),
}


@contextmanager
def sqlite_snapshot(path: Path) -> Iterator[sa.Connection]:
    from acumen.storage.engine.sqlite import exclusive_engine  # noqa: PLC0415 - Postgres users need no SQLite driver

    if not path.is_file():
        raise NotFound(f"There is no database at {path}.")
    engine = exclusive_engine(path)
    try:
        with _opened(engine) as conn, conn.begin():
            _require_newest(conn)
            yield conn
    finally:
        engine.dispose()


def _opened(engine: sa.Engine) -> sa.Connection:
    try:
        return engine.connect()
    except sa.exc.OperationalError as error:
        raise _in_use() from error


@contextmanager
def postgres_snapshot(engine: sa.Engine) -> Iterator[sa.Connection]:
    with engine.connect() as conn:
        with conn.begin():
            _require_newest(conn)
            if conn.execute(_SERVERS_CONNECTED).first():
                raise _in_use()
        snapshot = conn.execution_options(isolation_level="REPEATABLE READ")
        with snapshot.begin():
            _lock_all(snapshot)  # first, since the snapshot is that of the first query
            yield snapshot


def _lock_all(conn: sa.Connection) -> None:
    conn.exec_driver_sql(f"SET LOCAL lock_timeout = '{LOCK_SECONDS}s'")
    names = ", ".join(table.name for table in metadata.sorted_tables)
    try:
        conn.exec_driver_sql(f"LOCK TABLE {names} IN SHARE MODE")
    except sa.exc.OperationalError as error:
        raise _in_use() from error


def _require_newest(conn: sa.Connection) -> None:
    if (revision := migrate.current(conn)) != migrate.HEAD:
        raise BadSettings(
            f"The source is at schema {revision or 'none'}, this version needs {migrate.HEAD}: "
            "upgrade it with `acumen migrate` (SQLite: by starting the server once) and stop the server."
        )


def _in_use() -> Conflict:
    return Conflict("The source is in use, probably by a server. Stop its servers and workers, then run this again.")


def last_number(conn: sa.Connection, table: sa.Table) -> int:
    """The last that was given to a row of a table whose rows the database numbers, whether or not that row exists."""
    (column,) = table.primary_key.columns
    names = {"table": table.name, "column": column.name}
    return int(conn.execute(_LAST_NUMBER[conn.dialect.name], names).scalar() or 0)
