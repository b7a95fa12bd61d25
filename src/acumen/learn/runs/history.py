"""Where a memory came from, and how memories changed: told from lineage, as things were at the time."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from acumen.deps import Deps
from acumen.errors import NotFound
from acumen.model.conversation import Interaction
from acumen.model.ids import InteractionId, Kind, MemoryRef, Millis, PlaybookId, ProfileId, RequestId, UserId
from acumen.model.memories import Memory
from acumen.model.memory import Origin, Status
from acumen.model.playbook import AgentPlaybook, UserPlaybook
from acumen.model.profile import Profile, TimeToLive
from acumen.storage.lineage import CONFLICT
from acumen.storage.store import Tx

# --- where one memory came from ------------------------------------------------------------------------------------


class Span(Struct, frozen=True):
    """The words a memory rests on, in the turn they stand in; without a place where only the turn is known."""

    turn: InteractionId
    start: int | None = None
    text: str | None = None


class Provenance(Struct, frozen=True):
    memory: Memory
    turns: Sequence[Interaction]
    status: str  # exact | best_effort | unavailable
    lineage: Sequence[Mapping[str, Any]]
    sources: Sequence["Provenance"] = ()

    @property
    def spans(self) -> list[Span]:
        """A shared lesson rests on the words that its sources rest on."""
        if self.sources:
            return list(dict.fromkeys(span for source in self.sources for span in source.spans))
        return [_span(turn, getattr(self.memory, "source_span", None)) for turn in self.turns]


async def provenance(ref: MemoryRef, deps: Deps) -> Provenance:
    return await deps.store.read(lambda tx: _provenance(tx, ref))


def _provenance(tx: Tx, ref: MemoryRef) -> Provenance:
    memory = tx.by_kind[ref.kind].get(ref.id)
    if memory is None:
        raise NotFound(f"There is no {ref.kind} {ref.id}.")
    if isinstance(memory, AgentPlaybook):
        return _of_shared(tx, ref, memory)
    turns, status = _turns(tx, memory)
    return Provenance(memory, turns, status, tx.lineage.of(ref))


def _of_shared(tx: Tx, ref: MemoryRef, memory: AgentPlaybook) -> Provenance:
    """A shared lesson comes from the users' lessons it was written from."""
    sources = [_provenance(tx, one) for one in _sources(tx, ref)]
    worst = max((source.status for source in sources), key=_DOUBT.index, default="unavailable")
    turns = {turn.id: turn for source in sources for turn in source.turns}
    return Provenance(memory, list(turns.values()), worst, tx.lineage.of(ref), sources)


_DOUBT = ("exact", "best_effort", "unavailable")


def _sources(tx: Tx, ref: MemoryRef) -> list[MemoryRef]:
    lesson = PlaybookId(int(ref.id))
    existing = tx.user_playbooks.by_ids([str(one) for one in tx.sources.of([lesson])[lesson]])
    return [MemoryRef(Kind.USER_PLAYBOOK, one) for one in existing]


def _turns(tx: Tx, memory: Profile | UserPlaybook) -> tuple[list[Interaction], str]:
    turns = tx.conversations.by_ids(memory.interaction_ids)
    if turns:
        return turns, "exact" if len(turns) == len(set(memory.interaction_ids)) else "best_effort"
    turns = tx.conversations.of_requests([memory.request_id]) if memory.request_id else []
    return turns, "best_effort" if turns else "unavailable"


def _span(turn: Interaction, words: str | None) -> Span:
    start = turn.content.find(words) if words else -1
    return Span(turn.id, start, words) if start >= 0 else Span(turn.id)


# --- how profiles changed ------------------------------------------------------------------------------------------


class Change(Struct):
    """What changed at once for one user."""

    id: int
    user_id: str
    request_id: str
    at: Millis
    added: list[Profile] = field(default_factory=list)
    removed: list[Profile] = field(default_factory=list)
    mentioned: list[Profile] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)


async def profile_changes(user: UserId | None, limit: int, deps: Deps) -> list[Change]:
    """The newest first, from the last `limit` events."""

    def read(tx: Tx) -> list[Change]:
        events = tx.lineage.of_kind(Kind.PROFILE, user, limit)
        moved = [event["entity_id"] for event in events if _snapshot(event) is None]
        return changes(events, _stored(tx, moved))

    return await deps.store.read(read)


def _stored(tx: Tx, ids: Sequence[str]) -> dict[str, Profile]:
    """As they are, or as they were when a newer version took their place."""
    found = tx.profiles.by_ids(ids)
    outdated = tx.lineage.outdated(Kind.PROFILE, ids=[one for one in ids if one not in found])
    return found | {one: _restored(told) for one, told in outdated.items()}


def changes(events: Iterable[Mapping[str, Any]], stored: Mapping[str, Profile]) -> list[Change]:
    """One for each user and moment. `stored` gives the words of memories of which only the status was told."""
    moments: defaultdict[tuple[str, int], list[Mapping[str, Any]]] = defaultdict(list)
    for event in events:  # of many users at once, those of one need not lie together
        moments[event["user_id"], event["created_at"]].append(event)
    return [_change(told[::-1], stored) for told in moments.values()]


def _change(events: Sequence[Mapping[str, Any]], stored: Mapping[str, Profile]) -> Change:
    first = events[0]
    request = next((event["request_id"] for event in reversed(events) if event["request_id"]), "")
    change = Change(first["event_id"], first["user_id"] or "", request, Millis(first["created_at"]))
    for event in events:
        _tell(change, event, _profile_of(event, stored))
        change.reasons.append(event["reason"])
    return change


def _tell(change: Change, event: Mapping[str, Any], profile: Profile) -> None:
    """An edit takes the words before it away and adds others; whatever else leaves the words alone mentions them."""
    before = event["before"]
    if event["op"] in _BEGINNINGS:
        change.added.append(profile)
    elif _is_end(event):
        change.removed.append(profile)
    elif before and before.get("content") != profile.content:
        change.removed.append(_restored(before))
        change.added.append(profile)
    else:
        change.mentioned.append(profile)


_BEGINNINGS = ("add", Status.CURRENT, Status.PENDING)


def _is_end(event: Mapping[str, Any]) -> bool:
    return event["op"] not in (*_BEGINNINGS, "change", CONFLICT)


def _profile_of(event: Mapping[str, Any], stored: Mapping[str, Profile]) -> Profile:
    """As it was after the event, or before it if that ended it. Of what was deleted, nothing but the id is left."""
    told = _snapshot(event)
    if told is not None:
        return _restored(told)
    at = Millis(event["created_at"])
    gone = Profile(ProfileId(event["entity_id"]), UserId(event["user_id"] or ""), "", at, at)
    known = stored.get(event["entity_id"], gone)
    status = _told(event).get("status")
    return replace(known, status=Status(status)) if status else known


def _snapshot(event: Mapping[str, Any]) -> Mapping[str, Any] | None:
    told = _told(event)
    return told if "content" in told else None


def _told(event: Mapping[str, Any]) -> Mapping[str, Any]:
    sides = ("before", "after") if _is_end(event) else ("after", "before")
    return next((event[side] for side in sides if event[side]), {})


def _restored(told: Mapping[str, Any]) -> Profile:
    values = dict(_without_nulls(told))
    values["origin"] = Origin(**values.get("origin", {}))
    values["status"] = Status(values["status"])
    values["ttl"] = TimeToLive(values["ttl"])
    values["request_id"] = RequestId(values.get("request_id", ""))
    return Profile(**values)


def _without_nulls(told: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    return ((name, value) for name, value in told.items() if value is not None)
