"""The table of one kind of memory: what profiles and playbooks share as rows."""

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from operator import itemgetter
from types import SimpleNamespace
from typing import Any, Generic, TypeVar, cast

import sqlalchemy as sa
from msgspec import Struct
from msgspec.structs import asdict

from acumen.model.conversation import versions_meant
from acumen.model.ids import Kind, Millis
from acumen.model.memories.base import Category, Origin, Status
from acumen.model.memories.search import Facet, Filter
from acumen.storage.engine.compiled_statement import CompiledStatement, SelectByIds
from acumen.storage.engine.scope import OrgScope, in_batches, org_of, row_of

M = TypeVar("M")

SHARED_FACETS = ("status", "created_at", "updated_at", "source", "tags")


class MemoryTable(Struct, Generic[M], frozen=True):
    """How one kind of memory is written as a row and read back."""

    kind: Kind
    table: sa.Table
    id_column: str
    to_row: Callable[[M], dict[str, Any]]
    from_row: Callable[[dict[str, Any]], M]
    facet: Callable[[Any], Facet]  # of a row
    facet_columns: tuple[str, ...]
    parse_id: Callable[[str], Any]

    @property
    def text_id(self) -> sa.ColumnElement[str]:
        """Its id as all others name it."""
        return sa.cast(self.table.c[self.id_column], sa.Text)

    @property
    def owner(self) -> sa.ColumnElement[str]:
        """The user it belongs to; null for shared lessons."""
        return self.table.c.user_id if "user_id" in self.table.c else sa.cast(sa.null(), sa.Text)


class MemoryRows(Generic[M]):
    """Memories of one kind, as rows."""

    def __init__(self, scope: OrgScope, mapping: MemoryTable[M]) -> None:
        self._scope = scope
        self.mapping = mapping
        self._table = mapping.table
        self._id = mapping.table.c[mapping.id_column]

    def insert(self, memory: M) -> str:
        """Returns the id, which the database gives to playbooks."""
        row = self._scope.stamp(self.mapping.to_row(memory))
        return str(_insert(self._id, self._id.name in row).returning(self._scope.conn, row)[0])

    def update(self, memory_id: str, memory: M, *, changed_at: Millis | None = None) -> None:
        """Changed now, unless it is said when."""
        row = {**self.mapping.to_row(memory), "updated_at": self._scope.at if changed_at is None else changed_at}
        row.pop(self.mapping.id_column, None)
        where = {"its_org_id": self._scope.org, f"its_{self._id.name}": self.mapping.parse_id(memory_id)}
        _replace(self._id).run(self._scope.conn, [row | where])

    def get(self, memory_id: str) -> M | None:
        memories = self.get_many([memory_id])
        return memories.get(memory_id)

    def get_many(self, ids: Sequence[str]) -> dict[str, M]:
        """The memories that exist; unknown ids are left out."""
        conn, org, query = self._scope.conn, self._scope.org, _by_ids(self._id)
        rows = [row for batch in self._parsed(ids) for row in query.rows(conn, org, batch)]
        return {str(row[self.mapping.id_column]): self.mapping.from_row(row) for row in rows}

    def find(self, criteria: Filter, limit: int | None = None, offset: int = 0) -> list[M]:
        """The latest changed first."""
        query = self._filtered(sa.select(self._table), criteria)
        order = self._table.c.created_at if criteria.by_creation else self._table.c.updated_at
        rows = self._scope.rows(query.order_by(order.desc(), self._id.desc()).limit(limit).offset(offset))
        return [self.mapping.from_row(dict(row)) for row in rows]

    def find_expired(self, at: Millis) -> list[M]:
        """Current ones whose time is over."""
        c = self._table.c
        query = sa.select(self._table).where(*self._mine(), c.status == str(Status.CURRENT), c.expires_at <= at)
        return [self.mapping.from_row(dict(row)) for row in self._scope.rows(query)]

    def find_current_ids(self, user: str) -> set[str]:
        """Of a user, or of shared lessons."""
        c = self._table.c
        query = sa.select(self.mapping.text_id).where(*self._mine(), c.status == str(Status.CURRENT))
        rows = self._scope.all(query.where(c.user_id == user) if "user_id" in c else query)
        return {row[0] for row in rows}

    def find_facets(self, criteria: Filter) -> dict[str, Facet]:
        """What search filters by, for many rows at once."""
        columns = [
            self._table.c[name] for name in (self.mapping.id_column, *SHARED_FACETS, *self.mapping.facet_columns)
        ]
        rows = self._scope.conn.execute(self._filtered(sa.select(*columns), criteria))
        return {str(row[0]): self.mapping.facet(row) for row in rows}

    def find_standing(self, criteria: Filter, limit: int) -> list[str]:
        """Ids of memories that belong into every prompt, the latest changed first."""
        # As the index says it, so that it is used.
        standing: sa.ColumnElement[bool] = sa.literal_column(f"{self._table.name}.standing")
        query = self._filtered(sa.select(self._id), criteria).where(standing).order_by(self._table.c.updated_at.desc())
        return [str(row[0]) for row in self._scope.all(query.limit(limit))]

    def find_ids(self, criteria: Filter, limit: int) -> list[str]:
        """Of those that fit, in no order."""
        return [str(row[0]) for row in self._scope.all(self._filtered(sa.select(self._id), criteria).limit(limit))]

    def exists_fitting(self, criteria: Filter, text_id: sa.ColumnElement[str]) -> sa.ColumnElement[bool]:
        """Whether the memory with the id of another table's row fits."""
        mine = self._filtered(sa.select(sa.literal(1)).select_from(self._table), criteria)
        return sa.exists(mine.where(self._id == sa.cast(text_id, self._id.type)))

    def get_facets(self, ids: Sequence[str]) -> dict[str, Facet]:
        """What search filters by, of the memories that exist; for a few ids many times faster than `find_facets`."""
        conn, org, query = self._scope.conn, self._scope.org, _facets_by_ids(self.mapping)
        rows = [row for batch in self._parsed(ids) for row in query.rows(conn, org, batch)]
        return {str(row[self.mapping.id_column]): self.mapping.facet(SimpleNamespace(**row)) for row in rows}

    def count(self, criteria: Filter) -> int:
        query = self._filtered(sa.select(sa.func.count()).select_from(self._table), criteria)
        return int(self._scope.conn.execute(query).scalar_one())

    def get_span(self, criteria: Filter) -> tuple[int, Millis | None, Millis | None]:
        """How many there are, and when the oldest and the newest of them were last changed."""
        changed = self._table.c.updated_at
        columns: list[sa.ColumnElement[Any]] = [sa.func.count(), sa.func.min(changed), sa.func.max(changed)]
        row = self._scope.first(self._filtered(sa.select(*columns).select_from(self._table), criteria))
        return row[0], row[1], row[2]

    def find_owners(self, criteria: Filter) -> dict[str, str | None]:
        """The ids of those that fit, each with the user it belongs to, if any."""
        rows = self._scope.all(self._filtered(sa.select(self._id, self.mapping.owner), criteria))
        return {str(row[0]): row[1] for row in rows}

    def find_superseded_by(self, ids: Sequence[str]) -> dict[str, str | None]:
        """Ids and owners of memories that these superseded, directly or in steps."""
        c = self._table.c
        owners: dict[str, str | None] = {}
        while ids:
            query = sa.select(self._id, c.user_id).where(*self._mine(), c.status == str(Status.SUPERSEDED))
            queries = [query.where(c.superseded_by.in_(batch)) for batch in self._parsed(ids)]
            rows = [row for batch_query in queries for row in self._scope.all(batch_query)]
            ids = [str(row[0]) for row in rows if str(row[0]) not in owners]
            owners |= {str(row[0]): row[1] for row in rows}
        return owners

    def set_status(self, ids: Sequence[str], status: Status) -> int:
        """Of many at once. When they were last changed stays as it is: their words are the same."""
        values = {"status": str(status), "version": self._table.c.version + 1}
        statement = sa.update(self._table).where(*self._mine()).values(values)
        executed = (self._scope.conn.execute(statement.where(self._id.in_(batch))) for batch in self._parsed(ids))
        return sum(result.rowcount for result in executed)

    def delete(self, ids: Sequence[str] | None) -> int:
        """None: all."""
        if ids is None:
            return self._scope.delete(self._table)
        return sum(self._scope.delete(self._table, self._id.in_(batch)) for batch in self._parsed(ids))

    def select_owners(self, ids: Sequence[str] | None) -> list[sa.Select[Any]]:
        """Queries for ids (None: all) and the user each belongs to, if any; they name as many as a statement may."""
        both: list[Any] = [self.mapping.text_id, self.mapping.owner]
        every = sa.select(*both).where(*self._mine())
        return [every] if ids is None else [every.where(self._id.in_(batch)) for batch in self._parsed(ids)]

    def _parsed(self, ids: Sequence[str]) -> Iterator[Sequence[Any]]:
        return in_batches([value for value in map(self.mapping.parse_id, ids) if value is not None])

    def _mine(self) -> tuple[sa.ColumnElement[bool], ...]:
        return (self._table.c.org_id == self._scope.org,)

    def _filtered(self, query: sa.Select[Any], criteria: Filter) -> sa.Select[Any]:
        c = self._table.c
        if "user_id" not in c and criteria.user_id:
            return query.where(sa.false())  # of no user
        equal = {
            "user_id": criteria.user_id if "user_id" in c else None,
            "source": criteria.source,
            "name": criteria.name,
            "request_id": criteria.request_id,
            "ttl": criteria.ttl,
        }
        org = c.org_id if criteria.ids is None else org_of(self._id)
        query = query.where(org == self._scope.org)
        query = query.where(*(c[name] == value for name, value in equal.items() if value is not None))
        at = c.created_at if criteria.by_creation else c.updated_at
        conditions: tuple[tuple[bool, Callable[[], sa.ColumnElement[bool]]], ...] = (
            (
                criteria.agent_version is not None,
                lambda: c.agent_version.in_(versions_meant(criteria.agent_version or "")),
            ),
            (criteria.ids is not None, lambda: self._id.in_([self.mapping.parse_id(i) for i in criteria.ids or ()])),
            (criteria.statuses is not None, lambda: c.status.in_([str(s) for s in criteria.statuses or ()])),
            (criteria.approvals is not None, lambda: c.approval.in_([str(a) for a in criteria.approvals or ()])),
            (bool(criteria.tags), lambda: self._scope.db.json_contains_any(c.tags, criteria.tags or ())),
            (
                criteria.extractor is not None,
                lambda: self._scope.db.json_contains_any(c.extractors, (criteria.extractor or "",)),
            ),
            (bool(criteria.text), lambda: self._scope.db.contains_text(c.content, criteria.text or "")),
            (criteria.since is not None, lambda: at >= criteria.since),
            (criteria.until is not None, lambda: at <= criteria.until),
            (criteria.unexpired_at is not None, lambda: _still_holds(c, criteria.unexpired_at)),
            (
                criteria.asking_version is not None and "scoped_version" in c,
                lambda: _in_scope(c, criteria.asking_version),
            ),
        )
        return query.where(*(condition() for applies, condition in conditions if applies))


def _still_holds(c: Any, at: Millis | None) -> sa.ColumnElement[bool]:
    """Profiles end at `expires_at`, lessons as `lesson_ends_at` says."""
    if "expires_at" in c:
        return cast(sa.ColumnElement[bool], c.expires_at > at)
    if "valid_until" not in c:
        return sa.true()
    return sa.or_(c.valid_until.is_(None), c.valid_until > at, c.category == str(Category.EVENT))


def _in_scope(c: Any, version: str | None) -> sa.ColumnElement[bool]:
    return sa.or_(c.scoped_version.is_(None), c.scoped_version.in_(versions_meant(version or "")))


@cache
def _insert(id_column: sa.Column[Any], _numbered: bool) -> CompiledStatement:  # noqa: FBT001 - rows of one always name the same columns
    return CompiledStatement(sa.insert(id_column.table).returning(id_column))


@cache
def _replace(id_column: sa.Column[Any]) -> CompiledStatement:
    mine = (id_column.table.c.org_id, id_column)
    return CompiledStatement(
        sa.update(id_column.table).where(*(column == sa.bindparam(f"its_{column.name}") for column in mine))
    )


@cache
def _by_ids(column: sa.Column[Any]) -> SelectByIds:
    return SelectByIds(column)


@cache
def _facets_by_ids(mapping: MemoryTable[Any]) -> SelectByIds:
    c = mapping.table.c
    columns = [c[name] for name in (mapping.id_column, *SHARED_FACETS, *mapping.facet_columns)]
    return SelectByIds(columns[0], columns)


# Of a kind that has no such fields.
_WITHOUT_SUBJECT = {"subject": "", "value": "", "mentions": 1}


def memory_row(table: sa.Table, memory: Any, **columns: Any) -> dict[str, Any]:
    """Columns named like a field are that field's, in every kind the same way; the others are arguments."""
    shared = {"status": str(memory.status), "tags": memory.tags or None, **asdict(memory.origin)}
    turns = {"interaction_ids": getattr(memory, "interaction_ids", None) or None}
    category = {"category": str(memory.category)} if hasattr(memory, "category") else {}
    return {**_WITHOUT_SUBJECT, **row_of(table, memory, **shared, **turns, **category, **columns)}


_ORIGIN = itemgetter(*Origin.__struct_fields__)


def reading(kind: type[M], id_column: str, complete: Callable[[dict[str, Any]], None]) -> Callable[[dict[str, Any]], M]:
    """How a row, which is used up by it, is read back: fields named like a column are that column's.

    `complete` adds the columns that only one kind has.
    """
    fields = itemgetter(*kind.__struct_fields__)  # type: ignore[attr-defined]

    def from_row(row: dict[str, Any]) -> M:
        row["id"] = row[id_column]
        row["origin"] = Origin(*_ORIGIN(row))
        row["status"] = Status(row["status"])
        row["tags"] = row["tags"] or []
        row["interaction_ids"] = row["interaction_ids"] or []
        complete(row)
        return kind(*fields(row))

    return from_row


def row_id(text: str) -> int | None:
    """A number the database gave, or None when it cannot be one."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None
