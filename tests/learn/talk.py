"""Conversations written as lines: "agent: …" is the agent's turn, everything else the user's."""

from typing import Any

from acumen.learn.extract.by_rules import extract
from acumen.learn.extract.notes import Note
from acumen.learn.merge.changes import Changes
from acumen.learn.merge.merge import merge
from acumen.model.conversation import Turn, Window
from acumen.model.ids import InteractionId, Millis, RequestId, SessionId, UserId
from acumen.model.times import DAY_MS

# A Wednesday: 2025-10-15, noon UTC.
NOON = Millis(1_760_529_600_000)
# A Monday: 2023-05-08, noon UTC.
MONDAY = Millis(1_683_547_200_000)


def turn(number: int, line: str, at: Millis = NOON, **more: Any) -> Turn:
    by_user = not line.startswith("agent: ")
    text = line.removeprefix("agent: ").removeprefix("user: ")
    return Turn(InteractionId(number), RequestId("req"), SessionId("ses"), by_user, text, at=at, **more)


def window(*lines: str) -> Window:
    return Window(UserId("ann"), tuple(turn(number, line) for number, line in enumerate(lines, 1)))


def days(*lines: str) -> Window:
    """One turn a day, from MONDAY on."""
    turns = (turn(number, line, Millis(MONDAY + (number - 1) * DAY_MS)) for number, line in enumerate(lines, 1))
    return Window(UserId("ann"), tuple(turns))


def notes(*lines: str) -> list[Note]:
    return extract(days(*lines)).notes


def contents(*lines: str) -> list[str]:
    return [note.lesson.content for note in notes(*lines)]


def changes(*lines: str) -> Changes:
    """What a whole conversation changes for a user of whom nothing is known."""
    talk = days(*lines)
    extraction = extract(talk)
    return merge([], extraction.notes, extraction.endings, {turn.id: turn.at for turn in talk.turns})
