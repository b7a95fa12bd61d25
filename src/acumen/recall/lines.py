"""Memories as lines of a context: dated, with their handles, each once. Pure."""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from msgspec import Struct
from msgspec.structs import replace

from acumen.index.days import iso_day
from acumen.index.tokenizer import terms
from acumen.model.fence import one_line
from acumen.model.handles import memory_handle
from acumen.model.ids import MemoryRef, Millis
from acumen.model.memories.base import Category
from acumen.model.memories.memory import Memory
from acumen.model.memories.playbook import AgentPlaybook, Approval, Lesson
from acumen.model.memories.profile import Profile

IN_CONFLICT = "(in conflict) "
# The same memories are found again and again.
REMEMBERED = 4_096

# The order of the standing part: what changes least comes first, so that a cached prompt prefix lives long.
_STABILITY = {Category.IDENTITY: 0, Category.PREFERENCE: 1, Category.RULE: 2}
_LEAST_STABLE = len(_STABILITY)
# The analyser leaves these out as function words, and they turn a statement into its opposite.
_NEGATION = re.compile(r"\b(?:no|not|never|cannot|without|don't|\w+n't)\b", re.IGNORECASE)


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
    memory: Memory, ref: MemoryRef, score: float, *, waits: bool = False, own: bool = False
) -> ContextCandidate:
    """`own`: it was learned by the agent version that asks."""
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
        preferred=own,
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


def without_duplicates(
    candidates: Sequence[ContextCandidate], rendered: Sequence[ContextCandidate] = ()
) -> tuple[list[ContextCandidate], list[ContextCandidate]]:
    """Those to render, in their order, and those that say the same as one of them or as one that is rendered.

    Of lines with the same terms the one of the caller's own agent version is kept, else the newest. It takes the place
    and the score of the best. A line of a conflict is never a duplicate.
    """
    known = {_meaning(item.text) for item in rendered}
    groups: dict[object, list[ContextCandidate]] = {}
    for item in candidates:
        groups.setdefault(item.ref if item.block else _meaning(item.text), []).append(item)
    kept: list[ContextCandidate] = []
    dropped: list[ContextCandidate] = []
    for meaning, same in groups.items():
        best = max(same, key=lambda item: (item.preferred, item.at, item.ref.id))
        if meaning not in known:
            kept.append(replace(best, score=max(item.score for item in same)))
        dropped += [item for item in same if item is not best or meaning in known]
    return kept, dropped


@lru_cache(REMEMBERED)
def _meaning(text: str) -> object:
    return frozenset(terms(text)) or frozenset([text]), len(_NEGATION.findall(text))


def _line(ref: MemoryRef, at: Millis, text: str) -> str:
    return f"- {iso_day(at)} [{memory_handle(ref)}] {text}"


def _lesson(lesson: Lesson) -> str:
    trigger = (lesson.trigger or "").strip()
    text = f"{_capital(trigger)}: {lesson.content}" if trigger else lesson.content
    return f"{text} Avoid: {lesson.pitfall}" if lesson.pitfall else text


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:].rstrip(".:")
