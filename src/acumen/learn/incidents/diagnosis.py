"""Why failures happen and what to do instead: by rules from their words, or by a model whose answer is checked."""

import re
from collections.abc import Sequence
from typing import Annotated, Any

from msgspec import Struct
from pydantic import BaseModel, Field

from acumen.deps import Deps
from acumen.errors import ModelUnavailable
from acumen.llm import prompt
from acumen.model.memories.base import Origin
from acumen.model.operations.failure import FailureGroup
from acumen.model.operations.operation import Operation
from acumen.model.prompt_injection import detect
from acumen.model.secrets import redact

# How sure a rule is: it recognised the kind of failure, or it knows only that it keeps happening.
SURE, UNSURE = 0.6, 0.3


class DiagnosisRule(Struct, frozen=True):
    """A kind of failure, the words that show it, and advice that fits any tool; `{call}` is what was called."""

    category: str
    pattern: str
    cause: str
    adjust: str
    dont: str


# The first that matches counts, so the most specific ones come first; the last matches everything.
RULES = (
    DiagnosisRule(
        "rate_limit",
        r"\b429\b|rate.?limit|too many requests|quota exceeded|throttl|overloaded|retry after",
        "{call} was called more often than it allows",
        "wait for as long as {call} asks, and make fewer calls or larger ones",
        "call {call} again at once when it says that there were too many requests",
    ),
    DiagnosisRule(
        "timeout",
        r"time[d]?.?out|deadline exceeded|\b(?:408|504)\b|took too long|statement timeout",
        "{call} did not answer in time",
        "ask {call} for less at once, or give it more time",
        "repeat the same call to {call} after it has timed out",
    ),
    DiagnosisRule(
        "auth",
        r"\b40[13]\b|unauthori[sz]ed|forbidden|permission denied|access denied|not a member|invalid signature"
        r"|(?:token|session|certificate|credentials?) (?:has |have )?expired|authentication|not allowed",
        "{call} refused the credentials or the permission that came with the call",
        "check which permission {call} needs, and ask for it before calling",
        "try {call} again with the credentials that it has refused",
    ),
    DiagnosisRule(
        "schema",
        r"schema|missing required|unexpected (?:property|argument|keyword|field)|validation error|unknown (?:field|"
        r"argument|parameter)|required propert|does not match the .{0,20}type|extra_forbidden|field required",
        "the arguments did not have the shape that {call} expects",
        "read the schema of {call} and give every required argument, and none besides",
        "call {call} with arguments that its schema does not name, or without those that it requires",
    ),
    DiagnosisRule(
        "not_found",
        r"\b404\b|not found|no such|does not exist|unknown host|could not resolve|enoent|is not there",
        "{call} was asked for something that does not exist",
        "look up what exists before calling {call}, and use the exact name",
        "guess names or paths when calling {call}",
    ),
    DiagnosisRule(
        "bad_input",
        r"\b(?:400|422)\b|invalid|malformed|bad request|expecting value|expected .{0,40} but|unterminated|cannot "
        r"parse|could not parse|parse error|out of range|too large|maximum context|must be|not in a correct format",
        "{call} could not use its input",
        "check the input against what {call} expects before calling it",
        "send {call} the same input again after it was refused",
    ),
    DiagnosisRule(
        "upstream_5xx",
        r"\b50[0-9]\b|internal server error|bad gateway|service unavailable|connection (?:refused|reset|closed)"
        r"|econnrefused|econnreset|eof occurred|name or service|broken pipe",
        "the service behind {call} failed or could not be reached",
        "wait a little before calling {call} again, and give up after a few tries",
        "hammer {call} with repeated calls while it is failing",
    ),
    DiagnosisRule(
        "tool_misuse",
        r"no tool call|tool .{0,40} not (?:available|known)|unknown tool|cannot be called|already running",
        "{call} was used in a way that it does not support",
        "read what {call} is for, and choose another tool where it does not fit",
        "use {call} for what it does not support",
    ),
    DiagnosisRule(
        "logic",
        r"keyerror|typeerror|valueerror|indexerror|attributeerror|nullpointer|nil pointer|undefined"
        r"|is not a function|assert|panic|unwrap|already borrowed|illegalstate|traceback|exception",
        "the code behind {call} met a case that it does not handle",
        "check that the values for {call} are present and of the right kind",
        "call {call} again with the same values: it will fail in the same way",
    ),
    DiagnosisRule(
        "unknown",
        r"",
        "{call} failed again and again in the same way",
        "find out what the failed calls to {call} have in common before the next one",
        "repeat a call to {call} unchanged after it has failed",
    ),
)
*_SPECIFIC, _UNKNOWN = RULES

Sentence = Annotated[str, Field(min_length=3, max_length=300)]


class Diagnosis(BaseModel):
    cause: Sentence
    category: Annotated[str, Field(pattern=f"^(?:{'|'.join(rule.category for rule in RULES)})$")]
    adjust: Sentence
    dont: Sentence
    trigger: Sentence
    confidence: Annotated[float, Field(ge=0, le=1)]
    evidence_ids: Annotated[list[str], Field(min_length=1, max_length=50)]  # of operations

    @property
    def stored(self) -> dict[str, Any]:
        return {**self.model_dump(exclude={"evidence_ids"}), "evidence": self.evidence_ids}

    def trusted(self, examples: Sequence[Operation]) -> bool:
        """Whether it rests on the examples, and has no words that try to act."""
        texts = (self.cause, self.adjust, self.dont, self.trigger)
        known = {example.id for example in examples}
        return known.issuperset(self.evidence_ids) and not any(map(detect, texts))


EXPLAIN = prompt.beside(__file__, "explain_failures", Diagnosis)


async def diagnose(
    group: FailureGroup, examples: Sequence[Operation], known: Sequence[str], deps: Deps
) -> tuple[Diagnosis, Origin]:
    """By rules where there is no model, or its answer cannot be trusted. `known` are lessons about the same call."""
    by_rules = _by_rules(group, examples), Origin("rules")
    if deps.llm is None:
        return by_rules
    question = EXPLAIN.question(
        {
            "call": f"{group.source}: {group.endpoint} ({group.error_type or 'no type'})",
            "template": group.template,
            "failures": "\n".join(map(_line, examples)),
            "known": "\n".join(known) or "nothing",
        }
    )
    try:
        answer = await deps.llm.ask(question)
    except ModelUnavailable:
        return by_rules
    return (answer.value, answer.origin) if answer.value.trusted(examples) else by_rules


def _line(example: Operation) -> str:
    return redact(f"[{example.id}] {example.input_summary or ''} -> {(example.error_message or '')[:1500]}")


def _by_rules(group: FailureGroup, examples: Sequence[Operation]) -> Diagnosis:
    rule, call = rule_for(group.error_type, group.template), f"`{group.endpoint}`"
    return Diagnosis.model_construct(  # an endpoint may be longer than a sentence of a model
        cause=rule.cause.format(call=call),
        category=rule.category,
        adjust=rule.adjust.format(call=call),
        dont=rule.dont.format(call=call),
        trigger=f"Calling {call}",
        confidence=UNSURE if rule is _UNKNOWN else SURE,
        evidence_ids=[example.id for example in examples],
    )


def rule_for(error_type: str, template: str) -> DiagnosisRule:
    """By the type first, whose parts count as words (`ReadTimeoutError`), then by the words of the failures."""
    parts = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", error_type)
    texts = (f"{error_type} {parts}", template)
    matching = (rule for text in texts for rule in _SPECIFIC if re.search(rule.pattern, text, re.IGNORECASE))
    return next(matching, _UNKNOWN)
