"""A memory of several facts, in its parts: of which one may end while the others hold."""

import re
from collections.abc import Collection

from acumen.learn.rules import keys, verbs
from acumen.learn.rules.lessons import WORKED
from acumen.learn.rules.words import words
from acumen.model.patterns import later

# Within so many words a clause has come to its verb.
TO_THE_VERB = 5
# How a memory begins that is told as an answer, for some time or as what worked: said of all its parts.
SAID = ", the user said: "
FOR_SOME_TIME = "For a limited time, the user asks: "
_FRAME = later(rf'(?:(?:Asked|To) ".*?"{SAID}|{FOR_SOME_TIME}|{WORKED} )?', re.DOTALL)
_JOINTS = later(r"([,;]\s+(?:and\s+|but\s+)?|(?<=[\w)])[.!]\s+|\s+(?:and|but)\s+)", re.IGNORECASE)
_LINKS = ("and", "but")
_BE = frozenset("is are am was were has have had does do did can cannot will would must should".split())


def clauses(text: str) -> list[str]:
    """The parts that say something each; none where there is only one."""
    frame, pieces = _pieces(text)
    found = [frame + part for part in pieces[::2] if _says_something(part)]
    return found if len(found) > 1 else []


def without(text: str, ended: Collection[str]) -> str:
    """What is left of a memory whose parts have ended; nothing, where the rest cannot stand by itself."""
    frame, pieces = _pieces(text)
    left, first = "", ""
    for place in range(0, len(pieces), 2):
        if frame + pieces[place] not in ended:
            left += (pieces[place - 1] if left else "") + pieces[place]
            first = first or pieces[place]
    stands = _says_something(left) and (first == pieces[0] or _tells(first))
    whole = frame + left
    return f"{whole[:1].upper()}{whole[1:]}." if stands else ""


def _pieces(text: str) -> tuple[str, list[str]]:
    """What it begins with; then parts and what joins them, in turn. 'Atlas and Borealis' stay together."""
    frame = _FRAME.match(text)
    begun = frame[0] if frame else ""
    first, *rest = _JOINTS.split(text[len(begun) :].rstrip(".! "))
    found = [first]
    for joint, part in zip(rest[::2], rest[1::2], strict=True):
        if joint.strip().lower() in _LINKS and not _tells(part):
            found[-1] += joint + part
        else:
            found += [joint, part]
    return begun, found


def _tells(part: str) -> bool:
    """Whether it soon comes to a verb of its own; else it is said of what stood before it."""
    lows = [word.low for word in words(part)[:TO_THE_VERB]]
    return any(low in _BE or verbs.is_third(low) or verbs.is_base(low) or verbs.is_past(low) for low in lows)


def _says_something(part: str) -> bool:
    return bool(keys.telling(words(part)))
