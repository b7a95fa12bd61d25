"""Why failures happen and what to do instead, read off their words by rules. Pure.

The answer has the shape that a model gives, too: cause, category, what to adjust, what not to do, when it applies.
"""

import re
from collections.abc import Sequence
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import asdict

from acumen.model.failure import FailureGroup
from acumen.model.patterns import later

Category = Literal[
    "timeout",
    "rate_limit",
    "auth",
    "not_found",
    "bad_input",
    "schema",
    "upstream_5xx",
    "tool_misuse",
    "logic",
    "unknown",
]


class Diagnosis(Struct, frozen=True):
    cause: str
    category: str
    adjust: str
    dont: str
    trigger: str
    confidence: float
    evidence: tuple[str, ...]  # ids of operations, all of them among those that were given

    def told(self) -> dict[str, Any]:
        return {**asdict(self), "evidence": list(self.evidence)}


class Advice(Struct, frozen=True):
    """In words that fit any tool; `{call}` is what was called."""

    cause: str
    adjust: str
    dont: str


# The first that fits counts, so what is told apart more clearly stands first.
_SIGNS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (category, later(pattern, re.IGNORECASE))
    for category, pattern in (
        ("rate_limit", r"\b429\b|rate.?limit|too many requests|quota exceeded|throttl|overloaded|retry after"),
        ("timeout", r"time[d]?.?out|deadline exceeded|\b(?:408|504)\b|took too long|statement timeout"),
        (
            "auth",
            (
                r"\b40[13]\b|unauthori[sz]ed|forbidden|permission denied|access denied|not a member|invalid signature"
                r"|(?:token|session|certificate|credentials?) (?:has |have )?expired|authentication|not allowed"
            ),
        ),
        (
            "schema",
            (
                r"schema|missing required|unexpected (?:property|argument|keyword|field)|validation error"
                r"|unknown (?:field|argument|parameter)|required propert"
                r"|does not match the .{0,20}type|extra_forbidden|field required"
            ),
        ),
        ("not_found", r"\b404\b|not found|no such|does not exist|unknown host|could not resolve|enoent|is not there"),
        (
            "bad_input",
            (
                r"\b(?:400|422)\b|invalid|malformed|bad request|expecting value|expected .{0,40} but|unterminated"
                r"|cannot parse|could not parse|parse error|out of range|too large|maximum context"
                r"|must be|not in a correct format"
            ),
        ),
        (
            "upstream_5xx",
            (
                r"\b50[0-9]\b|internal server error|bad gateway|service unavailable|connection (?:refused|reset|closed)"
                r"|econnrefused|econnreset|eof occurred|name or service|broken pipe"
            ),
        ),
        (
            "tool_misuse",
            r"no tool call|tool .{0,40} not (?:available|known)|unknown tool|cannot be called|already running",
        ),
        (
            "logic",
            (
                r"keyerror|typeerror|valueerror|indexerror|attributeerror|nullpointer|nil pointer|undefined"
                r"|is not a function|assert|panic|unwrap|already borrowed|illegalstate|traceback|exception"
            ),
        ),
    )
)

ADVICE = {
    "timeout": Advice(
        "{call} did not answer in time",
        "ask {call} for less at once, or give it more time",
        "repeat the same call to {call} after it has timed out",
    ),
    "rate_limit": Advice(
        "{call} was called more often than it allows",
        "wait for as long as {call} asks, and make fewer calls or larger ones",
        "call {call} again at once when it says that there were too many requests",
    ),
    "auth": Advice(
        "{call} refused the credentials or the permission that came with the call",
        "check which permission {call} needs, and ask for it before calling",
        "try {call} again with the credentials that it has refused",
    ),
    "not_found": Advice(
        "{call} was asked for something that is not there",
        "look up what exists before calling {call}, and use the exact name",
        "guess names or paths when calling {call}",
    ),
    "bad_input": Advice(
        "{call} could not use what it was given",
        "check the input against what {call} expects before calling it",
        "send {call} the same input again after it was refused",
    ),
    "schema": Advice(
        "the arguments did not have the shape that {call} expects",
        "read the schema of {call} and give every required argument, and none besides",
        "call {call} with arguments that its schema does not name, or without those that it requires",
    ),
    "upstream_5xx": Advice(
        "what stands behind {call} failed or could not be reached",
        "wait a little before calling {call} again, and give up after a few tries",
        "hammer {call} with repeated calls while it is failing",
    ),
    "tool_misuse": Advice(
        "{call} was used in a way that it does not support",
        "read what {call} is for, and choose another tool where it does not fit",
        "use {call} for what it does not support",
    ),
    "logic": Advice(
        "the code behind {call} met a case that it does not handle",
        "check that the values given to {call} are present and of the right kind",
        "call {call} again with the same values: it will fail in the same way",
    ),
    "unknown": Advice(
        "{call} failed again and again in the same way",
        "find out what the failed calls to {call} have in common before the next one",
        "repeat a call to {call} unchanged after it has failed",
    ),
}
# How sure a rule is: it read a sign, or it knows only that it keeps happening.
SURE, UNSURE = 0.6, 0.3


def by_rules(group: FailureGroup, evidence: Sequence[str]) -> Diagnosis:
    category = category_of(group.error_type, group.template)
    advice = ADVICE[category]
    call = f"`{group.endpoint}`"
    return Diagnosis(
        cause=advice.cause.format(call=call),
        category=category,
        adjust=advice.adjust.format(call=call),
        dont=advice.dont.format(call=call),
        trigger=f"Calling {call}",
        confidence=UNSURE if category == "unknown" else SURE,
        evidence=tuple(evidence),
    )


def category_of(error_type: str, template: str) -> str:
    """What kind of failure the words tell of; the type counts first."""
    for text in (_spaced(error_type), template):
        for category, sign in _SIGNS:
            if text and sign.search(text):
                return category
    return "unknown"


def _spaced(error_type: str) -> str:
    """`ReadTimeoutError` reads as words, too."""
    return f"{error_type} {re.sub(r'(?<=[a-z])(?=[A-Z])', ' ', error_type)}" if error_type else ""
