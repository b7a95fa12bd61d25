"""What the notes of a window change: memories added, restated, ended, put in conflict. Plain values."""

from msgspec import Struct

from acumen.learn.extract.notes import Note
from acumen.model.ids import MemoryRef
from acumen.model.memories.base import Cause
from acumen.storage.memories.lineage import Because

# A known memory, or the place of an added note among the notes that were compared.
Target = MemoryRef | int


class Added(Struct, frozen=True):
    note: Note
    place: int
    because: Because


class Restated(Struct, frozen=True):
    """A memory that was said again."""

    target: Target
    note: Note
    because: Because


class Ended(Struct, frozen=True):
    """A memory that no longer holds; `successor` took its place. Forgotten ones have none and leave search."""

    target: Target
    because: Because
    successor: Target | None = None

    @property
    def forgotten(self) -> bool:
        return self.because.cause is Cause.FORGET


class InConflict(Struct, frozen=True):
    """Both stay current; a person settles it."""

    older: Target
    newer: Target
    because: Because


class Changes(Struct, frozen=True):
    """What to write. Empty when the notes say nothing that is not known."""

    added: tuple[Added, ...] = ()
    restated: tuple[Restated, ...] = ()
    ended: tuple[Ended, ...] = ()
    conflicts: tuple[InConflict, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.restated or self.ended or self.conflicts)
