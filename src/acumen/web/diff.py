"""Word-by-word difference of two texts. Pure."""

import re
from collections.abc import Iterator
from difflib import SequenceMatcher

from msgspec import Struct

_WORDS = re.compile(r"\s+|\w+|[^\w\s]")
# The comparison takes quadratic time; longer texts are shown one after the other.
MOST_WORDS = 2_000


class Piece(Struct, frozen=True):
    """`how` is `same`, `gone` or `new`."""

    how: str
    text: str


def words_changed(before: str, after: str) -> list[Piece]:
    """Pieces that together contain both texts; removed words come before added ones."""
    old, new = _WORDS.findall(before), _WORDS.findall(after)
    if max(len(old), len(new)) > MOST_WORDS:
        return list(_pieces(("gone", before), ("new", after)))
    pieces: list[Piece] = []
    for tag, start, end, new_start, new_end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            pieces.append(Piece("same", "".join(old[start:end])))
        else:
            pieces += _pieces(("gone", "".join(old[start:end])), ("new", "".join(new[new_start:new_end])))
    return pieces


def _pieces(*texts: tuple[str, str]) -> Iterator[Piece]:
    return (Piece(how, text) for how, text in texts if text)
