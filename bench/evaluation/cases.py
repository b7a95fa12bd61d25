"""The labelled sessions, read from their files. `README.md` says what the labels mean."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct

from acumen.model.conversation import Interaction
from acumen.model.ids import InteractionId, Millis, RequestId, SessionId, UserId

FOLDER = Path(__file__).parent
PARTS = ("open", "held")
_TURN = re.compile(r"^(?P<who>[ua])(?:\[tool (?P<tool>\S+) (?P<status>\S+)\])?: ?(?P<text>.*)$")


class Case(Struct, frozen=True):
    """A session, and how it ended in the eyes of the person who wrote it."""

    name: str
    turns: tuple[Interaction, ...]
    success: bool
    corrections: int
    escalated: bool
    failure_type: str | None = None
    turns_to_resolution: int | None = None


def cases(part: str) -> list[Case]:
    text = (FOLDER / f"{part}.txt").read_text(encoding="utf-8")
    return [_case(block) for block in text.split("== ")[1:]]


def _case(block: str) -> Case:
    head, *lines = block.strip().splitlines()
    name, _, told = (part.strip() for part in head.partition("|"))
    labels = dict(label.split("=", 1) for label in told.split())
    turns = labels.get("turns")
    return Case(
        name=name,
        turns=tuple(_turns(name, lines)),
        success=labels["success"] == "yes",
        corrections=int(labels["corrections"]),
        escalated=labels["escalated"] == "yes",
        failure_type=labels.get("type"),
        turns_to_resolution=None if turns is None else int(turns),
    )


def _turns(name: str, lines: list[str]) -> Iterator[Interaction]:
    """A line that begins with two spaces goes on with the turn before it."""
    whole: list[str] = []
    for line in lines:
        if line.startswith("  ") and whole:
            whole[-1] += "\n" + line[2:]
        else:
            whole.append(line)
    for number, line in enumerate(whole):
        head, *rest = line.split("\n")
        found = _TURN.match(head)
        if found is None:
            raise ValueError(f"{name}: {line!r} is not a turn")
        tool: dict[str, Any] = {"tool_name": found["tool"], "tool_data": {}, "status": found["status"]}
        yield Interaction(
            id=InteractionId(number + 1),
            user_id=UserId(name),
            session_id=SessionId(name),
            request_id=RequestId(f"{name}-{number}"),
            created_at=Millis(number),
            role="user" if found["who"] == "u" else "assistant",
            content="\n".join([found["text"], *rest]),
            tools_used=[tool] if found["tool"] else [],
        )
