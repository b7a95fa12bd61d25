"""The labelled conversations, read from their files. `README.md` says what the labels mean."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from bench.learning.matching import Matcher, Words

FOLDER = Path(__file__).parent
PARTS = ("open", "held")
# Written later, for work on the rules; no figure is claimed by it.
DEV = "dev"
# By ten other writers; as with the held part only its figures are told.
SEALED = "sealed"
# By two more; its figures are told likewise, and networks were chosen by them.
FRESH = "fresh"
# By one more, after all else: nothing was chosen by it.
LATEST = "latest"
DOMAINS = ("support", "coding", "health", "finance", "operations")
LIMITED = frozenset({"one_day", "one_week", "one_month", "one_quarter", "one_year"})
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
    return Conversation(
        id=line["id"],
        domain=line["domain"],
        user_id=line["user_id"],
        turns=tuple(_turns(line["sessions"])),
        expected=(*_expected("profile", expect["profiles"]), *_expected("playbook", expect["playbooks"])),
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
