"""Whether two lessons say the same, oppose each other, or are about different things: the only judge of it. Pure.

"Use emojis" and "no emojis" have nearly the same embedding, so the words decide together with the cosine: each content
word is required, forbidden, or only says when ("before committing").
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from acumen.learn.share.vocabulary import TABLES, filed, listed
from acumen.model.lazy_regex import lazy_regex
from acumen.model.text import STOPWORDS, stem, words

Vector = NDArray[np.float32]
REQUIRED, FORBIDDEN = 1, -1

# Chosen on the open part of bench/aggregation ("pairs put together rightly", "pairs found"): wordings of one rule have
# cosines of .35 to .9, different rules on the same topic .3 to .97, so words and named values count as well.
MIN_COSINE = 0.4
TERM_WEIGHT = 0.7
VALUE_WEIGHT = 1.0
SAME_SCORE = 1.1

_NEGATING, _CANCELLING, _WHEN, _BEGINNING = map(listed, ("negating", "cancelling", "when", "beginning"))
_NEGATING_SECOND = filed("negating_second")
_END = frozenset(". ; : ! ? ( ) -- - … but".split())
_OPPOSITES, _SYNONYMS, _VALUES, _NUMBERS = map(filed, ("opposites", "synonyms", "values", "numbers"))
_LIGHT = frozenset(map(stem, listed("light")))
_SHAPES = {kind: lazy_regex(shape) for kind, shape in TABLES["shapes"].items()}


class Stance(Struct, frozen=True):
    """Stems of words, required and forbidden; `terms` is all of them; values by kind ("currency": {"euro"})."""

    required: frozenset[str] = frozenset()
    forbidden: frozenset[str] = frozenset()
    terms: frozenset[str] = frozenset()
    values: Mapping[str, frozenset[str]] = field(default_factory=dict)
    focus: frozenset[str] = frozenset()  # what it is about, for or against: no words that go with anything
    situation: frozenset[str] = frozenset()  # the words of its trigger


@lru_cache(maxsize=4096)
def stance(instruction: str, trigger: str | None = None) -> Stance:
    signs: dict[str, int] = {}
    terms: set[str] = set()
    values: dict[str, set[str]] = {}
    for clause in _clauses(words(instruction)):
        for word, way in _signed(clause):
            name, sign = _named(word, way)
            if not name:
                continue
            terms.add(name)
            if sign:
                signs.setdefault(name, sign)
            if sign == REQUIRED and (valued := _value(word)):
                values.setdefault(valued[0], set()).add(valued[1])
    return Stance(
        frozenset(name for name, sign in signs.items() if sign == REQUIRED),
        frozenset(name for name, sign in signs.items() if sign == FORBIDDEN),
        frozenset(terms),
        {kind: frozenset(of_kind) for kind, of_kind in values.items()},
        frozenset(signs) - _LIGHT,
        frozenset(name for word in words(trigger or "") if (name := _named(word, 0)[0])),
    )


def same_rule(
    left: Stance, vector: Vector | None, right: Stance, other_vector: Vector | None, min_cosine: float = MIN_COSINE
) -> bool:
    """Whether two lessons on their own say the same. Vectors have length one.

    Where a vector is missing, the common terms take the place of the cosine.
    """
    cosine = _dice(left.terms, right.terms) if vector is None or other_vector is None else float(vector @ other_vector)
    score = cosine + TERM_WEIGHT * shared_terms(left, right) + VALUE_WEIGHT * agreed(left, right)
    return cosine >= min_cosine and score >= SAME_SCORE and not opposed(left, right)


def opposed(left: Stance, right: Stance) -> bool:
    """Different values of one kind, or one requires what the other forbids: no agent could follow both."""
    shared_kinds = left.values.keys() & right.values.keys()
    if any(left.values[kind].isdisjoint(right.values[kind]) for kind in shared_kinds):
        return True
    if shared_kinds:
        return False
    against = len(left.required & right.forbidden) + len(left.forbidden & right.required)
    along = len(left.required & right.required) + len(left.forbidden & right.forbidden)
    return against > 0 and against >= along


def agreed(left: Stance, right: Stance) -> bool:
    """Whether both name the same value of some kind."""
    return any(left.values[kind] & right.values[kind] for kind in left.values.keys() & right.values.keys())


def shared_terms(left: Stance, right: Stance) -> float:
    """How much two instructions are about the same, 0 to 1 (Dice), if possible beyond the situation they are for."""
    situation = left.situation | right.situation
    first, second = left.focus - situation, right.focus - situation
    return _dice(first, second) if first and second else _dice(left.focus, right.focus)


def _dice(first: frozenset[str], second: frozenset[str]) -> float:
    return 2 * len(first & second) / (len(first) + len(second)) if first and second else 0.0


def is_value(word: str) -> bool:
    """Whether a lower-case word names a value of a kind: a language, a tool, a unit, a number."""
    return _value(word) is not None


def _clauses(listed: Sequence[str]) -> Iterator[list[str]]:
    """Independent instructions: "Never X, always Y; do Z" has three."""
    clause: list[str] = []
    for place, word in enumerate(listed):
        if _ends(clause, word, listed[place + 1] if place + 1 < len(listed) else ""):
            yield clause
            clause = []
        elif any(map(str.isalnum, word)):
            clause.append(word)
    yield clause


def _ends(clause: Sequence[str], word: str, after: str) -> bool:
    if word == "," and clause and clause[0] in _WHEN:
        return True  # "Before you commit, run the tests"
    return word in _END or (word in (",", "and") and after in _BEGINNING)


def _signed(clause: Sequence[str]) -> list[tuple[str, int]]:
    """Each word with REQUIRED, FORBIDDEN, or 0 where it only says when."""
    sign = REQUIRED
    signed: list[tuple[str, int]] = []
    for place, word in enumerate(clause):
        if word == "without" or (sign == FORBIDDEN and _requires_first(clause, place)):
            # "Never ship without tests", "no refund until …": what came before only says when.
            signed = [(earlier, 0) for earlier, _ in signed]
            sign = -sign
        elif word in _NEGATING or any(_NEGATING_SECOND.get(near) == word for near in clause[:place]):
            sign = -sign
        elif word in _CANCELLING and sign == FORBIDDEN:
            sign = REQUIRED
        elif word in _WHEN:
            return [*signed, *((situation, 0) for situation in clause[place + 1 :])]
        else:
            signed.append((word, sign))
    return signed


def _requires_first(clause: Sequence[str], place: int) -> bool:
    """Whether what follows here, after a "never", must happen first: "… before you have looked", "… until …"."""
    if clause[place] in ("until", "unless"):
        return True
    return clause[place] == "before" and any(word in ("have", "has") for word in clause[place + 1 : place + 3])


def _named(word: str, sign: int) -> tuple[str, int]:
    """The name under which a word is compared, empty for one without content; an opposite turns the sign."""
    plain = word.strip("`\"'.,").removesuffix("'s")
    if plain in STOPWORDS or not any(map(str.isalnum, plain)):
        return "", 0
    named = _SYNONYMS.get(plain, plain)
    root = named if named in _VALUES or any(map(str.isdigit, named)) else stem(named)
    return (_OPPOSITES[root], -sign) if root in _OPPOSITES else (root, sign)


def _value(word: str) -> tuple[str, str] | None:
    plain = word.strip("`\"'.,")
    named = _NUMBERS.get(plain) or _SYNONYMS.get(plain, plain)
    if named in _VALUES:
        return _VALUES[named], named
    shaped = next((kind for kind, shape in _SHAPES.items() if shape.fullmatch(named)), None)
    return (shaped, named.lstrip("$€£").replace(",", "")) if shaped else None
