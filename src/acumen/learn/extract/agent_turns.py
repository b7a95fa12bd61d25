"""Lessons from the agent's side of a window: tools that failed and then worked, and what an expert did instead."""

import re
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from acumen.learn.extract.notes import Note
from acumen.learn.extract.statements import content_words
from acumen.model.conversation import Turn, Window
from acumen.model.ids import Kind
from acumen.model.memories.base import Category, EvidenceSpan
from acumen.model.memories.playbook import Lesson
from acumen.model.secrets import redact
from acumen.model.sentences import sentences

_FAILED = frozenset("error errored failed failure fail timeout timed_out denied rejected exception".split())
_SUCCEEDED = frozenset("success succeeded successful ok okay completed complete done passed".split())
# With more than this many changed arguments, it is unclear which of them mattered.
MAX_CHANGED = 2
# An expert's sentence is new when no more of its words than this were in the agent's answer.
MAX_SHARED = 0.5
MAX_CHARACTERS = 160

_BLOCKS = {
    "permission_denied": re.compile(
        r"(?:permission|access) denied|(?:not |un)authori[sz]ed|forbidden|\b40[13]\b|insufficient (?:scope|permission)",
        re.IGNORECASE,
    ),
    "missing_tool": re.compile(
        r"command not found|no such tool|tool not (?:found|available)|not installed|unknown tool", re.IGNORECASE
    ),
}


class _Call(Struct, frozen=True):
    turn: Turn
    tool: str
    status: str
    arguments: dict[str, Any]
    message: str


def agent_notes(window: Window) -> list[Note]:
    """A lesson needs a clear contrast between what failed and what worked."""
    return [*_tool_notes(window), *_expert_notes(window)]


def _tool_notes(window: Window) -> Iterator[Note]:
    failed: dict[str, _Call] = {}
    for call in _calls(window):
        if call.status in _FAILED:
            failed[call.tool] = call
        elif call.status in _SUCCEEDED and call.tool in failed:
            before = failed.pop(call.tool)
            if call.turn.is_new:
                yield from _recovered(before, call)
    for call in failed.values():
        if call.turn.is_new:
            yield from _blocked(call)


def _calls(window: Window) -> Iterator[_Call]:
    for turn in window.turns:
        for used in turn.tools_used:
            data = used.get("tool_data")
            data = data if isinstance(data, dict) else {}
            tool, status = str(used.get("tool_name") or ""), str(used.get("status") or "").strip().lower()
            if tool and status:
                yield _Call(turn, tool, status, _arguments(data), _message(data))


def _arguments(data: dict[str, Any]) -> dict[str, Any]:
    for name in ("input", "arguments", "args", "parameters"):
        if isinstance(data.get(name), dict):
            return dict(data[name])
    return {key: value for key, value in data.items() if key not in ("output", "result", "error", "message", "stderr")}


def _message(data: dict[str, Any]) -> str:
    """The first line of what the tool reported, without secrets."""
    text = next((str(data[name]) for name in ("error", "message", "stderr", "output", "result") if data.get(name)), "")
    return redact(text.strip().split("\n", 1)[0])[:MAX_CHARACTERS]


def _recovered(before: _Call, after: _Call) -> Iterator[Note]:
    names = [
        name
        for name in {**before.arguments, **after.arguments}
        if before.arguments.get(name) != after.arguments.get(name)
    ]
    if not 0 < len(names) <= MAX_CHANGED or not all(_is_plain(after.arguments.get(name)) for name in names):
        return
    right, wrong = (_listed(call.arguments, names) for call in (after, before))
    lesson = Lesson(
        content=redact(f"Call {after.tool} with {right}, not with {wrong}."),
        trigger=f"Using the tool {after.tool}",
        rationale=f'It failed with {redact(wrong)}: "{before.message}"' if before.message else None,
        pitfall=redact(f"{before.tool} was called with {wrong} and failed."),
    )
    yield _note(after.turn, lesson, 0.6)


def _is_plain(value: object) -> bool:
    return isinstance(value, (str, int, float, bool)) and len(str(value)) <= 80 and str(value) != ""


def _listed(arguments: dict[str, Any], names: list[str]) -> str:
    return " and ".join(f"{name}={arguments[name]}" if name in arguments else f"no {name}" for name in names)


def _blocked(call: _Call) -> Iterator[Note]:
    kind = next((kind for kind, pattern in _BLOCKS.items() if pattern.search(call.message)), None)
    if kind is None:
        return
    what = "is not permitted here" if kind == "permission_denied" else "is not available here"
    lesson = Lesson(
        content=f"{call.tool} {what}: ask for access, or do without it.",
        trigger=f"Using the tool {call.tool}",
        rationale=f'It failed: "{call.message}"',
        blocking_issue={"kind": kind, "details": call.message},
    )
    yield _note(call.turn, lesson, 0.5)


def _expert_notes(window: Window) -> Iterator[Note]:
    request = ""
    for turn in window.turns:
        if turn.by_user:
            request = turn.text
        elif turn.expert_text.strip() and turn.is_new and request:
            yield from _expert_note(turn, request)


def _expert_note(turn: Turn, request: str) -> Iterator[Note]:
    """The first thing the expert said that the agent had not."""
    answered_words = set(content_words(turn.text.lower()))
    new = next(
        (sentence.text for sentence in sentences(turn.expert_text) if _is_new(sentence.text, answered_words)), None
    )
    if new is None:
        return
    question = next(iter(sentences(request)), None)
    trigger = question.text.rstrip(".!? ")[:MAX_CHARACTERS] if question else None
    answered = next(iter(sentences(turn.text)), None)
    lesson = Lesson(
        redact(new),
        redact(trigger) if trigger else None,
        "An expert answered this way in the agent's place.",
        redact(answered.text)[:MAX_CHARACTERS] if answered else None,
    )
    yield _note(turn, lesson, 0.6, new)


def _is_new(text: str, answered: set[str]) -> bool:
    words = set(content_words(text.lower()))
    return len(words) >= 2 and len(words & answered) <= MAX_SHARED * len(words)


def _note(turn: Turn, lesson: Lesson, confidence: float, quote: str = "") -> Note:
    """Such evidence has no place in the turn's own text: the span is empty."""
    return Note(
        kind=Kind.USER_PLAYBOOK,
        lesson=lesson,
        evidence=EvidenceSpan(turn.id, 0, 0, redact(quote)),
        request_id=turn.request_id,
        category=Category.RULE,
        confidence=confidence,
    )
