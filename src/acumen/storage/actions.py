"""What people did to memories, as rows: one per action, one per memory it touched."""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from acumen.model.action import Action, ActionId, ActionItem, Doing
from acumen.model.ids import Kind, MemoryRef, Millis
from acumen.storage.scope import Scope, in_batches
from acumen.storage.tables import action_items, actions


class Actions:
    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    def add(self, action: Action) -> None:
        self._scope.add(actions, [_action_row(action)])
        rows = [_item_row(action.id, place, item) for place, item in enumerate(action.items)]
        self._scope.add(action_items, rows)

    def get(self, action_id: ActionId) -> Action | None:
        row = self._scope.one(sa.select(actions).where(*self._mine(), actions.c.action_id == action_id))
        return self._with_items([row])[0] if row else None

    def page(self, limit: int, offset: int, ref: MemoryRef | None = None) -> tuple[list[Action], int]:
        """The latest first, and how many there are: of all memories, or of one."""
        query = sa.select(actions).where(*self._mine())
        if ref is not None:
            c = action_items.c
            touched = sa.select(c.action_id).where(
                c.org_id == self._scope.org, c.kind == str(ref.kind), c.entity_id == ref.id
            )
            query = query.where(actions.c.action_id.in_(touched))
        total = self._scope.conn.execute(sa.select(sa.func.count()).select_from(query.subquery())).scalar_one()
        order = (actions.c.created_at.desc(), actions.c.action_id.desc())
        return self._with_items(self._scope.all(query.order_by(*order).limit(limit).offset(offset))), int(total)

    def take_back(self, action_id: ActionId, by: ActionId) -> bool:
        """False when somebody has done so before."""
        statement = (
            sa.update(actions)
            .where(*self._mine(), actions.c.action_id == action_id, actions.c.undone_by.is_(None))
            .values(undone_by=by, updated_at=self._scope.at)
        )
        return self._scope.conn.execute(statement).rowcount == 1

    def stand_again(self, action_id: ActionId) -> None:
        """What took it back was taken back itself."""
        statement = sa.update(actions).where(*self._mine(), actions.c.action_id == action_id)
        self._scope.conn.execute(statement.values(undone_by=None, updated_at=self._scope.at))

    def forget_words(self, kind: Kind, ids: Sequence[str] | None = None) -> None:
        """That something was done to these memories (None: all of the kind) is kept, what they said goes."""
        c = action_items.c
        blank = sa.update(action_items).where(c.org_id == self._scope.org, c.kind == str(kind))
        values = {"before": None, "after": None, "updated_at": self._scope.at}
        if ids is None:
            self._scope.conn.execute(blank.values(values))
            return
        for some in in_batches(ids):
            self._scope.conn.execute(blank.where(c.entity_id.in_(some)).values(values))

    def delete_user(self, user: str) -> int:
        """What was done to this user's memories; what else the same actions did stays, without its reason."""
        c = action_items.c
        touched = sa.select(c.action_id).where(c.org_id == self._scope.org, c.user_id == user)
        values = {"reason": "", "params": None, "updated_at": self._scope.at}
        self._scope.conn.execute(
            sa.update(actions).where(*self._mine(), actions.c.action_id.in_(touched)).values(values)
        )
        return self._scope.delete(action_items, c.user_id == user)

    def _mine(self) -> tuple[sa.ColumnElement[bool], ...]:
        return (actions.c.org_id == self._scope.org,)

    def _with_items(self, rows: Sequence[Any]) -> list[Action]:
        c = action_items.c
        found: dict[str, list[ActionItem]] = {row.action_id: [] for row in rows}
        for some in in_batches(list(found)):
            query = sa.select(action_items).where(c.org_id == self._scope.org, c.action_id.in_(some))
            for item in self._scope.all(query.order_by(c.action_id, c.place)):
                found[item.action_id].append(_item(item))
        return [_action(row, found[row.action_id]) for row in rows]


def _action_row(action: Action) -> dict[str, Any]:
    return {
        "action_id": action.id,
        "action": str(action.doing),
        "actor": action.actor,
        "reason": action.reason,
        "params": dict(action.params) or None,
        "undoes": action.undoes,
        "undone_by": action.undone_by,
        "created_at": action.created_at,
    }


def _item_row(action_id: ActionId, place: int, item: ActionItem) -> dict[str, Any]:
    return {
        "action_id": action_id,
        "place": place,
        "kind": str(item.ref.kind),
        "entity_id": item.ref.id,
        "user_id": item.user_id,
        "changed": item.changed,
        "why": item.why,
        "before": item.before,
        "after": item.after,
    }


def _item(row: Any) -> ActionItem:
    ref = MemoryRef(Kind(row.kind), row.entity_id)
    return ActionItem(ref, row.changed, row.why, row.user_id, row.before, row.after)


def _action(row: Any, items: Sequence[ActionItem]) -> Action:
    return Action(
        id=ActionId(row.action_id),
        doing=Doing(row.action),
        actor=row.actor,
        created_at=Millis(row.created_at),
        reason=row.reason,
        params=row.params or {},
        undoes=row.undoes and ActionId(row.undoes),
        undone_by=row.undone_by and ActionId(row.undone_by),
        items=items,
    )
