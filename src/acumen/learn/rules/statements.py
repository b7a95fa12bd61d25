"""A statement about the user as a value, and the ways to build one from a clause."""

from collections.abc import Sequence
from dataclasses import dataclass

from acumen.learn.rules import keys, voice
from acumen.learn.rules.clauses import PREPOSITIONS, Frame
from acumen.learn.rules.words import Word, joined
from acumen.model.profile import TimeToLive


@dataclass(frozen=True, slots=True)
class Fact:
    """A statement about the user, with the keys that let it meet its rivals."""

    content: str
    subject: str
    value: str
    ttl: TimeToLive = TimeToLive.INFINITY
    confidence: float = 0.7
    ends: tuple[str, ...] = ()  # what this one puts an end to: "switched from MySQL"
    exclusive: bool = True  # False: another value of the subject may hold beside it


def verb_words(framed: Frame) -> tuple[Word, ...]:
    return (framed.verb_word,) if framed.verb_word else ()


def stated(framed: Frame, confidence: float, *, about: Sequence[Word] = ()) -> Fact:
    """The clause as it stands; what kind of value it holds decides its keys."""
    about = [*framed.subject[1:], *verb_words(framed), *about]
    subject, value = keys.keyed(framed.rest, holds=not framed.negated, about=about)
    return Fact(voice.fact(framed), subject, value, confidence=confidence)


def valued(framed: Frame, subject: str, said: Sequence[Word], confidence: float) -> Fact:
    """The clause as the one value of a subject: a home, a name, a role."""
    value = keys.value(joined(said))
    return Fact(voice.fact(framed), subject, (keys.NOT if framed.negated else "") + value, confidence=confidence)


_PHRASE_ENDS = frozenset("that which who when until since because and or but where if before after".split())


def head(rest: Sequence[Word]) -> tuple[Word, ...]:
    """The first noun phrase: the words before any preposition, mark or further clause."""
    for place, word in enumerate(rest):
        if place and (word.low in PREPOSITIONS | _PHRASE_ENDS or word.is_mark):
            return tuple(rest[:place])
    return tuple(rest)


def noun(rest: Sequence[Word]) -> str:
    """The noun a phrase is about."""
    phrase = head(rest)
    return phrase[-1].low if phrase else ""


# Nouns of the talk and the moment: what is said of them tells nothing lasting.
VAGUE = frozenset(
    "question problem issue idea error feeling doubt point guess bad fault understanding concern request "
    "opinion apologies thanks thought thoughts questions problems issues trouble clue choice chance moment "
    "minute second look time hope mistake reason way suggestion feedback bug impression theory lot bit "
    "hurry hard sense message comment example following few couple luck one".split()
)
