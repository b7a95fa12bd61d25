"""One memory with its use, signals, history and related memories."""

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import Struct

from acumen.deps import Deps
from acumen.errors import NotFound
from acumen.model.conversation import Interaction
from acumen.model.ids import Kind, MemoryRef, Millis, SessionId, UserId
from acumen.model.memories.change import ChangeKind
from acumen.model.memories.conflict import OpenConflict
from acumen.model.memories.memory import Memory, searchable
from acumen.model.metering.usage import CITED, ECHOED, SHOWN, UsageEvent, Use
from acumen.model.review.action import UNREVIEWED, Action, ReviewState
from acumen.model.times import DAY_MS
from acumen.review import changes, conflicts, queue
from acumen.review.changes import Change
from acumen.review.signal_reasons import Signal
from acumen.storage.store import Tx

MOST_DUPLICATES = 3
MOST_ACTIONS = 10
EVENTS_READ = 200
TURNS_READ = 400
# The last turns that a memory was learned from.
MOST_TURNS = 5
TEXT_FIELDS = ("trigger", "content", "pitfall", "rationale")


class Duplicate(Struct, frozen=True):
    ref: MemoryRef
    similarity: float
    text: str


class MemoryInjection(Struct, frozen=True):
    """`answer` is what the agent said next; None when it was not published."""

    event: UsageEvent
    answer: str | None
    cited: bool
    echoed: bool


class MemorySummary(Struct, frozen=True):
    ref: MemoryRef
    memory: Memory
    state: ReviewState
    use: Use
    signals: Sequence[Signal]
    duplicates: Sequence[Duplicate]
    injections: Sequence[MemoryInjection]
    conflicts: Sequence[OpenConflict]


async def summary(
    ref: MemoryRef, days: int, most_injections: int, deps: Deps, signal_days: int | None = None
) -> MemorySummary:
    """Use and injections of the last `days`; signals of the last `signal_days`, or of the same days."""
    signals = (await queue.signals_against([ref], signal_days or days, deps)).get(ref, ())
    since = Millis(deps.now() - days * DAY_MS)
    return await deps.store.read(
        lambda tx: _summary(tx, ref, since, signals, deps.thresholds.similarity, most_injections)
    )


def _summary(
    tx: Tx, ref: MemoryRef, since: Millis, signals: Sequence[Signal], similarity: float, most_injections: int
) -> MemorySummary:
    memory = _existing(tx, ref)
    return MemorySummary(
        ref=ref,
        memory=memory,
        state=tx.review_states.find(ref.kind, [ref.id]).get(ref.id, UNREVIEWED),
        use=tx.usage.counters.get_uses(ref.kind, since, [ref.id]).get(ref.id, Use()),
        signals=signals,
        duplicates=_duplicates(tx, ref, similarity),
        injections=_injections(tx, ref, since, most_injections),
        conflicts=conflicts.of_memory(tx, ref),
    )


def _existing(tx: Tx, ref: MemoryRef) -> Memory:
    memory: Memory | None = tx.by_kind[ref.kind].get(ref.id)
    if memory is None:
        raise NotFound(f"There is no {ref.kind} {ref.id[:100]}; it may have been deleted.")
    return memory


def _duplicates(tx: Tx, ref: MemoryRef, least: float) -> list[Duplicate]:
    pairs = tx.memory_flags.find_pairs(ref.kind, least=least, ids=[ref.id])
    scores = {pair.right if pair.left == ref.id else pair.left: pair.similarity for pair in pairs[:MOST_DUPLICATES]}
    memories: dict[str, Any] = dict(tx.by_kind[ref.kind].get_many(list(scores)))
    return [
        Duplicate(MemoryRef(ref.kind, memory_id), scores[memory_id], searchable(memory))
        for memory_id, memory in memories.items()
    ]


def _injections(tx: Tx, ref: MemoryRef, since: Millis, limit: int) -> list[MemoryInjection]:
    """Newest first."""
    events = tx.usage.find_events(ref, since, EVENTS_READ)
    used = {(event.name, event.session_id) for event in events if event.name in (CITED, ECHOED)}
    injected = [event for event in events if event.name == SHOWN][:limit]
    return [
        MemoryInjection(
            event, _answer(tx, event), (CITED, event.session_id) in used, (ECHOED, event.session_id) in used
        )
        for event in injected
    ]


def _answer(tx: Tx, event: UsageEvent) -> str | None:
    if not event.user_id or not event.session_id:
        return None
    _, turns = tx.conversations.get_session(UserId(event.user_id), SessionId(event.session_id), TURNS_READ)
    return next((turn.content for turn in turns if not turn.by_user and turn.created_at >= event.at), None)


# --- history -------------------------------------------------------------------------------------------------------


class Version(Struct, frozen=True):
    """A change with the text before and after it; None where the text was erased. `sources` are existing memories."""

    change: Change
    version: int | None
    texts: tuple[str, str] | None
    sources: Sequence[MemoryRef]


class MemoryHistory(Struct, frozen=True):
    """`versions` newest first; `relations` are memories that it came from or was replaced by."""

    uses: Sequence[tuple[Millis, Use]]
    versions: Sequence[Version]
    actions: Sequence[Action]
    relations: dict[MemoryRef, str]
    turns: Sequence[Interaction]


async def history(ref: MemoryRef, days: int, deps: Deps) -> MemoryHistory:
    at = deps.now()
    return await deps.store.read(lambda tx: _history(tx, ref, at // DAY_MS - days, at // DAY_MS))


def _history(tx: Tx, ref: MemoryRef, first_day: int, today: int) -> MemoryHistory:
    memory = _existing(tx, ref)
    uses = dict(tx.usage.counters.get_days(ref, first_day))
    events = tx.lineage.find(ref)[::-1]
    return MemoryHistory(
        uses=[(Millis(day * DAY_MS), uses.get(day, Use())) for day in _days(uses, today)],
        versions=[_version(tx, *pair) for pair in zip(events, changes.described(tx, events), strict=True)],
        actions=tx.actions.page(MOST_ACTIONS, 0, ref)[0],
        relations=_relations(tx, ref, memory),
        turns=tx.conversations.get_many(getattr(memory, "interaction_ids", [])[-MOST_TURNS:]),
    )


def _days(uses: dict[int, Use], today: int) -> Iterable[int]:
    """From the first use to today, newest first."""
    return range(today, min(uses) - 1, -1) if uses else ()


def _version(tx: Tx, event: dict[str, Any], change: Change) -> Version:
    before, after = event["before"], event["after"]
    snapshot = after or before
    return Version(
        change=change,
        version=snapshot.get("version") if snapshot else None,
        texts=(_text(before), _text(after)) if snapshot else None,
        sources=_sources(tx, event, change),
    )


# Other changes name turns or operations.
_FROM_MEMORIES = frozenset({ChangeKind.SUPERSEDED, ChangeKind.MERGED, ChangeKind.CONFLICT})


def _sources(tx: Tx, event: dict[str, Any], change: Change) -> list[MemoryRef]:
    """The user playbooks of a shared lesson; of other memories the successor or the other side of a conflict."""
    shared = change.ref.kind is Kind.AGENT_PLAYBOOK and change.kind not in _FROM_MEMORIES
    if not shared and change.kind not in _FROM_MEMORIES:
        return []
    kind = Kind.USER_PLAYBOOK if shared else change.ref.kind
    existing = tx.by_kind[kind].get_many(event["sources"] or ())
    return [MemoryRef(kind, name) for name in event["sources"] or () if name in existing]


def _text(snapshot: dict[str, Any] | None) -> str:
    if not snapshot:
        return ""
    fields = {**snapshot, **(snapshot.get("lesson") or {})}
    return "\n".join(str(fields[name]) for name in TEXT_FIELDS if fields.get(name))


def _relations(tx: Tx, ref: MemoryRef, memory: Memory) -> dict[MemoryRef, str]:
    relations: dict[MemoryRef, str] = {}
    if memory.superseded_by is not None:
        relations[MemoryRef(ref.kind, str(memory.superseded_by))] = "superseded by"
    if memory.merged_into is not None:
        relations[MemoryRef(ref.kind, str(memory.merged_into))] = "merged into"
    return relations | dict(tx.memory_browser.find_links_to(ref))
