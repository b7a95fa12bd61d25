"""A known memory or an added note, as merge compares it."""

from msgspec import Struct

from acumen.learn.extract.notes import Note
from acumen.learn.merge.changes import Target
from acumen.learn.merge.words import Words, words
from acumen.model.ids import InteractionId, Kind, MemoryRef, Millis
from acumen.model.memories.base import Category, Status
from acumen.model.memories.memory import Memory
from acumen.model.memories.playbook import AgentPlaybook
from acumen.model.memories.profile import Profile

_ENDING_CATEGORIES = frozenset({Category.FACT, Category.PREFERENCE, Category.RULE, Category.IDENTITY, Category.PLAN})


class Entry(Struct):
    """A known memory or an added note, as it is compared."""

    target: Target
    kind: Kind
    words: Words
    text: str
    subject: str
    value: str
    category: Category
    said_at: Millis
    turns: frozenset[InteractionId]
    status: Status = Status.CURRENT
    ended: bool = False

    @property
    def live(self) -> bool:
        return self.status in (Status.CURRENT, Status.PENDING) and not self.ended

    @property
    def can_end(self) -> bool:
        """Events stay true: they are never ended by a newer statement."""
        return self.live and self.category in _ENDING_CATEGORIES


def known_entry(memory: Memory) -> Entry:
    assert not isinstance(memory, AgentPlaybook)  # noqa: S101 - narrows the type
    kind = Kind.PROFILE if isinstance(memory, Profile) else Kind.USER_PLAYBOOK
    text = memory.content if isinstance(memory, Profile) else memory.lesson.content
    return Entry(
        MemoryRef(kind, str(memory.id)),
        kind,
        words(text),
        text,
        memory.subject,
        memory.value,
        memory.category,
        memory.said_at or memory.created_at,
        frozenset(memory.interaction_ids),
        memory.status,
    )


def note_entry(note: Note, said_at: Millis) -> Entry:
    """`target` is set when the note is added."""
    text, turns = note.lesson.content, frozenset([note.evidence.interaction_id])
    return Entry(-1, note.kind, words(text), text, note.subject, note.value, note.category, said_at, turns)
