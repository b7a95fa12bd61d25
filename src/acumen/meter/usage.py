"""Count what was injected, echoed and cited."""

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct, field

from acumen.deps import Deps
from acumen.meter.citations import Cited, cited_events, existing, named_by, of_memory, resolve
from acumen.model.conversation import Interaction, Request
from acumen.model.echoes import RenderedMemory, without_echoes
from acumen.model.ids import InteractionId, Kind, MemoryRef, Millis, RequestId, UserId
from acumen.model.jobs.events import Hour, Published
from acumen.model.metering.experiment import HOLDOUT
from acumen.model.metering.usage import (
    ECHOED,
    PRODUCTION,
    RETRIEVED,
    SEARCHED,
    SHOWN,
    UNRESOLVED,
    WITHHELD,
    CitationStat,
    Injection,
    InjectionUsage,
    UsageEvent,
)
from acumen.model.times import DAY_MS
from acumen.storage.store import Tx

READER = "meter"
TURNS_AT_ONCE = 200


async def record(injections: Sequence[Injection], durations: Sequence[float], deps: Deps) -> None:
    """One event per memory put into a context, one per search; only production callers count as use."""
    counted = [
        (injection, duration)
        for injection, duration in zip(injections, durations, strict=True)
        if injection.caller_type == PRODUCTION
    ]
    events = [event for injection, duration in counted for event in _events(injection, duration)]

    def store(tx: Tx) -> None:
        tx.usage.begin_metering(min(injection.created_at for injection in injections))
        tx.injections.add(injections)
        tx.usage.add(events)

    await deps.store.write_shared(store)


def _events(injection: Injection, duration_ms: float) -> Iterable[UsageEvent]:
    shown = [hit for hit in injection.hits if hit["shown"]]
    name = WITHHELD if injection.experiment_arm == HOLDOUT else SEARCHED
    yield _event(injection, name, None, injection.tokens, duration_ms, {"hits": len(injection.hits)})
    for hit in shown:
        yield _event(injection, SHOWN, MemoryRef(Kind(hit["kind"]), hit["id"]), hit["tokens"], None, {})


def _event(
    injection: Injection,
    name: str,
    ref: MemoryRef | None,
    tokens: int,
    duration_ms: float | None,
    detail: dict[str, int],
) -> UsageEvent:
    return UsageEvent(
        # A search sent twice under one request id is one injection.
        id=_event_id(name, injection.request_id or injection.id, ref),
        name=name,
        at=injection.created_at,
        user_id=injection.user_id,
        request_id=injection.request_id,
        session_id=injection.session_id,
        injection_id=injection.id,
        kind=str(ref.kind) if ref else None,
        memory_id=ref.id if ref else None,
        caller_type=injection.caller_type,
        tokens=tokens,
        duration_ms=duration_ms,
        agent_version=injection.agent_version,
        detail=detail,
    )


def _event_id(name: str, cause: str, ref: MemoryRef | None) -> str:
    """Starts with the cause: events of one search are adjacent in the index, which takes fewer writes."""
    return f"{cause}:{name}:{ref.kind}:{ref.id}" if ref else f"{cause}:{name}"


async def read_back(event: Published, deps: Deps) -> None:
    """Finds echoes and citations of injected memories in published turns."""
    while await _read_some(event.user_id, deps):
        await deps.stand_back()


async def _read_some(user: UserId, deps: Deps) -> bool:
    """Turns without injections and citations need a single transaction."""
    unread = await deps.store.write_for_user(user, lambda tx: _pass_by(tx, user, deps.now()))
    if unread.to_find:
        events = [event for turn in unread.turns for event in _events_of(turn, unread)]
        await deps.store.write_for_user(user, lambda tx: _count(tx, user, unread, events))
    return len(unread.turns) == TURNS_AT_ONCE  # what came meanwhile has a job of its own


def _pass_by(tx: Tx, user: UserId, at: Millis) -> "_Unread":
    unread = _unread(tx, user, at)
    if unread.turns and not unread.to_find:
        _count(tx, user, unread, [])
    return unread


def _count(tx: Tx, user: UserId, unread: "_Unread", events: Sequence[UsageEvent]) -> None:
    tx.bookmarks.move(user, READER, unread.bookmark, unread.turns[-1].id)
    tx.usage.add(events)


class _Unread(Struct, frozen=True):
    """Turns that were not read yet, with the injections and citations they may refer to."""

    bookmark: InteractionId
    turns: Sequence[Interaction]
    shown: Sequence[RenderedMemory] = ()
    cited: Mapping[InteractionId, Cited] = field(default_factory=dict)
    retrieved: frozenset[MemoryRef] = frozenset()  # of the memories reported as retrieved, those this user can see
    requests: Mapping[RequestId, Request] = field(default_factory=dict)

    @property
    def to_find(self) -> bool:
        return bool(self.shown or self.retrieved or any(map(bool, self.cited.values())))


def _unread(tx: Tx, user: UserId, at: Millis) -> _Unread:
    bookmark = tx.bookmarks.get(user, READER)
    turns = tx.conversations.find_after(user, bookmark, TURNS_AT_ONCE)
    if not turns:
        return _Unread(bookmark, turns)
    requests = tx.conversations.get_requests(sorted({turn.request_id for turn in turns}))
    shown = tx.injections.find_recent_memories(user, at)
    named = {turn.id: named_by(turn) for turn in turns}
    cited = resolve(tx, user, named, [memory.ref for memory in shown], at)
    retrieved = {ref for turn in turns for ref in _retrieved(turn)}
    return _Unread(bookmark, turns, shown, cited, frozenset(existing(tx, retrieved, user)), requests)


def _retrieved(turn: Interaction) -> set[MemoryRef]:
    """Reported as part of the agent's context, which does not mean that it was used."""
    return {MemoryRef(Kind(memory["kind"]), str(memory["learning_id"]).strip()) for memory in turn.retrieved_learnings}


def _events_of(turn: Interaction, unread: _Unread) -> Iterable[UsageEvent]:
    """Each memory counts once per turn and event. A turn that is only evaluated counts as no use."""
    request = unread.requests.get(turn.request_id)
    if request is not None and request.evaluation_only:
        return
    cause, like = f"turn:{turn.id}", _like(turn, request)
    for ref in without_echoes(turn.content, unread.shown, by_user=turn.by_user).echoed:
        yield of_memory(like, cause, ECHOED, ref)
    for ref in sorted(_retrieved(turn) & unread.retrieved):
        yield of_memory(like, cause, RETRIEVED, ref)
    yield from cited_events(like, cause, unread.cited.get(turn.id, Cited()))


def _like(turn: Interaction, request: Request | None) -> UsageEvent:
    """The fields that all events of a turn share."""
    return UsageEvent(
        id="",
        name="",
        at=turn.created_at,
        user_id=turn.user_id,
        request_id=turn.request_id,
        session_id=turn.session_id,
        agent_version=request.agent_version if request else None,
        detail={"interaction_id": turn.id},
    )


class Stats(Struct, frozen=True):
    """A page of memories by injections, with the titles of those that exist."""

    stats: Sequence[InjectionUsage]
    total: int
    titles: Mapping[MemoryRef, str]
    covered_since: Millis | None


async def stats(days_back: int, limit: int, offset: int, deps: Deps) -> Stats:
    """Most injections first."""
    since = Millis(deps.now() - days_back * DAY_MS)

    def read(tx: Tx) -> Stats:
        rows, total = tx.usage.top.page_injected(since, limit, offset)
        titles = tx.memories.get_titles(MemoryRef(Kind(row.kind), row.id) for row in rows)
        return Stats(rows, total, titles, tx.usage.get_metered_since())

    return await deps.store.read(read)


class Citations(Struct, frozen=True):
    """A page of memories by how often agents cited them, how many citations named no memory, and how many memories
    were reported as retrieved, which is no citation.
    """

    stats: Sequence[CitationStat]
    total: int
    titles: Mapping[MemoryRef, str]
    unresolved: int
    retrieved: int
    covered_since: Millis | None  # when an agent first cited anything


async def citations(days_back: int, limit: int, offset: int, deps: Deps) -> Citations:
    since = Millis(deps.now() - days_back * DAY_MS)

    def read(tx: Tx) -> Citations:
        rows, total = tx.usage.top.page_cited(since, limit, offset)
        titles = tx.memories.get_titles(MemoryRef(Kind(row.kind), row.id) for row in rows)
        unresolved, retrieved = (tx.usage.count(name, since) for name in (UNRESOLVED, RETRIEVED))
        return Citations(rows, total, titles, unresolved, retrieved, tx.usage.get_cited_since())

    return await deps.store.read(read)


async def expire(_event: Hour, deps: Deps) -> None:
    """Deletes old counts by whole days, and records since when counts are complete."""
    before = Millis(deps.now() - deps.settings.meter.keep_days * DAY_MS)
    # A slow query: in a read transaction it does not block writers.
    start = await deps.store.read(lambda tx: tx.usage.find_retention_start(before, deps.settings.meter.keep_rows))
    if start is not None:
        await deps.store.write(lambda tx: tx.usage.expire(start))
