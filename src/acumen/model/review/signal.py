"""Review signals: their names, what an org may set, and the evidence for one memory."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from msgspec import Struct

from acumen.model.ids import MemoryRef, Millis
from acumen.model.memories.conflict import OpenConflict
from acumen.model.metering.usage import Use, days_in_use
from acumen.model.times import DAY_MS

STALE = "stale"
HIGH_COST_LOW_CITE = "high_cost_low_cite"
DUPLICATE = "duplicate"
SUPERSEDEABLE = "supersedeable"
HARMFUL = "harmful"
INSTRUCTION_LIKE = "instruction_like"
OVERSIZED = "oversized"
CONFLICT = "conflict"
SIGNALS = (INSTRUCTION_LIKE, HARMFUL, CONFLICT, SUPERSEDEABLE, STALE, HIGH_COST_LOW_CITE, DUPLICATE, OVERSIZED)


@dataclass(frozen=True)  # without slots: what follows from it is worked out once, not for every memory
class ReviewWindow:
    """The time that is looked at, and since when use has been counted."""

    since: Millis
    at: Millis
    covered_since: Millis | None

    @property
    def days(self) -> int:
        return (self.at - self.since) // DAY_MS

    @cached_property
    def covered(self) -> bool:
        """Whether usage was counted for the whole period."""
        return self.covered_since is not None and self.covered_since <= self.since

    @cached_property
    def counted_days(self) -> float:
        """For how long of it usage was counted, in days; at least 1, so that a first hour is not extrapolated."""
        since = self.at if self.covered_since is None else max(self.since, self.covered_since)
        return max(1.0, (self.at - since) / DAY_MS)

    def tokens_per_day(self, use: Use) -> float:
        """Of a memory whose use this is."""
        return use.tokens / days_in_use(use.first_at, self.at, self.counted_days)


# Texts are scanned down to these bounds regardless of an org's settings, so that other thresholds apply at once.
LOOKED_AT_TOKENS = 50
LOOKED_AT_SIMILARITY = 0.85


class Thresholds(Struct, frozen=True):
    """What an org may set; where it has set nothing, the server's settings count."""

    least_wasted_tokens: int = 30
    grace_days: int = 7
    oversized_tokens: int = 200
    similarity: float = 0.92


class Replaced(Struct, frozen=True):
    """What may take the memory's place: another memory, and how we know."""

    by: str
    why: str
    since: Millis


class ScannedSignal(Struct, frozen=True):
    """What the watch found: one of the signals that rest on more than counts."""

    signal: str
    detail: Mapping[str, Any]
    since: Millis


class DuplicateOf(Struct, frozen=True):
    """Another memory that says nearly the same."""

    id: str
    similarity: float
    since: Millis


class SignalEvidence(NamedTuple):
    """What is stored about one memory that a signal may rest on."""

    created_at: Millis
    modified_at: Millis
    use: Use = Use()
    replaced: Replaced | None = None
    flags: Sequence[ScannedSignal] = ()
    duplicates: Sequence[DuplicateOf] = ()
    conflicts: Sequence[OpenConflict] = ()  # those in which it is the newer memory


class ScoredSignal(NamedTuple):
    """A signal as the database judged it. `saving` is in tokens per day; `measure` is the number it rests on."""

    name: str
    score: int
    saving: float
    measure: float


class QueueItem(NamedTuple):
    """A memory of the review queue; `signals` are ordered by score, highest first."""

    ref: MemoryRef
    user_id: str | None
    version: int
    evidence: SignalEvidence
    signals: Sequence[ScoredSignal] = ()
