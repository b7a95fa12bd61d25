"""Cut a text into passages, each short enough that one vector can mean it."""

import re

from acumen.index.session_links import is_agent
from acumen.model.text import ends_with_abbreviation

# Some thirty-five words. Measured on LongMemEval: a fact said in passing drowns in the vector of a longer text.
LENGTH = 200
# What follows these passages is found by its words alone. Measured: more vectors cost much and find nothing more, and
# the long answers of agents would crowd out what people said of themselves.
MOST = 4
MOST_OF_AGENT = 2

# Where a sentence or a line ends; scripts without spaces put none after their full stops.
_END = re.compile(r"(?<=[.!?])\s+|\n+|(?<=[。！？।])")


def sentences(text: str) -> list[str]:
    """A full stop of an abbreviation ("Dr. Smith") ends no sentence."""
    joined: list[str] = []
    for part in _END.split(text.strip()):
        if joined and ends_with_abbreviation(joined[-1]):
            joined[-1] = f"{joined[-1]} {part}"
        elif part.strip():
            joined.append(part)
    return joined


def of_turn(role: str, text: str) -> list[str]:
    """The passages of a turn that are given a vector each."""
    return passages(text, MOST_OF_AGENT if is_agent(role) else MOST)


def passages(text: str, most: int = MOST) -> list[str]:
    """The first few passages, of whole sentences where these fit; a short text is one passage."""
    passages: list[str] = []
    for sentence in sentences(text.strip()[: 2 * LENGTH * most]):
        for piece in _pieces(sentence.strip()):
            if passages and len(passages[-1]) + len(piece) < LENGTH:
                passages[-1] = f"{passages[-1]} {piece}"
            else:
                passages.append(piece)
    return passages[:most] or [text.strip()]


def _pieces(sentence: str) -> list[str]:
    """The sentence, or where it is too long its parts, cut between words where there are any."""
    pieces, start = [], 0
    while len(sentence) - start > LENGTH:
        cut = sentence.rfind(" ", start + LENGTH // 2, start + LENGTH)
        end = cut if cut > 0 else start + LENGTH
        pieces.append(sentence[start:end].strip())
        start = end
    return [piece for piece in [*pieces, sentence[start:].strip()] if piece]
