"""Conflicts between memories, as rows."""

from collections.abc import Collection, Sequence
from typing import Any

import sqlalchemy as sa

from acumen.model.ids import Kind, MemoryRef, Millis, UserId
from acumen.model.memories.base import Status
from acumen.model.memories.conflict import Conflict, ConflictSide, ConflictState, OpenConflict
from acumen.storage.engine.compiled_statement import CompiledSelect
from acumen.storage.engine.scope import OrgScope, in_batches
from acumen.storage.memories.memory_tables import MEMORY_TABLES
from acumen.storage.tables import conflicts

_IS_OPEN = conflicts.c.state == str(ConflictState.OPEN)

# Asked by every search: built once.
_OPEN_OF = CompiledSelect(
    sa.select(conflicts)
    .where(conflicts.c.org_id == sa.bindparam("org"), conflicts.c.user_id == sa.bindparam("user"), _IS_OPEN)
    .order_by(conflicts.c.created_at.desc(), conflicts.c.conflict_id)
)


class Conflicts:
    def __init__(self, scope: OrgScope) -> None:
        self._scope = scope

    def add(self, conflict: Conflict) -> bool:
        """False when the two are linked already, in any state."""
        if any({link.older, link.newer} == {conflict.older, conflict.newer} for link in self.find([conflict.newer])):
            return False
        self._scope.conn.execute(sa.insert(conflicts).values(self._scope.stamp(_row(conflict))))
        return True

    def get(self, conflict_id: str) -> Conflict | None:
        rows = self._scope.rows(self._scope.select(conflicts).where(conflicts.c.conflict_id == conflict_id))
        return next(map(_conflict, rows), None)

    def find(self, refs: Collection[MemoryRef], *, only_open: bool = False) -> list[Conflict]:
        """Those in which any of these memories takes part, oldest first."""
        by_kind: dict[Kind, list[str]] = {}
        for ref in refs:
            by_kind.setdefault(ref.kind, []).append(ref.id)
        c = conflicts.c
        by_id: dict[str, Conflict] = {}
        for kind, ids in by_kind.items():
            for batch in in_batches(ids):
                part = sa.or_(
                    sa.and_(c.older_kind == str(kind), c.older_id.in_(batch)),
                    sa.and_(c.newer_kind == str(kind), c.newer_id.in_(batch)),
                )
                query = self._scope.select(conflicts).where(part)
                rows = self._scope.rows(query.where(_IS_OPEN) if only_open else query)
                by_id |= {row["conflict_id"]: _conflict(row) for row in rows}
        return sorted(by_id.values(), key=lambda conflict: (conflict.created_at, conflict.id))

    def find_open(self, user: UserId | None = None, limit: int | None = None) -> list[Conflict]:
        """Newest first; of one user or of the whole org."""
        if user is not None and limit is None:
            return [_conflict(row) for row in _OPEN_OF.rows(self._scope.conn, org=self._scope.org, user=user)]
        query = self._scope.select(conflicts).where(_IS_OPEN)
        query = query if user is None else query.where(conflicts.c.user_id == user)
        ordered = query.order_by(conflicts.c.created_at.desc(), conflicts.c.conflict_id).limit(limit)
        return [_conflict(row) for row in self._scope.rows(ordered)]

    def describe(self, conflicts: Sequence[Conflict]) -> list[OpenConflict]:
        """Those of which both memories are current, in the same order."""
        sides = self._current([ref for conflict in conflicts for ref in (conflict.older, conflict.newer)])
        return [
            OpenConflict(conflict, sides[conflict.older], sides[conflict.newer])
            for conflict in conflicts
            if {conflict.older, conflict.newer} <= sides.keys()
        ]

    def _current(self, refs: Sequence[MemoryRef]) -> dict[MemoryRef, ConflictSide]:
        sides = {}
        for kind in {ref.kind for ref in refs}:
            mapping, c = MEMORY_TABLES[kind], MEMORY_TABLES[kind].table.c
            said_at = c.said_at if "said_at" in c else sa.null()
            columns = (mapping.text_id.label("id"), c.content, c.created_at, said_at.label("said_at"), c.version)
            trigger = c.trigger if "trigger" in c else sa.null()
            query = sa.select(*columns, trigger.label("trigger"))
            query = query.where(c.org_id == self._scope.org, c.status == str(Status.CURRENT))
            ids = {parsed for ref in refs if ref.kind is kind and (parsed := mapping.parse_id(ref.id)) is not None}
            for row in self._scope.all_in(query, c[mapping.id_column], ids):
                text = f"{row.trigger}: {row.content}" if row.trigger else row.content
                ref = MemoryRef(kind, row.id)
                sides[ref] = ConflictSide(ref, text, Millis(row.said_at or row.created_at), row.version)
        return sides

    def set_state(self, conflict_id: str, state: ConflictState, by: str | None, at: Millis | None) -> None:
        values = {"state": str(state), "settled_by": by, "settled_at": at}
        self._scope.update(conflicts, conflicts.c.conflict_id == conflict_id, **values)

    def settle(self, refs: Sequence[MemoryRef], by: str, at: Millis) -> list[Conflict]:
        """The open ones of memories that ended; returns them as they were."""
        ended = self.find(refs, only_open=True)
        for conflict in ended:
            self.set_state(conflict.id, ConflictState.SETTLED, by, at)
        return ended

    def reopen(self, refs: Sequence[MemoryRef]) -> None:
        """The settled ones of memories that are current again, where the other memory is current too."""
        settled = [conflict for conflict in self.find(refs) if conflict.state is ConflictState.SETTLED]
        for pair in self.describe(settled):
            self.set_state(pair.conflict.id, ConflictState.OPEN, None, None)

    def delete(self, kind: Kind, ids: Sequence[str]) -> None:
        """No word of deleted memories stays behind."""
        for conflict in self.find([MemoryRef(kind, memory_id) for memory_id in ids]):
            self._scope.delete(conflicts, conflicts.c.conflict_id == conflict.id)

    def delete_kind(self, kind: Kind) -> None:
        named = sa.or_(conflicts.c.older_kind == str(kind), conflicts.c.newer_kind == str(kind))
        self._scope.delete(conflicts, named)

    def delete_user(self, user: str) -> int:
        return self._scope.delete(conflicts, conflicts.c.user_id == user)


def _row(conflict: Conflict) -> dict[str, Any]:
    return {
        "conflict_id": conflict.id,
        "user_id": conflict.user_id,
        "older_kind": str(conflict.older.kind),
        "older_id": conflict.older.id,
        "newer_kind": str(conflict.newer.kind),
        "newer_id": conflict.newer.id,
        "reason": conflict.reason,
        "quote": conflict.quote,
        "interaction_id": conflict.interaction_id,
        "state": str(conflict.state),
        "settled_by": conflict.settled_by,
        "settled_at": conflict.settled_at,
    }


def _conflict(row: Any) -> Conflict:
    return Conflict(
        id=row["conflict_id"],
        user_id=row["user_id"],
        older=MemoryRef(Kind(row["older_kind"]), row["older_id"]),
        newer=MemoryRef(Kind(row["newer_kind"]), row["newer_id"]),
        reason=row["reason"],
        created_at=row["created_at"],
        quote=row["quote"],
        interaction_id=row["interaction_id"],
        state=ConflictState(row["state"]),
        settled_by=row["settled_by"],
        settled_at=row["settled_at"],
    )
