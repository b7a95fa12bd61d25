"""What the notes of a window change: memories added, restated, ended, put in conflict. Plain values."""

from msgspec import Struct

from acumen.learn.extract.notes import Note
from acumen.model.ids import InteractionId, MemoryRef, RequestId
from acumen.model.memories.base import Cause

# A known memory, or the n-th note that is added.
Target = MemoryRef | int


class Reason(Struct, frozen=True):
    """Why something changes: a cause, a sentence for people, and the user's words with their turn."""

    cause: Cause
    text: str
    quote: str
    interaction_id: InteractionId
    request_id: RequestId


class Added(Struct, frozen=True):
    note: Note
    place: int  # among the notes that were compared
    reason: Reason


class Restated(Struct, frozen=True):
    """A memory that was said again."""

    target: Target
    note: Note
    reason: Reason


class Ended(Struct, frozen=True):
    """A memory that no longer holds; `successor` took its place. Forgotten ones have none and leave search."""

    target: Target
    reason: Reason
    successor: Target | None = None

    @property
    def forgotten(self) -> bool:
        return self.reason.cause is Cause.FORGET


class InConflict(Struct, frozen=True):
    """Both stay current; a person settles it."""

    older: Target
    newer: Target
    reason: Reason


class Changes(Struct, frozen=True):
    """What to write. Empty when the notes say nothing that is not known."""

    added: tuple[Added, ...] = ()
    restated: tuple[Restated, ...] = ()
    ended: tuple[Ended, ...] = ()
    conflicts: tuple[InConflict, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.restated or self.ended or self.conflicts)
