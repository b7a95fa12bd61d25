"""Undo an action: restore every memory that it changed. An undo is an action and can be undone too."""

from collections.abc import Mapping
from typing import Any

from acumen.auth.authenticator import Caller
from acumen.auth.roles import UNDO_SETTINGS
from acumen.deps import Deps
from acumen.errors import Conflict, NotFound
from acumen.model.ids import Kind, MemoryRef
from acumen.model.memories.base import Cause
from acumen.model.memories.memory import Memory, searchable
from acumen.model.memories.search import SearchRow
from acumen.model.review.action import Action, ActionId, ActionItem, ActionKind, ReviewState, Snapshot
from acumen.review import conflicts, thresholds
from acumen.review.actions import ReviewedMemory, enumerate_few, reviewed_memories, search_rows
from acumen.review.audit_log import fresh_action
from acumen.storage.memories.lineage import Because
from acumen.storage.store import Tx


async def undo(action_id: ActionId, caller: Caller, deps: Deps) -> Action:
    """Like `undo_by`; what an admin has configured only an admin undoes."""
    action = await deps.store.read(lambda tx: tx.actions.get(action_id))
    if action is not None and thresholds.CHANGED in action.params:
        UNDO_SETTINGS.require(caller.role)
    return await undo_by(action_id, caller.actor, deps)


async def undo_by(action_id: ActionId, actor: str, deps: Deps) -> Action:
    """Conflict, naming the memories, when one was changed again since."""
    at = deps.now()
    action, before = await deps.store.read(lambda tx: _undoable(tx, action_id))
    rows = await _search_rows(action, before, deps)

    def store(tx: Tx) -> Action:
        tx.search_rows.require_org_lock()
        current, now = _undoable(tx, action_id)
        _refuse_reworded(now, before)
        items = tuple(
            ActionItem(item.ref, changed=True, user_id=item.user_id, before=item.after, after=item.before)
            for item in current.items
            if item.changed
        )
        params = {**thresholds.restore(tx, current), **conflicts.reopen(tx, current, actor, at)}
        undoing = Action(fresh_action(), ActionKind.UNDO, actor, at, params=params, undoes=action_id, items=items)
        with tx.memories.batch():
            _restore(tx, undoing, now, rows)
        _record(tx, current, undoing)
        return undoing

    return await deps.store.write(store)


def _undoable(tx: Tx, action_id: ActionId) -> tuple[Action, dict[MemoryRef, ReviewedMemory]]:
    """The action, and the memories that it changed as they are now."""
    action = tx.actions.get(action_id)
    if action is None:
        raise NotFound(f"There is no action {action_id!r}.")
    if action.undone_by is not None:
        raise Conflict(f"This action was already undone by {action.undone_by}.")
    if action.doing is ActionKind.DELETE:
        raise Conflict("Deleted memories cannot be restored.")
    changed = [item for item in action.items if item.changed]
    memories = reviewed_memories(tx, [item.ref for item in changed])
    newer = [text for item in changed if (text := _newer_change(tx, item, memories.get(item.ref)))]
    if newer:
        raise Conflict(f"Changed again since: {enumerate_few(newer)}. Undo the newer change first.")
    return action, memories


def _newer_change(tx: Tx, item: ActionItem, now: ReviewedMemory | None) -> str | None:
    name = f"{item.ref.kind} {item.ref.id}"
    if now is None or item.after is None or item.before is None:
        return f"{name} was deleted"
    if "mark" in item.after:
        return None if now.state.as_json() == item.after["mark"] else f"{name} was reviewed again"
    rows: Any = tx.by_kind[item.ref.kind]
    if _content(rows.mapping.to_row(now.memory)) == _content(item.after["memory"]):
        return None
    last = "".join(f", {event['op']} by {event['actor']}" for event in tx.lineage.find(item.ref)[-1:])
    return f"{name} was changed (version {now.memory.version}{last})"


def _content(snapshot: Snapshot) -> dict[str, Any]:
    """Without the fields that grow with every change."""
    return {name: value for name, value in snapshot.items() if name not in ("version", "updated_at")}


async def _search_rows(
    action: Action, before: Mapping[MemoryRef, ReviewedMemory], deps: Deps
) -> dict[MemoryRef, SearchRow]:
    def restored(tx: Tx) -> dict[MemoryRef, tuple[Memory, Memory]]:
        return {
            item.ref: (before[item.ref].memory, _memory_of(tx, item.ref, item.before))
            for item in action.items
            if item.changed and item.before and "memory" in item.before
        }

    return await search_rows(await deps.store.read(restored), deps)


def _memory_of(tx: Tx, ref: MemoryRef, side: Snapshot) -> Any:
    snapshot = dict(side["memory"])
    if ref.kind is not Kind.PROFILE:
        snapshot.setdefault("playbook_id", int(ref.id))
    return tx.by_kind[ref.kind].mapping.from_row(dict(snapshot))


def _refuse_reworded(now: Mapping[MemoryRef, ReviewedMemory], before: Mapping[MemoryRef, ReviewedMemory]) -> None:
    """The search rows fit only the words that were read before this transaction."""
    if any(searchable(current.memory) != searchable(before[ref].memory) for ref, current in now.items()):
        raise Conflict("Changed by someone else meanwhile; try again.")


def _restore(
    tx: Tx, undoing: Action, now: Mapping[MemoryRef, ReviewedMemory], rows: Mapping[MemoryRef, SearchRow]
) -> None:
    reason = f"{undoing.undoes} was undone"
    because = Because(reason, actor=undoing.actor, request_id=undoing.id, cause=Cause.PERSON)
    for item in undoing.items:
        side = item.after or {}
        if "memory" in side:
            earlier = _memory_of(tx, item.ref, side)
            tx.memories.restore(item.ref, now[item.ref].memory, earlier, rows.get(item.ref), because)
        else:
            tx.review_states.upsert(item.ref, ReviewState(**side["mark"]), item.user_id)


def _record(tx: Tx, action: Action, undoing: Action) -> None:
    """Undoing an undo makes the first action active again."""
    if not tx.actions.mark_undone(action.id, undoing.id):
        raise Conflict("This action was undone by someone else meanwhile.")
    if action.undoes is not None:
        tx.actions.clear_undone(action.undoes)
    tx.actions.add(undoing)
