"""What the two databases have in common: the shape of a connection to either."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol, TypeVar

import sqlalchemy as sa

T = TypeVar("T")


class Lock(NamedTuple):
    """Held until the transaction ends. Who shares it excludes only those who hold it whole."""

    key: str
    shared: bool = False


# The conditions on the columns of a table that is joined.
Fits = Callable[[Any], Sequence[sa.ColumnElement[bool]]]


class Database(Protocol):
    """All that `sqlite.py` and `postgres.py` disagree on, behind the same names."""

    name: str

    async def read(self, fn: Callable[[sa.Connection], T]) -> T:
        """Run on a connection that the database itself keeps from writing, in one snapshot."""
        ...

    async def write(self, fn: Callable[[sa.Connection], T], lock: Lock | None = None, *, queue: str | None = None) -> T:
        """Run in a transaction that begins with the lock; returns after COMMIT.

        Transactions of this process that name the same `queue` wait for each other before they take a connection.
        """
        ...

    def keep_reserve(self) -> None:
        """Keep room on the disk for deletes from here on."""
        ...

    async def problem(self) -> str | None:
        """Why the database would lose or refuse what is written, if it would."""
        ...

    @property
    def waiting_writes(self) -> int:
        """Writes of this process that are not committed yet."""
        ...

    @property
    def insert(self) -> Callable[[sa.Table], Any]:
        """An INSERT that knows ON CONFLICT."""
        ...

    def json_contains_any(self, column: Any, values: Sequence[str]) -> sa.ColumnElement[bool]:
        """Whether a JSON list holds at least one of the values."""
        ...

    def json_contains(self, column: Any, value: Any) -> sa.ColumnElement[bool]:
        """Whether a JSON list holds the value, which may be another column's."""
        ...

    def contains_text(self, column: Any, text: str) -> sa.ColumnElement[bool]:
        """Whether the text is anywhere in the column, ignoring case; of any length."""
        ...

    def json_rows(self, objects: sa.BindParameter[str], shape: sa.TableClause) -> sa.Select[Any]:
        """Objects of a JSON list as rows with these columns: one text, however many they are."""
        ...

    def join_first(
        self, base: sa.FromClause, left: sa.Table, right: sa.Table, fits: Fits, by: str
    ) -> tuple[sa.Join, Any]:
        """Each row of what is known, `left` among it, joined to the first of `right` by a column of those that fit.

        Where none does, its columns are null.
        """
        ...

    def lock(self, conn: sa.Connection, *locks: Lock) -> None:
        """From here to COMMIT no other transaction passes the same locks: ids are committed in their order.

        Those of one call are taken in the same order by everybody.
        """
        ...

    def planned_for_many(self, conn: sa.Connection) -> AbstractContextManager[None]:
        """For a statement over all memories: without statistics it is planned as if it were over many, not over one."""
        ...

    async def announce_jobs(self) -> None:
        """Says to workers of other processes that there may be new jobs."""
        ...

    def listen_for_jobs(self, heard: Callable[[], object]) -> Callable[[], None]:
        """Calls `heard`, from another thread, when another process announces jobs; returns what ends it."""
        ...

    async def scrub(self) -> bool:
        """Make the bytes of erased rows go too, as far as that is ours to do; waits for the disk.

        False when a reader still needs them: then they are there until a later call.
        """
        ...

    def size_bytes(self, conn: sa.Connection) -> int: ...

    def version(self, conn: sa.Connection) -> str: ...

    def columns(self, conn: sa.Connection) -> set[tuple[str, str]]:
        """Every table and column of the schema, in one query."""
        ...

    def check(self, conn: sa.Connection) -> list[str]:
        """What the database says is wrong with itself; empty is good."""
        ...

    def engine(self) -> sa.Engine:
        """The plain engine, for migrations only."""
        ...

    def close(self) -> None: ...
