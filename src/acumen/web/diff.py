"""What changed between two texts, word by word. Pure."""

import re
from collections.abc import Iterator
from difflib import SequenceMatcher

from msgspec import Struct

_WORDS = re.compile(r"\s+|\w+|[^\w\s]")
# Comparing takes time by the square of the words; beyond this the texts are shown side by side.
MOST_WORDS = 2_000


class Piece(Struct, frozen=True):
    """`how` is `same`, `gone` or `new`."""

    how: str
    text: str


def words_changed(before: str, after: str) -> list[Piece]:
    """Pieces that together hold both texts; what is gone stands before what is new."""
    old, new = _WORDS.findall(before), _WORDS.findall(after)
    if max(len(old), len(new)) > MOST_WORDS:
        return list(_pieces(("gone", before), ("new", after)))
    found: list[Piece] = []
    for tag, start, end, new_start, new_end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            found.append(Piece("same", "".join(old[start:end])))
        else:
            found += _pieces(("gone", "".join(old[start:end])), ("new", "".join(new[new_start:new_end])))
    return found


def _pieces(*given: tuple[str, str]) -> Iterator[Piece]:
    return (Piece(how, text) for how, text in given if text)
