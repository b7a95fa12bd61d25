"""The change feed of memories, newest first; and undo of one change."""

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
from acumen.model.memories.memory import Memory, of_snapshot
from acumen.model.memories.profile import Profile
from acumen.model.metering.evaluation import SessionKey
from acumen.model.review.action import Action, ActionId, ActionKind
from acumen.review.actions import search_rows
from acumen.review.audit_log import changed_item, fresh_action
from acumen.review.undo_action import undo_by
from acumen.storage.memories.lineage import Because
from acumen.storage.store import Tx

# Fields of a snapshot that do not tell whether the memory was changed again.
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

Event = Mapping[str, Any]


class OtherMemory(Struct, frozen=True):
    """A memory that a change names; no text when it was deleted."""

    relation: str  # superseded_by | merged_into | conflicts_with
    ref: MemoryRef
    text: str | None = None
    status: Status | None = None


class Change(Struct, frozen=True):
    """One change of one memory. `before` and `after` are its text; None when it was not in use or the text was erased.
    `refusal` says why the change cannot be undone; None when it can.
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
    related: OtherMemory | None = None
    conflict: Conflict | None = None
    undone_by: ActionId | None = None
    refusal: str | None = None


class ChangePage(Struct, frozen=True):
    """Newest first; `next` is the cursor of the following page, None on the last one."""

    changes: Sequence[Change]
    next: int | None


async def page(query: ChangeFilter, limit: int, cursor: int | None, deps: Deps) -> ChangePage:
    """A page starts after the change that the cursor names, so newer changes do not shift it."""
    return await deps.store.read(lambda tx: read_page(tx, query, limit, cursor))


def read_page(tx: Tx, query: ChangeFilter, limit: int, cursor: int | None = None) -> ChangePage:
    events = tx.lineage.find_changes(query, limit + 1, cursor)
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
    """What the database has now about the events of a page."""

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
    related = [memory.ref for event in events if (memory := _related(event, links.get(event["event_id"])))]
    turns = tx.conversations.get_many(sorted({turn for event in events if (turn := _turn(event))}))
    named = sorted({event["request_id"] for event in events if event["request_id"]})
    requests = tx.conversations.get_requests([RequestId(name) for name in named]).values()
    return _Surroundings(
        memories=_memories(tx, {*refs, *related}),
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
    keys = {event["event_id"]: (_ref(event), str(source)) for event in created for source in event["sources"] or ()}
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


def _related(event: Event, link: Conflict | None) -> OtherMemory | None:
    """Its successor, or the memory that it is in conflict with."""
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
    related = _related(event, link)
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
        quote=_quote(event) if _quotable(turn_id, turn, related, around) else None,
        turn=turn.id if turn else None,
        session=(turn.user_id, turn.session_id) if turn else around.sessions.get(event["request_id"]),
        related=_with_text(related, around.memories) if related else None,
        conflict=link,
        undone_by=undone_by,
        refusal=_refusal(event, kind, memory, undone_by),
    )


def _quotable(
    turn_id: InteractionId | None, turn: Interaction | None, related: OtherMemory | None, around: _Surroundings
) -> bool:
    """A deleted turn is not quoted, nor is a turn about a deleted memory."""
    return (turn is not None or turn_id is None) and (related is None or related.ref in around.memories)


def _with_text(related: OtherMemory, memories: Mapping[MemoryRef, Memory]) -> OtherMemory:
    memory = memories.get(related.ref)
    return related if memory is None else replace(related, text=_memory_text(memory), status=memory.status)


def _texts(event: Event, kind: ChangeKind, memory: Memory | None) -> tuple[str | None, str | None]:
    """A bulk change records only the status: the text is then the memory's current one."""
    live = _memory_text(memory) if memory else None
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
    return _sentence(words.get("trigger"), words["content"], words.get("pitfall"))


def _memory_text(memory: Memory) -> str:
    if isinstance(memory, Profile):
        return memory.content
    return _sentence(memory.lesson.trigger, memory.lesson.content, memory.lesson.pitfall)


def _sentence(trigger: str | None, content: str, pitfall: str | None) -> str:
    """As lessons are injected: the trigger in brackets before the content, what to avoid after it."""
    before, after = f"[{trigger}] " if trigger else "", f" Avoid: {pitfall}" if pitfall else ""
    return f"{before}{content}{after}"


# --- whether it can be undone --------------------------------------------------------------------------------------

_NEVER = {
    ChangeKind.DELETED: "A deleted memory cannot be restored.",
    ChangeKind.CONFLICT: "Settle the conflict instead: keep one of the memories, or both.",
}


def _refusal(event: Event, kind: ChangeKind, memory: Memory | None, undone_by: ActionId | None) -> str | None:
    """Why the change cannot be undone; None when it can."""
    if undone_by is not None:
        return f"It was already undone by {undone_by}."
    if kind in _NEVER:
        return _NEVER[kind]
    name = f"{event['kind']} {event['entity_id']}"
    if memory is None:
        return f"{name} was deleted."
    if event["after"] is None or (event["before"] is None and kind is not ChangeKind.LEARNED):
        return f"The text of {name} was erased."
    return None if _unchanged(memory, event["after"]) else f"{name} was changed again since."


def _unchanged(memory: Memory, snapshot: Mapping[str, Any]) -> bool:
    """A snapshot of an earlier release may lack fields."""
    now = to_builtins(memory)
    return all(now[name] == value for name, value in snapshot.items() if name in now and name not in _COUNTERS)


# --- undoing -------------------------------------------------------------------------------------------------------


class Undone(Struct, frozen=True):
    """The action that undid a change. `successor` superseded the memory and stays as it is; `conflict_id` links the two
    when both are current now.
    """

    action: Action
    change: Change
    successor: OtherMemory | None = None
    conflict_id: str | None = None


async def undo(change_id: int, actor: str, reason: str, deps: Deps) -> Undone:
    """Restores the memory as it was before. Conflict when it was changed again since, or the change is already undone.

    A learned memory is archived. A person's action on a single memory is undone as from the audit log.
    """
    event, memory, action = await deps.store.read(lambda tx: _undoable(tx, change_id))
    if action is not None:
        undone = await undo_by(action.id, actor, deps)
        return Undone(undone, await get(change_id, deps))
    at, ref = deps.now(), _ref(event)
    earlier = _earlier(event, memory, at)
    rows = await search_rows({ref: (memory, earlier)}, deps)

    def store(tx: Tx) -> Undone:
        tx.search_rows.require_org_lock()
        _, now, _ = _undoable(tx, change_id)
        if now != memory:
            raise Refused("Changed by someone else meanwhile; try again.")
        items = (changed_item(tx, ref, memory, earlier),)
        done = Action(fresh_action(), ActionKind.UNDO_CHANGE, actor, at, reason, {"change": change_id}, items=items)
        because = Because(f"Change {change_id} was undone", actor=actor, request_id=done.id, cause=Cause.PERSON)
        if event["before"] is None:
            tx.memories.update(ref, memory, earlier, rows.get(ref), because)
        else:
            tx.memories.restore(ref, memory, earlier, rows.get(ref), because)
        tx.actions.add(done)
        change = described(tx, [event])[0]
        return Undone(done, change, change.related, _linked(tx, change, event))

    return await deps.store.write(store)


def outcome(undone: Undone) -> str:
    """The result for the memory and its former successor, as a sentence."""
    ref, successor = undone.change.ref, undone.successor
    became = "is archived" if undone.change.kind is ChangeKind.LEARNED else "is as it was before"
    text = f"{ref.kind} {ref.id} {became}"
    if successor is None or undone.change.kind is not ChangeKind.SUPERSEDED:
        return text
    if undone.conflict_id is not None:
        return f"{text}; {successor.ref.kind} {successor.ref.id} stays current and in conflict with it"
    return f"{text}; {successor.ref.kind} {successor.ref.id} stays {successor.status or 'deleted'}"


def _undoable(tx: Tx, change_id: int) -> tuple[Event, Memory, Action | None]:
    """The event, the memory now, and the action of a person that changed this memory only, if there is one."""
    event = _event(tx, change_id)
    (change,) = described(tx, [event])
    if change.refusal is not None:
        raise Refused(f"Change {change_id} cannot be undone. {change.refusal}")
    memory: Any = tx.by_kind[change.ref.kind].get(change.ref.id)
    action = tx.actions.get(ActionId(event["request_id"])) if event["request_id"] else None
    return event, memory, action if action and action.changed == 1 else None


def _earlier(event: Event, memory: Memory, at: Millis) -> Memory:
    """A learned memory did not exist before, so it is archived."""
    if event["before"] is None:
        return replace(memory, status=Status.ARCHIVED)
    snapshot = {name: value for name, value in event["before"].items() if name not in _COUNTERS - {"updated_at"}}
    earlier = of_snapshot(_ref(event).kind, str(memory.id), {**to_builtins(memory), **snapshot})
    return _unexpired(earlier, at) if event["change"] == ChangeKind.EXPIRED else earlier


def _unexpired(memory: Memory, at: Millis) -> Memory:
    """With a new time to live: with its former end it would expire within the hour."""
    if isinstance(memory, Profile) and memory.expires_at <= at:
        memory = replace(memory, expires_at=memory.ttl.expires(at))
    valid_until = getattr(memory, "valid_until", None)
    return replace(memory, valid_until=None) if valid_until is not None and valid_until <= at else memory


def _linked(tx: Tx, change: Change, event: Event) -> str | None:
    """The conflict between the restored memory and its former successor, if both are current."""
    successor = change.related
    if change.kind is not ChangeKind.SUPERSEDED or successor is None or successor.status is not Status.CURRENT:
        return None
    link = Conflict(
        id=fresh_id("con"),
        user_id=UserId(change.user_id or ""),
        older=change.ref,
        newer=successor.ref,
        reason="the supersession of the older memory was undone",
        created_at=tx.at,
        quote=event["quote"],
        interaction_id=event["interaction_id"],
    )
    if tx.conflicts.add(link):
        return link.id
    existing = tx.conflicts.find([change.ref], only_open=True)
    return next((conflict.id for conflict in existing if successor.ref in (conflict.older, conflict.newer)), None)
