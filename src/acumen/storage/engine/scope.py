"""The base of every repository: a connection bound to one org.

Lock order. Postgres runs many transactions at once; no cycle of waiting is possible, because all of them take their
locks in this order, and SQLite has one writer:

1. The org, before the first statement (`OrgStore.write`), whole or shared. Who holds it whole is the only holder. Those
   who share it change rows of users that they lock, or rows that a lock of their own guards (4), so two of them wait
   for each other only there. Publishing and scheduling jobs do without it: they change nothing that search reads, and
   must not wait for anything else.
2. Users, all of them in one call and before any row of theirs. Postgres sorts them. Erasing and what else changes turns
   locks a user whole (`lock_users`). Publishing (`lock_turns`) and learning (`write_for_user`) share the user, and each
   excludes only its own kind: a publish never waits until a user has been learned from, nor learning for a publish.
   Servers of an earlier version, which know one lock of a user only, exclude all of these.
3. Locks of single things: what is metered, operations, groups of failures, runs, clusters.
4. Rows. A transaction that does not hold the whole org writes the rows of one statement sorted by their key.
5. Jobs (`Jobs.write`), as the last statement of the transaction, sorted by their waiting key. Workers lease, recover
   and finish jobs of all orgs in transactions of their own, which touch nothing but jobs: they wait only for waiting
   keys, in the same order, and skip rows that another transaction holds.

A transaction that takes locks in another order raises `LockOrderViolated`, on both databases.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any, TypeVar

import sqlalchemy as sa
from msgspec import Struct, field

from acumen.model.ids import Millis, OrgId
from acumen.storage.engine.database import Database, Lock

V = TypeVar("V")
D = TypeVar("D", bound=Struct)

# Postgres takes 65,535 values in a statement, and none of them needs to be that long.
MOST_VALUES = 10_000


def in_batches(values: Sequence[V]) -> Iterator[Sequence[V]]:
    """As many at a time as a statement may name."""
    return (values[start : start + MOST_VALUES] for start in range(0, len(values), MOST_VALUES))


def org_of(id_column: sa.Column[Any]) -> sa.ColumnElement[str]:
    """The org of rows that are asked for by their ids.

    Where the id alone is a key, the org is checked on the result only: SQLite, which keeps no statistics,
    would rather walk an index over the whole org than fetch a few rows by their numbers.
    """
    table = id_column.table
    alone = sa.inspect(table).primary_key.columns.keys() == [id_column.name]
    org: sa.ColumnElement[str] = table.c.org_id
    return sa.func.coalesce(org, "") if alone else org


class OrgLock(StrEnum):
    """How a transaction holds its org."""

    WHOLE = "whole"  # no other transaction holds it
    SHARED = "shared"  # others share it, and change rows of other users, or under other locks
    NONE = "none"


class LockOrderViolated(RuntimeError):
    """A lock was requested too late: see the lock order at the top of this file."""


class OrgScope(Struct, frozen=True):
    conn: sa.Connection
    db: Database
    org: OrgId
    at: Millis  # when the transaction began; stamps every row it writes
    org_lock: OrgLock = OrgLock.WHOLE  # NONE also for readers
    locked_users: set[str] = field(default_factory=set)
    new_jobs: list[dict[str, Any]] = field(default_factory=list)  # inserted after everything else

    def select(self, what: sa.Table | sa.Column[Any], *more: sa.ColumnElement[Any]) -> sa.Select[Any]:
        """A query of this org's rows, whole or only some columns of theirs."""
        table = what if isinstance(what, sa.Table) else what.table
        return sa.select(what, *more).where(table.c.org_id == self.org)

    def all(self, query: sa.Select[Any], **values: Any) -> list[Any]:
        """`values` fill the names left open in a query that was built once: building costs more than running."""
        return list(self.conn.execute(query, values or None).all())

    def rows(self, query: sa.Select[Any], **values: Any) -> list[sa.RowMapping]:
        """By the names of their columns."""
        return list(self.conn.execute(query, values or None).mappings())

    def first(self, query: sa.Select[Any], **values: Any) -> Any:
        return self.conn.execute(query, values or None).first()

    def all_in(self, query: sa.Select[Any], column: sa.ColumnElement[Any], values: Collection[Any]) -> list[Any]:
        """The rows with one of these values, as many at a time as a statement may name."""
        return [row for batch in in_batches(sorted(values)) for row in self.all(query.where(column.in_(batch)))]

    def page(self, query: sa.Select[Any], limit: int | None, offset: int) -> tuple[list[Any], int]:
        """Some rows of an ordered query, and how many it has in all, from one run of it where that is possible."""
        total = sa.func.count().over().label("of_all")
        rows = list(self.conn.execute(query.add_columns(total).limit(limit).offset(offset)))
        if rows or not offset:
            return rows, int(rows[0].of_all) if rows else 0
        return [], int(self.conn.execute(sa.select(sa.func.count()).select_from(query.subquery())).scalar_one())

    def require_org_lock(self) -> None:
        """Up to COMMIT no other transaction changes what search reads of this org, or of the users locked by this one.

        Takes no lock, but checks that the transaction began with it.
        """
        if self.org_lock is OrgLock.NONE or (self.org_lock is OrgLock.SHARED and not self.locked_users):
            raise LockOrderViolated(f"The transaction has to begin with the lock of org {self.org!r}.")

    def require_whole_org_lock(self) -> None:
        """The same for changes that are not of one user."""
        if self.org_lock is not OrgLock.WHOLE:
            raise LockOrderViolated(f"The transaction has to begin with the lock of the whole org {self.org!r}.")

    def lock_user(self, user: str) -> None:
        """Up to COMMIT no other transaction publishes for this user, learns from them or erases them."""
        self.lock_users([user])

    def lock_users(self, users: Collection[str]) -> None:
        """The same for several; users that are held already may be named again, others may not be added."""
        self._lock(users, lambda user: [Lock(user)])

    def lock_learning(self, user: str) -> None:
        """Up to COMMIT no other transaction learns from this user or erases them."""
        self._lock([user], lambda user: [Lock(user, shared=True), Lock(f"learning:{user}")])

    def lock_turns(self, users: Collection[str]) -> None:
        """Up to COMMIT no other transaction publishes for these users or erases them: their turns are committed in the
        order of their numbers.
        """
        self._lock(users, lambda user: [Lock(user, shared=True), Lock(f"turns:{user}")])

    def _lock(self, users: Collection[str], locks: Callable[[str], list[Lock]]) -> None:
        new = set(users) - self.locked_users
        if new and self.locked_users:
            raise LockOrderViolated("All users of a transaction have to be locked in one call.")
        self.locked_users.update(new)
        self.db.lock(self.conn, *(lock for user in new for lock in locks(f"user:{self.org}:{user}")))

    def stamp(self, row: dict[str, Any]) -> dict[str, Any]:
        return {"created_at": self.at, "updated_at": self.at, **row, "org_id": self.org}

    def insert(self, table: sa.Table, rows: list[dict[str, Any]]) -> None:
        if rows:
            self.conn.execute(sa.insert(table), [self.stamp(row) for row in rows])

    def insert_new(self, table: sa.Table, rows: list[dict[str, Any]]) -> int:
        """Adds the rows that do not exist yet; returns how many were added."""
        stamped = [self.stamp(row) for row in rows]
        insert = self.db.insert(table).on_conflict_do_nothing().execution_options(preserve_rowcount=True)
        return self.conn.execute(insert, stamped if len(stamped) > 1 else stamped[0]).rowcount if stamped else 0

    def upsert(self, table: sa.Table, key: Mapping[str, Any], values: Mapping[str, Any]) -> None:
        """The row of this key, new or changed to these values."""
        row = self.stamp({**key, **values})
        new = self.db.insert(table).on_conflict_do_update(
            index_elements=["org_id", *key], set_={"updated_at": row["updated_at"], **values}
        )
        self.conn.execute(new, row)

    def update(self, table: sa.Table, *where: sa.ColumnElement[bool], **values: Any) -> int:
        """How many rows were changed."""
        changed = sa.update(table).where(table.c.org_id == self.org, *where)
        return self.conn.execute(changed.values({"updated_at": self.at, **values})).rowcount

    def count(self, table: sa.Table, *where: sa.ColumnElement[bool]) -> int:
        query = sa.select(sa.func.count()).select_from(table).where(table.c.org_id == self.org, *where)
        return int(self.conn.execute(query).scalar_one())

    def delete(self, table: sa.Table, *where: sa.ColumnElement[bool]) -> int:
        return self.conn.execute(sa.delete(table).where(table.c.org_id == self.org, *where)).rowcount

    def delete_in(self, column: sa.Column[Any], values: Collection[Any], *where: sa.ColumnElement[bool]) -> int:
        """The same for rows with one of these values."""
        return sum(self.delete(column.table, column.in_(batch), *where) for batch in in_batches(sorted(values)))


def value_of(kind: type[D], row: Any, /, **fields: Any) -> D:
    """A value from a row: fields named like a column are that column's, the others are arguments."""
    same = set(kind.__struct_fields__) - fields.keys()
    return kind(**{name: getattr(row, name) for name in same}, **fields)


def row_of(table: sa.Table, value: Any, /, **columns: Any) -> dict[str, Any]:
    """A row from a value: columns named like a field are that field's, the others are arguments."""
    same = (name for name in table.c.keys() if name not in columns and hasattr(value, name))  # noqa: SIM118 - no dictionary
    return {**{name: getattr(value, name) for name in same}, **columns}
