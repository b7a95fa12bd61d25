"""Reads one turn: how the user reacts to the agent's answer, and what the agent admits.

Code, quotations and pasted logs are not the speaker's words and are not read.
"""

import re
import tomllib
from collections.abc import Mapping, Sequence
from enum import Enum, auto
from pathlib import Path
from typing import Any

from acumen.model.lazy_regex import lazy_regex
from acumen.model.sentences import sentences
from acumen.model.text import STOPWORDS, stem, words

# Of a long turn the beginning and the end are read, where speakers react.
MOST_SENTENCES = 12


class Reaction(Enum):
    """A user's reaction to the agent's answer before it."""

    ESCALATION = auto()  # wants a person instead
    GIVES_UP = auto()
    CORRECTION = auto()  # says that the agent was wrong, or what was meant
    COMPLAINT = auto()  # says that it does not work, or what they think of it
    SOLVED = auto()  # says that it works
    PLEASED = auto()  # thanks, praises, has understood
    NEUTRAL = auto()  # goes on: answers, asks the next thing


class Admission(Enum):
    """What the agent's turn admits."""

    HANDOVER = auto()  # a person takes over
    BROKEN = auto()  # something that it works with failed
    NOTHING_FOUND = auto()
    UNABLE = auto()


# --- cues ----------------------------------------------------------------------------------------------------------


def _cues(words: Mapping[str, str], cues: Mapping[str, Sequence[str]]) -> dict[str, re.Pattern[str]]:
    """As described in cues.toml."""

    def filled(pattern: str) -> str:
        return re.sub(r"<([A-Z]+)>", lambda name: rf"\b(?:{words[name[1]]})\b".replace("\n", ""), pattern)

    return {cue: lazy_regex("|".join(f"(?:{filled(pattern)})" for pattern in cues[cue])) for cue in cues}


CUES = _cues(**tomllib.loads((Path(__file__).parent / "cues.toml").read_text("utf-8")))
PASTED_FAILURE = lazy_regex(r"\b[A-Z]\w*(?:Error|Exception)\b|\bTraceback\b|(?i:\berror:)|\bexit code [1-9]")
GLAD = lazy_regex("[👍🙏🎉❤😊✅😀🙂👏💯]")
TOOL_FAILED = lazy_regex(
    r"fail|error|exception|time.?out|timed|denied|refused|reject|unavailable|abort|crash|invalid|^(?:4|5)\d\d$|^false$",
    re.IGNORECASE,
)

# --- words ---------------------------------------------------------------------------------------------------------


def plain(text: str) -> list[str]:
    """The speaker's own sentences, one line each, in lower case and with contractions opened."""
    lines = [sentence.text for sentence in sentences(text)]
    if len(lines) > MOST_SENTENCES:
        lines = lines[: MOST_SENTENCES // 2] + lines[-MOST_SENTENCES // 2 :]
    return [" ".join(words(line)) for line in lines]


_WORD = re.compile(r"[^\W_]+(?:[-.'][^\W_]+)*")


def content_words(text: str) -> frozenset[str]:
    """The stems of the words that carry what a text is about."""
    matches = (match.group().lower() for match in _WORD.finditer(" ".join(plain(text)) or text.lower()))
    return frozenset(stem(word) for word in matches if word not in STOPWORDS)


def says(lines: Sequence[str], cue: str) -> bool:
    return any(CUES[cue].search(line) for line in lines)


# --- the user's side -----------------------------------------------------------------------------------------------


def reaction(text: str, agent: str) -> Reaction:
    """To the agent's answer just before the turn; the most serious one counts."""
    lines = plain(text)
    whole = " . ".join(lines)
    if says([whole], "wants person"):
        return Reaction.ESCALATION
    solved = says(lines, "works") and not says(lines, "still broken")
    if says([whole, *lines], "gives up"):
        return Reaction.SOLVED if solved else Reaction.GIVES_UP
    if says(lines, "corrects") or (not solved and _corrects(lines, agent)):
        return Reaction.CORRECTION
    if not solved and _complains(text, lines, agent):
        return Reaction.COMPLAINT
    if solved:
        return Reaction.SOLVED
    return Reaction.PLEASED if GLAD.search(text) or _pleased(lines) else Reaction.NEUTRAL


def leaves_open(text: str) -> bool:
    """Whether a turn ends by wanting something: with a question, or with a request."""
    last = (plain(text) or [""])[-1]
    return says([last], "question") or (len(last.split()) > 1 and says([last], "requests"))


def _corrects(lines: Sequence[str], agent: str) -> bool:
    if agent.rstrip().endswith("?") or not lines:
        return False  # "no" answers a question
    if rejected_words(lines) & content_words(agent):
        return True
    if says(lines, "still broken"):
        return False  # "nope, still slow" corrects nothing
    says_no = says(lines[:1], "says no") and len(" ".join(lines).split()) > len("no , wait".split())
    reports = (CUES["reports"].search(line) for line in lines)
    put_right = says(lines, "actually") and not _pleased(lines)
    return says_no or put_right or any(report and report["subject"] in ("that", "this") for report in reports)


def rejected_words(lines: Sequence[str]) -> frozenset[str]:
    """What a user rejects: Saturday, where they say "Friday, not Saturday"."""
    matches = (match for line in lines for match in CUES["rejects"].finditer(line))
    return frozenset(word for match in matches for part in match.groups() if part for word in content_words(part))


def _complains(text: str, lines: Sequence[str], agent: str) -> bool:
    return (
        any(says(lines, cue) for cue in ("still broken", "displeased"))
        or (says(lines, "reports") and not agent.rstrip().endswith("?"))
        or says(lines[:1], "flatly no")
        or PASTED_FAILURE.search(text) is not None
    )


def _pleased(lines: Sequence[str]) -> bool:
    return says(lines, "pleased") and not says(lines, "only polite")


# --- the agent's side ----------------------------------------------------------------------------------------------


def admission(text: str) -> Admission | None:
    lines = plain(text)
    for cue, admitted in (
        ("hands over", Admission.HANDOVER),
        ("finds nothing", Admission.NOTHING_FOUND),
        ("is unable", Admission.UNABLE),
    ):
        if says(lines, cue):
            return admitted
    broke = says(lines, "breaks") and says(lines, "of its own") and not says(lines, "claims done")
    return Admission.BROKEN if broke else None


def only_asks(text: str) -> bool:
    """Whether a turn is only a question back."""
    lines = plain(text)
    return bool(lines) and all(says([line], "question") for line in lines)


def tool_failed(tool: dict[str, Any]) -> bool:
    """By its status, or, where it has none, by an error among its data."""
    status = str(tool.get("status") or "").strip()
    if status:
        return TOOL_FAILED.search(status) is not None
    data = tool.get("tool_data")
    return isinstance(data, dict) and any(bool(data.get(name)) for name in ("error", "exception", "is_error"))
