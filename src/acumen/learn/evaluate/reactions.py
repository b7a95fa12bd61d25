"""What one turn says of how a talk is going: how the user takes the agent's answer, and what the agent owns up to.

By cues of speech, in plain words that are compared with contractions opened ("doesn't" is "does not"). Code, quotations
and pasted logs are not what the speaker says, so they are not read.
"""

import re
from collections.abc import Iterable
from enum import Enum, auto
from typing import Any

from acumen.learn.evaluate import reaction_cues as cues
from acumen.model.text import sentences, words

# The opening and the end of a turn are where its speaker takes sides; what lies between is substance.
MOST_SENTENCES = 12


class Reaction(Enum):
    """How a user's turn takes what the agent did before it."""

    ESCALATION = auto()  # wants a person instead
    GIVES_UP = auto()
    CORRECTION = auto()  # says that the agent was wrong, or what was meant
    COMPLAINT = auto()  # says that it does not work, or what they think of it
    SOLVED = auto()  # says that it works
    PLEASED = auto()  # thanks, praises, has understood
    NEUTRAL = auto()  # goes on talking: answers, asks the next thing


class Admission(Enum):
    """What the agent's turn owns up to."""

    HANDOVER = auto()  # a person takes over
    BROKEN = auto()  # something that it works with failed
    NOTHING_FOUND = auto()
    UNABLE = auto()


# --- words ---------------------------------------------------------------------------------------------------------


def plain(text: str) -> list[str]:
    """The speaker's own sentences, one line each, in lower case and with contractions opened."""
    own = sentences(text)
    if len(own) > MOST_SENTENCES:
        own = own[: MOST_SENTENCES // 2] + own[-MOST_SENTENCES // 2 :]
    return [" ".join(words(sentence)) for sentence in own]


_EMPTY_WORDS = frozenset(
    """
a an and any are as at be but by can could did do does for from had has have he her his how i if in into is it its just
me more my need no not of off ok on one only or our out please she should so some that the their them then there these
they this those to too up us want was we were what when where which who why will with would yes you your again now still
get got let make also thanks like here's it's all other than
""".split()
)
_WORD = re.compile(r"[^\W_]+(?:[-.'][^\W_]+)*")
_ENDINGS = ("ings", "ing", "ers", "ies", "ed", "es", "er", "s")
SHORTEST_STEM = 4


def content_words(text: str) -> frozenset[str]:
    """The words that carry what a text is about, without their endings."""
    found = (match.group().lower() for match in _WORD.finditer(" ".join(plain(text)) or text.lower()))
    return frozenset(_stem(word) for word in found if word not in _EMPTY_WORDS)


def _stem(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= SHORTEST_STEM:
            return word[: -len(ending)]
    return word


def overlap(left: frozenset[str], right: frozenset[str]) -> float:
    """The share of the smaller set that is in the larger one."""
    return len(left & right) / min(len(left), len(right)) if left and right else 0.0


# --- the user's side -----------------------------------------------------------------------------------------------


def reaction(text: str, agent: str) -> Reaction:
    """How a user's turn takes what the agent said just before it, the weightiest first."""
    said = plain(text)
    whole = " . ".join(said)
    if cues.WANTS_PERSON.search(whole):
        return Reaction.ESCALATION
    solved = _says(said, cues.WORKS) and not _says(said, cues.STILL_BROKEN)
    if cues.GIVES_UP.search(whole) or _says(said, cues.GIVES_UP):
        return Reaction.SOLVED if solved else Reaction.GIVES_UP
    if _says(said, cues.MEANT_OTHERWISE) or (not solved and _corrects(said, agent)):
        return Reaction.CORRECTION
    if not solved and _complains(text, said, agent):
        return Reaction.COMPLAINT
    if solved:
        return Reaction.SOLVED
    return Reaction.PLEASED if _pleased(text, said) else Reaction.NEUTRAL


def leaves_open(text: str) -> bool:
    """Whether a turn ends by wanting something: with a question, or with an order."""
    last = (plain(text) or [""])[-1]
    return bool(cues.QUESTION.search(last)) or (len(last.split()) > 1 and bool(cues.ORDERS.search(last)))


def _says(said: Iterable[str], cue: re.Pattern[str]) -> bool:
    return any(cue.search(line) for line in said)


def _corrects(said: list[str], agent: str) -> bool:
    if _is_question(agent) or not said:
        return False  # "no" answers a question
    if rejected_words(said) & content_words(agent):
        return True
    if _says(said, cues.STILL_BROKEN):
        return False  # "nope, still slow" corrects nothing
    says_no = cues.SAYS_NO.search(said[0]) and len(" ".join(said).split()) > len("no , wait".split())
    reports = (cues.REPORTS.search(line) for line in said)
    put_right = _says(said, cues.PUTS_RIGHT) and not _pleased("", said)
    return bool(says_no) or put_right or any(found and found["subject"] in ("that", "this") for found in reports)


def rejected_words(said: Iterable[str]) -> frozenset[str]:
    """What a user puts away: Saturday, where they say "Friday, not Saturday"."""
    found: set[str] = set()
    for line in said:
        for match in cues.PUTS_AWAY.finditer(line):
            found |= content_words(next(part for part in match.groups() if part))
    return frozenset(found)


def _is_question(text: str) -> bool:
    return text.rstrip().endswith("?")


def _complains(text: str, said: list[str], agent: str) -> bool:
    return (
        _says(said, cues.STILL_BROKEN)
        or _says(said, cues.DISPLEASED)
        or (_says(said, cues.REPORTS) and not _is_question(agent))
        or _says(said, cues.TRY_AGAIN)
        or bool(said and cues.FLATLY_NO.search(said[0]))
        or cues.PASTED_FAILURE.search(text) is not None
    )


def _pleased(text: str, said: list[str]) -> bool:
    if cues.GLAD.search(text):
        return True
    return not _says(said, cues.ONLY_POLITE) and (_says(said, cues.THANKS) or _says(said, cues.PRAISE))


# --- the agent's side ----------------------------------------------------------------------------------------------


def admission(text: str) -> Admission | None:
    """What an agent's turn owns up to, if anything."""
    said = plain(text)
    for cue, owned in (
        (cues.HANDS_OVER, Admission.HANDOVER),
        (cues.FINDS_NOTHING, Admission.NOTHING_FOUND),
        (cues.IS_UNABLE, Admission.UNABLE),
    ):
        if _says(said, cue):
            return owned
    broke = _says(said, cues.BREAKS) and _says(said, cues.OF_ITS_OWN) and not _says(said, cues.CLAIMS_DONE)
    return Admission.BROKEN if broke else None


def only_asks(text: str) -> bool:
    """Whether a turn is a question back and nothing else."""
    said = plain(text)
    return bool(said) and all(cues.QUESTION.search(line) for line in said)


# --- tools ---------------------------------------------------------------------------------------------------------


def tool_failed(tool: dict[str, Any]) -> bool:
    """By its status, or, where it tells none, by an error among its data."""
    status = str(tool.get("status") or "").strip()
    if status:
        return cues.TOOL_FAILED.search(status) is not None
    data = tool.get("tool_data")
    return isinstance(data, dict) and any(bool(data.get(name)) for name in ("error", "exception", "is_error"))
