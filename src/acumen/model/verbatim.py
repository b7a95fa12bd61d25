"""Whether a text repeats words that only an erased user has said. Pure."""

import re
from collections.abc import Iterable

# This many words in a row are a quotation; fewer are common language.
RUN = 3
_WORD = re.compile(r"[^\s\"'`()\[\]{},;:!?]+")
# One that no dictionary has: a path, a number, an address, a name in code.
_ODD = re.compile(r"[\d/@_\\]|\w\.\w|[a-z][A-Z]")
SHORTEST_ODD = 4


def repeats_verbatim(text: str, gone: Iterable[str], left: Iterable[str]) -> bool:
    """Words that remaining users say too are kept."""
    quoted = _quotations(text)
    taken = {part for source in gone for part in _quotations(source) & quoted}
    return bool(taken and taken - {part for source in left for part in _quotations(source)})


def _quotations(text: str) -> set[str]:
    words = [word.rstrip(".") for word in _WORD.findall(text)]
    lowered = [word.lower() for word in words]
    runs = {" ".join(lowered[start : start + RUN]) for start in range(len(words) - RUN + 1)}
    return runs | {word.lower() for word in words if len(word) >= SHORTEST_ODD and _ODD.search(word)}
