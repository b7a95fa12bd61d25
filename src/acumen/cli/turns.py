"""What somebody wants to publish, read from words, a file or standard input."""

import json
import re
import sys
from pathlib import Path
from typing import Any

from acumen.errors import BadInput

# Only these are taken for a speaker: "note: …" is something the user said.
SPEAKERS = frozenset("user human customer assistant agent ai bot model system tool".split())
SPOKEN = re.compile(r"\s*(\w+)\s*:\s*(.*)", re.DOTALL)

Turn = dict[str, Any]
Body = dict[str, Any]


def bodies(words: list[str], file: Path | None, *, stdin: bool) -> list[Body]:
    """What to publish, each with `interaction_data_list`, and more where a file says more."""
    sources = [bool(words), file is not None, stdin]
    if sum(sources) != 1:
        raise BadInput('Say what to publish in one way: as words ("user: …"), with --file, or with --stdin.')
    if words:
        return [_body([spoken(text) for text in words])]
    text, name = (sys.stdin.read(), "standard input") if file is None else (_read(file), str(file))
    return parsed(text, name)


def spoken(text: str) -> Turn:
    """`assistant: Done.` is the assistant's turn; without a speaker it is the user's."""
    match = SPOKEN.fullmatch(text)
    if match and match[1].lower() in SPEAKERS:
        return {"role": match[1].capitalize(), "content": match[2]}
    return {"role": "User", "content": text}


def parsed(text: str, name: str) -> list[Body]:
    """JSON (turns, one turn, or a whole publish body), JSON lines of the same, or plain lines `speaker: words`."""
    if not text.strip():
        raise BadInput(f"There is nothing to publish in {name}.")
    if text.lstrip()[0] not in "[{":
        return [_body([spoken(line) for line in text.splitlines() if line.strip()])]
    found = _json(text, name)
    whole = [item for item in found if "interaction_data_list" in item]
    turns = [item for item in found if "interaction_data_list" not in item]
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
        except ValueError as wrong:
            raise BadInput(f"{name} is neither JSON nor JSON lines: line {number}: {wrong}.") from None
    return items


def _item(item: Any, place: int, name: str) -> dict[str, Any]:
    if isinstance(item, str):
        return spoken(item)
    if not isinstance(item, dict):
        raise BadInput(f"Item {place} of {name} is not a turn: write an object with role and content.")
    return item


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise BadInput(f"{file} is not a text in UTF-8.") from None


def _body(turns: list[Turn]) -> Body:
    return {"interaction_data_list": turns}
