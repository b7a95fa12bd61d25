"""The impact of memories on session outcomes: of one memory on request, of all every hour."""

from collections.abc import Iterable

from msgspec import Struct

from acumen.deps import Deps
from acumen.errors import NotFound
from acumen.meter.lift import ENOUGH, Lift, OutcomeCounts, lift
from acumen.model.ids import Kind, MemoryRef, Millis
from acumen.model.jobs.events import Hour
from acumen.model.memories.base import Status
from acumen.model.memories.memory import Memory, owner
from acumen.model.metering.intervals import Interval
from acumen.model.times import DAY_MS
from acumen.storage.review.memory_flags import MemoryFlag
from acumen.storage.store import Tx

HARMFUL = "harmful"
# Of the hourly check: long enough for twenty sessions, short enough to describe the current agent.
DAYS_BACK = 90


class Helped(Struct, frozen=True):
    with_and_without: Lift
    after_and_before: Lift
    covered_since: Millis | None


async def of_memory(ref: MemoryRef, days_back: int, deps: Deps) -> Helped:
    """A user's memory is compared within the sessions of that user, a shared one within all."""
    at = deps.now()
    return await deps.store.read(lambda tx: _of_memory(tx, ref, Millis(at - days_back * DAY_MS), at))


def _of_memory(tx: Tx, ref: MemoryRef, since: Millis, at: Millis) -> Helped:
    memory: Memory | None = tx.by_kind[ref.kind].get(ref.id)
    if memory is None:
        raise NotFound(f"There is no {ref.kind} {ref.id}.")
    user, born = owner(memory) or None, memory.created_at
    shown = OutcomeCounts(*tx.outcomes.count_sessions_with(ref, since, at))
    every = OutcomeCounts(*tx.outcomes.count_sessions(since, at, user))
    after = OutcomeCounts(*tx.outcomes.count_sessions(max(born, since), at, user))
    before = OutcomeCounts(*tx.outcomes.count_sessions(since, Millis(born - 1), user))
    return Helped(lift(shown, every.without(shown)), lift(after, before), tx.usage.get_metered_since())


async def propose_harmful(_event: Hour, deps: Deps) -> None:
    """Flags memories that are harmful with 95 % confidence; they stay in use until a person acts."""
    at = deps.now()
    harmful = await deps.store.read(lambda tx: list(_harmful(tx, Millis(at - DAYS_BACK * DAY_MS), at)))

    def store(tx: Tx) -> None:
        tx.memory_flags.clear(HARMFUL, keep=[(flag.kind, flag.id) for flag in harmful])
        for kind in Kind:
            flags = [flag for flag in harmful if flag.kind == kind]
            tx.memory_flags.replace(kind, [flag.id for flag in flags], [HARMFUL], flags)

    await deps.store.write(store)


def _harmful(tx: Tx, since: Millis, at: Millis) -> Iterable[MemoryFlag]:
    for ref, (memory, impact) in lifts(tx, since, at).items():
        if impact.harms and impact.interval is not None and memory.status is Status.CURRENT:
            yield MemoryFlag(ref.kind, ref.id, HARMFUL, owner(memory) or None, _numbers(impact, impact.interval))


def _numbers(impact: Lift, interval: Interval) -> dict[str, float]:
    return {
        "with_rate": impact.here.rate or 0.0,
        "with_n": impact.here.cases,
        "without_rate": impact.there.rate or 0.0,
        "without_n": impact.there.cases,
        "low": interval.low,
        "high": interval.high,
    }


def lifts(tx: Tx, since: Millis, at: Millis) -> dict[MemoryRef, tuple[Memory, Lift]]:
    """Of every memory that was injected in that period and still exists."""
    by_user = tx.outcomes.count_by_user(since, at)
    everyone = OutcomeCounts(sum(n for n, _ in by_user.values()), sum(good for _, good in by_user.values()))
    if everyone.cases < ENOUGH:
        return {}
    by_memory = tx.outcomes.count_by_memory(since, at)
    impacts: dict[MemoryRef, tuple[Memory, Lift]] = {}
    for kind in Kind:
        ids = [ref.id for ref in by_memory if ref.kind == kind]
        for name, memory in tx.by_kind[kind].get_many(ids).items():
            ref, user = MemoryRef(kind, name), owner(memory)
            shown = OutcomeCounts(*by_memory[ref])
            every = OutcomeCounts(*by_user.get(user, (0, 0))) if user else everyone
            impacts[ref] = (memory, lift(shown, every.without(shown)))
    return impacts
