"""A sentence of several statements, cut into them: "I live in Oslo and I'm allergic to nuts" are two memories.

Each ends by itself, so a move does not take the allergy along.
"""

import re

from msgspec.structs import replace

from acumen.learn.extract.statements import statement
from acumen.model.lazy_regex import lazy_regex
from acumen.model.memories.base import Category
from acumen.model.sentences import Sentence

# Before a clause with a subject of its own.
_JOINT = lazy_regex(
    r"(?:\s*[,;]\s*(?:and\s+|but\s+)?|\s+(?:and|but)\s+)(?=(?:i|i'm|i've|we|we're|we've|my|our)\s)", re.IGNORECASE
)


def clauses(sentence: Sentence) -> list[Sentence]:
    """The sentence itself unless each of its clauses states something; what happened is told as a whole."""
    cuts = [(0, 0), *(match.span() for match in _JOINT.finditer(sentence.text))]
    if len(cuts) == 1:
        return [sentence]
    ends = [start for start, _ in cuts[1:]] + [len(sentence.text)]
    parts = [(begin, end) for (_, begin), end in zip(cuts, ends, strict=True)]
    if not all(_stands_alone(sentence.text[begin:end]) for begin, end in parts):
        return [sentence]
    return [
        replace(sentence, start=sentence.start + begin, end=sentence.start + end, text=sentence.text[begin:end])
        for begin, end in parts
    ]


def _stands_alone(text: str) -> bool:
    stated = statement(text, dated=True)
    return stated is not None and stated.category is not Category.EVENT
