"""Which memories deserve a look, the most pressing first."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec import Struct

from acumen.deps import Deps
from acumen.model.ids import Kind, MemoryRef, Millis, UserId
from acumen.model.memories.conflict import OpenConflict
from acumen.model.metering.usage import Use
from acumen.model.review.signal import QueueItem, ReviewWindow, Thresholds
from acumen.model.times import DAY_MS
from acumen.review.signals import Signal, signals_of
from acumen.storage.review.review_queue import QueueFilter
from acumen.storage.store import Tx

# The window that a dismissal is judged by, and the review's own default.
USUAL_DAYS = 60


class Candidate(NamedTuple):
    """Its signals begin with the one that weighs most."""

    ref: MemoryRef
    title: str
    user_id: str | None
    version: int
    signals: tuple[Signal, ...]
    use: Use
    modified_at: Millis
    created_at: Millis
    conflicts: Sequence[OpenConflict] = ()  # those in which it is the newer memory

    @property
    def score(self) -> int:
        return self.signals[0].score

    @property
    def related(self) -> list[str]:
        """Ids of other memories of the same kind, or of what would take its place."""
        return list(dict.fromkeys(other for signal in self.signals for other in signal.about if signal.name in _NAMING))

    @property
    def saving(self) -> float:
        """Tokens a day that acting on it saves."""
        return max(signal.saving for signal in self.signals)


_NAMING = frozenset({"conflict", "duplicate", "supersedeable"})


class Wanted(Struct, frozen=True):
    """Which candidates: of one user or (None) of all, over how many days, with which signals (None: any)."""

    user: UserId | None
    days_back: int = USUAL_DAYS
    signals: Sequence[str] | None = None
    by_waste: bool = False  # wasted tokens decide the order, not the score


class Queue(Struct, frozen=True):
    """A page of candidates, how many there are in all and by signal, and since when use has been counted."""

    candidates: Sequence[Candidate]
    total: int
    by_signal: Mapping[str, int]
    saving: float
    covered_since: Millis | None
    enough_history: bool


async def candidates(wanted: Wanted, limit: int, offset: int, deps: Deps, rules: Thresholds | None = None) -> Queue:
    """An empty list of signals admits none. By other rules than the org's, to see what they would flag."""
    at, thresholds = deps.now(), rules or deps.thresholds
    return await deps.store.read(lambda tx: _queue(tx, wanted, limit, offset, at, thresholds))


def _queue(tx: Tx, wanted: Wanted, limit: int, offset: int, at: Millis, thresholds: Thresholds) -> Queue:
    window = window_of(tx, wanted.days_back, at)
    asked = QueueFilter(list(kinds(wanted.user)), wanted.user, window, thresholds, wanted.signals, wanted.by_waste)
    found = tx.review_queue.page(asked, limit, offset)
    titles = tx.memories.get_titles(one.ref for one in found.page)
    return Queue(
        candidates=[_candidate(one, titles.get(one.ref, ""), window, thresholds) for one in found.page],
        total=found.total,
        by_signal=found.by_signal,
        saving=found.saving,
        covered_since=window.covered_since,
        enough_history=window.covered,
    )


def window_of(tx: Tx, days_back: int, at: Millis) -> ReviewWindow:
    return ReviewWindow(Millis(at - days_back * DAY_MS), at, tx.usage.get_metered_since())


def _candidate(one: QueueItem, title: str, window: ReviewWindow, thresholds: Thresholds) -> Candidate:
    case, signals = one.case, signals_of(one.case, window, thresholds)
    times = case.modified_at, case.created_at
    return Candidate(one.ref, title, one.user_id, one.version, signals, case.use, *times, case.conflicts)


def kinds(user: UserId | None) -> Iterable[Kind]:
    """A shared lesson belongs to nobody, so nobody's own review lists it."""
    return (kind for kind in Kind if user is None or kind is not Kind.AGENT_PLAYBOOK)


async def flagged(refs: Sequence[MemoryRef], deps: Deps) -> dict[MemoryRef, dict[str, Any]]:
    """For some memories: the numbers for which each stands in the queue now, by signal, as a dismissal keeps them."""
    found = await signals_against(refs, USUAL_DAYS, deps)
    return {
        ref: {signal.name: signal.as_dismissed() for signal in signals} for ref, signals in found.items() if signals
    }


async def signals_against(refs: Sequence[MemoryRef], days_back: int, deps: Deps) -> dict[MemoryRef, tuple[Signal, ...]]:
    """Why each of some memories stands in the queue, if it does; of those that are in use."""
    at, thresholds = deps.now(), deps.thresholds

    def read(tx: Tx) -> dict[MemoryRef, tuple[Signal, ...]]:
        window = window_of(tx, days_back, at)
        found = {}
        for kind in {ref.kind for ref in refs}:
            ids = [ref.id for ref in refs if ref.kind is kind]
            for one in tx.review_queue.find(kind, ids, QueueFilter([kind], None, window, thresholds)):
                found[one.ref] = signals_of(one.case, window, thresholds)
        return found

    return await deps.store.read(read)
