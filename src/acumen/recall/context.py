"""Fit what was found into a token budget, as text ready to put before a model. Pure."""

import re
from collections.abc import Callable, Sequence

from msgspec import Struct

from acumen.model.echoes import CONTEXT_CLOSE, CONTEXT_OPEN
from acumen.model.ids import Kind, MemoryRef
from acumen.model.memories import Memory
from acumen.model.playbook import AgentPlaybook, Approval, Lesson
from acumen.model.profile import Profile

HEADINGS = {
    Kind.PROFILE: "About this user:",
    Kind.USER_PLAYBOOK: "Learned from this user:",
    Kind.AGENT_PLAYBOOK: "Learned from all users:",
}

OVER_BUDGET = "over the token budget"
UNAPPROVED = "waits for a person's approval"

_MARK = re.compile(r"<(/?\s*acumen-context)\s*>", re.IGNORECASE)


class Candidate(Struct, frozen=True):
    """A memory that was found, as it would be shown."""

    ref: MemoryRef
    line: str
    score: float
    waits: bool = False  # it was found, but is not to be shown


class Line(Struct, frozen=True):
    ref: MemoryRef
    text: str
    tokens: int
    waits: bool = False

    @property
    def left_out_because(self) -> str:
        return UNAPPROVED if self.waits else OVER_BUDGET


class Context(Struct, frozen=True):
    """`text` never has more than the budget's tokens; `left_out` is what did not fit or waits, best first."""

    text: str
    tokens: int
    shown: tuple[Line, ...]
    left_out: tuple[Line, ...]


def is_unapproved(memory: Memory) -> bool:
    """A shared lesson that no person has read yet: nobody's agent follows it unless it asks for such."""
    return isinstance(memory, AgentPlaybook) and memory.approval is Approval.PENDING


def line_of(memory: Memory) -> str:
    return f"- {_framed(memory.content if isinstance(memory, Profile) else _lesson(memory.lesson))}"


def _framed(text: str) -> str:
    """A memory must not end the frame it stands in, nor look like the next line of it."""
    text = _MARK.sub(r"(\1)", text) if "<" in text else text
    return text.replace("\n", "\n  ")


def fit(candidates: Sequence[Candidate], budget: int, count: Callable[[str], int]) -> Context:
    """Takes the best first, skips what no longer fits, and counts the whole text at the end."""
    lines = [Line(c.ref, c.line, count(c.line), c.waits) for c in sorted(candidates, key=lambda c: -c.score)]
    shown: list[Line] = []
    spent = count(_text([])) if lines else 0
    for line in [line for line in lines if not line.waits]:
        opens = 0 if any(other.ref.kind == line.ref.kind for other in shown) else count(HEADINGS[line.ref.kind]) + 1
        # One more for the line break that joins it to the rest.
        if spent + opens + line.tokens + 1 <= budget:
            shown.append(line)
            spent += opens + line.tokens + 1
    text, tokens = _text(shown), 0
    while shown and (tokens := count(text)) > budget:
        shown.pop()
        text = _text(shown)
    kept = {line.ref for line in shown}
    return Context(
        text=text if shown else "",
        tokens=tokens if shown else 0,
        shown=tuple(shown),
        left_out=tuple(line for line in lines if line.ref not in kept),
    )


def _text(lines: Sequence[Line]) -> str:
    parts = [CONTEXT_OPEN]
    for kind, heading in HEADINGS.items():
        of_kind = [line.text for line in lines if line.ref.kind == kind]
        if of_kind:
            parts += [heading, *of_kind]
    return "\n".join([*parts, CONTEXT_CLOSE])


def _lesson(lesson: Lesson) -> str:
    trigger = (lesson.trigger or "").strip()
    text = f"{_capital(trigger)}: {lesson.content}" if trigger else lesson.content
    return f"{text} Avoid: {lesson.pitfall}" if lesson.pitfall else text


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:].rstrip(".:")
