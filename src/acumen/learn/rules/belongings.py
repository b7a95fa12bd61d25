"""What a speaker tells of what is theirs: "my deadline", "our team", and the project's "the deadline"."""

import re
from collections.abc import Sequence

from acumen.learn.rules import keys, lifetimes, voice
from acumen.learn.rules.clauses import DETERMINERS, Frame
from acumen.learn.rules.cues import Cue
from acumen.learn.rules.reading import Reading
from acumen.learn.rules.speaker import STATES, preference, scheduled
from acumen.learn.rules.statements import VAGUE, Fact, stated, valued, verb_words
from acumen.learn.rules.words import Word, joined

# What befalls a thing tells of the day, not of the thing.
_MISHAPS = frozenset(
    "break block crash lock charge cancel delay stick lose damage disable reject decline decide hack steal ship".split()
)
_GOING_ON = frozenset("build learn study plan move migrate use prepare live develop run host".split())
_PASSING = frozenset("keep go seem look say show need want get stop fail return throw give".split())


def of_theirs(framed: Frame, reading: Reading) -> Fact | None:
    """'my deadline is Friday', 'our team has 12 people'."""
    owned = framed.subject[1:]
    if not owned or {word.low for word in owned} & VAGUE or reading.has(Cue.TROUBLE) or framed.past or framed.modal:
        return None
    if framed.verb == "be" and not framed.passive:
        return _value(framed, owned)
    if framed.perfect and framed.progressive:
        return stated(framed, 0.55) if any(word.low in ("since", "for") for word in framed.rest) else None
    if framed.perfect or (framed.progressive and framed.verb not in _GOING_ON):
        return None
    if framed.verb == "prefer":
        return preference(framed, reading)
    if not framed.rest or framed.verb in _PASSING or (framed.passive and framed.verb in _MISHAPS):
        return None
    subject, value = keys.keyed(framed.rest, holds=not framed.negated, about=[*owned, *verb_words(framed)])
    return Fact(voice.fact(framed), subject, value, confidence=0.7)


_NO_VALUES = frozenset(
    "that to how not too this what whether it gone down up full empty here back ready done late wrong fine "
    "good ok stuck lost slow broken yet".split()
)
# Of people more than one thing can be said: what they are is no single value.
_PEOPLE = frozenset(
    "wife husband spouse partner son daughter kid kids child children mom mum mother dad father parents "
    "brother sister dog cat boss manager girlfriend boyfriend fiance fiancee grandmother grandfather "
    "grandma grandpa friend team client clients company".split()
)


def _value(framed: Frame, owned: Sequence[Word]) -> Fact | None:
    """'my X is Y': Y is the value of X."""
    rest = framed.rest
    if not rest or rest[0].low in _NO_VALUES or framed.progressive:
        return None
    if framed.negated or (owned[-1].low in _PEOPLE and not rest[0].text[:1].isupper()):
        subject, value = keys.keyed(rest, holds=not framed.negated, about=owned)
        return Fact(voice.fact(framed), subject, value, confidence=0.7)
    if [word.low for word in owned] == ["name"]:
        return valued(framed, "name", rest[:3], 0.85)
    subject = " ".join(keys.roots(owned)) or " ".join(word.low for word in owned)
    return valued(framed, subject, keys.timeless(rest), 0.8)


# How a thing acts on the speaker: "gluten makes me sick".
_AFFECTS = frozenset("make give trigger upset irritate help cause".split())
_BEST = re.compile(r"\bmy favorite\b|\b(?:best|better|fine|great|well|easier|easiest) for (?:me|us)\b|\bfor us$")


def of_project(framed: Frame, reading: Reading) -> Fact | None:
    """'the deadline is March 3', 'mornings work best for me': a value that the sentence itself vouches for."""
    if framed.past or framed.modal or not framed.rest or reading.has(Cue.TROUBLE) or len(framed.subject) > 6:
        return None
    low = " ".join(word.low for word in framed.words)
    if framed.verb in ("be", "work", "suit") and _BEST.search(low):
        subject = " ".join(keys.roots(framed.rest)) or "best"
        return Fact(voice.fact(framed), subject, keys.value(joined(framed.subject)), confidence=0.65)
    plain = not (framed.perfect or framed.progressive)
    if (
        plain
        and framed.verb in _AFFECTS
        and any(word.low in ("me", "us") for word in framed.rest[:2])
        and not framed.modal
    ):
        return stated(framed, 0.6, about=framed.subject[:1])
    if framed.verb == "be" and framed.rest[0].low in ("my", "our") and len(framed.rest) > 1:
        subject = " ".join(keys.roots(framed.rest))
        return (
            Fact(voice.fact(framed), subject, keys.value(joined(framed.subject)), confidence=0.65) if subject else None
        )
    if framed.subject[0].low != "the":
        return None
    return _definite(framed, low) if framed.verb == "be" else _routine(framed)


def _definite(framed: Frame, low: str) -> Fact | None:
    """'the deadline is Friday' holds a date, a number or a thing of a kind; 'the weather is nice' does not."""
    owned = [word for word in framed.subject if word.low not in DETERMINERS]
    count = keys.number(framed.rest[:3])
    named = framed.rest[0].text[:1].isupper() and any(word.low == "name" for word in owned)
    lasting = owned and owned[-1].low in ("team", "company", "business", "office") and framed.rest[0].low in STATES
    told = (
        named or lasting or keys.typed(framed.rest[:4]) or (count and count.low != "one") or lifetimes.names_date(low)
    )
    if not owned or not told or {word.low for word in owned} & VAGUE:
        return None
    return valued(framed, " ".join(keys.roots(owned)), framed.rest, 0.55)


def _routine(framed: Frame) -> Fact | None:
    """'the rotation changes every Monday': a definite thing, in the present, on a schedule."""
    passing = len(framed.rest) > 10 or framed.negated or framed.perfect or framed.progressive or framed.passive
    return None if passing or not scheduled(framed) else stated(framed, 0.55)


def call_me(framed: Frame, reading: Reading) -> Fact | None:
    """'call me Sam' names the user, whatever else it asks."""
    rest = framed.rest
    called = framed.verb == "call" and len(rest) > 1 and rest[0].low == "me" and rest[1].text[:1].isupper()
    if not called or framed.negated or reading.has(Cue.QUESTION):
        return None
    return Fact(f"User wants to be called {rest[1].text}.", "nickname", keys.value(rest[1].low), confidence=0.8)
