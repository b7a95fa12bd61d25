"""Group commit for SQLite: one thread gathers the writes that wait into one transaction, and so into one fsync."""

import asyncio
import os
import queue
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

import sqlalchemy as sa
from msgspec import Struct

from acumen.errors import Unavailable
from acumen.storage.sqlite_errors import is_of_the_database, translated

T = TypeVar("T")

# Enough to share one fsync among all who wait; small enough that the first does not wait long.
MOST_PER_COMMIT = 256


class _Waiting(Struct):
    fn: Callable[[sa.Connection], Any]
    loop: asyncio.AbstractEventLoop
    future: "asyncio.Future[Any]"
    in_transaction: bool = True


class _Outcome(Struct):
    waiting: _Waiting
    value: Any = None
    error: BaseException | None = None


class WriteTurns:
    """Processes that write the same file take turns: `with turns:` around each transaction.

    SQLite alone lets a process that waits for the file sleep and try again, up to 100 ms at a time: one that writes
    without a pause keeps all others out for seconds. Here who waits is next: a writer waits for the file while it holds
    the place of the next one, and who comes back at once waits behind it. A process that dies leaves both places. Other
    programs do without: SQLite's own lock decides in the end.
    """

    def __init__(self, database: Path) -> None:
        self._paths = [database.with_name(f"{database.name}-{name}") for name in ("next", "turn")]
        self._files: list[int] = []

    def __enter__(self) -> None:
        try:
            self._wait()
        except OSError:  # without the files, nobody takes turns, and all goes on
            self.close()

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        with suppress(OSError):
            self._leave()

    def close(self) -> None:
        for file in self._files:
            os.close(file)
        self._files = []

    if sys.platform == "win32":

        def _wait(self) -> None: ...

        def _leave(self) -> None: ...

    else:

        def _wait(self) -> None:
            import fcntl  # noqa: PLC0415 - not on Windows

            self._files = self._files or [os.open(path, os.O_RDWR | os.O_CREAT, 0o600) for path in self._paths]
            following, turn = self._files
            fcntl.flock(following, fcntl.LOCK_EX)
            fcntl.flock(turn, fcntl.LOCK_EX)
            fcntl.flock(following, fcntl.LOCK_UN)

        def _leave(self) -> None:
            import fcntl  # noqa: PLC0415 - not on Windows

            if self._files:
                fcntl.flock(self._files[1], fcntl.LOCK_UN)


class GroupCommit:
    """The writer of a database. Each write runs in a savepoint: one that fails does not touch the others."""

    def __init__(self, engine: sa.Engine, turns: WriteTurns, most_waiting: int) -> None:
        self._engine = engine
        self._turns = turns
        self._queue: queue.SimpleQueue[_Waiting | None] = queue.SimpleQueue()
        self._conn: sa.Connection | None = None  # kept: to take it from the pool each time costs more
        self._most_waiting = most_waiting
        self._waiting = 0
        self.committed_at = float("-inf")  # monotonic; of a commit that failed nothing is known
        self._thread = threading.Thread(target=self._write_until_closed, name="sqlite-write", daemon=True)
        self._thread.start()

    async def write(self, fn: Callable[[sa.Connection], T]) -> T:
        """Returns after COMMIT."""
        return await self._run(fn, in_transaction=True)

    async def between_writes(self, fn: Callable[[sa.Connection], T]) -> T:
        """On the writer's connection while no transaction is open."""
        return await self._run(fn, in_transaction=False)

    async def _run(self, fn: Callable[[sa.Connection], T], *, in_transaction: bool) -> T:
        if self._waiting >= self._most_waiting:
            raise Unavailable("Too many writes are waiting for the disk; try again shortly.")
        loop = asyncio.get_running_loop()
        waiting = _Waiting(fn, loop, loop.create_future(), in_transaction)
        self._waiting += 1
        try:
            self._queue.put(waiting)
            value: T = await waiting.future
        finally:
            self._waiting -= 1
        return value

    @property
    def waiting(self) -> int:
        return self._waiting

    def close(self) -> None:
        """Finishes what was handed in."""
        self._queue.put(None)
        self._thread.join()

    def _write_until_closed(self) -> None:
        open_for_more = True
        while open_for_more:
            batch, open_for_more = self._gather()
            if batch:
                writes = [waiting for waiting in batch if waiting.in_transaction]
                _settle(self._commit(writes) if writes else [])
                _settle([self._run_alone(waiting) for waiting in batch if not waiting.in_transaction])
        self._drop_connection()
        self._turns.close()

    def _gather(self) -> tuple[list[_Waiting], bool]:
        """Waits for one, then takes all that wait with it."""
        batch: list[_Waiting] = []
        item = self._queue.get()
        while item is not None:
            batch.append(item)
            if len(batch) == MOST_PER_COMMIT:
                return batch, True
            try:
                item = self._queue.get_nowait()
            except queue.Empty:
                return batch, True
        return batch, False

    def _commit(self, batch: list[_Waiting]) -> list[_Outcome]:
        try:
            conn = self._conn = self._conn or self._engine.connect()
            with self._turns, conn.begin():
                outcomes = [_run_in_savepoint(conn, waiting) for waiting in batch]
        except Exception as wrong:  # noqa: BLE001 - were this thread to end, every later write would wait forever
            # The commit itself failed: no write is stored, so all callers get the error.
            self.committed_at = float("-inf")
            self._drop_connection()
            return [_Outcome(waiting, error=translated(wrong)) for waiting in batch]
        self.committed_at = time.monotonic()
        return outcomes

    def _run_alone(self, waiting: _Waiting) -> _Outcome:
        try:
            conn = self._conn = self._conn or self._engine.connect()
            with self._turns:
                return _Outcome(waiting, value=waiting.fn(conn))
        except Exception as wrong:  # noqa: BLE001 - as above
            self._drop_connection()
            return _Outcome(waiting, error=translated(wrong))

    def _drop_connection(self) -> None:
        """The next write begins on a connection that has seen no failure."""
        if self._conn is not None:
            self._conn.invalidate()
            self._conn.close()
        self._conn = None
        self._engine.dispose()


def _run_in_savepoint(conn: sa.Connection, waiting: _Waiting) -> _Outcome:
    raw: Any = conn.connection.dbapi_connection
    raw.execute("SAVEPOINT one")
    try:
        outcome = _Outcome(waiting, value=waiting.fn(conn))
    except Exception as error:
        if not raw.in_transaction:
            raise  # SQLite gave up the whole transaction (disk full): the others' writes are gone too
        raw.execute("ROLLBACK TO one")
        outcome = _Outcome(waiting, error=translated(error) if is_of_the_database(error) else error)
    raw.execute("RELEASE one")
    return outcome


def _settle(outcomes: list[_Outcome]) -> None:
    """Wakes each event loop once for all that it waits for."""
    by_loop: dict[asyncio.AbstractEventLoop, list[_Outcome]] = {}
    for outcome in outcomes:
        by_loop.setdefault(outcome.waiting.loop, []).append(outcome)
    for loop, its in by_loop.items():
        if not loop.is_closed():
            loop.call_soon_threadsafe(_resolve, its)


def _resolve(outcomes: list[_Outcome]) -> None:
    for outcome in outcomes:
        future = outcome.waiting.future
        if future.cancelled():
            continue
        if outcome.error is None:
            future.set_result(outcome.value)
        else:
            future.set_exception(outcome.error)
