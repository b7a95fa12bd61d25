"""Postgres: many writers, when one machine is not enough."""

import asyncio
import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any, TypeVar
from weakref import WeakValueDictionary

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY, JSONB
from sqlalchemy.dialects.postgresql import insert as postgres_insert

from acumen.errors import StorageFull, Unavailable
from acumen.storage.engine.compiled_statement import translated
from acumen.storage.engine.database import Fits, Lock
from acumen.storage.engine.job_news import ANNOUNCE, JobListener
from acumen.storage.engine.json_rows import as_json
from acumen.storage.engine.postgres_connections import Connections
from acumen.storage.memories.candidates import postgres_schema
from acumen.storage.tables import ONLY_WHERE, metadata

T = TypeVar("T")
log = logging.getLogger(__name__)

# Those that write may all wait for locks; those that read never do.
WRITERS, READERS = 10, 6
# What our connections are called in `pg_stat_activity`; those of the first version are called `acumen`.
SESSIONS = "acumen 2"
DISK_FULL = "53100"
# Requests end within a second; a reader that does not is a backup, or a person.
READERS_WAIT_SECONDS = 1.0
_OLDER_READERS = sa.text(
    "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() "
    "AND backend_xmin IS NOT NULL AND xact_start < :began LIMIT 1"
)
# Sorted by the number that is locked, not by the text, since two texts may have the same number.
_LOCK = """
    SELECT CASE WHEN shared THEN pg_advisory_xact_lock_shared(number) ELSE pg_advisory_xact_lock(number) END FROM (
        SELECT hashtextextended(item ->> 0, 0) AS number, bool_and((item ->> 1)::bool) AS shared
        FROM json_array_elements(%s::json) AS item GROUP BY number ORDER BY number
    ) AS sorted
"""


def _tell_indexes() -> None:
    for index in (index for table in metadata.tables.values() for index in table.indexes):
        if condition := index.info.get(ONLY_WHERE):
            index.dialect_options["postgresql"]["where"] = sa.text(condition)


_tell_indexes()


def _outlives_readers(conn: sa.Connection) -> bool:
    """Whether all that read before this moment have ended; VACUUM keeps the rows that they may see."""
    began = conn.execute(sa.text("SELECT clock_timestamp()")).scalar_one()
    give_up_at = time.monotonic() + READERS_WAIT_SECONDS
    while conn.execute(_OLDER_READERS, {"began": began}).first() is not None:
        if time.monotonic() > give_up_at:
            return False
        time.sleep(0.02)
    return True


class Postgres:
    """A Postgres server."""

    name = "postgres"
    insert = staticmethod(postgres_insert)

    def __init__(self, url: str, most_waiting: int = 4096) -> None:
        writers = _engine(url, WRITERS, _prepare_writer)
        readers = _engine(url, READERS, _prepare_reader, isolation_level="REPEATABLE READ")
        self._writers = Connections(writers, WRITERS, "postgres-write")
        self._readers = Connections(readers, READERS, "postgres-read")
        self._most_waiting = most_waiting
        self.waiting_writes = 0
        self._queues: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def read(self, fn: Callable[[sa.Connection], T]) -> T:
        with _translated():
            return await self._readers.run(fn)

    async def write(self, fn: Callable[[sa.Connection], T], lock: Lock | None = None, *, queue: str | None = None) -> T:
        if self.waiting_writes >= self._most_waiting:
            raise Unavailable("Too many writes are waiting for the database; try again shortly.")
        self.waiting_writes += 1
        try:
            if queue is None:
                return await self._write(fn, lock)
            # Here they occupy no connection.
            async with self._queues.setdefault(queue, asyncio.Lock()):
                return await self._write(fn, lock)
        finally:
            self.waiting_writes -= 1

    async def _write(self, fn: Callable[[sa.Connection], T], lock: Lock | None) -> T:
        def locked(conn: sa.Connection) -> T:
            if lock is not None:
                self.lock(conn, lock)
            return fn(conn)

        with _translated():
            return await self._writers.run(locked)

    def json_contains_any(self, column: Any, values: Sequence[str]) -> sa.ColumnElement[bool]:
        contains: sa.ColumnElement[bool] = sa.cast(column, JSONB).has_any(sa.cast(list(values), ARRAY(sa.Text)))
        return contains

    def json_contains(self, column: Any, value: Any) -> sa.ColumnElement[bool]:
        contains: sa.ColumnElement[bool] = sa.cast(column, JSONB).has_key(value)
        return contains

    def contains_text(self, column: Any, text: str) -> sa.ColumnElement[bool]:
        return sa.func.strpos(sa.func.lower(column), sa.func.lower(text)) > 0

    @staticmethod
    def json_rows(objects: sa.BindParameter[str], shape: sa.TableClause) -> sa.Select[Any]:
        columns = [sa.column(c.name, c.type) for c in shape.c]
        rows = sa.func.json_to_recordset(sa.cast(objects, sa.JSON)).table_valued(*columns)
        return sa.select(*rows.render_derived(name="listed", with_types=True).c)

    def join_first(
        self, base: sa.FromClause, left: sa.Table, right: sa.Table, fits: Fits, by: str
    ) -> tuple[sa.Join, Any]:
        """By LATERAL: with SQLite's form of the query, Postgres would read all of `right`."""
        query = sa.select(right).where(*fits(right.c)).order_by(right.c[by]).limit(1)
        nearest = query.correlate(left).lateral("first")
        return base.outerjoin(nearest, sa.true()), nearest.c

    async def problem(self) -> None:
        """The server itself stops when a sync fails, and checks its pages when it reads them."""

    def keep_reserve(self) -> None:
        """The disk is the server's."""

    def lock(self, conn: sa.Connection, *locks: Lock) -> None:
        if locks:
            with translated(conn, _LOCK), closing(conn.connection.cursor()) as cursor:
                cursor.execute(_LOCK, (as_json(locks),))

    @contextmanager
    def planned_for_many(self, conn: sa.Connection) -> Iterator[None]:
        """Right after a load it takes a table for empty, and would compare each row with all; LATERAL stays a loop."""
        conn.execute(sa.text("SET LOCAL enable_nestloop = off"))
        yield
        conn.execute(sa.text("SET LOCAL enable_nestloop = on"))

    async def announce_jobs(self) -> None:
        """Changes no row, so it waits for no disk."""
        await self.read(lambda conn: conn.exec_driver_sql(ANNOUNCE))

    def listen_for_jobs(self, heard: Callable[[], object]) -> Callable[[], None]:
        return JobListener(self.engine().url, SESSIONS, heard).close

    async def scrub(self) -> bool:
        """Gives the room of erased rows free to be overwritten; the server's own log and backups are its owner's."""
        return await asyncio.get_running_loop().run_in_executor(None, self._vacuum)

    def _vacuum(self) -> bool:
        try:
            with self.engine().connect().execution_options(isolation_level="AUTOCOMMIT") as conn:
                clear = _outlives_readers(conn)
                tables = {table.name for table in metadata.sorted_tables} | postgres_schema.existing_tables(conn)
                conn.execute(sa.text(f"VACUUM {', '.join(sorted(tables))}"))
                return clear
        except sa.exc.OperationalError as error:  # the rows are gone already; the job that scrubs tries again
            log.warning("erased rows could not be vacuumed yet: %s", error.orig)
            return False

    def size_bytes(self, conn: sa.Connection) -> int:
        return int(conn.execute(sa.text("SELECT pg_database_size(current_database())")).scalar_one())

    def version(self, conn: sa.Connection) -> str:
        return f"PostgreSQL {conn.execute(sa.text('SHOW server_version')).scalar_one()}"

    def columns(self, conn: sa.Connection) -> set[tuple[str, str]]:
        query = "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = current_schema()"
        return {(row[0], row[1]) for row in conn.exec_driver_sql(query)}

    def check(self, conn: sa.Connection) -> list[str]:
        conn.execute(sa.text("SELECT 1"))
        return []

    def engine(self) -> sa.Engine:
        return self._writers.engine

    def close(self) -> None:
        """Finishes the writes under way, then closes the connections."""
        self._writers.close()
        self._readers.close()


def _engine(url: str, size: int, prepare: Callable[[Any, Any], None], **more: Any) -> sa.Engine:
    engine = sa.create_engine(
        sa.make_url(url).set(drivername="postgresql+psycopg"),
        pool_size=size,  # all of them are kept; one more serves migrations and VACUUM
        max_overflow=1,
        connect_args={"connect_timeout": 5, "application_name": SESSIONS},
        **more,
    )
    sa.event.listen(engine, "connect", prepare)
    return engine


def _prepare_reader(connection: Any, record: Any) -> None:
    _prepare_writer(connection, record)
    connection.read_only = True


def _prepare_writer(connection: Any, _record: Any) -> None:
    """A plan that is kept from when a table was almost empty reads all of it, however large it has become.

    Looking up 400 operations among 30,000 took 53 ms with such a plan.
    """
    connection.execute("SET plan_cache_mode = force_custom_plan")
    connection.commit()


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except sa.exc.OperationalError as wrong:
        if getattr(wrong.orig, "sqlstate", None) == DISK_FULL:
            raise StorageFull from wrong
        log.error("the database failed: %s", wrong.orig)  # noqa: TRY400 - what failed is enough, where is not news
        raise Unavailable("The database did not answer. Nothing was stored; try again.") from wrong
