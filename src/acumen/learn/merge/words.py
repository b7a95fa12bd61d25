"""The words of a memory as merge compares them: stems of what carries meaning, numbers, and whether it denies."""

import re
from functools import lru_cache

from msgspec import Struct

from acumen.learn.extract.statements import content_words
from acumen.model.lazy_regex import lazy_regex

# Allergy and allergic, marry and married: longer words that begin alike are taken for one.
PREFIX = 5

_NEGATED = lazy_regex(
    r"\b(?:not|no|never|n't|don't|doesn't|didn't|isn't|aren't|wasn't|can't|cannot|won't|no longer|without|stop|"
    r"stopped|quit|avoid|hate|dislike)\b"
)
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_SUFFIXES = ("ing", "ied", "ies", "ed", "es", "'s", "s", "y", "e")


class Words(Struct, frozen=True):
    plain: str  # lower-case words, for comparing whole sentences
    stems: frozenset[str]
    numbers: frozenset[str]
    negated: bool

    def contains(self, other: "Words") -> bool:
        """Whether every word that carries meaning in the other is in this one."""
        return bool(other.stems) and all(any(alike(stem, mine) for mine in self.stems) for stem in other.stems)

    def overlap(self, other: "Words") -> float:
        """Shared stems by all stems of both."""
        both = self.stems | other.stems
        return len(self.stems & other.stems) / len(both) if both else 0.0


@lru_cache(maxsize=4096)
def words(text: str) -> Words:
    low = text.lower().replace("’", "'")
    plain = " ".join(re.findall(r"\w+", low))
    stems = frozenset(stem(word) for word in content_words(low) if word not in ("not", "never", "longer", "anymore"))
    return Words(plain, stems, frozenset(_NUMBER.findall(low)), bool(_NEGATED.search(low)))


def stem(word: str) -> str:
    for suffix in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= 3:
            return word[: -len(suffix)]
    return word


def alike(one: str, other: str) -> bool:
    return one == other or (min(len(one), len(other)) >= PREFIX and one[:PREFIX] == other[:PREFIX])
