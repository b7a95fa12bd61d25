"""What changed in memories and why, newest first; and undoing one change."""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from acumen.deps import Deps
from acumen.errors import Conflict as Refused
from acumen.errors import NotFound
from acumen.model.conversation import Interaction
from acumen.model.ids import InteractionId, Kind, MemoryRef, Millis, RequestId, UserId, fresh_id
from acumen.model.memories.base import Cause, Status
from acumen.model.memories.change import ChangeFilter, ChangeKind
from acumen.model.memories.conflict import Conflict
from acumen.model.memories.memory import Memory, of_snapshot, owner, searchable
from acumen.model.memories.profile import Profile
from acumen.model.metering.evaluation import SessionKey
from acumen.model.review.action import Action, ActionId, ActionItem, ActionKind
from acumen.review import act
from acumen.storage.memories.lineage import Because
from acumen.storage.store import Tx

# What a snapshot has that says nothing about whether the memory was changed again.
_COUNTERS = frozenset({"id", "version", "updated_at"})
ENDINGS = frozenset(
    {
        ChangeKind.SUPERSEDED,
        ChangeKind.FORGOTTEN,
        ChangeKind.EXPIRED,
        ChangeKind.MERGED,
        ChangeKind.ARCHIVED,
        ChangeKind.DELETED,
    }
)
_TEXT_FIELDS = ("trigger", "content", "pitfall")

Event = Mapping[str, Any]


class OtherMemory(Struct, frozen=True):
    """A memory that a change names: what it is to the changed one, and its text while it exists."""

    relation: str  # superseded_by | merged_into | conflicts_with
    ref: MemoryRef
    text: str | None = None
    status: Status | None = None


class Change(Struct, frozen=True):
    """One change of one memory. `before` and `after` are its text while it was in use, None where it was not or where
    the words were erased. `refusal` says why it cannot be undone, None when it can.
    """

    id: int
    at: Millis
    kind: ChangeKind
    ref: MemoryRef
    user_id: str | None
    before: str | None
    after: str | None
    reason: str
    actor: str
    cause: Cause | None = None
    quote: str | None = None
    turn: InteractionId | None = None
    session: SessionKey | None = None
    other: OtherMemory | None = None
    conflict: Conflict | None = None
    undone_by: ActionId | None = None
    refusal: str | None = None


class ChangePage(Struct, frozen=True):
    """Newest first; `next` is the cursor of the following page, None on the last one."""

    changes: Sequence[Change]
    next: int | None


async def page(wanted: ChangeFilter, limit: int, cursor: int | None, deps: Deps) -> ChangePage:
    """Changes that arrive later never move a page: it begins after the change that the cursor names."""
    return await deps.store.read(lambda tx: read_page(tx, wanted, limit, cursor))


def read_page(tx: Tx, wanted: ChangeFilter, limit: int, cursor: int | None = None) -> ChangePage:
    events = tx.lineage.find_changes(wanted, limit + 1, cursor)
    shown = events[:limit]
    return ChangePage(described(tx, shown), shown[-1]["event_id"] if len(events) > limit else None)


async def get(change_id: int, deps: Deps) -> Change:
    return await deps.store.read(lambda tx: described(tx, [_event(tx, change_id)])[0])


def _event(tx: Tx, change_id: int) -> Event:
    event = tx.lineage.get_change(change_id)
    if event is None:
        raise NotFound(f"There is no change {change_id}.")
    return event


# --- describing ----------------------------------------------------------------------------------------------------


class _Surroundings(Struct, frozen=True):
    """What is stored now about the events of a page."""

    memories: Mapping[MemoryRef, Memory]
    turns: Mapping[InteractionId, Interaction]
    sessions: Mapping[str, SessionKey]  # by request
    actions: Mapping[str, Action]
    undone: Mapping[int, ActionId]
    links: Mapping[int, Conflict]  # by event


def described(tx: Tx, events: Sequence[Event]) -> list[Change]:
    """Events of lineage, each with its `change`, as changes."""
    around = _surroundings(tx, events)
    return [_described(event, around) for event in events]


def _surroundings(tx: Tx, events: Sequence[Event]) -> _Surroundings:
    refs = [_ref(event) for event in events]
    links = _links(tx, events)
    others = [other.ref for event in events if (other := _other(event, links.get(event["event_id"])))]
    turns = tx.conversations.get_many(sorted({turn for event in events if (turn := _turn(event))}))
    named = sorted({event["request_id"] for event in events if event["request_id"]})
    requests = tx.conversations.get_requests([RequestId(name) for name in named]).values()
    return _Surroundings(
        memories=_memories(tx, {*refs, *others}),
        turns={turn.id: turn for turn in turns},
        sessions={request.id: (request.user_id, request.session_id) for request in requests},
        actions=tx.actions.get_many(named),
        undone=tx.actions.find_undone_changes({ref.id for ref in refs}),
        links=links,
    )


def _links(tx: Tx, events: Sequence[Event]) -> dict[int, Conflict]:
    """The conflict that each event of that kind created; none where one of its memories was deleted."""
    created = [event for event in events if event["change"] == ChangeKind.CONFLICT]
    links = {(link.newer, link.older.id): link for link in tx.conflicts.find([_ref(event) for event in created])}
    keys = {event["event_id"]: (_ref(event), str(other)) for event in created for other in event["sources"] or ()}
    return {event_id: links[key] for event_id, key in keys.items() if key in links}


def _memories(tx: Tx, refs: set[MemoryRef]) -> dict[MemoryRef, Memory]:
    by_kind = {kind: [ref.id for ref in refs if ref.kind is kind] for kind in Kind}
    return {
        MemoryRef(kind, memory_id): memory
        for kind, ids in by_kind.items()
        for memory_id, memory in tx.by_kind[kind].get_many(ids).items()
    }


def _ref(event: Event) -> MemoryRef:
    return MemoryRef(Kind(event["kind"]), event["entity_id"])


def _turn(event: Event) -> InteractionId | None:
    """Events of earlier versions name no turn: what was learned rests on its last one."""
    if event["interaction_id"] is not None:
        return InteractionId(event["interaction_id"])
    turns = (event["after"] or {}).get("interaction_ids") if event["change"] == ChangeKind.LEARNED else None
    return InteractionId(turns[-1]) if turns else None


def _quote(event: Event) -> str | None:
    if event["quote"] is None and event["change"] == ChangeKind.LEARNED:
        return (event["after"] or {}).get("source_span")
    return event["quote"]  # type: ignore[no-any-return]


def _other(event: Event, link: Conflict | None) -> OtherMemory | None:
    """The memory that took its place, or the one that it may disagree with."""
    after, kind = event["after"] or {}, Kind(event["kind"])
    if link is not None:
        return OtherMemory("conflicts_with", link.older)
    if event["change"] == ChangeKind.MERGED and after.get("merged_into") is not None:
        return OtherMemory("merged_into", MemoryRef(kind, str(after["merged_into"])))
    if event["change"] == ChangeKind.SUPERSEDED and after.get("superseded_by") is not None:
        return OtherMemory("superseded_by", MemoryRef(kind, str(after["superseded_by"])))
    return None


def _described(event: Event, around: _Surroundings) -> Change:
    ref, kind = _ref(event), ChangeKind(event["change"])
    memory, turn_id = around.memories.get(ref), _turn(event)
    turn = around.turns.get(turn_id) if turn_id is not None else None
    action = around.actions.get(event["request_id"])
    undone_by = around.undone.get(event["event_id"]) or (action.undone_by if action else None)
    link = around.links.get(event["event_id"])
    other = _other(event, link)
    before, after = _texts(event, kind, memory)
    return Change(
        id=event["event_id"],
        at=Millis(event["created_at"]),
        kind=kind,
        ref=ref,
        user_id=event["user_id"],
        before=before,
        after=after,
        reason=event["reason"],
        actor=event["actor"],
        cause=Cause(event["cause"]) if event["cause"] else None,
        quote=_quote(event) if _quotable(turn_id, turn, other, around) else None,
        turn=turn.id if turn else None,
        session=(turn.user_id, turn.session_id) if turn else around.sessions.get(event["request_id"]),
        other=_found(other, around.memories) if other else None,
        conflict=link,
        undone_by=undone_by,
        refusal=_refusal(event, kind, memory, undone_by),
    )


def _quotable(
    turn_id: InteractionId | None, turn: Interaction | None, other: OtherMemory | None, around: _Surroundings
) -> bool:
    """A turn that was deleted takes its words with it; a memory that was deleted those that tell of it."""
    return (turn is not None or turn_id is None) and (other is None or other.ref in around.memories)


def _found(other: OtherMemory, memories: Mapping[MemoryRef, Memory]) -> OtherMemory:
    memory = memories.get(other.ref)
    return other if memory is None else replace(other, text=searchable(memory), status=memory.status)


def _texts(event: Event, kind: ChangeKind, memory: Memory | None) -> tuple[str | None, str | None]:
    """Of many memories that moved at once only the status is recorded: the words are those that the memory has now."""
    live = searchable(memory) if memory else None
    before, after = (
        _text(side) if side and _has_words(side) else live if side or kind is ChangeKind.CONFLICT else None
        for side in (event["before"], event["after"])
    )
    if kind in ENDINGS:
        return before, None
    return (None, after) if kind in (ChangeKind.LEARNED, ChangeKind.RESTORED) else (before, after)


def _has_words(snapshot: Mapping[str, Any]) -> bool:
    return "content" in snapshot or "lesson" in snapshot


def _text(snapshot: Mapping[str, Any]) -> str:
    words = snapshot.get("lesson") or snapshot
    return "\n".join(str(words[name]) for name in _TEXT_FIELDS if words.get(name))


# --- whether it can be undone --------------------------------------------------------------------------------------

_NEVER = {
    ChangeKind.DELETED: "What is deleted cannot be restored.",
    ChangeKind.CONFLICT: "Settle the conflict instead: keep one of the two memories, or both.",
}


def _refusal(event: Event, kind: ChangeKind, memory: Memory | None, undone_by: ActionId | None) -> str | None:
    """Why the change cannot be undone; None when it can."""
    if undone_by is not None:
        return f"It was undone before, by {undone_by}."
    if kind in _NEVER:
        return _NEVER[kind]
    name = f"{event['kind']} {event['entity_id']}"
    if memory is None:
        return f"{name} was deleted."
    if event["after"] is None or (event["before"] is None and kind is not ChangeKind.LEARNED):
        return f"The words of {name} were erased."
    return None if _unchanged(memory, event["after"]) else f"{name} was changed again since."


def _unchanged(memory: Memory, snapshot: Mapping[str, Any]) -> bool:
    """Whether the memory is still as the event left it. A snapshot may lack fields that came with a later version."""
    now = to_builtins(memory)
    return all(now[name] == value for name, value in snapshot.items() if name in now and name not in _COUNTERS)


# --- undoing -------------------------------------------------------------------------------------------------------


class Undone(Struct, frozen=True):
    """The action that undid a change. `successor` is what had taken the memory's place, and stays; `conflict_id` links
    the two when both are current now.
    """

    action: Action
    change: Change
    successor: OtherMemory | None = None
    conflict_id: str | None = None


async def undo(change_id: int, actor: str, reason: str, deps: Deps) -> Undone:
    """The memory is as it was before the change. Conflict when it was changed again since, or undone before.

    What was learned is archived. What a person did to one memory alone is undone like from the audit log.
    """
    event, memory, action = await deps.store.read(lambda tx: _undoable(tx, change_id))
    if action is not None:
        undone = await act.undo(action.id, actor, deps)
        return Undone(undone, await get(change_id, deps))
    at, ref = deps.now(), _ref(event)
    earlier = _earlier(event, memory, at)
    rows = await act.reworded({ref: (memory, earlier)}, deps)

    def store(tx: Tx) -> Undone:
        tx.search_rows.require_org_lock()
        _, now, _ = _undoable(tx, change_id)
        if now != memory:
            raise Refused("Changed by someone else meanwhile; try again.")
        sides = _sides(tx, ref, memory, earlier)
        item = ActionItem(ref, True, None, owner(memory) or None, *sides)
        done = Action(
            ActionId(fresh_id("act")), ActionKind.UNDO_CHANGE, actor, at, reason, {"change": change_id}, items=(item,)
        )
        because = Because(f"change {change_id} was undone", actor=actor, request_id=done.id, cause=Cause.PERSON)
        if event["before"] is None:  # nothing to put back
            tx.memories.update(ref, memory, earlier, rows.get(ref), because)
        else:
            tx.memories.restore(ref, memory, earlier, rows.get(ref), because)
        tx.actions.add(done)
        change = described(tx, [event])[0]
        return Undone(done, change, change.other, _linked(tx, change, event))

    return await deps.store.write(store)


def outcome(undone: Undone) -> str:
    """What became of the memory and of the one that had taken its place."""
    ref, successor = undone.change.ref, undone.successor
    became = "is archived" if undone.change.kind is ChangeKind.LEARNED else "is as it was before"
    text = f"{ref.kind} {ref.id} {became}"
    if successor is None or undone.change.kind is not ChangeKind.SUPERSEDED:
        return text
    if undone.conflict_id is not None:
        return f"{text}; {successor.ref.kind} {successor.ref.id} stays current and in conflict with it"
    return f"{text}; {successor.ref.kind} {successor.ref.id} stays {successor.status or 'deleted'}"


def _undoable(tx: Tx, change_id: int) -> tuple[Event, Memory, Action | None]:
    """The event, the memory as it is now, and the person's action that changed it and nothing else, if there is one."""
    event = _event(tx, change_id)
    (change,) = described(tx, [event])
    if change.refusal is not None:
        raise Refused(f"Change {change_id} cannot be undone. {change.refusal}")
    memory: Any = tx.by_kind[change.ref.kind].get(change.ref.id)
    action = tx.actions.get(ActionId(event["request_id"])) if event["request_id"] else None
    return event, memory, action if action and action.changed == 1 else None


def _earlier(event: Event, memory: Memory, at: Millis) -> Memory:
    """As it was before; what was learned was not there, so it is archived."""
    if event["before"] is None:
        return replace(memory, status=Status.ARCHIVED)
    snapshot = {name: value for name, value in event["before"].items() if name not in _COUNTERS - {"updated_at"}}
    earlier = of_snapshot(_ref(event).kind, str(memory.id), {**to_builtins(memory), **snapshot})
    return _unexpired(earlier, at) if event["change"] == ChangeKind.EXPIRED else earlier


def _unexpired(memory: Memory, at: Millis) -> Memory:
    """Its time begins again: with the end that it had, it would expire within the hour."""
    if isinstance(memory, Profile) and memory.expires_at <= at:
        memory = replace(memory, expires_at=memory.ttl.expires(at))
    valid_until = getattr(memory, "valid_until", None)
    return replace(memory, valid_until=None) if valid_until is not None and valid_until <= at else memory


def _sides(tx: Tx, ref: MemoryRef, *memories: Memory) -> list[dict[str, Any]]:
    rows: Any = tx.by_kind[ref.kind]
    return [{"memory": rows.mapping.to_row(memory)} for memory in memories]


def _linked(tx: Tx, change: Change, event: Event) -> str | None:
    """The conflict between the restored memory and the one that had taken its place, where both are current now."""
    other = change.other
    if change.kind is not ChangeKind.SUPERSEDED or other is None or other.status is not Status.CURRENT:
        return None
    link = Conflict(
        id=fresh_id("con"),
        user_id=UserId(change.user_id or ""),
        older=change.ref,
        newer=other.ref,
        reason="the supersession of the older memory was undone",
        created_at=tx.at,
        quote=event["quote"],
        interaction_id=event["interaction_id"],
    )
    if tx.conflicts.add(link):
        return link.id
    known = tx.conflicts.find([change.ref], only_open=True)
    return next((conflict.id for conflict in known if other.ref in (conflict.older, conflict.newer)), None)
