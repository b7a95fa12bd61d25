"""A sentence of several statements, cut into them: "I live in Oslo and I'm allergic to nuts" are two memories.

Each ends on its own, so a move does not end the allergy.
"""

import re

from acumen.learn.extract.remember_forget import remember_opening
from acumen.learn.extract.statements import declarative_part, statement, with_apostrophes
from acumen.model.lazy_regex import lazy_regex
from acumen.model.sentences import Sentence

# Before a clause with a subject of its own.
_SUBJECT = r"(?=(?:i|i'm|im|i've|ive|we|we're|we've|my|our)\s)"
_JOINT = lazy_regex(
    rf"(?:\s*[,;]\s*(?:and\s+|but\s+)?|\s+[-–—]\s+(?:and\s+)?|\s+(?:and|but)\s+){_SUBJECT}", re.IGNORECASE
)
_JOINT_THAT = lazy_regex(rf"\s*,?\s+and\s+(?:that\s+)?{_SUBJECT}|\s*,\s*(?:that\s+)?{_SUBJECT}", re.IGNORECASE)


# "I moved to Porto" says too little to be kept, and yet what follows is another statement; "when I cook" is part of it.
_INDEPENDENT = lazy_regex(rf"(?!i meant?\b){_SUBJECT}", re.IGNORECASE)


def clauses(sentence: Sentence) -> list[Sentence]:
    """The sentence's statements, each with the words that ask to remember it; itself unless its opening is one."""
    asked = remember_opening(sentence.text)
    cuts = [match.span() for match in (_JOINT_THAT if asked else _JOINT).finditer(sentence.text)]
    begins, ends = [0, *(end for _, end in cuts)], [*(start for start, _ in cuts), len(sentence.text)]
    pieces: list[tuple[int, int]] = []
    for begin, end in zip(begins, ends, strict=True):
        clause = sentence.text[begin or len(asked) : end]
        if _stands_alone(clause, explicit=bool(asked)) or (not begin and _INDEPENDENT.match(declarative_part(clause))):
            pieces.append((begin, end))
        elif pieces:
            pieces[-1] = (pieces[-1][0], end)
        else:
            return [sentence]
    return [_piece(sentence, begin, end, asked) for begin, end in pieces]


def _piece(sentence: Sentence, begin: int, end: int, asked: str) -> Sentence:
    text = sentence.text[begin:end]
    return Sentence(sentence.start + begin, sentence.start + end, f"{asked}{text}" if begin else text)


def _stands_alone(text: str, *, explicit: bool) -> bool:
    return statement(with_apostrophes(text), dated=True, explicit=explicit) is not None
