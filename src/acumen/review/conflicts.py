"""Conflicts between memories: list the open ones, settle one, and reopen it on undo."""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from acumen.deps import Deps
from acumen.errors import Conflict as Refused
from acumen.errors import NotFound
from acumen.model.ids import MemoryRef, Millis, UserId
from acumen.model.memories.base import Cause, Status
from acumen.model.memories.conflict import Conflict, ConflictState, Keep, OpenConflict
from acumen.model.memories.memory import Memory
from acumen.model.review.action import Action, ActionItem, ActionKind
from acumen.review.audit_log import changed_item, fresh_action
from acumen.review.plan import superseded
from acumen.storage.memories.lineage import Because
from acumen.storage.store import Tx

# The parameter of an action that records what it did to a conflict.
CONFLICT = "conflict"


async def listed(user: UserId | None, limit: int, offset: int, deps: Deps) -> tuple[list[OpenConflict], int]:
    """Open conflicts of one user or of the org, newest first, and the total number."""
    pairs = await deps.store.read(lambda tx: tx.conflicts.describe(tx.conflicts.find_open(user)))
    return pairs[offset : offset + limit], len(pairs)


def of_memory(tx: Tx, ref: MemoryRef) -> list[OpenConflict]:
    return tx.conflicts.describe(tx.conflicts.find([ref], only_open=True))


async def settle(conflict_id: str, keep: Keep, actor: str, reason: str, deps: Deps) -> Action:
    """Keeping one memory supersedes the other; keeping both closes the conflict."""
    at = deps.now()

    def store(tx: Tx) -> Action:
        tx.search_rows.require_org_lock()  # of two reviewers, the second reads what the first has written
        conflict = _open(tx, conflict_id)
        state = ConflictState.BOTH_HOLD if keep is Keep.BOTH else ConflictState.SETTLED
        moved = {"id": conflict_id, "before": str(ConflictState.OPEN), "after": str(state)}
        params = {CONFLICT: moved, "keep": str(keep)}
        action = Action(fresh_action(), ActionKind.SETTLE_CONFLICT, actor, at, reason, params)
        # First: the end of a memory would settle the conflict automatically.
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
        raise Refused(f"Conflict {conflict_id} was already settled{by}.")
    if not tx.conflicts.describe([conflict]):
        raise Refused(f"A memory of conflict {conflict_id} is no longer current, so there is nothing to settle.")
    return conflict


def _items(tx: Tx, conflict: Conflict, keep: Keep, action: Action) -> Sequence[ActionItem]:
    """Supersedes the memory that is not kept."""
    if keep is Keep.BOTH:
        return [
            ActionItem(ref, changed=False, why="both kept", user_id=conflict.user_id)
            for ref in (conflict.newer, conflict.older)
        ]
    successor, ended = (conflict.newer, conflict.older) if keep is Keep.NEWER else (conflict.older, conflict.newer)
    before: Any = tx.by_kind[ended.kind].get(ended.id)
    because = Because(
        f"Conflict settled: {keep} memory kept",
        actor=action.actor,
        request_id=action.id,
        sources=[successor.id],
        cause=Cause.PERSON,
    )
    return [
        changed_item(
            tx, ended, before, tx.memories.update(ended, before, _ended(before, ended, successor), None, because)
        )
    ]


def _ended(memory: Memory, ref: MemoryRef, successor: MemoryRef) -> Memory:
    """A memory can only name a successor of its own kind; otherwise the lineage names it."""
    return superseded(memory, successor.id) if successor.kind is ref.kind else replace(memory, status=Status.SUPERSEDED)


def reopen(tx: Tx, done: Action, actor: str, at: Millis) -> Mapping[str, Any]:
    """Undoes what an action did to a conflict; returns the change, empty if there was none."""
    moved = done.params.get(CONFLICT)
    if moved is None:
        return {}
    conflict = tx.conflicts.get(moved["id"])
    if conflict is None or str(conflict.state) != moved["after"]:
        raise Refused(f"Conflict {moved['id']} was changed again or deleted since.")
    state = ConflictState(moved["before"])
    tx.conflicts.set_state(conflict.id, state, *((None, None) if state is ConflictState.OPEN else (actor, at)))
    return {CONFLICT: {"id": conflict.id, "before": moved["after"], "after": moved["before"]}}
