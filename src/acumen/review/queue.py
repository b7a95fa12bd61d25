"""The review queue: memories that need review, and the signals for which they are in it."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec import Struct

from acumen.deps import Deps
from acumen.model.ids import Kind, MemoryRef, Millis, UserId
from acumen.model.memories.conflict import OpenConflict
from acumen.model.metering.usage import Use
from acumen.model.review.signal import QueueItem, ReviewWindow, Thresholds
from acumen.model.times import DAY_MS
from acumen.review.signal_reasons import Signal, describe
from acumen.storage.review.review_queue import QueueFilter
from acumen.storage.store import Tx

# The default window of the queue; a dismissal is compared with the numbers of this window.
USUAL_DAYS = 60


class Candidate(NamedTuple):
    """`signals` are ordered by score, highest first."""

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
        """Ids of its duplicates, conflicting memories and successors."""
        return list(
            dict.fromkeys(memory_id for signal in self.signals if signal.name in _NAMING for memory_id in signal.about)
        )

    @property
    def saving(self) -> float:
        """Tokens per day that an action would save."""
        return max(signal.saving for signal in self.signals)


_NAMING = frozenset({"conflict", "duplicate", "supersedeable"})


class ReviewQuery(Struct, frozen=True):
    """`user` and `signals`: None for any. An empty list of signals matches nothing."""

    user: UserId | None
    days_back: int = USUAL_DAYS
    signals: Sequence[str] | None = None
    by_waste: bool = False  # order by wasted tokens instead of score


class CandidatePage(Struct, frozen=True):
    """`saving` is tokens per day over all candidates; `covered_since` is when metering began."""

    candidates: Sequence[Candidate]
    total: int
    by_signal: Mapping[str, int]
    saving: float
    covered_since: Millis | None
    enough_history: bool


async def candidates(
    query: ReviewQuery, limit: int, offset: int, deps: Deps, thresholds: Thresholds | None = None
) -> CandidatePage:
    """`thresholds` other than the org's preview what they would flag."""
    at = deps.now()
    return await deps.store.read(lambda tx: _page(tx, query, limit, offset, at, thresholds or deps.thresholds))


def _page(tx: Tx, query: ReviewQuery, limit: int, offset: int, at: Millis, thresholds: Thresholds) -> CandidatePage:
    window = window_of(tx, query.days_back, at)
    filters = QueueFilter(list(kinds(query.user)), query.user, window, thresholds, query.signals, query.by_waste)
    page = tx.review_queue.page(filters, limit, offset)
    titles = tx.memories.get_titles(item.ref for item in page.page)
    return CandidatePage(
        candidates=[_candidate(item, titles.get(item.ref, ""), window, thresholds) for item in page.page],
        total=page.total,
        by_signal=page.by_signal,
        saving=page.saving,
        covered_since=window.covered_since,
        enough_history=window.covered,
    )


def window_of(tx: Tx, days_back: int, at: Millis) -> ReviewWindow:
    return ReviewWindow(Millis(at - days_back * DAY_MS), at, tx.usage.get_metered_since())


def _candidate(item: QueueItem, title: str, window: ReviewWindow, thresholds: Thresholds) -> Candidate:
    evidence, signals = item.evidence, describe(item, window, thresholds)
    times = evidence.modified_at, evidence.created_at
    return Candidate(item.ref, title, item.user_id, item.version, signals, evidence.use, *times, evidence.conflicts)


def kinds(user: UserId | None) -> Iterable[Kind]:
    """Shared lessons belong to no user."""
    return (kind for kind in Kind if user is None or kind is not Kind.AGENT_PLAYBOOK)


async def flagged(refs: Sequence[MemoryRef], deps: Deps) -> dict[MemoryRef, dict[str, Any]]:
    """By memory and signal, the numbers for which it is in the queue now, as a dismissal records them."""
    flagged_now = await signals_against(refs, USUAL_DAYS, deps)
    return {
        ref: {signal.name: signal.as_dismissed() for signal in signals}
        for ref, signals in flagged_now.items()
        if signals
    }


async def signals_against(refs: Sequence[MemoryRef], days_back: int, deps: Deps) -> dict[MemoryRef, tuple[Signal, ...]]:
    """Of the given memories that are in use."""
    at, thresholds = deps.now(), deps.thresholds

    def read(tx: Tx) -> dict[MemoryRef, tuple[Signal, ...]]:
        window = window_of(tx, days_back, at)
        signals = {}
        for kind in {ref.kind for ref in refs}:
            ids = [ref.id for ref in refs if ref.kind is kind]
            for item in tx.review_queue.find(kind, ids, QueueFilter([kind], None, window, thresholds)):
                signals[item.ref] = describe(item, window, thresholds)
        return signals

    return await deps.store.read(read)


async def count_sessions(refs: Sequence[MemoryRef], days_back: int, deps: Deps) -> dict[MemoryRef, int]:
    """In which each was injected."""
    since = Millis(deps.now() - days_back * DAY_MS)
    return await deps.store.read(lambda tx: tx.usage.top.count_sessions(refs, since))
