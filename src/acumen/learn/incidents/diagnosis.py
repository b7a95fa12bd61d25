"""Why failures happen and what to do instead: by rules from their words, or by a model whose answer is checked."""

import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from msgspec import Struct, convert
from pydantic import BaseModel, Field

from acumen.deps import Deps
from acumen.errors import ModelUnavailable
from acumen.llm import prompt
from acumen.model.memories.base import Origin
from acumen.model.operations.failure import FailureGroup
from acumen.model.operations.operation import Operation
from acumen.model.prompt_injection import detect

# How sure a rule is: it recognised the kind of failure, or it knows only that it keeps happening.
SURE, UNSURE = 0.6, 0.3


class FailureKind(Struct, frozen=True):
    """As described in failure_kinds.toml."""

    category: str
    patterns: tuple[str, ...]
    cause: str
    adjust: str
    dont: str

    def matches(self, text: str) -> bool:
        return re.search("|".join(self.patterns), text, re.IGNORECASE) is not None


KINDS = convert(
    tomllib.loads((Path(__file__).parent / "failure_kinds.toml").read_text("utf-8"))["kind"], tuple[FailureKind, ...]
)
*_SPECIFIC, _UNKNOWN = KINDS

Sentence = Annotated[str, Field(min_length=3, max_length=300)]


class Diagnosis(BaseModel):
    cause: Sentence
    category: Annotated[str, Field(pattern=f"^(?:{'|'.join(kind.category for kind in KINDS)})$")]
    adjust: Sentence
    dont: Sentence
    trigger: Sentence
    confidence: Annotated[float, Field(ge=0, le=1)]
    evidence_ids: Annotated[list[str], Field(min_length=1, max_length=50)]  # of operations

    @property
    def stored(self) -> dict[str, Any]:
        return {**self.model_dump(exclude={"evidence_ids"}), "evidence": self.evidence_ids}

    def trusted(self, examples: Sequence[Operation]) -> bool:
        """Whether it rests on the examples, and contains no prompt injection."""
        texts = (self.cause, self.adjust, self.dont, self.trigger)
        ids = {example.id for example in examples}
        return ids.issuperset(self.evidence_ids) and not any(map(detect, texts))


EXPLAIN = prompt.load(__file__, "explain_failures", Diagnosis)


async def diagnose(
    group: FailureGroup, examples: Sequence[Operation], lessons: Sequence[str], deps: Deps
) -> tuple[Diagnosis, Origin]:
    """By rules where there is no model, or its answer cannot be trusted. `lessons` exist about the same call."""
    by_rules = _by_rules(group, examples), Origin("rules")
    if deps.llm is None:
        return by_rules
    question = EXPLAIN.question(
        {
            "call": f"{group.source}: {group.endpoint} ({group.error_type or 'no type'})",
            "template": group.template,
            "failures": "\n".join(map(_line, examples)),
            "known": "\n".join(lessons) or "nothing",
        }
    )
    try:
        answer = await deps.llm.ask(question)
    except ModelUnavailable:
        return by_rules
    return (answer.value, answer.origin) if answer.value.trusted(examples) else by_rules


def _line(example: Operation) -> str:
    return f"[{example.id}] {example.input_summary or ''} -> {(example.error_message or '')[:1500]}"


def _by_rules(group: FailureGroup, examples: Sequence[Operation]) -> Diagnosis:
    kind, call = kind_of(group.error_type, group.template), f"`{group.endpoint}`"
    return Diagnosis.model_construct(  # an endpoint may be longer than a sentence of a model
        cause=kind.cause.format(call=call),
        category=kind.category,
        adjust=kind.adjust.format(call=call),
        dont=kind.dont.format(call=call),
        trigger=f"Calling {call}",
        confidence=UNSURE if kind is _UNKNOWN else SURE,
        evidence_ids=[example.id for example in examples],
    )


def kind_of(error_type: str, template: str) -> FailureKind:
    """By the type first, whose parts count as words (`ReadTimeoutError`), then by the words of the failures."""
    parts = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", error_type)
    texts = (f"{error_type} {parts}", template)
    return next((kind for text in texts for kind in _SPECIFIC if kind.matches(text)), _UNKNOWN)
