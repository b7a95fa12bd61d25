"""The words of a memory as merge compares them: stems, numbers, its subject, and whether it denies."""

import re
from functools import lru_cache

from msgspec import Struct

from acumen.learn.extract.statements import IRREGULAR_PAST, STOP_WORDS, content_words
from acumen.model.lazy_regex import lazy_regex
from acumen.model.text import stem

_NEGATED = lazy_regex(
    r"\b(?:not|no|never|n't|don't|doesn't|didn't|isn't|aren't|wasn't|can't|cannot|won't|no longer|without|stop|"
    r"stopped|quit|avoid|hate|dislike)\b"
)
_JOINED = lazy_regex(r"\w(?:,|;)? (?:and|but|or|plus|while|with|because|who|whose|which|where) \w|\w[,;] \w")
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_TOKEN = re.compile(r"[^\W_]+(?:['.:-][^\W_]+)*")
# "My" in the languages in which requests to forget are read: it always means the user.
_MY = lazy_regex(
    r"my|our|mein\w{0,2}|unser\w{0,2}|mis?|nuestr[oa]s?|mon|ma|mes|notre|nos|meus?|minhas?|noss[oa]s?|mi[oae]|miei|"
    r"nostr[oaie]|mijn|ons|onze|mo(?:ja|je|jego|jej|ją|im|mi)|mój|мо(?:й|я|ё|е|и|его|ей|ю|их|ему|ём|им|ими)|मेर[ाीे]"
)
USER = "i"
_FIRST_PERSON = frozenset("i i'm i've i'd i'll we we're we've we'd we'll".split())
_POINTERS = frozenset("it it's that that's this".split())
_TIME_WORDS = frozenset("last next this on in since yesterday today now and but so".split())
MAX_SUBJECT = 4
_FILLERS = frozenset(stem(word) for word in "a an the really very also just actually please still so".split())


class Words(Struct, frozen=True):
    plain: str  # stems of all words in order, with a space around each; every form of "my" is "my"
    core: str  # the same without words that change nothing
    stems: frozenset[str]  # of the words that carry meaning
    numbers: frozenset[str]
    negated: bool
    compound: bool  # says several things: "tea and coffee", "in Oslo, with my wife"
    subject: str  # USER, "it", "my sister", "the port"; empty when it names no subject, as a rule does

    def contains(self, phrase: "Words") -> bool:
        """Whether every word that carries meaning in the other is in this one."""
        return bool(phrase.stems) and phrase.stems <= self.stems

    def has_phrase(self, phrase: "Words") -> bool:
        """Whether the other's words are in this one, in a row. Scripts without spaces have no words to tell apart."""
        if _UNSPACED.search(phrase.plain):
            return phrase.plain.strip() in self.plain
        return bool(phrase.plain.strip()) and phrase.plain in self.plain

    def overlap(self, phrase: "Words") -> float:
        """Shared stems by all stems of both."""
        both = self.stems | phrase.stems
        return len(self.stems & phrase.stems) / len(both) if both else 0.0

    def about_same(self, phrase: "Words") -> bool:
        """Whether both are about the same person or thing; "the port" may be "our staging port"."""
        if self.subject == phrase.subject:
            return True
        head = self.subject.removeprefix("the ")
        return self.subject.startswith("the ") and phrase.subject.endswith(f" {head}")


_UNSPACED = lazy_regex(r"[\u3040-\u30ff\u4e00-\u9fff\u0e00-\u0e7f]")


@lru_cache(maxsize=4096)
def words(text: str) -> Words:
    straight = text.replace("’", "'")
    low = straight.lower()
    stems = frozenset(stem(word.removesuffix("'s")) for word in content_words(low))
    tokens = ["my" if _MY.fullmatch(token) else stem(token) for token in _TOKEN.findall(low)]
    return Words(
        f" {' '.join(tokens)} ",
        " ".join(token for token in tokens if token not in _FILLERS),
        stems - STOP_WORDS,
        frozenset(_NUMBER.findall(low)),
        bool(_NEGATED.search(low)),
        bool(_JOINED.search(low)),
        _subject(_TOKEN.findall(straight)),
    )


def _subject(tokens: list[str]) -> str:
    """Of a noun phrase its words up to the verb or a name; a wrong guess only keeps two statements apart."""
    first = tokens[0].lower() if tokens else ""
    if first in _TIME_WORDS:  # "Last week we moved"
        first = next((token.lower() for token in tokens[1:5] if token.lower() in _FIRST_PERSON), first)
    if first in _FIRST_PERSON:
        return USER
    if first in _POINTERS:
        return "it"
    if first not in ("my", "our", "the"):
        return ""
    phrase: list[str] = []
    for token in tokens[1 : MAX_SUBJECT + 1]:
        if phrase and _ends_phrase(token):
            break
        phrase.append(token.lower())
    return " ".join(["the" if first == "the" else "my", *phrase])


def _ends_phrase(token: str) -> bool:
    verb = re.fullmatch(rf"\w+(?:[^s']s|ed)|{IRREGULAR_PAST}", token)
    return token[0].isupper() or token in STOP_WORDS or verb is not None
