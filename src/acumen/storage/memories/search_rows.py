"""What search reads: words and vectors, each with the number of its last change (`change_numbers.py`)."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from operator import itemgetter
from typing import Any, NamedTuple, TypeVar, cast

import sqlalchemy as sa

from acumen.model.ids import Millis
from acumen.model.memories.search import SearchRow
from acumen.storage.engine.compiled_statement import CompiledSelect, CompiledStatement, PlainStatement
from acumen.storage.engine.scope import OrgScope
from acumen.storage.memories import change_numbers
from acumen.storage.memories.change_numbers import IndexVersion
from acumen.storage.tables import orgs, search_rows

R = TypeVar("R")

# A search that reads its scope again takes about as long as this many rows take to be numbered.
FEW = 500
# A sample is taken from so many places.
STRETCHES = 20


_LATEST = PlainStatement(
    sa.select(sa.func.max(search_rows.c.seq)).where(
        search_rows.c.org_id == sa.bindparam("org"),
        search_rows.c.kind == sa.bindparam("kind"),
        search_rows.c.user_id == sa.bindparam("user"),
    )
)
_TOUCH = PlainStatement(
    sa.update(search_rows)
    .where(
        search_rows.c.org_id == sa.bindparam("org"),
        search_rows.c.kind == sa.bindparam("its_kind"),
        search_rows.c.entity_id == sa.bindparam("its_entity_id"),
    )
    .values(seq=sa.bindparam("its_seq"), updated_at=sa.bindparam("its_updated_at"))
)


class StoredRow(NamedTuple):
    """A row that exists."""

    entity_id: str
    user_id: str
    seq: int
    analyser: str
    terms: str
    model: str
    vector: bytes | None


_FIELDS = SearchRow.__struct_fields__
_CHANGE = ("entity_id", "seq", "gone", "analyser", "terms", "model", "vector")


class Change(NamedTuple):
    """A row as an index reads it; a tuple, because it reads many."""

    entity_id: str
    seq: int
    gone: bool
    analyser: str
    terms: str
    model: str
    vector: bytes | None


class TextRow(NamedTuple):
    """What a text is compared by: its vector, or its words."""

    entity_id: str
    terms: str
    vector: bytes | None


@cache
def _since(columns: Sequence[str], *, of_user: bool, limited: bool) -> CompiledSelect:
    c = search_rows.c
    named = {"org": c.org_id, "kind": c.kind, **({"user": c.user_id} if of_user else {})}
    query = sa.select(*(c[name] for name in columns))
    query = query.where(*(column == sa.bindparam(name) for name, column in named.items()))
    query = query.where(c.seq > sa.bindparam("seq")).order_by(c.seq)
    return CompiledSelect(query.limit(sa.bindparam("most", type_=sa.Integer)) if limited else query)


@cache
def _by_user() -> PlainStatement:
    c = search_rows.c
    query = sa.select(*(c[name] for name in StoredRow._fields))
    query = query.where(c.org_id == sa.bindparam("org"), c.kind == sa.bindparam("kind"), sa.not_(c.gone))
    query = query.where(sa.tuple_(c.user_id, c.seq) > sa.tuple_(sa.bindparam("user"), sa.bindparam("seq")))
    return PlainStatement(query.order_by(c.user_id, c.seq).limit(sa.bindparam("most", type_=sa.Integer)))


class SearchRows:
    def __init__(self, scope: OrgScope) -> None:
        self._scope = scope

    @property
    def at(self) -> Millis:
        """When the transaction began."""
        return self._scope.at

    def get_version(self) -> IndexVersion:
        return change_numbers.version(self._scope)

    def find_since(
        self, kind: str, user: str | None, seq: int, limit: int | None = None
    ) -> list[tuple[SearchRow, int, bool]]:
        """Rows of a scope that changed after `seq`, in order: the row, its number, whether it is gone.

        Of a number all rows or none. Those of one transaction may be more than `limit`.
        """
        bound = {"org": self._scope.org, "kind": kind, "seq": seq, "user": user, "most": limit}
        changed = _since((*_FIELDS, "seq", "gone"), of_user=user is not None, limited=limit is not None)
        rows = changed.rows(self._scope.conn, **{name: value for name, value in bound.items() if value is not None})
        page = [(SearchRow(*(row[name] for name in _FIELDS)), row["seq"], row["gone"]) for row in rows]
        if limit is None or len(page) < limit:
            return page
        return _whole(page, lambda row: row[1]) or self.find_since(kind, user, seq, 2 * limit)

    def find_changes(self, kind: str, user: str | None, seq: int, limit: int) -> Sequence[Change]:
        """The same as plain tuples: a fifth of the time for a scope that is read for the first time."""
        bound = {"org": self._scope.org, "kind": kind, "seq": seq, "most": limit, **({"user": user} if user else {})}
        page = cast(
            "list[Change]", _since(_CHANGE, of_user=user is not None, limited=True).all(self._scope.conn, **bound)
        )
        if len(page) < limit:
            return page
        return _whole(page, itemgetter(1)) or self.find_changes(kind, user, seq, 2 * limit)

    def pages(self, kind: str, user: str, model: str, size: int) -> Iterator[list[TextRow]]:
        """All rows of a user, or of shared lessons, by pages; those with a vector of the model without their words."""
        c = search_rows.c
        embedded = sa.and_(c.model == model, c.vector.is_not(None))
        words = sa.case((embedded, ""), else_=c.terms).label("terms")
        vector = sa.case((embedded, c.vector)).label("vector")
        query = self._scope.select(c.entity_id, words, vector, c.seq).where(*_in_scope(kind, user), sa.not_(c.gone))
        query = query.where(sa.tuple_(c.seq, c.entity_id) > sa.tuple_(sa.bindparam("seq"), sa.bindparam("last")))
        query, seq, last = query.order_by(c.seq, c.entity_id).limit(size), -1, ""
        while rows := self._scope.all(query, seq=seq, last=last):
            yield [TextRow(row.entity_id, row.terms, row.vector) for row in rows]
            seq, last = rows[-1].seq, rows[-1].entity_id

    def find_by_user(self, kind: str, after: tuple[str, int], limit: int) -> list[StoredRow]:
        """Rows in the order of their users and numbers, behind a user and a number."""
        rows = _by_user().all(self._scope.conn, org=self._scope.org, kind=kind, user=after[0], seq=after[1], most=limit)
        return [StoredRow(*row) for row in rows]

    def find_newest(self, kind: str, seq: int, limit: int) -> list[tuple[str, int, Millis]]:
        """Ids, numbers and times of change of the last rows up to `seq`, those that are gone included."""
        c = search_rows.c
        query = self._scope.select(c.entity_id, c.seq, c.updated_at).where(c.kind == kind, c.seq <= seq)
        return [
            (row.entity_id, row.seq, row.updated_at)
            for row in self._scope.all(query.order_by(c.seq.desc()).limit(limit))
        ]

    def find_numbers(self, kind: str, ids: Sequence[str]) -> dict[str, tuple[int, Millis]]:
        """Number and time of the last change of these rows, those that are gone included."""
        c = search_rows.c
        query = self._scope.select(c.entity_id, c.seq, c.updated_at).where(c.kind == kind)
        return {row.entity_id: (row.seq, row.updated_at) for row in self._scope.all_in(query, c.entity_id, ids)}

    def get_many(self, kind: str, ids: Sequence[str]) -> dict[str, SearchRow]:
        """The rows that exist; deleted ones are left out."""
        c = search_rows.c
        query = self._scope.select(search_rows).where(c.kind == kind, sa.not_(c.gone))
        return {row.entity_id: _row(row) for row in self._scope.all_in(query, c.entity_id, ids)}

    def count(self, kind: str, user: str | None, most: int | None = None) -> int:
        """Rows of a scope, up to `most`. Those that are gone count too: reading the index is enough."""
        rows = self._scope.select(search_rows.c.seq).where(*_in_scope(kind, user)).limit(most).subquery()
        return int(self._scope.first(sa.select(sa.func.count()).select_from(rows))[0])

    def sample_terms(self, kind: str, user: str | None, size: int) -> list[str]:
        """The terms of about so many rows of a scope, or of all: stretches of the order in which they were written."""
        c, mine = search_rows.c, _in_scope(kind, user)
        first, last = self._scope.first(
            sa.select(sa.func.min(c.seq), sa.func.max(c.seq)).where(c.org_id == self._scope.org, *mine)
        )
        if first is None:
            return []
        query = self._scope.select(c.entity_id, c.terms).where(*mine, sa.not_(c.gone), c.seq >= sa.bindparam("start"))
        stretch = query.order_by(c.seq).limit(size // STRETCHES)
        starts = sorted({first + (last - first) * place // STRETCHES for place in range(STRETCHES)})
        # Where few numbers are taken, stretches meet the same rows.
        rows = {row.entity_id: row.terms for start in starts for row in self._scope.all(stretch, start=start)}
        return list(rows.values())

    def find_changed_after(self, seq: int, kinds: Sequence[str], limit: int) -> tuple[list[tuple[str, str, int]], bool]:
        """Rows of these kinds that changed after `seq`, in order: kind, id, number; and whether more follow.

        Of a number all rows or none. Those of one transaction may be more than `limit`.
        """
        c = search_rows.c
        query = self._scope.select(c.kind, c.entity_id, c.seq).where(c.seq > seq)
        rows = self._scope.all(query.where(c.kind.in_([str(kind) for kind in kinds])).order_by(c.seq).limit(limit))
        page = [(row.kind, row.entity_id, row.seq) for row in rows]
        if len(page) < limit:
            return page, False
        whole = _whole(page, lambda row: row[2])
        return (whole, True) if whole else self.find_changed_after(seq, kinds, 2 * limit)

    def count_after(self, version: IndexVersion, kinds: Sequence[str]) -> int:
        """How many changed since then; all of them, if every cache has to be read again."""
        c = search_rows.c
        after = version.seq if version.generation == self.get_version().generation else 0
        return self._scope.count(search_rows, c.seq > after, c.kind.in_([str(kind) for kind in kinds]))

    def upsert(self, rows: Sequence[SearchRow]) -> None:
        """Insert or replace."""
        self._file(rows, gone=False)

    def touch(self, kind: str, entity_id: str) -> None:
        """What it is filtered by has changed, its words have not."""
        self.touch_all(kind, [entity_id])

    def touch_all(self, kind: str, ids: Sequence[str]) -> None:
        """The same for a few; for many it is cheaper that every cache is read again."""
        if len(ids) > FEW:
            self.begin_generation()
        elif ids:
            same = {"org": self._scope.org, "kind": kind, "updated_at": self._scope.at}
            numbered = zip(ids, self._take(len(ids)), strict=True)
            _TOUCH.run(self._scope.conn, [{**same, "entity_id": id_, "seq": seq} for id_, seq in numbered])

    def get_latest_version(self, kind: str, user: str) -> IndexVersion:
        """Differs whenever something of the scope has changed."""
        latest = _LATEST.first(self._scope.conn, org=self._scope.org, kind=kind, user=user)
        return IndexVersion(self.get_version().generation, int(latest[0] or 0))

    def require_org_lock(self) -> None:
        """Up to COMMIT no other transaction changes what search reads of this org, or of the users that are locked."""
        self._scope.require_org_lock()

    def mark_deleted(self, kind: str, owners: Mapping[str, str]) -> None:
        """Ids, each with its owner. Leaves only the fact that they are gone, for every process to see."""
        self._file([SearchRow(kind, entity_id, user, "", "") for entity_id, user in owners.items()], gone=True)

    def delete_user(self, user: str) -> None:
        self._scope.delete(search_rows, search_rows.c.user_id == user)
        self.begin_generation()

    def delete_kind(self, kind: str) -> None:
        self._scope.delete(search_rows, search_rows.c.kind == kind)
        self.begin_generation()

    def begin_generation(self) -> None:
        self._scope.require_whole_org_lock()
        self._scope.update(orgs, generation=orgs.c.generation + 1)

    def find_without_vector(self, model: str, kind: str, limit: int) -> list[str]:
        """Ids whose vector is missing or was made by another model."""
        c = search_rows.c
        query = self._scope.select(c.entity_id).where(c.kind == kind, sa.not_(c.gone), c.model != model)
        return [row.entity_id for row in self._scope.all(query.order_by(c.seq).limit(limit))]

    def count_without_vector(self, model: str, kind: str) -> int:
        c = search_rows.c
        return self._scope.count(search_rows, c.kind == kind, sa.not_(c.gone), c.model != model)

    def _file(self, rows: Sequence[SearchRow], *, gone: bool) -> None:
        if not rows:
            return
        last = {(row.kind, row.entity_id): row for row in rows}
        numbered = zip(last.values(), self._take(len(last)), strict=True)
        values = [self._scope.stamp({**_values(row), "seq": seq, "gone": gone}) for row, seq in numbered]
        _put(self._scope.db.insert).run(self._scope.conn, values)

    def _take(self, many: int) -> Sequence[int]:
        self.require_org_lock()
        return change_numbers.take(self._scope, many)


def _in_scope(kind: str, user: str | None) -> list[sa.ColumnElement[bool]]:
    """Of one user, or of all."""
    c = search_rows.c
    return [c.kind == kind, *([] if user is None else [c.user_id == user])]


def _whole(page: list[R], number: Callable[[R], int]) -> list[R]:
    """Without the rows of the last number, of which more may follow."""
    return [row for row in page if number(row) < number(page[-1])]


@cache
def _put(insert: Callable[[sa.Table], Any]) -> CompiledStatement:
    """Built once per database: building costs more than running."""
    new = insert(search_rows)
    changed = ("user_id", "seq", "gone", "analyser", "terms", "model", "vector", "updated_at")
    return CompiledStatement(
        new.on_conflict_do_update(
            index_elements=["org_id", "kind", "entity_id"], set_={name: new.excluded[name] for name in changed}
        )
    )


def _values(row: SearchRow) -> dict[str, Any]:
    return {name: getattr(row, name) for name in SearchRow.__struct_fields__}


def _row(row: Any) -> SearchRow:
    return SearchRow(*(getattr(row, name) for name in _FIELDS))
