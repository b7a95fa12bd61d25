"""What the notes of a window change: memories added, said again, replaced, forgotten. Plain values."""

from typing import Generic, TypeVar

from msgspec import Struct

from acumen.model.ids import InteractionId, PlaybookId, ProfileId
from acumen.model.playbook import PlaybookNote
from acumen.model.profile import ProfileNote

Id = TypeVar("Id", ProfileId, PlaybookId)
Note = TypeVar("Note", ProfileNote, PlaybookNote)


class Which(Struct, Generic[Id], frozen=True):
    """A memory: a known one by its id, or the n-th of `added`."""

    known: Id | None = None
    added: int | None = None


class Added(Struct, Generic[Note], frozen=True):
    note: Note
    because: str
    place: int  # of the note among those given


class Mentioned(Struct, Generic[Id, Note], frozen=True):
    """A memory that was said again later, perhaps in other words."""

    which: Which[Id]
    note: Note
    because: str


class Superseded(Struct, Generic[Id], frozen=True):
    """`old` gave way to `new`. Both may be among the added when one conversation changed its mind."""

    old: Which[Id]
    new: Which[Id]
    because: str


class Left(Struct, Generic[Id], frozen=True):
    """What still holds of a memory of several facts, of which one gave way."""

    of: Id
    text: str
    because: str


class Forgotten(Struct, Generic[Id], frozen=True):
    """`asked` is the turn that asked for it, which tells of it too; None where nobody has asked."""

    id: Id
    because: str
    asked: InteractionId | None = None


class Outdated(Struct, Generic[Note], frozen=True):
    """A note that says otherwise than a memory with newer evidence: told, not added."""

    note: Note
    because: str


class Changes(Struct, Generic[Id, Note], frozen=True):
    """What to write. Empty when the notes say nothing that is not known."""

    added: tuple[Added[Note], ...] = ()
    mentioned: tuple[Mentioned[Id, Note], ...] = ()
    superseded: tuple[Superseded[Id], ...] = ()
    left: tuple[Left[Id], ...] = ()
    forgotten: tuple[Forgotten[Id], ...] = ()
    outdated: tuple[Outdated[Note], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.mentioned or self.superseded or self.forgotten)


ProfileChanges = Changes[ProfileId, ProfileNote]
PlaybookChanges = Changes[PlaybookId, PlaybookNote]
