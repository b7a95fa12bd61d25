"""The word lists of vocabulary.txt."""

import re
from pathlib import Path

_TEXT = (Path(__file__).parent / "vocabulary.txt").read_text("utf-8")
_LISTS = dict(
    line.split(": ", 1)
    for line in re.sub(r"\n +", " ", _TEXT).splitlines()
    if ": " in line and not line.startswith("#")
)


def listed(name: str) -> frozenset[str]:
    return frozenset(_LISTS[name].split())


def filed(name: str) -> dict[str, str]:
    """Each word with the one it is filed under."""
    rows = (row.split("=") for row in _LISTS[name].split())
    return {word: first for first, words in rows for word in words.split("|")}
