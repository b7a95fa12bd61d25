"""Where a memory came from, and the log of changes to profiles, from lineage as it was at the time."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct, convert, field
from msgspec.structs import replace

from acumen.deps import Deps
from acumen.errors import NotFound
from acumen.model.conversation import Interaction
from acumen.model.ids import InteractionId, Kind, MemoryRef, Millis, PlaybookId, ProfileId, UserId
from acumen.model.memories.base import Status
from acumen.model.memories.memory import Memory
from acumen.model.memories.playbook import AgentPlaybook, UserPlaybook
from acumen.model.memories.profile import Profile
from acumen.storage.memories.lineage import CONFLICT
from acumen.storage.store import Tx

# --- provenance ----------------------------------------------------------------------------------------------------

_DOUBT = ("exact", "best_effort", "unavailable")


class SourceSpan(Struct, frozen=True):
    """The words a memory rests on, in their turn; without a place where only the turn is known."""

    turn: InteractionId
    start: int | None = None
    text: str | None = None


class Provenance(Struct, frozen=True):
    memory: Memory
    turns: Sequence[Interaction]
    status: str  # one of _DOUBT
    lineage: Sequence[Mapping[str, Any]]
    sources: Sequence["Provenance"] = ()

    @property
    def spans(self) -> list[SourceSpan]:
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
    if not isinstance(memory, AgentPlaybook):
        return Provenance(memory, *_turns(tx, memory), tx.lineage.find(ref))
    lesson = PlaybookId(int(ref.id))
    existing = tx.user_playbooks.get_many([str(source) for source in tx.sources.find([lesson])[lesson]])
    sources = [_provenance(tx, MemoryRef(Kind.USER_PLAYBOOK, source)) for source in existing]
    worst = max((source.status for source in sources), key=_DOUBT.index, default="unavailable")
    turns = {turn.id: turn for source in sources for turn in source.turns}
    return Provenance(memory, list(turns.values()), worst, tx.lineage.find(ref), sources)


def _turns(tx: Tx, memory: Profile | UserPlaybook) -> tuple[list[Interaction], str]:
    turns = tx.conversations.get_many(memory.interaction_ids)
    if turns:
        return turns, "exact" if len(turns) == len(set(memory.interaction_ids)) else "best_effort"
    turns = tx.conversations.find_by_requests([memory.request_id]) if memory.request_id else []
    return turns, "best_effort" if turns else "unavailable"


def _span(turn: Interaction, words: str | None) -> SourceSpan:
    start = turn.content.find(words) if words else -1
    return SourceSpan(turn.id, start, words) if start >= 0 else SourceSpan(turn.id)


# --- the log of changes to profiles --------------------------------------------------------------------------------

_BEGINNINGS = ("add", Status.CURRENT, Status.PENDING)


class ProfileChange(Struct, frozen=True):
    """What happened to a user's profiles at one moment, each as it was then."""

    id: int
    user_id: str
    request_id: str
    at: Millis
    added: list[Profile] = field(default_factory=list)
    removed: list[Profile] = field(default_factory=list)
    mentioned: list[Profile] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)


async def profile_changes(user: UserId | None, limit: int, deps: Deps) -> list[ProfileChange]:
    """The newest first, from the last `limit` events."""

    def read(tx: Tx) -> list[ProfileChange]:
        events = tx.lineage.find_by_kind(Kind.PROFILE, user, limit)
        ids = [event["entity_id"] for event in events if "content" not in (event["after"] or event["before"] or {})]
        stored = tx.profiles.get_many(ids)
        outdated = tx.lineage.find_outdated(Kind.PROFILE, ids=[name for name in ids if name not in stored])
        return changes(events, stored | {name: _restored(snapshot) for name, snapshot in outdated.items()})

    return await deps.store.read(read)


def changes(events: Iterable[Mapping[str, Any]], stored: Mapping[str, Profile]) -> list[ProfileChange]:
    """Events newest first. `stored` has the words of profiles of which an event records only the status."""
    moments: defaultdict[tuple[str, int], list[Mapping[str, Any]]] = defaultdict(list)
    for event in events:  # those of one user need not be adjacent
        moments[event["user_id"], event["created_at"]].append(event)
    return [_change(of_moment[::-1], stored) for of_moment in moments.values()]


def _change(events: Sequence[Mapping[str, Any]], stored: Mapping[str, Profile]) -> ProfileChange:
    first = events[0]
    request = next((event["request_id"] for event in reversed(events) if event["request_id"]), "")
    change = ProfileChange(first["event_id"], first["user_id"] or "", request, Millis(first["created_at"]))
    for event in events:
        before, after = (_profile(event, sides, stored) for sides in (("before", "after"), ("after", "before")))
        change.reasons.append(event["reason"])
        if event["op"] in _BEGINNINGS:
            change.added.append(after)
        elif event["op"] not in ("change", CONFLICT):
            change.removed.append(before)
        elif event["before"] and before.content != after.content:
            change.removed.append(before)
            change.added.append(after)
        else:
            change.mentioned.append(after)
    return change


def _profile(event: Mapping[str, Any], sides: Sequence[str], stored: Mapping[str, Profile]) -> Profile:
    """As it was on the first side that is recorded. Of what was deleted only the id is left."""
    snapshot: Mapping[str, Any] = next((event[side] for side in sides if event[side]), {})
    if "content" in snapshot:
        return _restored(snapshot)
    at = Millis(event["created_at"])
    erased = Profile(ProfileId(event["entity_id"]), UserId(event["user_id"] or ""), "", at, at)
    profile = stored.get(event["entity_id"], erased)
    return replace(profile, status=Status(snapshot["status"])) if "status" in snapshot else profile


def _restored(snapshot: Mapping[str, Any]) -> Profile:
    return convert({name: value for name, value in snapshot.items() if value is not None}, Profile)
