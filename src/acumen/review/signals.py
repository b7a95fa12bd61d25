"""Why a memory deserves a look. Pure."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from acumen.model.action import UNMARKED, Mark
from acumen.model.ids import Millis
from acumen.model.intervals import wilson
from acumen.model.profile import DAY_MS
from acumen.model.usage import Use

STALE = "stale"
HIGH_COST_LOW_CITE = "high_cost_low_cite"
DUPLICATE = "duplicate"
SUPERSEDEABLE = "supersedeable"
HARMFUL = "harmful"
INSTRUCTION_LIKE = "instruction_like"
OVERSIZED = "oversized"

# The score says which to look at first. Stale ones lie between 50 and 99, older ones higher; expensive ones between
# 30 and 49; then duplicates and oversized ones. What may do harm comes before what only wastes.
STALE_FLOOR, STALE_CEILING = 50, 99
COST_FLOOR, COST_CEILING = 30, 49
DUPLICATE_FLOOR, DUPLICATE_CEILING = 20, 29
OVERSIZED_SCORE = 10
SUPERSEDEABLE_SCORE, HARMFUL_SCORE, INSTRUCTION_SCORE = 100, 110, 120
# Fewer showings prove nothing, and as long as half of them may have been cited, nothing is held against a memory.
FEWEST_SHOWN = 3
LOW_CITE = 0.5
# What was dismissed comes back when its number has grown by half.
MATERIAL = 1.5


@dataclass(frozen=True)  # without slots: what follows from it is worked out once, not for every memory
class Window:
    """The time that is looked at, and since when use has been counted."""

    since: Millis
    at: Millis
    covered_since: Millis | None

    @property
    def days(self) -> int:
        return (self.at - self.since) // DAY_MS

    @cached_property
    def covered(self) -> bool:
        """Whether counting speaks for the whole of it."""
        return self.covered_since is not None and self.covered_since <= self.since

    @cached_property
    def counted_days(self) -> float:
        """For how long of it use was counted; at least a day, lest a first hour is taken for a habit."""
        since = self.at if self.covered_since is None else max(self.since, self.covered_since)
        return max(1.0, (self.at - since) / DAY_MS)


@dataclass(frozen=True, slots=True)
class Thresholds:
    least_wasted_tokens: int = 30
    grace_days: int = 7


@dataclass(frozen=True, slots=True)
class Replaced:
    """What may take the memory's place: another memory, and how we know."""

    by: str
    why: str
    since: Millis


@dataclass(frozen=True, slots=True)
class Flagged:
    """What the watch found: one of the signals that rest on more than counts."""

    signal: str
    detail: Mapping[str, Any]
    since: Millis


@dataclass(frozen=True, slots=True)
class Twin:
    """Another memory that says nearly the same."""

    id: str
    similarity: float
    since: Millis


class Case(NamedTuple):
    """All that speaks for or against one memory."""

    created_at: Millis
    modified_at: Millis
    use: Use = Use()
    replaced: Replaced | None = None
    flags: Sequence[Flagged] = ()
    twins: Sequence[Twin] = ()
    mark: Mark = UNMARKED


class Signal(NamedTuple):
    """`measure` is the number that it rests on, `about` the other memories it names; both decide what a dismissal
    covers. `saving` is tokens a day, if a person acts on it. Of thousands only a page is told why.
    """

    name: str
    score: int
    tell: Callable[[], str]
    since: Millis | None = None
    measure: float = 0.0
    about: tuple[str, ...] = ()
    saving: float = 0.0

    @property
    def why(self) -> str:
        return self.tell()

    def as_dismissed(self) -> dict[str, Any]:
        return {"measure": self.measure, "about": list(self.about)}


def signals_of(case: Case, window: Window, thresholds: Thresholds) -> tuple[Signal, ...]:
    """None for what a person has pinned or put off, nor for numbers that did not convince a person before."""
    mark = case.mark
    if mark.pinned or (mark.snoozed_until is not None and mark.snoozed_until > window.at):
        return ()
    found = [signal for signal in _all(case, window, thresholds) if not _dismissed(signal, mark)]
    if len(found) > 1:
        found.sort(key=_by_score)
    return tuple(found)


def _by_score(signal: "Signal") -> int:
    return -signal.score


def _all(case: Case, window: Window, thresholds: Thresholds) -> Iterable[Signal]:
    vouched = case.mark.useful_at is not None and case.mark.useful_at >= window.since
    if not vouched:
        if unused := stale(case, window):
            yield unused
        if wasteful := costly(case, window, thresholds):
            yield wasteful
    if case.replaced is not None:
        yield _supersedeable(case, case.replaced, window)
    if case.twins:
        yield _duplicate(case, window)
    for flag in case.flags:
        yield _of_flag(flag, case, window)


def _dismissed(signal: Signal, mark: Mark) -> bool:
    """Whether a person has seen these numbers, or nearly these, and was not convinced."""
    seen = mark.dismissed.get(signal.name)
    if seen is None:
        return False
    return set(signal.about) <= set(seen["about"]) and signal.measure < seen["measure"] * MATERIAL


def stale(case: Case, window: Window) -> Signal | None:
    """Neither shown nor changed in the window; withheld while counting covers less than the window."""
    if not window.covered or case.use.shown or case.modified_at >= window.since:
        return None
    age_days = (window.at - case.modified_at) // DAY_MS
    since = Millis(case.modified_at + (window.at - window.since))

    def why() -> str:
        return f"not shown in the last {window.days} days, and last changed {age_days} days ago"

    return Signal(STALE, min(STALE_CEILING, STALE_FLOOR + age_days // 7), why, since, age_days)


def costly(case: Case, window: Window, thresholds: Thresholds) -> Signal | None:
    """Shown again and again for tokens that matter, and surely cited less than every second time.

    Only by agents that cite at all: of what the others made of it, nothing is known.
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

    def why() -> str:
        of_all = f"{idle} of {use.judged_tokens} tokens were not cited"
        shown = f"{use.cited_shown} of {use.judged_shown} showings were"
        return f"{of_all}: {shown} (at most {highest:.0%} with 95 % confidence)"

    score = min(COST_CEILING, COST_FLOOR + use.judged_shown)
    since = Millis(max(window.since, use.first_at or 0))
    return Signal(HIGH_COST_LOW_CITE, score, why, since, idle, (), idle / window.counted_days)


def _supersedeable(case: Case, replaced: Replaced, window: Window) -> Signal:
    saving = case.use.tokens / window.counted_days
    return Signal(SUPERSEDEABLE, SUPERSEDEABLE_SCORE, lambda: replaced.why, replaced.since, 1.0, (replaced.by,), saving)


def _duplicate(case: Case, window: Window) -> Signal:
    nearest = max(case.twins, key=lambda twin: twin.similarity)
    others = f" and {len(case.twins) - 1} more" if len(case.twins) > 1 else ""
    score = DUPLICATE_FLOOR + round((DUPLICATE_CEILING - DUPLICATE_FLOOR) * nearest.similarity**8)
    about = tuple(sorted(twin.id for twin in case.twins))
    since = min(twin.since for twin in case.twins)
    why = f"{nearest.similarity:.0%} alike: {nearest.id}{others}"
    return Signal(
        DUPLICATE, score, lambda: why, since, nearest.similarity, about, case.use.tokens / window.counted_days
    )


def _of_flag(flag: Flagged, case: Case, window: Window) -> Signal:
    per_day = case.use.tokens / window.counted_days
    if flag.signal == HARMFUL:
        return Signal(HARMFUL, HARMFUL_SCORE, lambda: _harm(flag.detail), flag.since, -flag.detail["high"], (), per_day)
    if flag.signal == INSTRUCTION_LIKE:
        why = f"it gives orders beyond its subject: {flag.detail['what']} ({flag.detail['words']!r})"
        return Signal(
            INSTRUCTION_LIKE, INSTRUCTION_SCORE, lambda: why, flag.since, 1.0, (flag.detail["digest"],), per_day
        )
    tokens, most = flag.detail["tokens"], flag.detail["most"]
    told = f"it takes {tokens} tokens each time it is shown; {most} are usual at most"
    saving = case.use.shown * max(0, tokens - most) / window.counted_days
    return Signal(OVERSIZED, OVERSIZED_SCORE, lambda: told, flag.since, tokens, (), saving)


def _harm(detail: Mapping[str, Any]) -> str:
    return (
        f"sessions with it succeeded {detail['with_rate']:.0%} of the time (n={detail['with_n']}), without it "
        f"{detail['without_rate']:.0%} (n={detail['without_n']}): a difference between "
        f"{detail['low'] * 100:+.0f} and {detail['high'] * 100:+.0f} points"
    )
