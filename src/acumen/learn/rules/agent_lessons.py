"""Lessons from the agent's side of a window: tools that failed and recovered, and what an expert did instead."""

import re
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from acumen.learn.rules import keys
from acumen.learn.rules.commands import instruction
from acumen.learn.rules.cues import surface
from acumen.learn.rules.framing import bare
from acumen.learn.rules.lessons import request_named, shortened
from acumen.learn.rules.sentences import sentences
from acumen.learn.rules.words import words
from acumen.model.conversation import Turn, Window
from acumen.model.memory import Evidence
from acumen.model.playbook import Lesson, PlaybookNote
from acumen.model.secrets import redact

_FAILED = frozenset("error errored failed failure fail timeout timed_out denied rejected exception".split())
_SUCCEEDED = frozenset("success succeeded successful ok okay completed complete done passed".split())
# More than this many changed arguments, and nobody can tell which of them mattered.
MAX_CHANGED = 2
# An expert's sentence is news when no more of its words than this were in the agent's answer.
MAX_SHARED = 0.5

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


def agent_notes(window: Window) -> list[PlaybookNote]:
    """What the agent's own turns teach; a lesson needs a clear contrast between what failed and what worked."""
    return [*_tool_notes(window), *_expert_notes(window)]


# --- tools


def _tool_notes(window: Window) -> Iterator[PlaybookNote]:
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
    """What the tool said of its failure: its first line, without secrets. It is quoted, never obeyed."""
    said = next((str(data[name]) for name in ("error", "message", "stderr", "output", "result") if data.get(name)), "")
    return shortened(redact(said.strip().split("\n", 1)[0]))


def _recovered(before: _Call, after: _Call) -> Iterator[PlaybookNote]:
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
        pitfall=redact(f"Calling {before.tool} with {wrong}."),
    )
    yield _note(after.turn, lesson, f"{after.tool} {' '.join(sorted(names))}", redact(right), 0.6)


def _is_plain(value: object) -> bool:
    return isinstance(value, (str, int, float, bool)) and len(str(value)) <= 80 and str(value) != ""


def _listed(arguments: dict[str, Any], names: list[str]) -> str:
    return " and ".join(f"{name}={arguments[name]}" if name in arguments else f"no {name}" for name in names)


def _blocked(call: _Call) -> Iterator[PlaybookNote]:
    kind = next((kind for kind, pattern in _BLOCKS.items() if pattern.search(call.message)), None)
    if kind is None:
        return
    what = "is not permitted here" if kind == "permission_denied" else "is not available here"
    lesson = Lesson(
        content=f"{call.tool} {what}: ask for access, or do without it.",
        trigger=f"Using the tool {call.tool}",
        rationale=f'It failed: "{call.message}"',
        pitfall=f"Calling {call.tool} and failing.",
        blocking_issue={"kind": kind, "details": call.message},
    )
    yield _note(call.turn, lesson, f"{call.tool} available", keys.NO, 0.5)


def _note(turn: Turn, lesson: Lesson, subject: str, value: str, confidence: float, said: str = "") -> PlaybookNote:
    """Such evidence has no place in the turn's own text: the span is empty."""
    return PlaybookNote(
        lesson, subject, value, Evidence(turn.id, 0, 0, redact(said)), turn.request_id, confidence=confidence
    )


# --- experts


def _expert_notes(window: Window) -> Iterator[PlaybookNote]:
    request = ""
    for turn in window.turns:
        if turn.by_user:
            request = turn.text
        elif turn.expert_text.strip() and turn.is_new and request:
            yield from _expert_note(turn, request)


def _expert_note(turn: Turn, request: str) -> Iterator[PlaybookNote]:
    """The first thing the expert said that the agent had not: an instruction before a mere statement."""
    known = keys.content_roots(turn.text)
    news = [sentence.text for sentence in sentences(turn.expert_text) if _is_news(sentence.text, known)]
    if not news:
        return
    command = next((text for text in news if surface(text).has("starts_verb")), "")
    text = command or news[0]
    content = instruction(bare(words(text))).text if command else f"Say or do as the expert did: {text}"
    subject, value = keys.proposition(words(redact(text)), holds=True)
    lesson = Lesson(
        redact(content),
        request_named(request),
        "An expert answered so in the agent's place.",
        shortened(redact(turn.text)) or None,
    )
    yield _note(turn, lesson, subject, value, 0.6, text)


def _is_news(text: str, known: frozenset[str]) -> bool:
    said = keys.content_roots(text)
    return len(said) >= 2 and len(said & known) <= MAX_SHARED * len(said)
