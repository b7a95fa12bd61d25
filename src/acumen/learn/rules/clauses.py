"""A memory of several facts, in its parts: of which one may end while the others hold."""

import re
from collections.abc import Collection

from acumen.learn.rules import keys
from acumen.learn.rules.words import words
from acumen.model.patterns import later

# A part of fewer words says nothing of its own.
LEAST = 2
_JOINTS = later(r"([,;]\s+(?:and\s+|but\s+)?|(?<=[\w)])[.!]\s+|\s+(?:and|but)\s+)", re.IGNORECASE)
# What has none of these is said of what stood before it.
_FINITE = later(r"\b(?:is|are|was|were|has|have|had|does|do|did|can|will|must|should|user|\w+s)\b", re.IGNORECASE)


def clauses(text: str) -> list[str]:
    """The parts that say something each; none where there is only one."""
    found = [part for part in _pieces(text)[::2] if _says_something(part)]
    return found if len(found) > 1 else []


def without(text: str, ended: Collection[str]) -> str:
    """What is left of a memory whose parts have ended; nothing, where the rest cannot stand by itself."""
    pieces = _pieces(text)
    left = ""
    for place in range(0, len(pieces), 2):
        if pieces[place] not in ended:
            left += (pieces[place - 1] if left else "") + pieces[place]
    stands = _says_something(left) and (pieces[0] not in ended or _FINITE.search(left))
    return f"{left[:1].upper()}{left[1:]}." if stands else ""


def _pieces(text: str) -> list[str]:
    """Parts and what joins them, in turn."""
    return _JOINTS.split(text.rstrip(".! "))


def _says_something(part: str) -> bool:
    return len(part.split()) >= LEAST and bool(keys.telling(words(part)))
