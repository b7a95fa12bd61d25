"""What people have said about memories, as rows."""

from collections.abc import Sequence
from typing import Any

from acumen.model.ids import Kind, MemoryRef
from acumen.model.review.action import UNREVIEWED, ReviewState
from acumen.storage.engine.scope import OrgScope, row_of
from acumen.storage.tables import review_states


class ReviewStates:
    def __init__(self, scope: OrgScope) -> None:
        self._scope = scope

    def find(self, kind: Kind, ids: Sequence[str]) -> dict[str, ReviewState]:
        """Memories without a state are left out."""
        c = review_states.c
        query = self._scope.select(review_states).where(c.kind == str(kind))
        return {row.entity_id: review_state_of(row) for row in self._scope.all_in(query, c.entity_id, ids)}

    def find_all(self, kind: Kind) -> dict[str, ReviewState]:
        query = self._scope.select(review_states).where(review_states.c.kind == str(kind))
        return {row.entity_id: review_state_of(row) for row in self._scope.all(query)}

    def upsert(self, ref: MemoryRef, state: ReviewState, user: str | None) -> None:
        """A mark that says nothing is no row."""
        s, c = self._scope, review_states.c
        if state == UNREVIEWED:
            s.delete(review_states, c.kind == str(ref.kind), c.entity_id == ref.id)
            return
        values = row_of(review_states, state, dismissed=dict(state.dismissed) or None)
        s.upsert(review_states, {"kind": str(ref.kind), "entity_id": ref.id}, {"user_id": user, **values})

    def delete(self, kind: Kind, ids: Sequence[str] | None = None) -> None:
        """Of these memories; None: of all of the kind."""
        c = review_states.c
        if ids is None:
            self._scope.delete(review_states, c.kind == str(kind))
        else:
            self._scope.delete_in(c.entity_id, ids, c.kind == str(kind))

    def delete_user(self, user: str) -> int:
        return self._scope.delete(review_states, review_states.c.user_id == user)


def review_state_of(row: Any) -> ReviewState:
    return ReviewState(bool(row.pinned), row.snoozed_until, row.useful_at, row.dismissed or {})
