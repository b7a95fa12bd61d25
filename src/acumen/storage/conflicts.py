"""Conflicts between memories, as rows."""

from collections.abc import Collection, Sequence
from typing import Any

import sqlalchemy as sa

from acumen.model.conflict import Conflict, ConflictState
from acumen.model.ids import Kind, MemoryRef, Millis, UserId
from acumen.storage.scope import Scope, in_batches
from acumen.storage.tables import conflicts

_IS_OPEN = conflicts.c.state == str(ConflictState.OPEN)


class Conflicts:
    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    def add(self, conflict: Conflict) -> bool:
        """False when the two are linked already, in whichever state."""
        if any({link.older, link.newer} == {conflict.older, conflict.newer} for link in self.of([conflict.newer])):
            return False
        self._scope.conn.execute(sa.insert(conflicts).values(self._scope.stamp(_row(conflict))))
        return True

    def get(self, conflict_id: str) -> Conflict | None:
        rows = self._scope.rows(self._scope.mine(conflicts).where(conflicts.c.conflict_id == conflict_id))
        return next(map(_conflict, rows), None)

    def of(self, refs: Collection[MemoryRef], *, only_open: bool = False) -> list[Conflict]:
        """Those in which any of these memories takes part, oldest first."""
        by_kind: dict[Kind, list[str]] = {}
        for ref in refs:
            by_kind.setdefault(ref.kind, []).append(ref.id)
        c = conflicts.c
        found: dict[str, Conflict] = {}
        for kind, ids in by_kind.items():
            for some in in_batches(ids):
                part = sa.or_(
                    sa.and_(c.older_kind == str(kind), c.older_id.in_(some)),
                    sa.and_(c.newer_kind == str(kind), c.newer_id.in_(some)),
                )
                query = self._scope.mine(conflicts).where(part)
                rows = self._scope.rows(query.where(_IS_OPEN) if only_open else query)
                found |= {row["conflict_id"]: _conflict(row) for row in rows}
        return sorted(found.values(), key=lambda conflict: (conflict.created_at, conflict.id))

    def open(self, user: UserId | None = None, limit: int | None = None) -> list[Conflict]:
        """Newest first; of one user or of the whole org."""
        query = self._scope.mine(conflicts).where(_IS_OPEN)
        query = query if user is None else query.where(conflicts.c.user_id == user)
        ordered = query.order_by(conflicts.c.created_at.desc(), conflicts.c.conflict_id).limit(limit)
        return [_conflict(row) for row in self._scope.rows(ordered)]

    def set_state(self, conflict_id: str, state: ConflictState, by: str | None, at: Millis | None) -> None:
        values = {"state": str(state), "settled_by": by, "settled_at": at}
        self._scope.update(conflicts, conflicts.c.conflict_id == conflict_id, **values)

    def settle_of(self, refs: Sequence[MemoryRef], by: str, at: Millis) -> list[Conflict]:
        """The open ones of memories that ended; returns them as they were."""
        ended = self.of(refs, only_open=True)
        for conflict in ended:
            self.set_state(conflict.id, ConflictState.SETTLED, by, at)
        return ended

    def delete_of(self, kind: Kind, ids: Sequence[str]) -> None:
        """No word of deleted memories stays behind."""
        for conflict in self.of([MemoryRef(kind, memory_id) for memory_id in ids]):
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
