"""Review signals: why a memory needs review. Pure."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

from acumen.model.ids import Millis
from acumen.model.memories.conflict import ConflictSide
from acumen.model.metering.intervals import wilson
from acumen.model.review.action import ReviewState
from acumen.model.review.signal import (
    CONFLICT,
    CONFLICT_SCORE,
    COST_CEILING,
    COST_FLOOR,
    DUPLICATE,
    DUPLICATE_CEILING,
    DUPLICATE_FLOOR,
    FEWEST_SHOWN,
    HARMFUL,
    HARMFUL_SCORE,
    HIGH_COST_LOW_CITE,
    INSTRUCTION_LIKE,
    INSTRUCTION_SCORE,
    LOW_CITE,
    MATERIAL,
    OVERSIZED,
    OVERSIZED_SCORE,
    STALE,
    STALE_CEILING,
    STALE_FLOOR,
    SUPERSEDEABLE,
    SUPERSEDEABLE_SCORE,
    Replaced,
    ReviewWindow,
    ScannedSignal,
    SignalInput,
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


def signals_of(case: SignalInput, window: ReviewWindow, thresholds: Thresholds) -> tuple[Signal, ...]:
    """None for a pinned or snoozed memory, and none that a person has dismissed."""
    state = case.mark
    if state.pinned or (state.snoozed_until is not None and state.snoozed_until > window.at):
        return ()
    signals = [signal for signal in _all(case, window, thresholds) if not _dismissed(signal, state)]
    return tuple(sorted(signals, key=lambda signal: -signal.score))


def _all(case: SignalInput, window: ReviewWindow, thresholds: Thresholds) -> Iterable[Signal]:
    vouched = case.mark.useful_at is not None and case.mark.useful_at >= window.since
    if not vouched:
        if unused := stale(case, window):
            yield unused
        if wasteful := costly(case, window, thresholds):
            yield wasteful
    if case.replaced is not None:
        yield _supersedeable(case, case.replaced, window)
    if case.conflicts:
        yield _conflict(case)
    if case.twins:
        yield _duplicate(case, window)
    for flag in case.flags:
        yield from _of_flag(flag, case, window, thresholds)


def _dismissed(signal: Signal, state: ReviewState) -> bool:
    """A dismissal holds until the number is materially worse or another memory is named."""
    dismissed = state.dismissed.get(signal.name)
    if dismissed is None:
        return False
    return set(signal.about) <= set(dismissed["about"]) and signal.measure < dismissed["measure"] * MATERIAL


def stale(case: SignalInput, window: ReviewWindow) -> Signal | None:
    """Neither injected nor changed in the window; unknown while metering covers less than the window."""
    if not window.covered or case.use.shown or case.modified_at >= window.since:
        return None
    age_days = (window.at - case.modified_at) // DAY_MS
    since = Millis(case.modified_at + (window.at - window.since))
    why = f"not injected in the last {window.days} days; last changed {age_days} days ago"
    return Signal(STALE, min(STALE_CEILING, STALE_FLOOR + age_days // 7), why, since, age_days)


def costly(case: SignalInput, window: ReviewWindow, thresholds: Thresholds) -> Signal | None:
    """Injected often, for many tokens, and with 95 % confidence cited less than half the time.

    Counts only agents that cite: of the others it is unknown what they use.
    """
    use = case.use
    idle = use.idle_tokens
    if use.judged_shown < FEWEST_SHOWN or idle < thresholds.least_wasted_tokens:
        return None
    if window.at - case.created_at < thresholds.grace_days * DAY_MS:
        return None
    highest = wilson(use.cited_shown, use.judged_shown).high
    if highest >= LOW_CITE:
        return None
    cited = f"cited in {use.cited_shown} of {use.judged_shown} injections"
    why = f"{cited} (at most {highest:.0%} with 95 % confidence); {idle} of {use.judged_tokens} tokens wasted"
    score = min(COST_CEILING, COST_FLOOR + use.judged_shown)
    since = Millis(max(window.since, use.first_at or 0))
    return Signal(HIGH_COST_LOW_CITE, score, why, since, idle, (), idle / window.counted_days)


def _supersedeable(case: SignalInput, replaced: Replaced, window: ReviewWindow) -> Signal:
    saving = case.use.tokens / window.counted_days
    return Signal(SUPERSEDEABLE, SUPERSEDEABLE_SCORE, replaced.why, replaced.since, 1.0, (replaced.by,), saving)


# Characters of a memory's text that a reason quotes.
_QUOTED = 120


def _conflict(case: SignalInput) -> Signal:
    """Newest first, each text with its date."""
    older = sorted((pair.older for pair in case.conflicts), key=lambda side: (-side.at, side.ref))
    why = f"{_dated(case.conflicts[0].newer)} may disagree with {'; and '.join(map(_dated, older))}"
    about = tuple(sorted(side.ref.id for side in older))
    since = min(pair.conflict.created_at for pair in case.conflicts)
    return Signal(CONFLICT, CONFLICT_SCORE, why, since, 1.0, about)


def _dated(side: ConflictSide) -> str:
    text = " ".join(side.text.split())
    quoted = text if len(text) <= _QUOTED else f"{text[: _QUOTED - 1].rstrip()}…"
    return f"“{quoted}” ({datetime.fromtimestamp(side.at / 1000, UTC):%Y-%m-%d})"


def _duplicate(case: SignalInput, window: ReviewWindow) -> Signal:
    nearest = max(case.twins, key=lambda twin: twin.similarity)
    others = f" and {len(case.twins) - 1} more" if len(case.twins) > 1 else ""
    score = DUPLICATE_FLOOR + round((DUPLICATE_CEILING - DUPLICATE_FLOOR) * nearest.similarity**8)
    about = tuple(sorted(twin.id for twin in case.twins))
    since = min(twin.since for twin in case.twins)
    why = f"{nearest.similarity:.0%} similar to {nearest.id}{others}"
    return Signal(DUPLICATE, score, why, since, nearest.similarity, about, case.use.tokens / window.counted_days)


def _of_flag(flag: ScannedSignal, case: SignalInput, window: ReviewWindow, thresholds: Thresholds) -> Iterable[Signal]:
    per_day = case.use.tokens / window.counted_days
    detail, most = flag.detail, thresholds.oversized_tokens
    if flag.signal == HARMFUL:
        yield Signal(HARMFUL, HARMFUL_SCORE, _harm(detail), flag.since, -detail["high"], (), per_day)
    elif flag.signal == INSTRUCTION_LIKE:
        why = f"possible prompt injection: {detail['what']} ({detail['words']!r})"
        about = (detail["digest"],)
        yield Signal(INSTRUCTION_LIKE, INSTRUCTION_SCORE, why, flag.since, 1.0, about, per_day)
    elif (tokens := detail["tokens"]) > most:
        why = f"{tokens} tokens per injection; the limit is {most}"
        saving = case.use.shown * (tokens - most) / window.counted_days
        yield Signal(OVERSIZED, OVERSIZED_SCORE, why, flag.since, tokens, (), saving)


def _harm(detail: Mapping[str, Any]) -> str:
    return (
        f"{detail['with_rate']:.0%} of sessions with it succeeded (n={detail['with_n']}), "
        f"{detail['without_rate']:.0%} without it (n={detail['without_n']}): "
        f"{detail['low'] * 100:+.0f} to {detail['high'] * 100:+.0f} points"
    )
