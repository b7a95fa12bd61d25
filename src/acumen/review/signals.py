"""Why a memory deserves a look. Pure."""

from dataclasses import dataclass

from acumen.model.ids import Millis
from acumen.model.profile import DAY_MS

STALE = "stale"
# The score says which to look at first: stale ones lie between 50 and 99, older ones higher.
STALE_FLOOR, STALE_CEILING = 50, 99


@dataclass(frozen=True, slots=True)
class Used:
    """How a memory was used within the window that is looked at."""

    modified_at: Millis
    shown: int = 0
    tokens: int = 0
    last_shown_at: Millis | None = None
    cited: int = 0
    last_cited_at: Millis | None = None


@dataclass(frozen=True, slots=True)
class Signal:
    name: str
    score: int
    why: str


def stale(used: Used, since: Millis, at: Millis, covered_since: Millis | None) -> Signal | None:
    """Neither shown nor changed in the window; withheld while counting covers less than the window."""
    if covered_since is None or covered_since > since:
        return None
    if used.shown or used.modified_at >= since:
        return None
    age_days = (at - used.modified_at) // DAY_MS
    window_days = (at - since) // DAY_MS
    why = f"not shown in the last {window_days} days, and last changed {age_days} days ago"
    return Signal(STALE, min(STALE_CEILING, STALE_FLOOR + age_days // 7), why)
