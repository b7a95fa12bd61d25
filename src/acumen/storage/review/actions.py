"""The audit log as rows: one per action, one per memory that it changed."""

from collections.abc import Collection, Sequence
from typing import Any

import sqlalchemy as sa

from acumen.model.ids import Kind, MemoryRef
from acumen.model.review.action import Action, ActionId, ActionItem, ActionKind
from acumen.model.times import DAY_MS
from acumen.storage.engine.scope import OrgScope, in_batches, row_of, value_of
from acumen.storage.tables import action_items, actions


class Actions:
    def __init__(self, scope: OrgScope) -> None:
        self._scope = scope

    def add(self, action: Action) -> None:
        self._scope.insert(actions, [_action_row(action)])
        rows = [_item_row(action.id, place, item) for place, item in enumerate(action.items)]
        self._scope.insert(action_items, rows)

    def get(self, action_id: ActionId) -> Action | None:
        row = self._scope.first(self._scope.select(actions).where(actions.c.action_id == action_id))
        return self._with_items([row])[0] if row else None

    def get_many(self, ids: Collection[str]) -> dict[str, Action]:
        """Unknown ids are left out."""
        rows = self._scope.all_in(self._scope.select(actions), actions.c.action_id, set(ids))
        return {action.id: action for action in self._with_items(rows)}

    def find_undone_changes(self, ids: Collection[str]) -> dict[int, ActionId]:
        """Of the memories with these ids: lineage events that were undone, each with the action that did it."""
        a, i = actions.c, action_items.c
        items = sa.and_(i.org_id == a.org_id, i.action_id == a.action_id)
        query = self._scope.select(a.action_id, a.params).join(action_items, items)
        query = query.where(a.action == str(ActionKind.UNDO_CHANGE), a.undone_by.is_(None))
        return {
            row.params["change"]: ActionId(row.action_id) for row in self._scope.all_in(query, i.entity_id, set(ids))
        }

    def page(self, limit: int, offset: int, ref: MemoryRef | None = None) -> tuple[list[Action], int]:
        """The latest first, and how many there are: of all memories, or of one."""
        query = self._scope.select(actions).order_by(actions.c.created_at.desc(), actions.c.action_id.desc())
        if ref is not None:
            c = action_items.c
            touched = self._scope.select(c.action_id).where(c.kind == str(ref.kind), c.entity_id == ref.id)
            query = query.where(actions.c.action_id.in_(touched))
        rows, total = self._scope.page(query, limit, offset)
        return self._with_items(rows), total

    def count_per_day(self, first_day: int) -> dict[int, int]:
        """How many actions there were on each day (UTC) that had any."""
        day = actions.c.created_at // DAY_MS
        query = self._scope.select(actions.c.action_id).with_only_columns(day, sa.func.count())
        query = query.where(actions.c.created_at >= first_day * DAY_MS).group_by(day)
        return {int(row[0]): int(row[1]) for row in self._scope.all(query)}

    def mark_undone(self, action_id: ActionId, by: ActionId) -> bool:
        """False when it was already undone."""
        c = actions.c
        return self._scope.update(actions, c.action_id == action_id, c.undone_by.is_(None), undone_by=by) == 1

    def clear_undone(self, action_id: ActionId) -> None:
        """The undo of this action was itself undone."""
        self._scope.update(actions, actions.c.action_id == action_id, undone_by=None)

    def erase_words(self, kind: Kind, ids: Sequence[str] | None = None) -> None:
        """That something was done to these memories (None: all of the kind) is kept, what they said goes."""
        c = action_items.c
        for named in [()] if ids is None else [(c.entity_id.in_(batch),) for batch in in_batches(ids)]:
            self._scope.update(action_items, c.kind == str(kind), *named, before=None, after=None)

    def delete_user(self, user: str) -> int:
        """What was done to this user's memories; what else the same actions did stays, without its reason."""
        c = action_items.c
        touched = self._scope.select(c.action_id).where(c.user_id == user)
        self._scope.update(actions, actions.c.action_id.in_(touched), reason="", params=None)
        return self._scope.delete(action_items, c.user_id == user)

    def _with_items(self, rows: Sequence[Any]) -> list[Action]:
        c = action_items.c
        items_of: dict[str, list[ActionItem]] = {row.action_id: [] for row in rows}
        query = self._scope.select(action_items).order_by(c.action_id, c.place)
        for item in self._scope.all_in(query, c.action_id, items_of):
            items_of[item.action_id].append(_item(item))
        return [_action(row, items_of[row.action_id]) for row in rows]


def _action_row(action: Action) -> dict[str, Any]:
    columns = {"action_id": action.id, "action": str(action.doing), "params": dict(action.params) or None}
    return row_of(actions, action, **columns)


def _item_row(action_id: ActionId, place: int, item: ActionItem) -> dict[str, Any]:
    named = {"kind": str(item.ref.kind), "entity_id": item.ref.id}
    return row_of(action_items, item, action_id=action_id, place=place, **named)


def _item(row: Any) -> ActionItem:
    ref = MemoryRef(Kind(row.kind), row.entity_id)
    return ActionItem(ref, row.changed, row.why, row.user_id, row.before, row.after)


def _action(row: Any, items: Sequence[ActionItem]) -> Action:
    return value_of(Action, row, id=row.action_id, doing=ActionKind(row.action), params=row.params or {}, items=items)
