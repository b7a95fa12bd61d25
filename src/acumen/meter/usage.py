"""Count what was shown, echoed and cited."""

import hashlib
from collections.abc import Iterable, Sequence

from acumen.deps import Deps
from acumen.model.conversation import Interaction
from acumen.model.echoes import Shown, without_echoes
from acumen.model.facts import Hour, Published
from acumen.model.ids import InteractionId, Kind, MemoryRef, Millis, UserId
from acumen.model.profile import DAY_MS
from acumen.model.usage import CITED, ECHOED, PRODUCTION, SEARCHED, SHOWN, Injection, InjectionStat, UsageEvent
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
        tx.usage.add(injections, events)

    await deps.store.write(store)


def _events(injection: Injection, duration_ms: float) -> Iterable[UsageEvent]:
    shown = [hit for hit in injection.hits if hit["shown"]]
    yield _event(injection, SEARCHED, None, injection.tokens, duration_ms, {"hits": len(injection.hits)})
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
        detail=detail,
    )


def _event_id(name: str, cause: str, ref: MemoryRef | None) -> str:
    text = "\0".join((name, cause, str(ref.kind), ref.id) if ref else (name, cause))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


async def read_back(fact: Published, deps: Deps) -> None:
    """Find in what was published the memories that were shown before: repeated in words, or named as the reason."""
    while await _read_some(fact.user_id, deps):
        await deps.stand_back()


async def _read_some(user: UserId, deps: Deps) -> bool:
    seen, turns, shown = await deps.store.read(lambda tx: _unread(tx, user, deps.now()))
    if not turns:
        return False
    events = [event for turn in turns for event in (*_echoes(turn, shown), *_citations(turn))]

    def store(tx: Tx) -> None:
        tx.bookmarks.move(user, READER, seen, turns[-1].id)
        tx.usage.add([], events)

    await deps.store.write(store)
    return True


def _unread(tx: Tx, user: UserId, at: Millis) -> tuple[InteractionId, list[Interaction], list[Shown]]:
    seen = tx.bookmarks.of(user, READER)
    turns = tx.conversations.after(user, seen, TURNS_AT_ONCE)
    return seen, turns, tx.usage.shown_lately(user, at) if turns else []


def _echoes(turn: Interaction, shown: Sequence[Shown]) -> Iterable[UsageEvent]:
    for ref in without_echoes(turn.content, shown).echoed:
        yield _said_of(turn, ECHOED, ref)


def _citations(turn: Interaction) -> Iterable[UsageEvent]:
    """Each memory once per turn, however often it is named there."""
    cited = {MemoryRef(_kind(citation["kind"]), str(citation["real_id"])) for citation in turn.citations}
    for ref in sorted(cited):
        yield _said_of(turn, CITED, ref)


def _kind(cited_as: str) -> Kind:
    """`playbook` is the older word for what a user taught."""
    return Kind.USER_PLAYBOOK if cited_as == "playbook" else Kind(cited_as)


def _said_of(turn: Interaction, name: str, ref: MemoryRef) -> UsageEvent:
    return UsageEvent(
        id=_event_id(name, f"turn:{turn.id}", ref),
        name=name,
        at=turn.created_at,
        user_id=turn.user_id,
        request_id=turn.request_id,
        session_id=turn.session_id,
        kind=str(ref.kind),
        memory_id=ref.id,
    )


async def stats(days_back: int, limit: int, offset: int, deps: Deps) -> tuple[list[InjectionStat], int, Millis | None]:
    """Per memory, the most shown first; how many there are; since when counting is complete."""
    since = Millis(deps.now() - days_back * DAY_MS)
    (found, total), covered = await deps.store.read(
        lambda tx: (tx.usage.stats(since, limit, offset), tx.usage.metered_since())
    )
    return found, total, covered


async def expire(_fact: Hour, deps: Deps) -> None:
    """Old counts are removed; what is left still speaks for the whole time it covers."""
    before = Millis(deps.now() - deps.settings.meter.keep_days * DAY_MS)
    await deps.store.write(lambda tx: tx.usage.expire(before))
