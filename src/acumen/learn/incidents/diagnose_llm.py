"""Why failures happen, asked of a model. What it answers is checked, for what it read was written by strangers."""

from collections.abc import Sequence
from typing import Annotated

from pydantic import BaseModel, Field

from acumen.deps import Deps
from acumen.errors import ModelUnavailable
from acumen.learn.incidents.diagnosis import Category, Diagnosis
from acumen.llm import prompt
from acumen.model.failure import FailureGroup
from acumen.model.hazards import hazards
from acumen.model.memory import Origin
from acumen.model.operation import Operation
from acumen.model.secrets import redact

Sentence = Annotated[str, Field(min_length=3, max_length=300)]


class Explained(BaseModel):
    cause: Sentence
    category: Category
    adjust: Sentence
    dont: Sentence
    trigger: Sentence
    confidence: Annotated[float, Field(ge=0, le=1)]
    evidence_ids: Annotated[list[str], Field(min_length=1, max_length=50)]


EXPLAIN = prompt.beside(__file__, "explain_failures", Explained)


async def by_model(
    group: FailureGroup, examples: Sequence[Operation], known: Sequence[str], deps: Deps
) -> tuple[Diagnosis, Origin] | None:
    """None when there is no model, or its answer cannot be trusted: the rules have answered already."""
    if deps.llm is None:
        return None
    question = EXPLAIN.question(
        {
            "call": f"{group.source}: {group.endpoint} ({group.error_type or 'no type'})",
            "template": group.template,
            "failures": "\n".join(_line(one) for one in examples),
            "known": "\n".join(known) or "nothing",
        }
    )
    try:
        answer = await deps.llm.ask(question)
    except ModelUnavailable:
        return None
    diagnosis = _diagnosis(answer.value)
    return (diagnosis, answer.origin) if _can_be_trusted(diagnosis, examples) else None


def _line(one: Operation) -> str:
    return redact(f"[{one.id}] {one.input_summary or ''} -> {(one.error_message or '')[:1500]}")


def _diagnosis(said: Explained) -> Diagnosis:
    return Diagnosis(
        cause=said.cause,
        category=said.category,
        adjust=said.adjust,
        dont=said.dont,
        trigger=said.trigger,
        confidence=said.confidence,
        evidence=tuple(said.evidence_ids),
    )


def _can_be_trusted(diagnosis: Diagnosis, examples: Sequence[Operation]) -> bool:
    """It rests on what was shown, and says nothing that tries to act."""
    given = {one.id for one in examples}
    words = (diagnosis.cause, diagnosis.adjust, diagnosis.dont, diagnosis.trigger)
    return set(diagnosis.evidence) <= given and not any(hazards(text) for text in words)
