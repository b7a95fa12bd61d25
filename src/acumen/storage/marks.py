"""What people have said about memories, as rows."""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from acumen.model.action import UNMARKED, Mark
from acumen.model.ids import Kind, MemoryRef
from acumen.storage.scope import Scope, in_batches
from acumen.storage.tables import review_marks


class Marks:
    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    def of(self, kind: Kind, ids: Sequence[str]) -> dict[str, Mark]:
        """Only of those that have one."""
        c = review_marks.c
        query = sa.select(review_marks).where(c.org_id == self._scope.org, c.kind == str(kind))
        rows = [row for some in in_batches(ids) for row in self._scope.all(query.where(c.entity_id.in_(some)))]
        return {row.entity_id: mark_of(row) for row in rows}

    def all_of(self, kind: Kind) -> dict[str, Mark]:
        c = review_marks.c
        rows = self._scope.all(sa.select(review_marks).where(c.org_id == self._scope.org, c.kind == str(kind)))
        return {row.entity_id: mark_of(row) for row in rows}

    def put(self, ref: MemoryRef, mark: Mark, user: str | None) -> None:
        """A mark that says nothing is no row."""
        s, c = self._scope, review_marks.c
        if mark == UNMARKED:
            s.delete(review_marks, c.kind == str(ref.kind), c.entity_id == ref.id)
            return
        said = {
            "pinned": mark.pinned,
            "snoozed_until": mark.snoozed_until,
            "useful_at": mark.useful_at,
            "dismissed": dict(mark.dismissed) or None,
        }
        statement = s.db.insert(review_marks).on_conflict_do_update(
            index_elements=["org_id", "kind", "entity_id"], set_={**said, "updated_at": s.at}
        )
        s.conn.execute(statement, s.stamp({"kind": str(ref.kind), "entity_id": ref.id, "user_id": user, **said}))

    def delete(self, kind: Kind, ids: Sequence[str] | None = None) -> None:
        """Of these memories; None: of all of the kind."""
        c = review_marks.c
        if ids is None:
            self._scope.delete(review_marks, c.kind == str(kind))
            return
        for some in in_batches(ids):
            self._scope.delete(review_marks, c.kind == str(kind), c.entity_id.in_(some))

    def delete_user(self, user: str) -> int:
        return self._scope.delete(review_marks, review_marks.c.user_id == user)


def mark_of(row: Any) -> Mark:
    return Mark(bool(row.pinned), row.snoozed_until, row.useful_at, row.dismissed or {})
