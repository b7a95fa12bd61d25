"""Review actions: preview one, then confirm it. All memories change in one transaction, or none does."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from acumen.deps import Deps
from acumen.errors import BadInput, Conflict
from acumen.index.documents import Document
from acumen.model.ids import Kind, MemoryRef, Millis
from acumen.model.memories.base import Cause, Status
from acumen.model.memories.memory import Memory, owner, searchable
from acumen.model.memories.search import SearchRow
from acumen.model.redaction import Redactor
from acumen.model.review.action import UNREVIEWED, Action, ActionId, ActionItem, ActionKind, ActionRequest, ReviewState
from acumen.review.audit_log import changed_item, fresh_action
from acumen.review.operations import scrub
from acumen.review.plan import check, plan
from acumen.review.sharing import share
from acumen.storage.memories.lineage import Because
from acumen.storage.store import Tx

# By memory, then by signal: the numbers for which it is in the review queue.
Flagged = Mapping[MemoryRef, Mapping[str, Any]]
# An error names at most this many memories.
NAMED_IN_ERRORS = 5


class ReviewedMemory(Struct, frozen=True):
    memory: Memory
    state: ReviewState


async def preview(request: ActionRequest, flagged: Flagged, deps: Deps) -> Action:
    """The action as it would be; nothing is changed."""
    request = _without_secrets(request, deps)
    check(request, deps.now())
    return await deps.store.read(lambda tx: _dry_run(tx, request, flagged, deps.now()))


async def confirm(
    request: ActionRequest, flagged: Flagged, deps: Deps, also: Callable[[Tx], None] | None = None
) -> Action:
    """Conflict when a memory is no longer at the version that the caller names. `also` runs in the transaction.

    An action that would change nothing is not stored and has no id.
    """
    at = deps.now()
    request = _without_secrets(request, deps)
    check(request, at)
    before = await deps.store.read(lambda tx: reviewed_memories(tx, _refs(request)))
    rows = await _search_rows(request, before, at, deps)

    def store(tx: Tx) -> Action:
        tx.search_rows.require_org_lock()  # of two reviewers, the second reads what the first has written
        now = reviewed_memories(tx, _refs(request))
        _refuse_changed(request, now, before)
        _check_successor(tx, request)
        if also is not None:
            also(tx)
        action = _action(request, fresh_action(), at, _items(tx, request, now, flagged, at))
        if not action.changed:
            return replace(action, id=ActionId(""))
        return _apply(tx, request, now, flagged, rows, action)

    write = deps.store.write_freeing if request.doing is ActionKind.DELETE else deps.store.write
    return await write(store)


def _without_secrets(request: ActionRequest, deps: Deps) -> ActionRequest:
    redactor = Redactor(keep_secrets=deps.settings.observe.keep_secrets)
    changes, reason = redactor.value(dict(request.changes)), redactor.text(request.reason)
    return replace(request, changes=changes, reason=reason) if redactor.count else request


def _refs(request: ActionRequest) -> list[MemoryRef]:
    return [target.ref for target in request.targets]


def reviewed_memories(tx: Tx, refs: Sequence[MemoryRef]) -> dict[MemoryRef, ReviewedMemory]:
    """Of the memories that exist."""
    memories: dict[MemoryRef, ReviewedMemory] = {}
    for kind in {ref.kind for ref in refs}:
        ids = [ref.id for ref in refs if ref.kind == kind]
        states = tx.review_states.find(kind, ids)
        for memory_id, memory in tx.by_kind[kind].get_many(ids).items():
            memories[MemoryRef(kind, memory_id)] = ReviewedMemory(memory, states.get(memory_id, UNREVIEWED))
    return memories


# --- search --------------------------------------------------------------------------------------------------------


async def _search_rows(
    request: ActionRequest, before: Mapping[MemoryRef, ReviewedMemory], at: Millis, deps: Deps
) -> dict[MemoryRef, SearchRow]:
    """Words and vectors of memories whose text changes, or that become shared lessons."""
    if request.doing is not ActionKind.EDIT and not request.reach.everyone:
        return {}
    planned = {ref: plan(request, row.memory, row.state, {}, at).memory for ref, row in before.items()}
    changed = {ref: (before[ref].memory, after) for ref, after in planned.items() if after}
    if not request.reach.everyone:
        return await search_rows(changed, deps)
    texts = [Document(Kind.AGENT_PLAYBOOK, "", searchable(memory)) for memory, _ in changed.values()]
    return dict(zip(changed, await deps.index.rows(texts), strict=True))


async def search_rows(changes: Mapping[MemoryRef, tuple[Memory, Memory]], deps: Deps) -> dict[MemoryRef, SearchRow]:
    """Of the memories whose words change."""
    refs = [ref for ref, (before, after) in changes.items() if searchable(before) != searchable(after)]
    texts = [Document(ref.kind, owner(changes[ref][1]), searchable(changes[ref][1])) for ref in refs]
    rows = await deps.index.rows(texts) if texts else []
    return dict(zip(refs, rows, strict=True))


# --- refusals ------------------------------------------------------------------------------------------------------


def _refuse_changed(
    request: ActionRequest, now: Mapping[MemoryRef, ReviewedMemory], before: Mapping[MemoryRef, ReviewedMemory]
) -> None:
    stale = []
    for target in request.targets:
        current, earlier = now.get(target.ref), before.get(target.ref)
        expected = earlier.memory.version if target.version is None and earlier else target.version
        if (current is None) != (earlier is None) or _is_stale(current, expected):
            stale.append(_stale_text(target.ref, current, expected))
    if stale:
        raise Conflict(f"Changed by someone else meanwhile: {enumerate_few(stale)}. Reload and try again.")


def _is_stale(current: ReviewedMemory | None, version: int | None) -> bool:
    return current is not None and version is not None and current.memory.version != version


def _stale_text(ref: MemoryRef, current: ReviewedMemory | None, version: int | None) -> str:
    if current is None:
        return f"{ref.kind} {ref.id} was deleted"
    return f"{ref.kind} {ref.id} is at version {current.memory.version}, not {version}"


def enumerate_few(reasons: Sequence[str]) -> str:
    more = len(reasons) - NAMED_IN_ERRORS
    return "; ".join(reasons[:NAMED_IN_ERRORS]) + (f"; and {more} more" if more > 0 else "")


def _check_successor(tx: Tx, request: ActionRequest) -> None:
    """A successor exists, is of the same kind, is current if it is merged into, and was not itself superseded by one
    of the memories that it replaces.
    """
    successor = str(request.successor or request.changes.get("superseded_by") or "")
    if not successor:
        return
    kind = request.targets[0].ref.kind
    replaced = {target.ref.id for target in request.targets if target.ref.id != successor}
    memory = tx.by_kind[kind].get(successor)
    if memory is None:
        raise BadInput(f"superseded_by names {kind} {successor}, which does not exist.")
    if not replaced:
        raise BadInput(f"superseded_by leads back to {kind} {successor} itself.")
    if request.doing is ActionKind.MERGE and memory.status is not Status.CURRENT:
        raise BadInput(f"{kind} {successor} is {memory.status}: restore it first, or choose another memory.")
    _refuse_circle(tx, kind, memory, replaced)


def _refuse_circle(tx: Tx, kind: Kind, successor: Any, replaced: set[str]) -> None:
    visited: set[str] = set()
    queue = [successor]
    while queue:
        memory = queue.pop()
        if str(memory.id) in replaced:
            raise BadInput(f"superseded_by leads back to {kind} {memory.id} itself.")
        visited.add(str(memory.id))
        pointers = {str(pointer) for pointer in (memory.superseded_by, memory.merged_into) if pointer is not None}
        queue += tx.by_kind[kind].get_many(sorted(pointers - visited)).values()


# --- planning and applying -----------------------------------------------------------------------------------------


def _dry_run(tx: Tx, request: ActionRequest, flagged: Flagged, at: Millis) -> Action:
    _check_successor(tx, request)
    now = reviewed_memories(tx, _refs(request))
    items = []
    for target, item in zip(request.targets, _items(tx, request, now, flagged, at), strict=True):
        current = now.get(target.ref)
        if _is_stale(current, target.version):
            why = _stale_text(target.ref, current, target.version)
            items.append(ActionItem(item.ref, False, why, item.user_id, item.before, item.after))
        else:
            items.append(item)
    return _action(request, ActionId(""), at, items)


def _items(
    tx: Tx, request: ActionRequest, now: Mapping[MemoryRef, ReviewedMemory], flagged: Flagged, at: Millis
) -> list[ActionItem]:
    return [_item(tx, target.ref, request, now.get(target.ref), flagged, at) for target in request.targets]


def _item(
    tx: Tx, ref: MemoryRef, request: ActionRequest, current: ReviewedMemory | None, flagged: Flagged, at: Millis
) -> ActionItem:
    """Only what changes is recorded: the memory, or its review state. Of a deleted memory no words stay."""
    if current is None:
        return ActionItem(ref, changed=False, why=f"there is no {ref.kind} {ref.id}")
    planned = plan(request, current.memory, current.state, flagged.get(ref, {}), at)
    user = owner(current.memory) or None
    if planned.why is not None or planned.gone:
        return ActionItem(ref, planned.gone, planned.why, user)
    if planned.memory is not None:
        return changed_item(tx, ref, current.memory, planned.memory)
    before, after = ({"mark": state.as_json()} for state in (current.state, planned.state or UNREVIEWED))
    return ActionItem(ref, True, None, user, before, after)


def _action(request: ActionRequest, action_id: ActionId, at: Millis, items: Sequence[ActionItem]) -> Action:
    params = {
        "successor": request.successor,
        "until": request.until,
        "fields": _fields(request) or None,
        "reach": "everyone" if request.reach.everyone else request.reach.agent_version,
    }
    set_params = {name: value for name, value in params.items() if value is not None}
    return Action(action_id, request.doing, request.actor, at, request.reason, set_params, items=items)


def _fields(request: ActionRequest) -> list[str]:
    return sorted(name for name, value in request.changes.items() if value is not None)


def _apply(
    tx: Tx,
    request: ActionRequest,
    now: Mapping[MemoryRef, ReviewedMemory],
    flagged: Flagged,
    rows: Mapping[MemoryRef, SearchRow],
    action: Action,
) -> Action:
    """Returns the action with the shared lessons that it created."""
    because = Because(_reason(request), actor=action.actor, request_id=action.id, cause=Cause.PERSON)
    created: list[ActionItem] = []
    with tx.memories.batch():
        for item in action.items:
            if not item.changed:
                continue
            current = now[item.ref]
            planned = plan(request, current.memory, current.state, flagged.get(item.ref, {}), action.created_at)
            if planned.memory is not None and request.reach.everyone:
                created += _shared(tx, item, current.memory, planned.memory, rows[item.ref], because)
            elif planned.memory is not None:
                tx.memories.update(item.ref, current.memory, planned.memory, rows.get(item.ref), because)
            if planned.state is not None:
                tx.review_states.upsert(item.ref, planned.state, item.user_id)
        if request.doing is ActionKind.DELETE:
            scrub.schedule(tx)
            for kind in Kind:
                tx.memories.delete(kind, [item.ref.id for item in action.items if item.ref.kind == kind], because)
    if created:
        shared = {item.ref for item in created}
        action = replace(action, items=[*(item for item in action.items if item.ref not in shared), *created])
    tx.actions.add(action)
    return action


def _shared(
    tx: Tx, item: ActionItem, lesson: Any, archived: Any, search_row: SearchRow, because: Because
) -> list[ActionItem]:
    """The user's lesson, which names the shared one from now on, and the shared lesson."""
    shared = share(tx, lesson, search_row, because)
    archived = replace(archived, metadata={**archived.metadata, "shared_as": int(shared.ref.id)})
    return [changed_item(tx, item.ref, lesson, tx.memories.update(item.ref, lesson, archived, None, because)), shared]


def _reason(request: ActionRequest) -> str:
    """For the lineage. A decision about a shared lesson is not an edit of it."""
    what = f"{request.doing} in review"
    if request.doing is ActionKind.EDIT:
        what = f"{request.changes['approval'] if _fields(request) == ['approval'] else 'edited'} by hand"
    return f"{what}: {request.reason}" if request.reason else what
