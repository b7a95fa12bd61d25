"""A profile: one fact about one user."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from msgspec import Struct, field

from acumen.model.ids import InteractionId, Millis, ProfileId, RequestId, UserId
from acumen.model.memories.base import Category, EvidenceSpan, Origin, Status
from acumen.model.times import DAY_MS

# 2100-01-01: the wire's way of saying "never".
NEVER = Millis(4_102_444_800_000)


def lesson_ends_at(valid_until: Millis | None, category: str) -> Millis:
    """When a lesson stops being recalled. Profiles state their end in `expires_at`: a date in their words is none."""
    return NEVER if valid_until is None or category == Category.EVENT else valid_until


class TimeToLive(StrEnum):
    ONE_DAY = "one_day"
    ONE_WEEK = "one_week"
    ONE_MONTH = "one_month"
    ONE_QUARTER = "one_quarter"
    ONE_YEAR = "one_year"
    INFINITY = "infinity"

    def expires(self, since: Millis) -> Millis:
        days = _DAYS.get(self)
        return NEVER if days is None else Millis(since + days * DAY_MS)


_DAYS = {
    TimeToLive.ONE_DAY: 1,
    TimeToLive.ONE_WEEK: 7,
    TimeToLive.ONE_MONTH: 30,
    TimeToLive.ONE_QUARTER: 90,
    TimeToLive.ONE_YEAR: 365,
}


class Profile(Struct, frozen=True):
    id: ProfileId
    user_id: UserId
    content: str
    created_at: Millis
    updated_at: Millis
    request_id: RequestId = RequestId("")
    ttl: TimeToLive = TimeToLive.INFINITY
    expires_at: Millis = NEVER
    status: Status = Status.CURRENT
    source: str | None = None
    extractors: list[str] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    custom_features: dict[str, Any] | None = None
    interaction_ids: list[InteractionId] = field(default_factory=list)
    source_span: str | None = None
    notes: str | None = None
    # What the fact is about and what it says of it: two facts with one subject and two values contradict.
    subject: str = ""
    value: str = ""
    mentions: int = 1
    superseded_by: ProfileId | None = None
    merged_into: ProfileId | None = None
    # Epoch milliseconds: when it was said, and the time in which it holds where the words give one.
    said_at: Millis | None = None
    valid_from: Millis | None = None
    valid_until: Millis | None = None
    category: Category = Category.FACT
    standing: bool = False  # injected into every prompt, regardless of the query
    origin: Origin = Origin()
    version: int = 1


class ProfileNote(Struct, frozen=True):
    """What an extractor read about the user, before it is compared with what is known."""

    content: str
    subject: str
    value: str
    evidence: EvidenceSpan
    request_id: RequestId
    ttl: TimeToLive = TimeToLive.INFINITY
    forget: bool = False  # the user asked us to forget what matches `content`
    confidence: float = 0.7
    tags: tuple[str, ...] = ()
    features: Mapping[str, str] = field(default_factory=dict)
    denies: bool = False  # not kept itself: what it contradicts ends, for a memory of another kind takes its place
    faint: bool = False  # kept only if it replaces something
