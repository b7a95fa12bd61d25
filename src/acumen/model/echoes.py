"""Recognising our own words: text that we put into a prompt and that comes back in what is published."""

import re
from collections.abc import Iterable

from msgspec import Struct

from acumen.model.ids import MemoryRef

# Shorter texts come back by chance ("yes, please do that").
FEWEST_WORDS = 4

CONTEXT_OPEN = "<acumen-context>"
CONTEXT_CLOSE = "</acumen-context>"

# The date, the handle and the mark that a context puts before a memory.
LINE_START = re.compile(r"\s*(?:- )?(?:\d{4}-\d{2}-\d{2} )?\[[mt]\d{1,12}\] (?:\(in conflict\) )?")

_WORD = re.compile(r"\w+")
_FENCES = re.compile(f"{re.escape(CONTEXT_OPEN)}|{re.escape(CONTEXT_CLOSE)}")


class RenderedMemory(Struct, frozen=True):
    """A memory as it was rendered into a context."""

    ref: MemoryRef
    text: str


class BlankedTurn(Struct, frozen=True):
    """What is left of a turn when our own words are blanked, every other character in its old place."""

    text: str
    echoed: tuple[MemoryRef, ...]


def without_echoes(text: str, shown: Iterable[RenderedMemory], *, by_user: bool = False) -> BlankedTurn:
    """Blanks a whole context that we rendered, and every shown memory whose words come back in order.

    Memories are users' own sentences: outside of a rendered context a user who says one again is no echo.
    """
    spans = list(_contexts(text))
    if by_user:
        rendered = " ".join(text[start:end] for start, end in spans)
        returned = without_echoes(_FENCES.sub(" ", rendered), shown).echoed if rendered else ()
        return BlankedTurn(_blanked(text, spans), returned)
    words = [(match.group().lower(), match.start(), match.end()) for match in _WORD.finditer(text)]
    # One space on either side makes a match of the joined words a match of whole words.
    joined = " " + " ".join(word for word, _, _ in words) + " "
    echoed = []
    for memory in shown:
        places = list(_find(joined, memory.text, words))
        if places:
            echoed.append(memory.ref)
            spans += places
    return BlankedTurn(_blanked(text, spans), tuple(dict.fromkeys(echoed)))


def joined_words(text: str) -> str:
    """The words of a text between single spaces, so that a part of it is one of whole words."""
    return f" {' '.join(_WORD.findall(text.lower()))} "


def _contexts(text: str) -> Iterable[tuple[int, int]]:
    start = text.find(CONTEXT_OPEN)
    while start >= 0:
        end = text.find(CONTEXT_CLOSE, start)
        stop = len(text) if end < 0 else end + len(CONTEXT_CLOSE)
        yield start, stop
        start = text.find(CONTEXT_OPEN, stop)


def _find(joined: str, memory: str, words: list[tuple[str, int, int]]) -> Iterable[tuple[int, int]]:
    """Every place where the memory's words stand."""
    memory_words = [match.group().lower() for match in _WORD.finditer(LINE_START.sub("", memory, count=1))]
    if len(memory_words) < FEWEST_WORDS:
        return
    text = f" {' '.join(memory_words)} "
    at = joined.find(text)
    while at >= 0:
        first = joined.count(" ", 0, at)
        yield words[first][1], words[first + len(memory_words) - 1][2]
        at = joined.find(text, at + len(text) - 1)


def _blanked(text: str, spans: list[tuple[int, int]]) -> str:
    for start, end in spans:
        text = text[:start] + " " * (end - start) + text[end:]
    return text
