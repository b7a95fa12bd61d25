"""When the text of a memory says what was expected of it: words and phrases, whatever the sentence around them."""

import re
from functools import cache

from msgspec import Struct

# Alternatives that many matchers share; a matcher names them by their key.
NAMED: dict[str, tuple[str, ...]] = {
    "@not": (
        *("no", "not", "never", "nothing", "none", "nobody", "neither", "nor", "without", "cannot", "no longer"),
        *("don't", "doesn't", "didn't", "won't", "can't", "isn't", "aren't", "shouldn't", "mustn't", "dont"),
        *("avoid*", "stop*", "skip*", "refrain*", "omit*", "exclude*", "leave out", "instead of", "rather than"),
    ),
}
# A memory is a sentence or two. What is longer is a transcript, and says nothing in particular.
MOST_CHARACTERS = 400

Words = tuple[tuple[str, ...], ...]


class Matcher(Struct, frozen=True):
    """Every inner list of `must` needs one of its alternatives, and none of `must_not` may occur."""

    must: Words
    must_not: tuple[str, ...] = ()

    def fits(self, text: str) -> bool:
        return self.names(text) and not self.excepts(text)

    def names(self, text: str) -> bool:
        """Whether all that must occur does."""
        return len(text) <= MOST_CHARACTERS and occur(self.must, text)

    def excepts(self, text: str) -> bool:
        """Whether something occurs that must not."""
        return any(occurs(phrase, text) for phrase in self.must_not)


def occur(words: Words, text: str) -> bool:
    return all(any(occurs(phrase, text) for phrase in alternatives) for alternatives in words)


def occurs(phrase: str, text: str) -> bool:
    """As whole words, whatever the case; a star stands for the rest of a word."""
    return pattern(phrase).search(_plain(text)) is not None


@cache
def pattern(phrase: str) -> re.Pattern[str]:
    phrases = NAMED[phrase] if phrase.startswith("@") else (phrase,)
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(_one, phrases))})(?!\w)", re.IGNORECASE)


def _one(phrase: str) -> str:
    words = (re.escape(word).replace(r"\*", r"\w*") for word in _plain(phrase).split())
    return r"\s+".join(words)


def _plain(text: str) -> str:
    return text.replace("’", "'").replace("‘", "'")
