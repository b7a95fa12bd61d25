"""Failures that are one and the same: their group, its state, and when it deserves a look. Pure."""

from collections.abc import Sequence
from enum import StrEnum
from math import log
from statistics import median

from msgspec import Struct

from acumen.model.ids import Millis
from acumen.model.times import DAY_MS, MINUTE_MS

# A group this young is new; an older one can grow.
NEW_MS = DAY_MS
# Escalating: more in this hour than three times the median hour of a week, and more than a handful.
ESCALATES_BY, ESCALATES_FROM, WEEK_HOURS = 3, 5, 168
# This many failures since the last analysis cause another.
WORTH_ANALYSING = 3
# One bad session is an accident; two are a pattern.
LEAST_SESSIONS = 2
COOL_DOWN_MS = 30 * MINUTE_MS


class GroupState(StrEnum):
    NEW = "new"
    ONGOING = "ongoing"
    ESCALATING = "escalating"
    REGRESSED = "regressed"  # it was resolved, and failed again
    RESOLVED = "resolved"
    ARCHIVED = "archived"  # out of sight until it escalates


class FailureGroup(Struct, frozen=True):
    id: str
    version: str  # of the grouping that made it
    source: str
    endpoint: str
    error_type: str
    template: str
    state: GroupState
    first_seen: Millis
    last_seen: Millis
    count: int = 0
    sessions: int = 0
    analysed_count: int = 0
    analysed_at: Millis | None = None
    merged_into: str | None = None


def state_after(group: FailureGroup, at: Millis, this_hour: int, week: Sequence[int]) -> GroupState:
    """The state of a group that failed again. `week` counts the hours before this one in which it existed."""
    escalates = may_escalate(group, at) and is_escalating(this_hour, week)
    if group.state is GroupState.ARCHIVED:
        return GroupState.ESCALATING if escalates else GroupState.ARCHIVED
    if group.state is GroupState.RESOLVED:
        return GroupState.REGRESSED
    return GroupState.ESCALATING if escalates else group.state


def may_escalate(group: FailureGroup, at: Millis) -> bool:
    """A new group always grows; growth counts only beyond what is usual."""
    return at - group.first_seen >= NEW_MS


def settled(group: FailureGroup, at: Millis, this_hour: int, week: Sequence[int]) -> GroupState:
    """What an hour's passing makes of it: the new grow old, the storm calms down."""
    if group.state is GroupState.NEW and may_escalate(group, at):
        return GroupState.ONGOING
    if group.state is GroupState.ESCALATING and not is_escalating(this_hour, week):
        return GroupState.ONGOING
    return group.state


def is_escalating(this_hour: int, week: Sequence[int]) -> bool:
    usual = median(week) if week else 0
    return this_hour >= ESCALATES_FROM and this_hour > ESCALATES_BY * usual


def worth_a_look(before: int, after: int) -> bool:
    """Whether the failures of an hour have grown by a tenth since it was last looked at: soon enough, and seldom."""
    return after >= ESCALATES_FROM and _tenths(before) != _tenths(after)


def _tenths(count: int) -> int:
    return int(log(max(count, 1), 1.1))


def worth_analysing(before: FailureGroup | None, after: FailureGroup) -> bool:
    """Whether evidence has just crossed a threshold: enough new failures, or a second session."""
    ready = _ready(after)
    return ready and not (before is not None and _ready(before))


def _ready(group: FailureGroup) -> bool:
    return group.count - group.analysed_count >= WORTH_ANALYSING and group.sessions >= LEAST_SESSIONS


def due_at(group: FailureGroup, at: Millis) -> Millis:
    """When it may be analysed: at once, or when it has cooled down."""
    return at if group.analysed_at is None else Millis(max(at, group.analysed_at + COOL_DOWN_MS))


class FailureGroupFilter(Struct, frozen=True):
    """Which groups; None means any."""

    states: tuple[GroupState, ...] | None = None
    source: str | None = None
    endpoint: str | None = None
    since: Millis | None = None  # last seen no earlier
