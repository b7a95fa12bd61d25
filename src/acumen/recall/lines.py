"""Memories as lines of a context: dated, with their handles, each once. Pure."""

from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from acumen.index.days import iso_day
from acumen.model.fence import one_line
from acumen.model.handles import memory_handle
from acumen.model.ids import MemoryRef, Millis
from acumen.model.memories.base import Category
from acumen.model.memories.memory import Memory
from acumen.model.memories.playbook import AgentPlaybook, Approval, Lesson
from acumen.model.memories.profile import Profile

IN_CONFLICT = "(in conflict) "

# The order of the standing part: what changes least comes first, so that a cached prompt prefix lives long.
_STABILITY = {Category.IDENTITY: 0, Category.PREFERENCE: 1, Category.RULE: 2}
_LEAST_STABLE = len(_STABILITY)


class ContextCandidate(Struct, frozen=True):
    """A memory that may be rendered."""

    ref: MemoryRef
    line: str
    score: float
    waits: bool = False  # for a person's approval: it was found, but is not to be rendered
    at: Millis = Millis(0)
    topic: str = ""  # memories of one topic are rendered newest first
    block: str = ""  # lines of one block are rendered together or not at all
    text: str = ""  # without date and handle
    statements: tuple[str, ...] = ()  # what it says, part by part: a quote need not repeat them
    preferred: bool = False  # over others that say the same


def candidate(
    memory: Memory, ref: MemoryRef, score: float, *, waits: bool = False, own_version: bool = False
) -> ContextCandidate:
    """`own_version`: it was learned by the agent version that asks."""
    text = text_of(memory)
    return ContextCandidate(
        ref=ref,
        line=_line(ref, dated(memory), text),
        score=score,
        waits=waits,
        at=dated(memory),
        topic="" if isinstance(memory, AgentPlaybook) else memory.subject,
        text=text,
        statements=_statements(memory),
        preferred=own_version,
    )


def in_conflict(newer: ContextCandidate, older: ContextCandidate, name: str) -> list[ContextCandidate]:
    """The two sides of a conflict as lines next to each other, the newer one first."""
    score = max(newer.score, older.score)
    return [
        replace(side, line=_line(side.ref, side.at, IN_CONFLICT + side.text), block=name, score=score, topic="")
        for side in (newer, older)
    ]


def dated(memory: Memory) -> Millis:
    """When it was said, as far as that is known."""
    return memory.created_at if isinstance(memory, AgentPlaybook) else memory.said_at or memory.created_at


def text_of(memory: Memory) -> str:
    return one_line(memory.content if isinstance(memory, Profile) else _lesson(memory.lesson))


def _statements(memory: Memory) -> tuple[str, ...]:
    if isinstance(memory, Profile):
        return (one_line(memory.content),)
    return tuple(one_line(part) for part in (memory.lesson.content, memory.lesson.pitfall) if part)


def is_unapproved(memory: Memory) -> bool:
    """A shared lesson that no person has read yet: no agent is given it unless it asks for such."""
    return isinstance(memory, AgentPlaybook) and memory.approval is Approval.PENDING


def by_stability(memories: Iterable[tuple[MemoryRef, Memory]]) -> list[tuple[MemoryRef, Memory]]:
    """Identity, then preferences, then rules; within them the oldest first."""
    return sorted(memories, key=lambda pair: (_stability(pair[1]), dated(pair[1]), pair[0].kind, pair[0].id))


def _stability(memory: Memory) -> int:
    return _LEAST_STABLE if isinstance(memory, AgentPlaybook) else _STABILITY.get(memory.category, _LEAST_STABLE)


def _line(ref: MemoryRef, at: Millis, text: str) -> str:
    return f"- {iso_day(at)} [{memory_handle(ref)}] {text}"


def _lesson(lesson: Lesson) -> str:
    trigger = (lesson.trigger or "").strip()
    text = f"{_capital(trigger)}: {lesson.content}" if trigger else lesson.content
    return f"{text} Avoid: {lesson.pitfall}" if lesson.pitfall else text


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:].rstrip(".:")
