"""The labelled conversations, read from their files. `README.md` says what the labels mean."""

import json
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from bench.learning.matching import Matcher, Words

FOLDER = Path(__file__).parent
PARTS = ("open", "held")
# Written later and read by whoever works on the rules: they show what a change does, and claim nothing.
DEV, FRESH, LAST = "dev", "fresh", "last"
READ = ("open", DEV, FRESH, LAST)
# Of these, as of the held part, only figures are told; networks were chosen by the first.
SEALED, LATEST = "sealed", "latest"
# By two more writers, after all else: scored when nothing was changed any more.
EXAM = "exam"
LATER = (DEV, FRESH, LAST, SEALED, LATEST, EXAM)
DOMAINS = ("support", "coding", "health", "finance", "operations")
# How many days each lasts.
DAYS = {"one_day": 1, "one_week": 7, "one_month": 31, "one_quarter": 92, "one_year": 366}
LIMITED = frozenset(DAYS)
TIMES_TO_LIVE = LIMITED | {"infinity"}
SAYS = ("fact", "preference", "instruction", "correction", "confirmation")
# Why a turn has nothing to learn in it.
NOTHING = (
    *("question", "one-off", "chit-chat", "thanks", "pasted", "quoted"),
    *("hypothetical", "third person", "sarcasm"),
)


class Turn(Struct, frozen=True):
    session_id: str
    role: str
    content: str
    nothing: str = ""  # of a user's turn: why there is nothing to learn in it

    @property
    def by_user(self) -> bool:
        return self.role == "user"


class Expected(Struct, frozen=True):
    """A memory that should be current at the end. Turns are counted from 0 over all sessions of the user."""

    turn: int
    about: str
    says: str
    kind: str  # profile | playbook
    matcher: Matcher
    either: bool = False  # as good when it is of the other kind
    ttl: frozenset[str] = frozenset()  # acceptable ones; none given, none asked for
    pitfall: Words = ()  # what a lesson should name as the agent's mistake

    @property
    def ends(self) -> bool:
        """Whether it should stop by itself."""
        return bool(self.ttl) and "infinity" not in self.ttl


class Past(Struct, frozen=True):
    """What was said in `turn` and must not be current at the end, because of what was said in `by`."""

    turn: int
    by: int
    about: str
    matcher: Matcher
    now: str = ""  # the `about` of what has taken its place; empty where nothing has


class Conversation(Struct, frozen=True):
    """All sessions of one user, and what should be known of them afterwards."""

    id: str
    domain: str
    user_id: str
    turns: tuple[Turn, ...]
    expected: tuple[Expected, ...]
    superseded: tuple[Past, ...]
    forgotten: tuple[Past, ...]
    absent: tuple[Matcher, ...]
    acceptable: tuple[Matcher, ...]

    def named(self, about: str) -> Expected:
        return next(expected for expected in self.expected if expected.about == about)


def read(part: str) -> list[Conversation]:
    lines = (FOLDER / f"{part}.jsonl").read_text(encoding="utf-8").splitlines()
    return [conversation(json.loads(line)) for line in lines]


def conversation(line: dict[str, Any]) -> Conversation:
    expect = line["expect"]
    turns = tuple(_turns(line["sessions"]))
    expected = (*_expected("profile", expect["profiles"]), *_expected("playbook", expect["playbooks"]))
    return Conversation(
        id=line["id"],
        domain=line["domain"],
        user_id=line["user_id"],
        turns=turns,
        expected=tuple(_by_the_calendar(one, turns[one.turn].content) for one in expected),
        superseded=_past(expect["superseded"]),
        forgotten=_past(expect["forgotten"]),
        absent=tuple(_matcher(one) for one in expect["absent"]),
        acceptable=tuple(_matcher(one) for one in expect.get("acceptable", [])),
    )


def _turns(sessions: Sequence[dict[str, Any]]) -> Iterator[Turn]:
    for session in sessions:
        for turn in session["turns"]:
            yield Turn(session["session_id"], **turn)


def _expected(kind: str, labels: Sequence[dict[str, Any]]) -> tuple[Expected, ...]:
    return tuple(
        Expected(
            turn=label["turn"],
            about=label["about"],
            says=label["says"],
            kind=kind,
            matcher=_matcher(label),
            either=label.get("either", False),
            ttl=_ttl(label.get("ttl", [])),
            pitfall=_words(label.get("pitfall", [])),
        )
        for label in labels
    )


def _by_the_calendar(expected: Expected, said: str) -> Expected:
    """How long "until 15 September" is depends on the day it is played: what covers it then is right, too."""
    named = _UNTIL_DATE.search(said) if expected.ends else None
    if named is None:
        return expected
    month, day = _MONTHS.index((named["month"] or named["before"])[:3].lower()) + 1, named["day"] or named["after"]
    return replace(expected, ttl=expected.ttl | {_covering(month, int(day))})


def _covering(month: int, day: int) -> str:
    """The shortest that lasts until that day comes next."""
    today = datetime.now(UTC).date()
    first = (date(year, month, 1) for year in (today.year, today.year + 1))
    days = next(days for days in ((one - today).days + day - 1 for one in first) if days >= 0)
    return next(name for name, most in DAYS.items() if days < most)


_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
_MONTH = rf"(?:{'|'.join(_MONTHS)})[a-z]*"
_UNTIL_DATE = re.compile(
    r"\b(?:until|till?|through|thru|to|before|by|on) (?:the )?"
    rf"(?:(?P<day>\d\d?)(?:st|nd|rd|th)?(?: of)? (?P<month>{_MONTH})|(?P<before>{_MONTH}) (?P<after>\d\d?))\b",
    re.IGNORECASE,
)


def _past(labels: Sequence[dict[str, Any]]) -> tuple[Past, ...]:
    return tuple(
        Past(label["turn"], label["by"], label["about"], _matcher(label), label.get("now", "")) for label in labels
    )


def _ttl(given: str | list[str]) -> frozenset[str]:
    return frozenset([given] if isinstance(given, str) else given)


def _matcher(label: dict[str, Any]) -> Matcher:
    return Matcher(_words(label["must"]), tuple(label.get("must_not", [])))


def _words(lists: Sequence[Sequence[str]]) -> Words:
    return tuple(tuple(alternatives) for alternatives in lists)
