"""A conflict: two current memories of one user of which at most one may hold."""

from enum import StrEnum

from msgspec import Struct

from acumen.model.ids import InteractionId, MemoryRef, Millis, UserId


class ConflictState(StrEnum):
    OPEN = "open"
    SETTLED = "settled"  # a person chose one, or one of the two ended
    BOTH_HOLD = "both_hold"  # a person said that they do not exclude each other


class Keep(StrEnum):
    """How a person settles a conflict."""

    NEWER = "newer"
    OLDER = "older"
    BOTH = "both"


class Conflict(Struct, frozen=True):
    """`newer` was said after `older`. Both are rendered, with dates, until a person settles it."""

    id: str
    user_id: UserId
    older: MemoryRef
    newer: MemoryRef
    reason: str
    created_at: Millis
    quote: str | None = None
    interaction_id: InteractionId | None = None
    state: ConflictState = ConflictState.OPEN
    settled_by: str | None = None
    settled_at: Millis | None = None


class ConflictSide(Struct, frozen=True):
    """A memory of a conflict: its text, and when it was said or, where that is not known, stored."""

    ref: MemoryRef
    text: str
    at: Millis
    version: int


class OpenConflict(Struct, frozen=True):
    """A conflict of two memories that are both current, with their texts."""

    conflict: Conflict
    older: ConflictSide
    newer: ConflictSide
