"""SQLite: one file, one writer thread with group commit, and threads that read meanwhile."""

import asyncio
import logging
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy as sa
from pysqlite3 import dbapi2
from sqlalchemy.dialects.sqlite import insert as sqlite_insert

from acumen.errors import AcumenError, StorageFull
from acumen.storage.disk_reserve import DiskReserve, frees_space
from acumen.storage.engine.database import Fits, Lock
from acumen.storage.engine.group_commit import GroupCommit, WriteTurns
from acumen.storage.sqlite_errors import is_of_the_database, translated
from acumen.storage.sqlite_health import SqliteHealth

T = TypeVar("T")
log = logging.getLogger(__name__)

READERS = 4
# How long a write waits for the writers of other processes.
BUSY_SECONDS = 10
SCRUB_WAITS_MS = 250
COMMON_PRAGMAS = (
    "journal_mode=WAL",
    # Pages that change in every commit are carried from the log to the file once in 16 MB, not in 4.
    "wal_autocheckpoint=4000",
    "secure_delete=ON",
    "temp_store=MEMORY",
    "cache_size=-16000",
)

# The driver asks each NULL and each truth whether it wants to be something else, which takes ten times as long as
# storing it. Here it is answered at once, by functions of C; that of a dictionary gives None for None.
dbapi2.register_adapter(type(None), {}.get)
dbapi2.register_adapter(bool, int)


class Sqlite:
    """The embedded database."""

    name = "sqlite"
    insert = staticmethod(sqlite_insert)

    def __init__(self, path: Path, most_waiting: int = 4096, reserve_bytes: int = 0) -> None:
        self._writing = _engine(path, begin="BEGIN IMMEDIATE", pragmas=("synchronous=FULL",))
        self._reading = _engine(path, begin="BEGIN", pragmas=("query_only=ON",))
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="sqlite-read")
        self._idle: list[sa.Connection] = []  # readers' own, the one last used last: its page cache is warm
        self._writer = GroupCommit(self._writing, WriteTurns(path), most_waiting)
        self._health = SqliteHealth(path, self._writer)
        self._reserve = DiskReserve(path, reserve_bytes)

    async def read(self, fn: Callable[[sa.Connection], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._readers, self._read_now, fn)

    async def write(
        self,
        fn: Callable[[sa.Connection], T],
        lock: Lock | None = None,  # noqa: ARG002 - as Postgres
        *,
        queue: str | None = None,  # noqa: ARG002 - as Postgres
    ) -> T:
        frees = frees_space()
        if not frees and self._reserve.is_released():
            raise StorageFull
        try:
            return await self._writer.write(fn)
        except StorageFull:
            if not frees or not self._reserve.release():
                raise
        await self.scrub()  # the log goes into the file, and gives its own room back
        return await self._writer.write(fn)

    async def problem(self) -> str | None:
        return await self._health.problem()

    def keep_reserve(self) -> None:
        self._reserve.make()

    @property
    def waiting_writes(self) -> int:
        return self._writer.waiting

    def json_contains_any(self, column: Any, values: Sequence[str]) -> sa.ColumnElement[bool]:
        item = sa.func.json_each(column).table_valued("value")
        return sa.exists(sa.select(1).select_from(item).where(item.c.value.in_(values)))

    def json_contains(self, column: Any, value: Any) -> sa.ColumnElement[bool]:
        return self.json_contains_any(column, [value])

    def contains_text(self, column: Any, text: str) -> sa.ColumnElement[bool]:
        return sa.func.instr(sa.func.lower(column), sa.func.lower(text)) > 0  # LIKE gives up at 50,000 bytes

    @staticmethod
    def json_rows(objects: sa.BindParameter[str], shape: sa.TableClause) -> sa.Select[Any]:
        item = sa.func.json_each(objects).table_valued("value")
        return sa.select(
            *(sa.func.json_extract(item.c.value, f"$.{c.name}", type_=c.type).label(c.name) for c in shape.c)
        )

    def join_first(
        self, base: sa.FromClause, left: sa.Table, right: sa.Table, fits: Fits, by: str
    ) -> tuple[sa.Join, Any]:
        nearest = right.alias("first")
        first = sa.select(sa.func.min(right.c[by])).where(*fits(right.c)).correlate(left)
        return base.outerjoin(nearest, sa.and_(*fits(nearest.c), nearest.c[by] == first.scalar_subquery())), nearest.c

    def lock(self, conn: sa.Connection, *locks: Lock) -> None:
        """One writer: everything is in order already."""

    def planned_for_many(self, conn: sa.Connection) -> AbstractContextManager[None]:  # noqa: ARG002 - as Postgres
        """It has no statistics to be misled by."""
        return nullcontext()

    async def announce_jobs(self) -> None:
        """All workers are processes of one server, which wakes them itself."""

    def listen_for_jobs(self, heard: Callable[[], object]) -> Callable[[], None]:  # noqa: ARG002 - as Postgres
        return lambda: None

    async def scrub(self) -> bool:
        """`secure_delete` overwrites what is erased; that reaches the file, and the log is emptied, by a checkpoint."""
        try:
            return await self._writer.between_writes(_empty_log)
        except AcumenError as problem:
            log.warning("the log of writes cannot be emptied yet: %s", problem)
            return False

    def size_bytes(self, conn: sa.Connection) -> int:
        pages, size = (conn.exec_driver_sql(f"PRAGMA {name}").scalar_one() for name in ("page_count", "page_size"))
        return int(pages) * int(size)

    def version(self, conn: sa.Connection) -> str:
        return f"SQLite {conn.exec_driver_sql('SELECT sqlite_version()').scalar_one()}"

    def columns(self, conn: sa.Connection) -> set[tuple[str, str]]:
        query = "SELECT t.name, c.name FROM sqlite_schema AS t, pragma_table_info(t.name) AS c WHERE t.type = 'table'"
        return {(row[0], row[1]) for row in conn.exec_driver_sql(query)}

    def check(self, conn: sa.Connection) -> list[str]:
        lines = conn.exec_driver_sql("PRAGMA quick_check").scalars().all()
        return [str(line) for line in lines if line != "ok"]

    def engine(self) -> sa.Engine:
        return self._writing

    def close(self) -> None:
        """Finishes the writes under way, then closes the file."""
        self._writer.close()
        self._readers.shutdown()
        for conn in self._idle:
            conn.close()
        self._reading.dispose()
        self._writing.dispose()

    def _read_now(self, fn: Callable[[sa.Connection], T]) -> T:
        try:
            with self._idle_reader() as conn, conn.begin():
                return fn(conn)
        except sa.exc.DatabaseError as wrong:
            self._health.saw(wrong)
            raise (translated(wrong) if is_of_the_database(wrong) else wrong) from wrong.__cause__

    @contextmanager
    def _idle_reader(self) -> Iterator[sa.Connection]:
        """A connection kept like the writer's, unless it sees a failure."""
        try:
            conn = self._idle.pop()
        except IndexError:
            conn = self._reading.connect()
        try:
            yield conn
        except BaseException:
            conn.close()
            raise
        self._idle.append(conn)


def _empty_log(conn: sa.Connection) -> bool:
    """False while a reader of any process needs an older state. Writers wait meanwhile, so it does not wait long."""
    raw: Any = conn.connection.dbapi_connection
    raw.execute(f"PRAGMA busy_timeout={SCRUB_WAITS_MS}")
    try:
        busy, _, _ = raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    finally:
        raw.execute(f"PRAGMA busy_timeout={BUSY_SECONDS * 1000}")
    return not busy


def exclusive_engine(path: Path) -> sa.Engine:
    """Its one connection reads, and no other process can open the file meanwhile; "locked" where one has."""
    return _engine(path, begin="BEGIN", pragmas=("query_only=ON",), first=("locking_mode=EXCLUSIVE",), patience=1)


def _engine(
    path: Path, begin: str, pragmas: tuple[str, ...], *, first: tuple[str, ...] = (), patience: int = BUSY_SECONDS
) -> sa.Engine:
    engine = sa.create_engine(
        sa.URL.create("sqlite", database=str(path)),
        module=dbapi2,
        connect_args={"check_same_thread": False, "timeout": patience},
        pool_size=READERS,
        pool_reset_on_return=None,
    )
    sa.event.listen(engine, "connect", partial(_prepare, (*first, *COMMON_PRAGMAS, *pragmas)))
    sa.event.listen(engine, "begin", lambda conn: conn.connection.dbapi_connection.execute(begin))
    return engine


def _prepare(pragmas: tuple[str, ...], connection: Any, _record: Any) -> None:
    # Transactions begin where we say so, not where the driver guesses.
    connection.isolation_level = None
    for pragma in pragmas:
        connection.execute(f"PRAGMA {pragma}")
