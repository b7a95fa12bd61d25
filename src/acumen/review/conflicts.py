"""Conflicts between memories: list the open ones, settle one, and reopen it when that is undone."""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from acumen.deps import Deps
from acumen.errors import Conflict as Refused
from acumen.errors import NotFound
from acumen.model.ids import MemoryRef, Millis, UserId, fresh_id
from acumen.model.memories.base import Cause, Status
from acumen.model.memories.conflict import Conflict, ConflictState, Keep, OpenConflict
from acumen.model.memories.memory import Memory
from acumen.model.review.action import Action, ActionId, ActionItem, ActionKind
from acumen.review.plan import superseded
from acumen.storage.memories.lineage import Because
from acumen.storage.store import Tx

# The name under which an action keeps what it did to a conflict.
CONFLICT = "conflict"


async def listed(user: UserId | None, limit: int, offset: int, deps: Deps) -> tuple[list[OpenConflict], int]:
    """The open ones, newest first, and how many there are: of one user or of the whole org."""
    pairs = await deps.store.read(lambda tx: tx.conflicts.describe(tx.conflicts.find_open(user)))
    return pairs[offset : offset + limit], len(pairs)


def of_memory(tx: Tx, ref: MemoryRef) -> list[OpenConflict]:
    return tx.conflicts.describe(tx.conflicts.find([ref], only_open=True))


async def settle(conflict_id: str, keep: Keep, actor: str, reason: str, deps: Deps) -> Action:
    """Keep one of the two, and the other is superseded; or keep both, and they no longer count as a conflict."""
    at = deps.now()

    def store(tx: Tx) -> Action:
        tx.search_rows.require_org_lock()  # of two reviewers, the second reads what the first has written
        conflict = _open(tx, conflict_id)
        state = ConflictState.BOTH_HOLD if keep is Keep.BOTH else ConflictState.SETTLED
        moved = {"id": conflict_id, "before": str(ConflictState.OPEN), "after": str(state)}
        params = {CONFLICT: moved, "keep": str(keep)}
        action = Action(ActionId(fresh_id("act")), ActionKind.SETTLE_CONFLICT, actor, at, reason, params)
        # Before the memory ends, which would settle it in the name of the memory's end.
        tx.conflicts.set_state(conflict_id, state, actor, at)
        action = replace(action, items=_items(tx, conflict, keep, action))
        tx.actions.add(action)
        return action

    return await deps.store.write(store)


def _open(tx: Tx, conflict_id: str) -> Conflict:
    conflict = tx.conflicts.get(conflict_id)
    if conflict is None:
        raise NotFound(f"There is no conflict {conflict_id!r}.")
    if conflict.state is not ConflictState.OPEN:
        by = f" by {conflict.settled_by}" if conflict.settled_by else ""
        raise Refused(f"Conflict {conflict_id} is settled already{by}.")
    if not tx.conflicts.describe([conflict]):
        raise Refused(f"A memory of conflict {conflict_id} is no longer current, so there is nothing to settle.")
    return conflict


def _items(tx: Tx, conflict: Conflict, keep: Keep, action: Action) -> Sequence[ActionItem]:
    """Ends the memory that does not hold; when both hold, neither changes."""
    if keep is Keep.BOTH:
        return [
            ActionItem(ref, changed=False, why="both hold", user_id=conflict.user_id)
            for ref in (conflict.newer, conflict.older)
        ]
    successor, ended = (conflict.newer, conflict.older) if keep is Keep.NEWER else (conflict.older, conflict.newer)
    rows: Any = tx.by_kind[ended.kind]
    before = rows.get(ended.id)
    because = Because(
        f"a person settled a conflict: the {keep} memory holds",
        actor=action.actor,
        request_id=action.id,
        sources=[successor.id],
        cause=Cause.PERSON,
    )
    after = tx.memories.update(ended, before, _ended(before, ended, successor), None, because)
    sides = {"memory": rows.mapping.to_row(before)}, {"memory": rows.mapping.to_row(after)}
    return [ActionItem(ended, True, None, conflict.user_id, *sides)]


def _ended(memory: Memory, ref: MemoryRef, successor: MemoryRef) -> Memory:
    """A memory names its successor only within its own kind; across kinds the lineage does."""
    return superseded(memory, successor.id) if successor.kind is ref.kind else replace(memory, status=Status.SUPERSEDED)


def put_back(tx: Tx, done: Action, actor: str, at: Millis) -> Mapping[str, Any]:
    """Undoes what an action did to a conflict, if it did anything; returns what was changed by that."""
    moved = done.params.get(CONFLICT)
    if moved is None:
        return {}
    conflict = tx.conflicts.get(moved["id"])
    if conflict is None or str(conflict.state) != moved["after"]:
        raise Refused(f"Conflict {moved['id']} was changed again or deleted since.")
    state = ConflictState(moved["before"])
    tx.conflicts.set_state(conflict.id, state, *((None, None) if state is ConflictState.OPEN else (actor, at)))
    return {CONFLICT: {"id": conflict.id, "before": moved["after"], "after": moved["before"]}}
