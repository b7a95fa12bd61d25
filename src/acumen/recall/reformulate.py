"""Reformulate a query so that it can be searched for without its conversation, by a model with a short timeout."""

from collections.abc import Sequence

from pydantic import Field

from acumen.deps import Deps
from acumen.errors import ModelUnavailable
from acumen.llm import prompt
from acumen.llm.prompt import Shape
from acumen.llm.tokens import fits
from acumen.model.ids import UserId

# What came long before the question is seldom what it is about.
MOST_TURNS = 12


class Standalone(Shape):
    standalone_query: str = Field(max_length=2_000)


STANDALONE = prompt.load(__file__, "reformulate", Standalone)


async def standalone(query: str, history: Sequence[tuple[str, str]], user: UserId | None, deps: Deps) -> str | None:
    """The query without references to its conversation; None when there is no model, or none that answers in time.

    `history` is who said what, oldest first; `user` is on whose behalf it is asked.
    """
    if deps.llm is None:
        return None
    values = {"query": query, "history": _latest(history)}
    question = STANDALONE.question(values, user_id=user, within=deps.settings.llm.reformulation_seconds)
    try:
        answer = await deps.llm.ask(question)
    except ModelUnavailable:
        return None
    return " ".join(answer.value.standalone_query.split()) or None


def _latest(history: Sequence[tuple[str, str]]) -> str:
    """As much of the end as there is room for."""
    lines = [f"{role}: {text}" for role, text in history[-MOST_TURNS:]]
    while len(lines) > 1 and not fits("\n".join(lines), STANDALONE.room("history")):
        lines.pop(0)
    return "\n".join(lines)
