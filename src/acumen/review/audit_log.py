"""The audit log: actions on memories, with the snapshots that undo needs."""

from collections.abc import Mapping, Sequence
from typing import Any

from acumen.deps import Deps
from acumen.model.ids import MemoryRef, fresh_id
from acumen.model.memories.memory import Memory, owner
from acumen.model.review.action import Action, ActionId, ActionItem
from acumen.storage.store import Tx

# Of each action at most this many memories are listed by title.
TITLED = 5


def fresh_action() -> ActionId:
    return ActionId(fresh_id("act"))


def changed_item(tx: Tx, ref: MemoryRef, before: Memory, after: Memory) -> ActionItem:
    rows: Any = tx.by_kind[ref.kind]
    sides = {"memory": rows.mapping.to_row(before)}, {"memory": rows.mapping.to_row(after)}
    return ActionItem(ref, True, None, owner(after) or None, *sides)


async def page(limit: int, offset: int, ref: MemoryRef | None, deps: Deps) -> tuple[list[Action], int]:
    """Newest first, of all memories or of one; and the total number."""
    return await deps.store.read(lambda tx: tx.actions.page(limit, offset, ref))


async def titles_and_days(
    actions: Sequence[Action], first_day: int, deps: Deps
) -> tuple[Mapping[MemoryRef, str], Mapping[int, int]]:
    """Titles of the first memories of each action, and the number of actions per day since a day."""
    refs = {item.ref for action in actions for item in action.items[:TITLED]}
    return await deps.store.read(lambda tx: (tx.memories.get_titles(refs), tx.actions.count_per_day(first_day)))
