"""What a statement says of a single-valued attribute, and what it says no longer holds.

A new value of the same attribute ends the old memory, so only forms count in which a subject has one value at a time:
a name, a number, a place, a setting. "My sister is a nurse" and "my sister is 30" do not exclude each other.
"""

import re
from enum import StrEnum

from msgspec import Struct

from acumen.learn.extract.statements import content_words
from acumen.model.lazy_regex import lazy_regex


class ValueType(StrEnum):
    NAME = "name"
    NUMBER = "number"
    TIME = "time"
    WORD = "word"


class Attribute(Struct, frozen=True):
    """`subject` carries the type of its value: values of two types do not exclude each other."""

    subject: str
    value: str
    single: bool = True  # False: two values may both hold, say of two flights; a conflict at most


# People have several of these, so a second name is somebody else's.
_SEVERAL = lazy_regex(
    r"\b(?:brother|sister|son|daughter|child|kid|friend|cousin|aunt|uncle|niece|nephew|dog|cat|pet|colleague|"
    r"coworker|neighbou?r|"
    r"teammate|classmate|roommate|client|customer|student|teacher|sibling|grandson|granddaughter|team|meeting|"
    r"appointment|class|car|bike|plant)s?\b"
)
_NP = r"[\w'’&/.-]+(?: [\w'’&/.-]+){0,3}?"
# Up to the end of a clause; a full stop inside a number, an address or after a title ends none.
_PHRASE = r"(?:[^,.;!?()–—]|\.(?=\w)|(?<=\b[DMS]r)\.|(?<=\bMrs)\.|(?<=\bMs)\.|(?<=\bSt)\.|(?<=\bProf)\.)"
_IS = r"(?: is| are|'s| =|:)(?: now| currently| actually)?"
_COPULA = lazy_regex(
    rf"(?:actually |now )?(?P<subject>(?:my|our|the) {_NP}){_IS} (?:called |named |set to |at "
    rf")?(?P<value>{_PHRASE}{{1,60}})",
    re.IGNORECASE,
)
_ONE_AT_A_TIME = lazy_regex(r"\b(?:favou?rite|preferred|default|main|primary|current|native)\b")
_OF = r"[^,.;!?]{1,40}"
_FRAMES = (
    (
        lazy_regex(
            r"(?:i|we)(?:'m| am| are|'re)? (?:\w+ly |now |currently )*(?:live|living|based|reside)(?: now)? in "
            rf"(?P<value>[A-Z]{_OF})"
        ),
        "i live in",
    ),
    (
        lazy_regex(rf"(?:i|we)(?:'ve)? (?:\w+ly |just |now )*moved (?:from {_OF} )?to (?P<value>[A-Z]{_OF})"),
        "i live in",
    ),
    (
        lazy_regex(rf"i(?:'m| am)? (?:\w+ly |now |currently )*(?:work|working) (?:at|for) (?P<value>[A-Z]{_OF})"),
        "i work at",
    ),
    (
        lazy_regex(
            r"(?:my name(?:'s| is)(?: now)?|(?:please |you can |from now on,? )*call me|i go by|i'm called|"
            r"(?:everyone|everybody|people|(?:my )?friends) calls? me) "
            r"(?P<value>[A-Z][\w'. -]{0,40})"
        ),
        "my name",
    ),
    (lazy_regex(r"i(?:'m| am)(?: now)? (?P<value>\d{1,3})(?: years old)?(?:[.!,]|$| now)"), "my age"),
    (
        lazy_regex(
            r"(?:\w+[, ]+){0,4}?(?:answer|reply|respond|write|speak|talk|communicate)(?: to| with)?(?: me)? "
            r"(?:only )?in (?P<value>[A-Z][a-z]+)\b"
        ),
        "answer in",
    ),
    (
        lazy_regex(
            rf"(?:\w+[, ]+){{0,4}}?(?:use|using) (?P<value>{_NP}) "
            rf"(?P<rest>(?:for|as) (?:the |our |my |all |any )?{_NP})(?:[.!,]|$)"
        ),
        "use",
    ),
)
_TRAILING = lazy_regex(
    r"\s+(?:now|instead|these days|at the moment|currently|because|since|so|and|but|from now on|which|who|that|when|"
    r"where|for|with|in|on|as|anymore|today|again|this|next|last)\b.*$"
)
_TIME = lazy_regex(
    r"\b(?:\d{1,2}(?::\d\d)?\s?(?:am|pm)|\d{1,2}:\d\d|monday|tuesday|wednesday|thursday|friday|saturday|sunday|"
    r"january|february|march|april|june|july|august|september|october|november|december|may \d+|\d+ may|tomorrow|"
    r"today|tonight)\b",
    re.IGNORECASE,
)


# Attributes that tell who the user is.
IDENTITY = frozenset({"i live in", "i work at", "my name", "my age"})


def attribute(text: str) -> Attribute | None:
    """The single-valued attribute that a declarative sentence states."""
    plain = text.replace("’", "'")
    plain = plain[:1].lower() + plain[1:]
    for pattern, name in _FRAMES:
        match = pattern.match(plain)
        if match:
            value = _normal(_TRAILING.sub("", match["value"].strip()))
            rest = f" {_normal(match['rest'])}" if "rest" in pattern.groupindex else ""
            return Attribute(f"{name}{rest}", value) if value else None
    match = _COPULA.match(text)
    return _copula(match) if match else None


def _copula(match: re.Match[str]) -> Attribute | None:
    subject, value = _normal(match["subject"]), match["value"].strip()
    value = _TRAILING.sub("", value)
    kind = _type(value)
    if not value or len(content_words(subject)) == 0:
        return None
    if kind is ValueType.WORD and not _ONE_AT_A_TIME.search(subject):
        return None
    if subject.startswith("the ") and kind is not ValueType.NUMBER:
        return None
    several = kind is ValueType.NAME and _SEVERAL.search(subject)
    return Attribute(f"{subject} ({kind})", _normal(value), single=kind is not ValueType.TIME and not several)


def _type(value: str) -> ValueType:
    if _TIME.search(value):
        return ValueType.TIME
    if re.search(r"\d", value) or re.search(r"[@/_]|\w\.\w", value):
        return ValueType.NUMBER
    first = value.split(" ", 1)[0]
    return ValueType.NAME if first[:1].isupper() else ValueType.WORD


def _normal(text: str) -> str:
    return " ".join(text.lower().replace("’", "'").split()).strip(" .'\"")


# --- what no longer holds  ----------------------------------------------------------------------

_NO_LONGER = (
    lazy_regex(r"\b(?:no longer|not .{0,12}any ?more) (?P<old>[^,.;!?]{3,80})", re.IGNORECASE),
    lazy_regex((
        r"\b(?:don't|do not|doesn't|does not|isn't|is not|aren't|are not|can't|cannot|won't) "
        r"(?P<old>[^,.;!?]{3,60}?) (?:any ?more|any longer)\b"
    ), re.IGNORECASE),
    lazy_regex(r"\b(?:stopped|quit|gave up|given up) (?P<old>\w+ing [^,.;!?]{2,60}|\w+ing)\b", re.IGNORECASE),
    lazy_regex(r"\bused to (?P<old>[^,.;!?]{3,60}),? but\b", re.IGNORECASE),
)  # fmt: skip
_OLD, _NEW = rf"(?P<old>{_PHRASE}{{2,50}}?)", rf"(?P<new>{_PHRASE}{{2,60}}?)"
_CHANGED = (
    lazy_regex((
        rf"\b(?:moved|switched|changed|migrated|went|upgraded)(?: \w+){{0,3}}? from {_OLD} to {_NEW}(?:[.,;!]|$| and|"
        rf" but)"
    ), re.IGNORECASE),
    lazy_regex(rf"\b{_NEW},? (?:and )?not {_OLD}[.!]*\s*$", re.IGNORECASE),
    lazy_regex(rf"\bnot {_OLD},? but {_NEW}(?:[.,;!]|$)", re.IGNORECASE),
    lazy_regex(rf"\b{_NEW} (?:instead of|rather than) {_OLD}(?:[.,;!]|$| for| because)", re.IGNORECASE),
)  # fmt: skip


def retracted(text: str) -> str:
    """What "no longer", "not … anymore", "stopped …" says has ended, in the user's words; empty if nothing."""
    return _first(text, _NO_LONGER)


def replaced(text: str) -> str:
    """What "from X to Y", "not X but Y", "Y, not X", "Y instead of X" says was replaced: X."""
    return _first(text, _CHANGED)


def _first(text: str, patterns: tuple[re.Pattern[str], ...]) -> str:
    matches = (pattern.search(text.replace("’", "'")) for pattern in patterns)
    return next((match["old"].strip() for match in matches if match), "")
