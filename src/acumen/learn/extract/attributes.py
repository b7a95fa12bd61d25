"""What a statement says of a single-valued attribute, and what it says no longer holds.

A new value of the same attribute ends the old memory, so an attribute is single only where it has no other meaning:
"My sister is a nurse" and "my sister is 30", "my wife is Anna" and "my wife is Irish", do not exclude each other.
"""

import re
from collections.abc import Callable
from enum import StrEnum
from functools import cache
from zoneinfo import available_timezones

from msgspec import Struct

from acumen.learn.extract.relative_dates import NUMBERS
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

    @property
    def is_fact(self) -> bool:
        """Not a way of working, which may be a request, and not "the total", which only the conversation explains."""
        return not self.subject.startswith(("answer in", "use ", "the "))


HOME, WORK, NAME, AGE = "i live in", "i work at", "my name", "my age"
# Attributes that say who the user is.
IDENTITY = frozenset({HOME, WORK, NAME, AGE})

# People have several of these, so a second name is another person's.
_SEVERAL = lazy_regex(
    r"\b(?:brother|sister|son|daughter|child|kid|friend|cousin|aunt|uncle|niece|nephew|dog|cat|pet|colleague|coworker|"
    r"neighbou?r|teammate|classmate|roommate|client|customer|student|teacher|sibling|grandson|granddaughter|team|"
    r"meeting|appointment|class|car|bike|plant)s?\b"
)
_NP = r"[\w'’&/.-]+(?: [\w'’&/.-]+){0,3}?"
# Up to the end of a clause; a full stop inside a number, an address or after a title ends none.
_PHRASE = r"(?:[^,.;!?()–—]|\.(?=\w)|(?<=\b[DMS]r)\.|(?<=\bMrs)\.|(?<=\bMs)\.|(?<=\bSt)\.|(?<=\bProf)\.)"
_COPULA = lazy_regex(
    rf"(?:actually |now )?(?P<subject>(?:my|our|the) (?:(?P<new>new) )?{_NP})(?: is| are|'s| =|"
    rf":)(?P<now> now)?(?: currently| actually)? (?P<named>called |named )?(?:set to |"
    rf"at )?(?P<value>{_PHRASE}{{1,60}})",
    re.IGNORECASE,
)
_ONE_AT_A_TIME = lazy_regex(r"\b(?:favou?rite|preferred|default|main|primary|current|native)\b")
_OF = r"[^,.;!?]{1,40}"
_TRAILING = lazy_regex(
    r"\s+(?:now|instead|these days|at the moment|currently|because|since|so|and|but|from now on|which|who|that|when|"
    r"where|for|with|in|on|at|as|during|every|anymore|today|again|this|next|last)\b.*$"
)
# What may follow a value without limiting it to a time or a purpose: "I live in Oslo now, with my wife".
_UNLIMITED = lazy_regex(
    r"\s*(?:$|[,.!]|(?:now|instead|these days|at the moment|currently|because|since|so|but|from now on|which|where|"
    r"with|again|and(?! [A-Z]))\b)"
)
_DAYS = "monday|tuesday|wednesday|thursday|friday|saturday|sunday|tomorrow|today|tonight"
_TIME = lazy_regex(
    rf"\b(?:\d{{1,2}}(?::\d\d)?\s?(?:am|pm)|\d{{1,2}}:\d\d|{_DAYS}|january|february|march|april|june|july|august|"
    r"september|october|november|december|may \d+|\d+ may)\b",
    re.IGNORECASE,
)
_NEGATION = lazy_regex(r"\b(?:not|no|never|stop|quit|avoid|no longer|cannot)\b|n't\b", re.IGNORECASE)


def _tail(match: re.Match[str]) -> str:
    """What follows the value in its clause."""
    cut = _TRAILING.search(match["value"])
    return match["value"][cut.start() :] if cut else match.string[match.end() :]


def _unlimited(match: re.Match[str]) -> bool:
    return bool(_UNLIMITED.match(_tail(match)))


# Only capitals: "I live in Oslo", not "I live in Slack all day" or "in Bergen until June".
_PLACE = re.compile(
    r"(?:[A-Z][\w'’.-]*|of|the|de|del|la|le|am|upon)(?: (?:[A-Z][\w'’.-]*|of|the|de|del|la|le|am|upon))*"
)


def _lives_there(match: re.Match[str]) -> bool:
    return bool(_PLACE.fullmatch(_TRAILING.sub("", match["value"].strip()))) and _unlimited(match)


_DWELLING = lazy_regex(r"\b(?:house|home|flat|apartment|neighbou?rhood|city|town|village|country|street|suburbs?)\b")
_REGION = lazy_regex(r", [A-Z]\w+")
_AREAS = ("Africa", "America", "Asia", "Atlantic", "Australia", "Europe", "Indian", "Pacific")


@cache
def _cities() -> frozenset[str]:
    """Names of places that a time zone is named after; none where the machine has no time zone database."""
    names = (name.split("/") for name in available_timezones())
    return frozenset(parts[-1].replace("_", " ") for parts in names if parts[0] in _AREAS)


def _is_home(match: re.Match[str]) -> bool:
    """Teams move to tools, too: only what is certainly a place is a new home."""
    place = _TRAILING.sub("", match["value"])
    certain = place in _cities() or _REGION.match(match.string, match.end()) or _DWELLING.search(match.string)
    return bool(certain) and not re.match(r"\s*(?:for|and)\b", _tail(match))


def _is_rule(match: re.Match[str]) -> bool:
    """Whether it is said to the agent; people themselves use several things for one purpose."""
    return not re.search(r"\b(?:i|we)\b", match["who"])


_FRAMES: tuple[tuple[re.Pattern[str], str, Callable[[re.Match[str]], bool]], ...] = (
    (
        lazy_regex(
            r"(?:i|we)(?:'m| am| are|'re)? (?:\w+ly |now |currently )*(?:live|living|based|reside)(?: now)? in "
            rf"(?P<value>[A-Za-z]{_OF})"
        ),
        HOME,
        _lives_there,
    ),
    (
        lazy_regex(rf"(?:i|we)(?:'ve| have)? (?:\w+ly |just |now )*moved (?:from {_OF} )?to (?P<value>[A-Z]{_OF})"),
        HOME,
        _is_home,
    ),
    (
        lazy_regex(rf"i(?:'m| am)? (?:\w+ly |now |currently )*(?:work|working) (?:at|for) (?P<value>[A-Za-z]{_OF})"),
        WORK,
        lambda match: match["value"][0].isupper() and _unlimited(match),
    ),
    (
        lazy_regex(
            r"(?:my name(?:'s| is)(?: now)?|(?:please |you can |from now on,? )*call me|i go by|i'm called|"
            r"(?:everyone|everybody|people|(?:my )?friends) calls? me) "
            rf"(?!(?i:{_DAYS})|[A-Z]{{4,}}\b)(?P<value>[A-Z][\w'.-]*(?: [A-Z][\w'.-]*){{0,3}}?)"
            r"(?=[,!]|[.]?$| now| instead| from now on| and| because)"
        ),
        NAME,
        bool,
    ),
    (lazy_regex(r"i(?:'m| am)(?: now)? (?P<value>\d{1,3})(?: years old)?(?=[!,]|\.(?!\d)|$| now)"), AGE, bool),
    (lazy_regex(r"i(?: just| recently| finally)? turned (?P<value>\d{1,3})(?=[.!,]|$| [a-z])"), AGE, bool),
    (
        lazy_regex(rf"(?:i|we)(?: now)? have (?P<value>\d+|{'|'.join(NUMBERS)}) (?P<scope>[a-z]+)(?: now)?(?=[.!,]|$)"),
        "i have {}",
        bool,
    ),
    (
        lazy_regex(
            rf"(?:i|we)(?: have|'ve got) (?:an?|one) (?P<scope>{_NP}),? (?:called|named) (?P<value>[A-Z][\w-]+)"
        ),
        "my {} (name)",
        lambda _: False,
    ),
    (
        lazy_regex(
            r"(?:\w+[, ]+){0,4}?(?:answer|reply|respond|write|speak|talk|communicate)(?: to|"
            r" with)?(?: me)? (?:only )?in (?P<value>[A-Z][a-z]+)\b(?P<scope>(?: (?!instead|from now on|please|"
            r"now\b)[^,.;!?]+)?)"
        ),
        "answer in {}",
        bool,
    ),
    (
        lazy_regex(
            rf"(?P<who>(?:\w+[, ]+){{0,4}}?)(?:use|using) (?P<value>{_NP}) (?P<scope>(?:for|as) (?:the |our |my |all |"
            rf"any )?{_NP})(?:[.!,]|$)"
        ),
        "use {}",
        _is_rule,
    ),
)


def attribute(text: str) -> Attribute | None:
    """The attribute that a declarative sentence gives a value; what it denies has none."""
    plain = text.replace("’", "'")
    plain = plain[:1].lower() + plain[1:]
    for pattern, name, is_single in _FRAMES:
        match = pattern.match(plain)
        if match:
            value, scope = _normal(_TRAILING.sub("", match["value"].strip())), match.groupdict().get("scope") or ""
            if not value or _NEGATION.search(match[0]):
                return None
            return Attribute(
                _normal(name.format(_normal(scope))), str(NUMBERS.get(value, value)), single=is_single(match)
            )
    match = _COPULA.match(text)
    return _copula(match) if match and not _NEGATION.search(match[0]) else None


def _copula(match: re.Match[str]) -> Attribute | None:
    phrase, value = _normal(match["subject"]), _TRAILING.sub("", match["value"].strip())
    subject = phrase.removesuffix("'s name")
    named = bool(match["named"] or match["now"] or match["new"] or subject != phrase)
    subject = subject.replace(" new ", " ", 1)
    kind = _type(value)
    one_at_a_time = bool(_ONE_AT_A_TIME.search(subject))
    if not value or not content_words(subject) or (kind is ValueType.WORD and not one_at_a_time):
        return None
    single = (
        kind is ValueType.NUMBER or one_at_a_time or (kind is ValueType.NAME and (named or not _ORIGIN.search(value)))
    )
    measured = re.fullmatch(r"[\d.,:]+((?: [a-z]+)+)", value)  # "12 weeks" and "30 years" measure different things
    unit = measured[1] if measured else ""
    # "Our port is 9090 on staging", "my manager is Paul's wife": a value for one purpose, or of another person.
    whole = _unlimited(match) and "'s " not in value.replace("’", "'")
    single = single and whole and not _SEVERAL.search(subject) and not subject.startswith("the ")
    return Attribute(f"{subject} ({kind}{unit})", _normal(value), single=single)


# "My wife is Irish", "my boss is Dutch": a capital letter makes no name of what may be an origin or a belief.
_ORIGIN = lazy_regex(r"^\S+(?:an|sh|ese|ic|ist|ch|ss|ek|i)$")


def _type(value: str) -> ValueType:
    if _TIME.search(value):
        return ValueType.TIME
    if re.search(r"\d", value) or re.search(r"[@/_]|\w\.\w", value):
        return ValueType.NUMBER
    return ValueType.NAME if value[:1].isupper() or _TITLE.match(value) else ValueType.WORD


_TITLE = lazy_regex(r"(?:dr|mrs?|ms|prof)\b")


def _normal(text: str) -> str:
    return " ".join(text.lower().replace("’", "'").split()).strip(" .'\"")


_NAMED = (
    (lazy_regex(r"where (?:i|we) live|(?:my|our) home(?: ?town)?", re.IGNORECASE), HOME),
    (lazy_regex(r"where i work|my (?:employer|workplace)", re.IGNORECASE), WORK),
    (lazy_regex(r"my name|what i(?:'m| am) called", re.IGNORECASE), NAME),
    (lazy_regex(r"my age|how old i am", re.IGNORECASE), AGE),
    (
        lazy_regex(
            rf"(?:my|our) (?P<of>{_NP})'s name|the name of (?:my|our) (?P<of2>{_NP})|(?:what|who) (?:my|"
            rf"our) (?P<of3>{_NP}) is(?: called| named)?",
            re.IGNORECASE,
        ),
        "my {} (name)",
    ),
    (
        lazy_regex(rf"(?:my|our) (?P<of>{_NP})'s age|how old (?:my|our) (?P<of2>{_NP}) is", re.IGNORECASE),
        "my {} (number)",
    ),
)


def named_attribute(phrase: str) -> str:
    """The subject of the attribute that "my dog's name", "where I live" asks for, or empty; "our" counts as "my"."""
    for pattern, subject in _NAMED:
        match = pattern.fullmatch(phrase.replace("’", "'").strip(" .!"))
        if match:
            return subject.format(next((of.lower() for of in match.groupdict().values() if of), ""))
    return ""


# --- what no longer holds  ----------------------------------------------------------------------

_NO_LONGER = (
    lazy_regex(r"\b(?:no longer|not .{0,12}any ?more) (?P<old>[^,.;!?]{3,80})", re.IGNORECASE),
    lazy_regex((
        r"\b(?:don't|do not|doesn't|does not|isn't|is not|aren't|are not|can't|cannot|"
        r"won't|not) (?P<old>[^,.;!?]{3,60}?) (?:any ?more|any longer)\b"
    ), re.IGNORECASE),
    lazy_regex(r"\b(?:stopped|quit|gave up|given up) (?P<old>\w+ing [^,.;!?]{2,60}|\w+ing)\b", re.IGNORECASE),
    lazy_regex(r"^(?:please )?(?:stop|quit) (?P<old>\w+ing(?: [^,.;!?]{2,60})?)", re.IGNORECASE),
    lazy_regex(r"\b(?:quit|left|lost) my (?:job|position|role) (?:at|with) (?P<old>[^,.;!?]{2,40})", re.IGNORECASE),
    lazy_regex(r"\bused to (?P<old>[^,.;!?]{3,60}),? but\b", re.IGNORECASE),
)  # fmt: skip
_OLD, _NEW = rf"(?P<old>{_PHRASE}{{2,50}}?)", rf"(?P<new>{_PHRASE}{{2,60}}?)"
_CHANGED = (
    lazy_regex((
        rf"\b(?:moved|switched|changed|migrated|upgraded)(?P<what>(?: [\w'-]+){{0,5}}?) from {_OLD} to "
        rf"{_NEW}(?:[.,;!]|$| and| but)"
    ), re.IGNORECASE),
    lazy_regex(rf"\bnot {_OLD},? but {_NEW}(?:[.,;!]|$)", re.IGNORECASE),
    lazy_regex(rf"\b{_NEW},? (?:and )?not {_OLD}[.!]*\s*$", re.IGNORECASE),
    lazy_regex(rf"\b{_NEW} (?:instead of|rather than) {_OLD}(?:[.,;!]|$| for| because)", re.IGNORECASE),
)  # fmt: skip


def retracted(text: str) -> str:
    """What "no longer", "not … anymore", "stopped …" says has ended, without the reason; empty if nothing."""
    return _REASON.sub("", _first(text, _NO_LONGER))


_REASON = lazy_regex(r"\s(?:because|since|due to|as (?:i|we|it|they)|so that)\b.*", re.IGNORECASE)


def replaced(text: str) -> str:
    """What "from X to Y", "not X but Y", "Y, not X", "Y instead of X" says was replaced: X.

    What was moved from X is part of it: "we moved the server from Oslo" says nothing of who lives in Oslo.
    """
    return _first(text, _CHANGED)


def _first(text: str, patterns: tuple[re.Pattern[str], ...]) -> str:
    matches = (pattern.search(text.replace("’", "'")) for pattern in patterns)
    return next((_replaced_words(match) for match in matches if match), "")


def _replaced_words(match: re.Match[str]) -> str:
    return f"{match.groupdict().get('what') or ''} {match['old']}".strip()
