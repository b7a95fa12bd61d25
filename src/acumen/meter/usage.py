"""Count what was shown, echoed and cited."""

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct, field

from acumen.deps import Deps
from acumen.model.conversation import Interaction
from acumen.model.echoes import Shown, without_echoes
from acumen.model.experiment import HOLDOUT
from acumen.model.facts import Hour, Published
from acumen.model.ids import InteractionId, Kind, MemoryRef, Millis, UserId
from acumen.model.memories import owner
from acumen.model.times import DAY_MS
from acumen.model.usage import (
    CITED,
    ECHOED,
    PRODUCTION,
    SEARCHED,
    SHOWN,
    UNRESOLVED,
    WITHHELD,
    CitationStat,
    Injection,
    InjectionStat,
    UsageEvent,
)
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

    await deps.store.write(store)


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
        # A search sent twice under one request id is one showing.
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
    """The cause first: what was counted for one search lies together in the index, and takes fewer writes."""
    return f"{cause}:{name}:{ref.kind}:{ref.id}" if ref else f"{cause}:{name}"


async def read_back(fact: Published, deps: Deps) -> None:
    """Find in what was published the memories that were shown before: repeated in words, or named as the reason."""
    while await _read_some(fact.user_id, deps):
        await deps.stand_back()


async def _read_some(user: UserId, deps: Deps) -> bool:
    """Where nothing was shown and nothing is named, one transaction passes the turns by."""
    unread = await deps.store.write(lambda tx: _pass_by(tx, user, deps.now()))
    if unread.to_find:
        events = [event for turn in unread.turns for event in (*_echoes(turn, unread), *_citations(turn, unread))]
        await deps.store.write(lambda tx: _count(tx, user, unread, events))
    return len(unread.turns) == TURNS_AT_ONCE  # what came meanwhile has a job of its own


def _pass_by(tx: Tx, user: UserId, at: Millis) -> "_Unread":
    unread = _unread(tx, user, at)
    if unread.turns and not unread.to_find:
        _count(tx, user, unread, [])
    return unread


def _count(tx: Tx, user: UserId, unread: "_Unread", events: Sequence[UsageEvent]) -> None:
    tx.bookmarks.move(user, READER, unread.seen, unread.turns[-1].id)
    tx.usage.add(events)


class _Unread(Struct, frozen=True):
    """Turns that were not looked through yet, and what is needed to understand them."""

    seen: InteractionId
    turns: Sequence[Interaction]
    shown: Sequence[Shown] = ()
    known: frozenset[MemoryRef] = frozenset()  # of the memories they name, those that this user's agents can have seen
    versions: Mapping[str, str] = field(default_factory=dict)  # of the agent, by request

    @property
    def to_find(self) -> bool:
        return bool(self.shown) or any(map(_named, self.turns))


def _unread(tx: Tx, user: UserId, at: Millis) -> _Unread:
    seen = tx.bookmarks.of(user, READER)
    turns = tx.conversations.after(user, seen, TURNS_AT_ONCE)
    if not turns:
        return _Unread(seen, turns)
    requests = tx.conversations.by_request(sorted({turn.request_id for turn in turns}))
    named = {ref for turn in turns for ref in _named(turn)}
    return _Unread(
        seen,
        turns,
        tx.injections.shown_lately(user, at),
        frozenset(_existing(tx, named, user)),
        {name: request.agent_version for name, request in requests.items()},
    )


def _existing(tx: Tx, named: Iterable[MemoryRef], user: UserId) -> Iterable[MemoryRef]:
    """Memories of this user, and those that belong to nobody."""
    for kind in Kind:
        ids = [ref.id for ref in named if ref.kind == kind]
        for memory_id, memory in tx.by_kind[kind].by_ids(ids).items() if ids else ():
            if owner(memory) in ("", user):
                yield MemoryRef(kind, memory_id)


def _echoes(turn: Interaction, unread: _Unread) -> Iterable[UsageEvent]:
    for ref in without_echoes(turn.content, unread.shown).echoed:
        yield _said_of(turn, ECHOED, ref, unread)


def _citations(turn: Interaction, unread: _Unread) -> Iterable[UsageEvent]:
    """Each memory once per turn, however often it is named there; what is no memory is counted apart."""
    for ref in sorted(_named(turn)):
        yield _said_of(turn, CITED if ref in unread.known else UNRESOLVED, ref, unread)


def _named(turn: Interaction) -> set[MemoryRef]:
    """What the turn cites, and what it says was retrieved for it."""
    cited = {MemoryRef(_kind(one["kind"]), str(one["real_id"]).strip()) for one in turn.citations}
    return cited | {MemoryRef(_kind(one["kind"]), str(one["learning_id"]).strip()) for one in turn.retrieved_learnings}


def _kind(cited_as: str) -> Kind:
    """`playbook` is the older word for what a user taught."""
    return Kind.USER_PLAYBOOK if cited_as == "playbook" else Kind(cited_as)


def _said_of(turn: Interaction, name: str, ref: MemoryRef, unread: _Unread) -> UsageEvent:
    return UsageEvent(
        id=_event_id(name, f"turn:{turn.id}", ref),
        name=name,
        at=turn.created_at,
        user_id=turn.user_id,
        request_id=turn.request_id,
        session_id=turn.session_id,
        kind=str(ref.kind),
        memory_id=ref.id,
        agent_version=unread.versions.get(turn.request_id),
        detail={"interaction_id": turn.id},
    )


class Stats(Struct, frozen=True):
    """A page of memories by how often they were shown, with the titles of those that exist."""

    stats: Sequence[InjectionStat]
    total: int
    titles: Mapping[MemoryRef, str]
    covered_since: Millis | None


async def stats(days_back: int, limit: int, offset: int, deps: Deps) -> Stats:
    """Per memory, the most shown first; how many there are; since when counting is complete."""
    since = Millis(deps.now() - days_back * DAY_MS)

    def read(tx: Tx) -> Stats:
        found, total = tx.usage.ranked.shown(since, limit, offset)
        titles = tx.memories.titles(MemoryRef(Kind(one.kind), one.id) for one in found)
        return Stats(found, total, titles, tx.usage.metered_since())

    return await deps.store.read(read)


class Citations(Struct, frozen=True):
    """A page of memories by how often agents cited them, and how many citations named no memory."""

    stats: Sequence[CitationStat]
    total: int
    titles: Mapping[MemoryRef, str]
    unresolved: int


async def citations(days_back: int, limit: int, offset: int, deps: Deps) -> Citations:
    since = Millis(deps.now() - days_back * DAY_MS)

    def read(tx: Tx) -> Citations:
        found, total = tx.usage.ranked.cited(since, limit, offset)
        titles = tx.memories.titles(MemoryRef(Kind(one.kind), one.id) for one in found)
        return Citations(found, total, titles, tx.usage.count_of(UNRESOLVED, since))

    return await deps.store.read(read)


async def expire(_fact: Hour, deps: Deps) -> None:
    """Old counts are removed, whole days at a time; from when on they are complete is remembered."""
    before = Millis(deps.now() - deps.settings.meter.keep_days * DAY_MS)
    # Millions are counted for this, so it is asked apart: nobody waits to write meanwhile.
    start = await deps.store.read(lambda tx: tx.usage.kept_from(before, deps.settings.meter.keep_rows))
    if start is not None:
        await deps.store.write(lambda tx: tx.usage.expire(start))
