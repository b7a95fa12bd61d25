"""Cut a long text into passages, each short enough that one vector can mean it."""

import re

# About forty words. Measured on LongMemEval: a fact said in passing drowns in the vector of a longer text.
LENGTH = 240
# A text never costs more vectors than this; the passages of a very long one grow instead.
MOST = 8

# Where a sentence or a line ends; scripts without spaces put none after their full stops.
_END = re.compile(r"(?<=[.!?])\s+|\n+|(?<=[。！？।])")


def passages(text: str) -> list[str]:
    """Whole sentences where they fit, in order, nothing left out; a short text is one passage."""
    text = text.strip()
    length = max(LENGTH, -(-len(text) // MOST))
    found = _packed(text, length)
    while len(found) > MOST:
        length += length // 4
        found = _packed(text, length)
    return found or [text]


def _packed(text: str, length: int) -> list[str]:
    found: list[list[str]] = []
    room = 0
    for sentence in _END.split(text):
        for piece in _pieces(sentence.strip(), length):
            room -= len(piece) + 1
            if room < 0:
                found.append([])
                room = length - len(piece)
            found[-1].append(piece)
    return [" ".join(pieces) for pieces in found]


def _pieces(sentence: str, length: int) -> list[str]:
    """A sentence that is no longer than `length`, or its parts, cut between words where there are any."""
    pieces = []
    start = 0
    while len(sentence) - start > length:
        cut = sentence.rfind(" ", start + length // 2, start + length)
        end = cut if cut > 0 else start + length
        pieces.append(sentence[start:end].strip())
        start = end
    return [piece for piece in [*pieces, sentence[start:].strip()] if piece]
