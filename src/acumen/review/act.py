"""Act on memories: look first, then change all in one transaction, remember who did it, and take it back."""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from acumen.deps import Deps
from acumen.errors import BadInput, Conflict, NotFound
from acumen.index.documents import Document
from acumen.model.ids import Kind, MemoryRef, Millis, fresh_id
from acumen.model.memories.base import Cause, Status
from acumen.model.memories.memory import Memory, owner, searchable
from acumen.model.memories.search import SearchRow
from acumen.model.review.action import (
    UNREVIEWED,
    Action,
    ActionId,
    ActionItem,
    ActionKind,
    ActionRequest,
    ReviewState,
    Snapshot,
)
from acumen.review import conflicts
from acumen.review.plan import Planned, check, plan
from acumen.review.sharing import share
from acumen.review.thresholds import put_back
from acumen.storage.memories.lineage import Because
from acumen.storage.store import Tx

# By memory, then by signal: the numbers for which it stands in the queue.
Flagged = Mapping[MemoryRef, Mapping[str, Any]]
# More conflicts than this tell a reader nothing more.
CONFLICTS_SHOWN = 5


class _Known(Struct, frozen=True):
    """A memory and what was said about it, as they are now."""

    memory: Memory
    mark: ReviewState


async def look(asked: ActionRequest, flagged: Flagged, deps: Deps) -> Action:
    """The action as it would be; nothing is changed."""
    check(asked, deps.now())
    return await deps.store.read(lambda tx: _dry(tx, asked, flagged, deps.now()))


async def act(asked: ActionRequest, flagged: Flagged, deps: Deps) -> Action:
    """All of it or nothing. Conflict when a memory is no longer at the version that the caller has seen.

    An action that would change nothing is not stored and has no id.
    """
    at = deps.now()
    check(asked, at)
    seen = await deps.store.read(lambda tx: _known(tx, _refs(asked)))
    rows = await _findable(asked, seen, at, deps)

    def store(tx: Tx) -> Action:
        tx.search_rows.require_org_lock()  # of two reviewers, the second reads what the first has written
        now = _known(tx, _refs(asked))
        _refuse_changed_meanwhile(asked, now, seen)
        if asked.successor is not None:
            _check_successor(tx, asked)
        action = _prepared(asked, fresh_action(), at, _items(tx, asked, now, flagged, at))
        if not action.changed:
            return replace(action, id=ActionId(""))
        return _apply(tx, asked, now, flagged, rows, action)

    return await deps.store.write(store)


def fresh_action() -> ActionId:
    return ActionId(fresh_id("act"))


def _refs(asked: ActionRequest) -> list[MemoryRef]:
    return [target.ref for target in asked.targets]


def _known(tx: Tx, refs: Sequence[MemoryRef]) -> dict[MemoryRef, _Known]:
    """Those that exist."""
    found: dict[MemoryRef, _Known] = {}
    for kind in {ref.kind for ref in refs}:
        ids = [ref.id for ref in refs if ref.kind == kind]
        marks = tx.review_states.find(kind, ids)
        for memory_id, memory in tx.by_kind[kind].get_many(ids).items():
            found[MemoryRef(kind, memory_id)] = _Known(memory, marks.get(memory_id, UNREVIEWED))
    return found


async def _findable(
    asked: ActionRequest, seen: Mapping[MemoryRef, _Known], at: Millis, deps: Deps
) -> dict[MemoryRef, SearchRow]:
    """Words and vectors of what is about to say something else, or the same to everyone."""
    if asked.reach.everyone:
        told = {
            ref: known.memory for ref, known in seen.items() if plan(asked, known.memory, known.mark, {}, at).memory
        }
        made = await deps.index.rows([Document(Kind.AGENT_PLAYBOOK, "", searchable(one)) for one in told.values()])
        return dict(zip(told, made, strict=True))
    if asked.doing is not ActionKind.EDIT:
        return {}
    planned = {ref: plan(asked, known.memory, known.mark, {}, at).memory for ref, known in seen.items()}
    return await reworded({ref: (seen[ref].memory, after) for ref, after in planned.items() if after}, deps)


async def reworded(changes: Mapping[MemoryRef, tuple[Memory, Memory]], deps: Deps) -> dict[MemoryRef, SearchRow]:
    """What search needs of those whose words change."""
    refs = [ref for ref, (before, after) in changes.items() if searchable(before) != searchable(after)]
    texts = [Document(ref.kind, owner(changes[ref][1]), searchable(changes[ref][1])) for ref in refs]
    rows = await deps.index.rows(texts) if texts else []
    return dict(zip(refs, rows, strict=True))


def _refuse_changed_meanwhile(
    asked: ActionRequest, now: Mapping[MemoryRef, _Known], seen: Mapping[MemoryRef, _Known]
) -> None:
    stale = []
    for target in asked.targets:
        known, before = now.get(target.ref), seen.get(target.ref)
        wanted = target.version
        if wanted is None and before is not None:
            wanted = before.memory.version
        if (known is None) != (before is None) or (known and wanted is not None and known.memory.version != wanted):
            stale.append(_stale_words(target.ref, known, wanted))
    if stale:
        raise Conflict(f"Changed by someone else meanwhile: {_listed(stale)}. Read again and decide anew.")


def _stale_words(ref: MemoryRef, known: _Known | None, wanted: int | None) -> str:
    if known is None:
        return f"{ref.kind} {ref.id} is gone"
    return f"{ref.kind} {ref.id} is at version {known.memory.version}, not {wanted}"


def _listed(reasons: Sequence[str]) -> str:
    more = len(reasons) - CONFLICTS_SHOWN
    return "; ".join(reasons[:CONFLICTS_SHOWN]) + (f"; and {more} more" if more > 0 else "")


def _check_successor(tx: Tx, asked: ActionRequest) -> None:
    """It exists, is of the same kind, is itself in use, and does not lead back to a memory that it replaces."""
    kind = asked.targets[0].ref.kind
    replaced = {target.ref.id for target in asked.targets if target.ref.id != asked.successor}
    found = tx.by_kind[kind].get(asked.successor or "")
    if found is None:
        raise BadInput(f"There is no {kind} {asked.successor} that could take their place.")
    if not replaced:
        raise BadInput("A memory cannot take its own place.")
    if asked.doing is ActionKind.MERGE and found.status is not Status.CURRENT:
        raise BadInput(f"{kind} {asked.successor} is {found.status}: restore it first, or name another.")
    refuse_circle(tx, kind, found, replaced)


def refuse_circle(tx: Tx, kind: Kind, successor: Any, replaced: set[str]) -> None:
    """Follows who took whose place, from the successor on."""
    seen: set[str] = set()
    nexts = [successor]
    while nexts:
        memory = nexts.pop()
        if str(memory.id) in replaced:
            raise BadInput(f"superseded_by leads back to {kind} {memory.id} itself.")
        seen.add(str(memory.id))
        ids = [
            str(one) for one in (memory.superseded_by, memory.merged_into) if one is not None and str(one) not in seen
        ]
        nexts += tx.by_kind[kind].get_many(ids).values()


# --- planning and applying -----------------------------------------------------------------------------------------


def _dry(tx: Tx, asked: ActionRequest, flagged: Flagged, at: Millis) -> Action:
    if asked.successor is not None:
        _check_successor(tx, asked)
    now = _known(tx, _refs(asked))
    items = []
    for target, item in zip(asked.targets, _items(tx, asked, now, flagged, at), strict=True):
        known = now.get(target.ref)
        stale = known and target.version is not None and known.memory.version != target.version
        why = _stale_words(target.ref, known, target.version) if stale else item.why
        items.append(ActionItem(item.ref, item.changed and not stale, why, item.user_id, item.before, item.after))
    return _prepared(asked, ActionId(""), at, items)


def _items(
    tx: Tx, asked: ActionRequest, now: Mapping[MemoryRef, _Known], flagged: Flagged, at: Millis
) -> list[ActionItem]:
    return [_item(tx, target.ref, asked, now.get(target.ref), flagged, at) for target in asked.targets]


def _item(
    tx: Tx, ref: MemoryRef, asked: ActionRequest, known: _Known | None, flagged: Flagged, at: Millis
) -> ActionItem:
    if known is None:
        return ActionItem(ref, changed=False, why=f"there is no {ref.kind} {ref.id}")
    planned = plan(asked, known.memory, known.mark, flagged.get(ref, {}), at)
    user = owner(known.memory) or None
    if planned.why is not None:
        return ActionItem(ref, changed=False, why=planned.why, user_id=user)
    if planned.gone:  # deleted is deleted: not even the log keeps the words
        return ActionItem(ref, changed=True, user_id=user)
    before, after = _sides(tx, ref, known, planned)
    return ActionItem(ref, changed=True, user_id=user, before=before, after=after)


def _sides(tx: Tx, ref: MemoryRef, known: _Known, planned: Planned) -> tuple[Snapshot, Snapshot]:
    """Only the half that changes is kept: the memory, or what was said about it."""
    if planned.memory is not None:
        rows: Any = tx.by_kind[ref.kind]
        return {"memory": rows.mapping.to_row(known.memory)}, {"memory": rows.mapping.to_row(planned.memory)}
    mark = planned.mark or UNREVIEWED
    return {"mark": known.mark.as_json()}, {"mark": mark.as_json()}


def _prepared(asked: ActionRequest, action_id: ActionId, at: Millis, items: Sequence[ActionItem]) -> Action:
    reach = "everyone" if asked.reach.everyone else asked.reach.agent_version
    params = {
        "successor": asked.successor,
        "until": asked.until,
        "fields": sorted(asked.changes) or None,
        "reach": reach,
    }
    told = {name: value for name, value in params.items() if value is not None}
    return Action(action_id, asked.doing, asked.actor, at, asked.reason, told, items=items)


def _apply(
    tx: Tx,
    asked: ActionRequest,
    now: Mapping[MemoryRef, _Known],
    flagged: Flagged,
    rows: Mapping[MemoryRef, SearchRow],
    action: Action,
) -> Action:
    """As it was done: with the memories that it made."""
    because = Because(_reason(action), actor=action.actor, request_id=action.id, cause=Cause.PERSON)
    made: list[ActionItem] = []
    with tx.memories.batch():
        for item in action.items:
            if not item.changed:
                continue
            known = now[item.ref]
            planned = plan(asked, known.memory, known.mark, flagged.get(item.ref, {}), action.created_at)
            if planned.memory is not None and asked.reach.everyone:
                made += _shared(tx, item, known.memory, planned.memory, rows[item.ref], because)
            elif planned.memory is not None:
                tx.memories.update(item.ref, known.memory, planned.memory, rows.get(item.ref), because)
            if planned.mark is not None:
                tx.review_states.upsert(item.ref, planned.mark, item.user_id)
        if asked.doing is ActionKind.DELETE:
            for kind in Kind:
                tx.memories.delete(kind, [item.ref.id for item in action.items if item.ref.kind == kind], because)
    if made:
        shared = {item.ref for item in made}
        action = replace(action, items=[*(item for item in action.items if item.ref not in shared), *made])
    tx.actions.add(action)
    return action


def _shared(
    tx: Tx, item: ActionItem, taught: Any, after: Any, found_by: SearchRow, because: Because
) -> list[ActionItem]:
    """The lesson for everyone, and the user's own, which names it from now on."""
    lesson = share(tx, taught, found_by, because)
    after = replace(after, metadata={**after.metadata, "shared_as": int(lesson.ref.id)})
    stored = tx.memories.update(item.ref, taught, after, None, because)
    rows: Any = tx.by_kind[item.ref.kind]
    return [replace(item, after={"memory": rows.mapping.to_row(stored)}), lesson]


def _reason(action: Action) -> str:
    return f"{action.doing} in review: {action.reason}" if action.reason else f"{action.doing} in review"


# --- taking back ---------------------------------------------------------------------------------------------------


async def undo(action_id: ActionId, actor: str, deps: Deps) -> Action:
    """Puts everything back as it was. Conflict, naming it, when a newer change stands in the way."""
    at = deps.now()
    done, now = await deps.store.read(lambda tx: _undoable(tx, action_id))
    rows = await _findable_again(done, now, deps)

    def store(tx: Tx) -> Action:
        tx.search_rows.require_org_lock()
        again, known = _undoable(tx, action_id)
        _refuse_if_reworded(
            {ref: one.memory for ref, one in known.items()}, {ref: one.memory for ref, one in now.items()}
        )
        items = tuple(
            ActionItem(item.ref, changed=True, user_id=item.user_id, before=item.after, after=item.before)
            for item in again.items
            if item.changed
        )
        changed = {**put_back(tx, again), **conflicts.put_back(tx, again, actor, at)}
        undoing = Action(fresh_action(), ActionKind.UNDO, actor, at, params=changed, undoes=action_id, items=items)
        with tx.memories.batch():
            _put_back(tx, undoing, known, rows)
        return undoing

    return await deps.store.write(store)


def _undoable(tx: Tx, action_id: ActionId) -> tuple[Action, dict[MemoryRef, _Known]]:
    done = tx.actions.get(action_id)
    if done is None:
        raise NotFound(f"There is no action {action_id!r}.")
    if done.undone_by is not None:
        raise Conflict(f"It was taken back before, by {done.undone_by}.")
    if done.doing is ActionKind.DELETE:
        raise Conflict("What is deleted cannot be brought back.")
    changed = [item for item in done.items if item.changed]
    known = _known(tx, [item.ref for item in changed])
    newer = [words for item in changed if (words := _stands_in_the_way(tx, item, known.get(item.ref)))]
    if newer:
        raise Conflict(f"A newer change stands in the way: {_listed(newer)}.")
    return done, known


def _stands_in_the_way(tx: Tx, item: ActionItem, known: _Known | None) -> str | None:
    name = f"{item.ref.kind} {item.ref.id}"
    if known is None or item.after is None or item.before is None:
        return f"{name} was deleted"
    if "mark" in item.after:
        return None if known.mark.as_json() == item.after["mark"] else f"{name} was marked otherwise since"
    rows: Any = tx.by_kind[item.ref.kind]
    if _content(rows.mapping.to_row(known.memory)) == _content(item.after["memory"]):
        return None
    return f"{name} was changed since (version {known.memory.version}{_by_whom(tx, item.ref)})"


def _by_whom(tx: Tx, ref: MemoryRef) -> str:
    last = tx.lineage.find(ref)[-1:]
    return "".join(f", {event['op']} by {event['actor']}" for event in last)


def _content(snapshot: Snapshot) -> dict[str, Any]:
    """What a memory says and is; when it was changed and how often does not matter."""
    return {name: value for name, value in snapshot.items() if name not in ("version", "updated_at")}


async def _findable_again(done: Action, now: Mapping[MemoryRef, _Known], deps: Deps) -> dict[MemoryRef, SearchRow]:
    def earlier(tx: Tx) -> dict[MemoryRef, tuple[Memory, Memory]]:
        return {
            item.ref: (now[item.ref].memory, _memory_of(tx, item.ref, item.before))
            for item in done.items
            if item.changed and item.before and "memory" in item.before
        }

    return await reworded(await deps.store.read(earlier), deps)


def _memory_of(tx: Tx, ref: MemoryRef, side: Snapshot) -> Any:
    snapshot = dict(side["memory"])
    if ref.kind is not Kind.PROFILE:
        snapshot.setdefault("playbook_id", int(ref.id))
    return tx.by_kind[ref.kind].mapping.from_row(dict(snapshot))


def _refuse_if_reworded(known: Mapping[MemoryRef, Memory], seen: Mapping[MemoryRef, Memory]) -> None:
    """What search was given fits only the words that were seen."""
    if any(searchable(memory) != searchable(seen[ref]) for ref, memory in known.items()):
        raise Conflict("Changed by someone else meanwhile; try again.")


def _put_back(tx: Tx, undoing: Action, known: Mapping[MemoryRef, _Known], rows: Mapping[MemoryRef, SearchRow]) -> None:
    reason = f"{undoing.undoes} was taken back"
    because = Because(reason, actor=undoing.actor, request_id=undoing.id, cause=Cause.PERSON)
    for item in undoing.items:
        side = item.after or {}
        if "memory" in side:
            then = _memory_of(tx, item.ref, side)
            tx.memories.restore(item.ref, known[item.ref].memory, then, rows.get(item.ref), because)
        else:
            tx.review_states.upsert(item.ref, ReviewState(**side["mark"]), item.user_id)
    taken_back = undoing.undoes or ActionId("")
    done = tx.actions.get(taken_back)
    if not tx.actions.mark_undone(taken_back, undoing.id):
        raise Conflict("It was taken back by someone else meanwhile.")
    if done is not None and done.undoes is not None:
        tx.actions.clear_undone(done.undoes)
    tx.actions.add(undoing)


async def log(limit: int, offset: int, ref: MemoryRef | None, deps: Deps) -> tuple[list[Action], int]:
    """What was done, the latest first, and how much there is."""
    return await deps.store.read(lambda tx: tx.actions.page(limit, offset, ref))
