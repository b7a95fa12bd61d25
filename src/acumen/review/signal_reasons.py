"""The words of review signals: why a memory needs review, since when, and which memories it names.

Whether a memory has a signal, and its score, is decided in `storage.review.review_signals` alone.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

from acumen.model.ids import Millis
from acumen.model.memories.conflict import ConflictSide
from acumen.model.metering.intervals import wilson
from acumen.model.review.signal import (
    CONFLICT,
    DUPLICATE,
    HARMFUL,
    HIGH_COST_LOW_CITE,
    INSTRUCTION_LIKE,
    OVERSIZED,
    STALE,
    SUPERSEDEABLE,
    QueueItem,
    ReviewWindow,
    ScannedSignal,
    SignalEvidence,
    Thresholds,
)
from acumen.model.times import DAY_MS


class Signal(NamedTuple):
    """`measure` is its number, `about` the ids of memories that it names: a dismissal covers both. `saving` is in
    tokens per day.
    """

    name: str
    score: int
    why: str
    since: Millis | None = None
    measure: float = 0.0
    about: tuple[str, ...] = ()
    saving: float = 0.0

    def as_dismissed(self) -> dict[str, Any]:
        return {"measure": self.measure, "about": list(self.about)}


class Reason(NamedTuple):
    why: str
    since: Millis | None
    about: tuple[str, ...] = ()


def describe(item: QueueItem, window: ReviewWindow, thresholds: Thresholds) -> tuple[Signal, ...]:
    """The item's signals with their reasons, in the same order."""
    reasons = [_REASONS[signal.name](item.evidence, window, thresholds) for signal in item.signals]
    return tuple(
        Signal(signal.name, signal.score, reason.why, reason.since, signal.measure, reason.about, signal.saving)
        for signal, reason in zip(item.signals, reasons, strict=True)
    )


def _stale(evidence: SignalEvidence, window: ReviewWindow, _: Thresholds) -> Reason:
    age_days = (window.at - evidence.modified_at) // DAY_MS
    why = f"not injected in the last {window.days} days; last changed {age_days} days ago"
    return Reason(why, Millis(evidence.modified_at + (window.at - window.since)))


def _costly(evidence: SignalEvidence, window: ReviewWindow, _: Thresholds) -> Reason:
    """Since its first injection."""
    use = evidence.use
    highest = wilson(use.cited_shown, use.judged_shown).high
    cited = f"cited in {use.cited_shown} of {use.judged_shown} injections"
    wasted = f"{use.idle_tokens} of {use.judged_tokens} tokens wasted"
    why = f"{cited} (at most {highest:.0%} with 95% confidence); {wasted}"
    return Reason(why, use.first_at or window.since)


def _supersedeable(evidence: SignalEvidence, _window: ReviewWindow, _: Thresholds) -> Reason:
    replaced = evidence.replaced
    return Reason(replaced.why, replaced.since, (replaced.by,)) if replaced else Reason("", None)


# Characters of a memory's text that a reason quotes.
_QUOTED = 120


def _conflict(evidence: SignalEvidence, _window: ReviewWindow, _: Thresholds) -> Reason:
    """Newest first, each text with its date."""
    conflicts = evidence.conflicts
    older = sorted((pair.older for pair in conflicts), key=lambda side: (-side.at, side.ref))
    why = f"{_dated(conflicts[0].newer)} may disagree with {'; and '.join(map(_dated, older))}"
    return Reason(
        why, min(pair.conflict.created_at for pair in conflicts), tuple(sorted(side.ref.id for side in older))
    )


def _dated(side: ConflictSide) -> str:
    text = " ".join(side.text.split())
    quoted = text if len(text) <= _QUOTED else f"{text[: _QUOTED - 1].rstrip()}…"
    return f"“{quoted}” ({datetime.fromtimestamp(side.at / 1000, UTC):%Y-%m-%d})"


def _duplicate(evidence: SignalEvidence, _window: ReviewWindow, _: Thresholds) -> Reason:
    duplicates = evidence.duplicates
    nearest = max(duplicates, key=lambda duplicate: duplicate.similarity)
    others = f" and {len(duplicates) - 1} more" if len(duplicates) > 1 else ""
    why = f"{nearest.similarity:.0%} similar to {nearest.id}{others}"
    since = min(duplicate.since for duplicate in duplicates)
    return Reason(why, since, tuple(sorted(duplicate.id for duplicate in duplicates)))


def _harmful(evidence: SignalEvidence, _window: ReviewWindow, _: Thresholds) -> Reason:
    flag = _flag(evidence, HARMFUL)
    return Reason(_harm(flag.detail), flag.since)


def _instruction_like(evidence: SignalEvidence, _window: ReviewWindow, _: Thresholds) -> Reason:
    flag = _flag(evidence, INSTRUCTION_LIKE)
    why = f"possible prompt injection: {flag.detail['what']} ({flag.detail['words']!r})"
    return Reason(why, flag.since, (flag.detail["digest"],))


def _oversized(evidence: SignalEvidence, _window: ReviewWindow, thresholds: Thresholds) -> Reason:
    flag = _flag(evidence, OVERSIZED)
    why = f"{flag.detail['tokens']} tokens per injection; the limit is {thresholds.oversized_tokens}"
    return Reason(why, flag.since)


def _flag(evidence: SignalEvidence, name: str) -> ScannedSignal:
    return next(flag for flag in evidence.flags if flag.signal == name)


def _harm(detail: Mapping[str, Any]) -> str:
    return (
        f"{detail['with_rate']:.0%} of sessions with it succeeded (n={detail['with_n']}), "
        f"{detail['without_rate']:.0%} without it (n={detail['without_n']}): "
        f"{detail['low'] * 100:+.0f} to {detail['high'] * 100:+.0f} points"
    )


_REASONS: dict[str, Callable[[SignalEvidence, ReviewWindow, Thresholds], Reason]] = {
    STALE: _stale,
    HIGH_COST_LOW_CITE: _costly,
    SUPERSEDEABLE: _supersedeable,
    CONFLICT: _conflict,
    DUPLICATE: _duplicate,
    HARMFUL: _harmful,
    INSTRUCTION_LIKE: _instruction_like,
    OVERSIZED: _oversized,
}
