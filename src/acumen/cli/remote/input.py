"""Input of commands: turns from arguments, a file or standard input; names; and times."""

import json
import re
import sys
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar

from acumen.errors import BadInput

# Only these are roles: in "note: …" the user says "note".
ROLES = frozenset("user human customer assistant agent ai bot model system tool".split())
PREFIX = re.compile(r"\s*(\w+)\s*:\s")
ROLE_AND_TEXT = re.compile(r"\s*(\w+)\s*:\s*(.*)", re.DOTALL)

Turn = dict[str, Any]
Body = dict[str, Any]
E = TypeVar("E", bound=StrEnum)


def bodies(turns: list[str], file: Path | None, *, stdin: bool) -> list[Body]:
    """Publish bodies, each with `interaction_data_list`; those of a file may have more fields."""
    sources = [bool(turns), file is not None, stdin]
    if sum(sources) != 1:
        raise BadInput("Pass turns either as arguments, with --file or with --stdin.")
    if turns:
        return [_body([turn_of(text) for text in turns])]
    text, name = (sys.stdin.read(), "standard input") if file is None else (_read(file), str(file))
    return parsed(text, name)


def turn_of(text: str) -> Turn:
    """`assistant: Done.` is a turn of the assistant; text without a role is a turn of the user."""
    match = ROLE_AND_TEXT.fullmatch(text)
    if match and match[1].lower() in ROLES:
        return {"role": match[1].capitalize(), "content": match[2]}
    return {"role": "User", "content": text}


def role_warnings(texts: list[str]) -> list[str]:
    """For turns such as `bob: hello`, whose prefix looks like a role and is none."""
    prefixes = [PREFIX.match(text) for text in texts]
    unknown = dict.fromkeys(prefix[1] for prefix in prefixes if prefix and prefix[1].lower() not in ROLES)
    return [
        f"{name!r} is not a role, so the turn was stored as text of the user; use user: or assistant:"
        for name in unknown
    ]


def parsed(text: str, name: str) -> list[Body]:
    """JSON (turns, one turn, or a whole publish body), JSON lines of the same, or plain lines `role: text`."""
    if not text.strip():
        raise BadInput(f"{name} is empty: nothing to publish.")
    if text.lstrip()[0] not in "[{":
        return [_body([turn_of(line) for line in text.splitlines() if line.strip()])]
    items = _json(text, name)
    whole = [item for item in items if "interaction_data_list" in item]
    turns = [item for item in items if "interaction_data_list" not in item]
    return [*whole, _body(turns)] if turns else whole


def _json(text: str, name: str) -> list[dict[str, Any]]:
    try:
        read = json.loads(text)
        items = read if isinstance(read, list) else [read]
    except ValueError:
        items = _lines(text, name)
    return [_item(item, place, name) for place, item in enumerate(items, 1)]


def _lines(text: str, name: str) -> list[Any]:
    items = []
    for number, line in enumerate(text.splitlines(), 1):
        try:
            items += [json.loads(line)] if line.strip() else []
        except ValueError as error:
            raise BadInput(f"{name} is neither JSON nor JSON lines: line {number}: {error}.") from None
    return items


def _item(item: Any, place: int, name: str) -> dict[str, Any]:
    if isinstance(item, str):
        return turn_of(item)
    if not isinstance(item, dict):
        raise BadInput(f"Item {place} of {name} is not a turn: use an object with role and content.")
    return item


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise BadInput(f"{file} is not UTF-8 text.") from None


def _body(turns: list[Turn]) -> Body:
    return {"interaction_data_list": turns}


def member_of(names: type[E], name: str, what: str) -> E:
    try:
        return names(name)
    except ValueError:
        raise BadInput(f"Unknown {what} {name!r}; use one of {', '.join(names)}.") from None


def moment(text: str) -> datetime:
    """A date or time in ISO form; without a zone it is UTC."""
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise BadInput(f"{text!r} is not a time: write 2026-01-31 or 2026-01-31T12:00.") from None
    return at if at.tzinfo else at.replace(tzinfo=UTC)
