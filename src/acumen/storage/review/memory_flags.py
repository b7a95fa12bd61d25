"""What the watch over memories found, as rows: flags on single memories, and pairs that say nearly the same."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from msgspec import Struct

from acumen.model.ids import Kind, Millis
from acumen.model.memories.base import Status
from acumen.storage.engine.scope import OrgScope, in_batches, row_of, value_of
from acumen.storage.memories.memory_tables import MEMORY_TABLES
from acumen.storage.tables import duplicate_pairs, memory_flags, orgs


class MemoryFlag(Struct, frozen=True):
    """Why one memory deserves a look; `detail` holds the numbers, `since` when it was first seen."""

    kind: Kind
    id: str
    signal: str
    user_id: str | None
    detail: Mapping[str, Any]
    since: Millis = Millis(0)


class SimilarPair(Struct, frozen=True):
    """Two memories that say nearly the same; `left` sorts before `right`."""

    kind: Kind
    left: str
    right: str
    user_id: str | None
    similarity: float
    found_by: str  # meaning | words
    since: Millis = Millis(0)


class MemoryFlags:
    def __init__(self, scope: OrgScope) -> None:
        self._scope = scope

    # --- flags ---------------------------------------------------------------------------------------------------

    def replace(self, kind: Kind, ids: Sequence[str], signals: Sequence[str], flags: Iterable[MemoryFlag]) -> None:
        """What these signals say of these memories, all of it; what was known before keeps its `since`."""
        s, c = self._scope, memory_flags.c
        rows = {(flag.id, flag.signal): flag for flag in flags}
        query = s.select(c.entity_id, c.signal).where(c.kind == str(kind), c.signal.in_(signals))
        for row in s.all_in(query, c.entity_id, ids):
            if (row.entity_id, row.signal) not in rows:
                s.delete(memory_flags, c.kind == str(kind), c.entity_id == row.entity_id, c.signal == row.signal)
        new = s.db.insert(memory_flags)
        changed = {"detail": new.excluded.detail, "updated_at": s.at}
        upsert = new.on_conflict_do_update(index_elements=["org_id", "kind", "entity_id", "signal"], set_=changed)
        if rows:
            s.conn.execute(upsert, [s.stamp(_flag_row(flag, s.at)) for flag in rows.values()])

    def clear(self, signal: str, keep: Iterable[tuple[str, str]]) -> None:
        """Takes the signal off every memory but those named by kind and id."""
        flagged = set(keep)
        c = memory_flags.c
        for row in self._scope.all(self._scope.select(c.kind, c.entity_id).where(c.signal == signal)):
            if (row.kind, row.entity_id) not in flagged:
                self._scope.delete(memory_flags, c.kind == row.kind, c.entity_id == row.entity_id, c.signal == signal)

    def find(self, kind: Kind, ids: Sequence[str]) -> list[MemoryFlag]:
        c = memory_flags.c
        query = self._scope.select(memory_flags).where(c.kind == str(kind))
        return [_flag(row) for row in self._scope.all_in(query, c.entity_id, ids)]

    # --- pairs ---------------------------------------------------------------------------------------------------

    def replace_pairs(self, kind: Kind, ids: Sequence[str], pairs: Iterable[SimilarPair]) -> None:
        """Every pair that one of these memories is part of; a pair known before keeps its time."""
        s, c = self._scope, duplicate_pairs.c
        now = {(pair.left, pair.right): pair for pair in pairs}
        query = s.select(c.left_id, c.right_id).where(c.kind == str(kind))
        for left, right in {tuple(row) for side in (c.left_id, c.right_id) for row in s.all_in(query, side, ids)}:
            if (left, right) not in now:
                s.delete(duplicate_pairs, c.kind == str(kind), c.left_id == left, c.right_id == right)
        new = s.db.insert(duplicate_pairs)
        changed = {"similarity": new.excluded.similarity, "found_by": new.excluded.found_by, "updated_at": s.at}
        upsert = new.on_conflict_do_update(index_elements=["org_id", "kind", "left_id", "right_id"], set_=changed)
        if now:
            s.conn.execute(upsert, [s.stamp(_pair_row(pair)) for pair in now.values()])

    def find_pairs(
        self, kind: Kind, user: str | None = None, *, least: float = 0.0, ids: Sequence[str] | None = None
    ) -> list[SimilarPair]:
        """The most similar first: pairs of which both are in use, at this similarity or above."""
        c = duplicate_pairs.c
        query = self._scope.select(duplicate_pairs).where(c.kind == str(kind))
        query = query.where(sa.or_(c.similarity >= least, c.found_by != "meaning"))
        query = query.where(*(self._in_use(kind, side) for side in (c.left_id, c.right_id)))
        if user is not None:
            query = query.where(c.user_id == user)
        if ids is not None:
            query = query.where(sa.or_(c.left_id.in_(ids), c.right_id.in_(ids)))
        return [_pair(row) for row in self._scope.all(query.order_by(c.similarity.desc(), c.left_id, c.right_id))]

    def _in_use(self, kind: Kind, named: sa.ColumnElement[str]) -> sa.ColumnElement[bool]:
        c = MEMORY_TABLES[kind].table.c
        id_column = c[MEMORY_TABLES[kind].id_column]
        current = (c.org_id == self._scope.org, c.status == str(Status.CURRENT))
        return sa.exists().where(*current, id_column == sa.cast(named, id_column.type))

    # --- how far the watch has come ------------------------------------------------------------------------------

    def get_scanned(self) -> tuple[int, int]:
        """Generation and number of the last search row it has seen."""
        row = self._scope.first(self._scope.select(orgs.c.scanned_generation, orgs.c.scanned_seq))
        return (row.scanned_generation or 0, row.scanned_seq or 0) if row else (0, 0)

    def set_scanned(self, generation: int, seq: int) -> None:
        self._scope.update(orgs, scanned_generation=generation, scanned_seq=seq)

    # --- forgetting ----------------------------------------------------------------------------------------------

    def delete(self, kind: Kind, ids: Sequence[str] | None = None) -> None:
        """Of these memories; None: of all of the kind."""
        f, p = memory_flags.c, duplicate_pairs.c
        for batch in [None] if ids is None else in_batches(ids):
            mine = () if batch is None else (f.entity_id.in_(batch),)
            part = () if batch is None else (sa.or_(p.left_id.in_(batch), p.right_id.in_(batch)),)
            self._scope.delete(memory_flags, f.kind == str(kind), *mine)
            self._scope.delete(duplicate_pairs, p.kind == str(kind), *part)

    def delete_user(self, user: str) -> int:
        tables = (memory_flags, duplicate_pairs)
        return sum(self._scope.delete(table, table.c.user_id == user) for table in tables)


def _flag_row(flag: MemoryFlag, at: Millis) -> dict[str, Any]:
    return row_of(memory_flags, flag, entity_id=flag.id, detail=dict(flag.detail), since=flag.since or at)


def _flag(row: Any) -> MemoryFlag:
    return value_of(MemoryFlag, row, id=row.entity_id, kind=Kind(row.kind), detail=row.detail or {})


def _pair_row(pair: SimilarPair) -> dict[str, Any]:
    return row_of(duplicate_pairs, pair, left_id=pair.left, right_id=pair.right)


def _pair(row: Any) -> SimilarPair:
    sides = {"left": row.left_id, "right": row.right_id}
    return value_of(SimilarPair, row, **sides, kind=Kind(row.kind), since=Millis(row.created_at))
