"""What a statement is about and what it says of it, normalised so that rival statements meet."""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from acumen.learn.rules import verbs
from acumen.learn.rules.kinds import KINDS, kind_in_place, kind_of
from acumen.learn.rules.words import Word, words

YES, NO = "yes", "no"
NOT = "not "

_DETERMINERS = frozenset("the a an this that these those some any my our your his her its their all both".split())
_EMPTY = (
    _DETERMINERS
    | frozenset(
        "about above across against along among around as at behind below beside between beyond by during for "
        "in inside "
        "into like near of off on onto out outside over past per through throughout toward under up upon via "
        "with within "
        "is are am was were been being have has had having can could may might must shall should will would "
        "ought does did "
        "done always never usually often sometimes rarely only just still already currently mostly really generally "
        "normally actually recently finally probably even ever first almost very much many few lot lots bit quite "
        "i me my mine we us our you your he she it they them their his her user user's users agent agent's "
        "not no yes and or but if when whenever before after because so that which who what how why where "
        "there here to too also anymore longer more again thing things stuff something anything please sure "
        "make ensure remember keep use using do does prefer want like need get got give go let put try be "
        "new own switch change switched one ones other else since until while once time times every each "
        "next from now on future forward".split()
    )
) - {"production", "before"}
# Words that mean the same to an agent, under the first of each row.
_SAME = {
    other: row.split()[0]
    for row in """
        answer reply respond response replies
        production prod
        deploy deployment release ship
        database db
        repository repo
        documentation docs
        favorite favourite
        color colour
        emoji emojis
        live reside
        postgres postgresql
        go golang
        javascript js
        typescript ts
        node node.js nodejs
        macos mac
        mongodb mongo
        coworker colleague
        child kid kids children
        person people
        spouse wife husband
        short shorter brief briefer concise terse
        long longer detailed verbose lengthy thorough in-depth
        casual informal
        tabs tab
        summarize summarise
        organize organise
    """.strip().split("\n")
    for other in row.split()[1:]
}
COUNTS = {
    word: str(number)
    for number, word in [
        *enumerate("one two three four five six seven eight nine ten eleven twelve".split(), 1),
        *((10 * tens, word) for tens, word in enumerate(
            "twenty thirty forty fifty sixty seventy eighty ninety".split(), 2)),
        (15, "fifteen"), (100, "hundred"), (1, "once"), (2, "twice"),
    ]
}  # fmt: skip


@lru_cache(maxsize=8192)
def root(low: str) -> str:
    """The word without its endings and under its usual name."""
    low = low.strip("`\"'.,").removesuffix("'s")
    if low in _SAME:
        return _SAME[low]
    if kind_of(low):
        return low[:-1] if low.endswith("s") and kind_of(low[:-1]) else low
    known = verbs.base(low)
    stem = known or _singular(low)
    return _SAME.get(stem, stem)


def _singular(low: str) -> str:
    if len(low) > 3 and low.endswith("s") and not low.endswith(("ss", "us", "is", "os")) and not low[0].isdigit():
        if low.endswith(("sses", "shes", "ches", "xes")):
            return low[:-2]
        return low[:-3] + "y" if low.endswith("ies") and len(low) > 4 else low[:-1]
    return low


def roots(listed: Iterable[Word]) -> list[str]:
    """The words that carry meaning, each once, in order."""
    found: dict[str, None] = {}
    for word in listed:
        if word.opaque:
            found[word.low.strip("`\"'")] = None
        elif not word.is_mark and (word.low not in _EMPTY or (word.text[:1].isupper() and kind_of(word.low))):
            found[root(word.low)] = None
    return [name for name in found if name]


@lru_cache(maxsize=2048)
def content_roots(text: str) -> frozenset[str]:
    """The meaning-carrying words of any text, as a set."""
    return frozenset(roots(words(text)))


def typed(listed: Sequence[Word]) -> tuple[Word, str] | None:
    """The first word of a known kind, with the kind: 'to us-west-2' → region. Where and when yield to what."""
    lows = ["", *(word.low for word in listed), ""]
    found = [
        (word, kind)
        for place, word in enumerate(listed)
        if (kind := kind_in_place(word.text, lows[place], lows[place + 2]))
    ]
    return next((pair for pair in found if pair[1] not in _YIELDING), found[0] if found else None)


_YIELDING = frozenset({"environment", "weekday", "time of day", "time", "channel", "color", "theme"})


def number(listed: Sequence[Word]) -> Word | None:
    """The first count; a year is none."""
    return next((word for word in listed if word.low in COUNTS or _is_count(word.low)), None)


def _is_count(low: str) -> bool:
    digits = low.replace(",", "").replace(".", "")
    return digits.isdigit() and not (len(low) == 4 and low[:2] in ("19", "20"))


# "two years ago", "last month", "since 2019": when a thing came about is not what it is.
_PERIOD = r"(?:years?|months?|weeks?|days?)"
_COUNT = rf"(?:\d+|an?|a few|a couple of|several|many|{'|'.join(list(COUNTS)[:10])})"
_NAMED_PERIOD = (
    r"(?:year|month|week|night|summer|winter|spring|fall|january|february|march|april|may|june|july|august|september|"
    r"october|november|december)"
)
_WHEN = re.compile(
    rf"\b(?:(?:about |over |almost |around )?{_COUNT} {_PERIOD} ago|(?:last|this|next|past) {_NAMED_PERIOD}|since \w+|"
    r"now|nowadays|currently|anymore|today|recently|lately|these days)\b"
)


def timeless(listed: Sequence[Word]) -> list[Word]:
    """The words without those that only date them."""
    low = " ".join(word.low for word in listed)
    gone: set[int] = set()
    for match in _WHEN.finditer(low):
        first = low.count(" ", 0, match.start())
        gone.update(range(first, first + match[0].count(" ") + 1))
    return [word for place, word in enumerate(listed) if place not in gone]


def value(text: str) -> str:
    """A value in its compared form."""
    return " ".join(
        COUNTS.get(part, part)
        for part in (root(word.low) for word in words(text) if not word.is_mark)
        if part and part not in _DETERMINERS
    )


def proposition(listed: Sequence[Word], *, holds: bool) -> tuple[str, str]:
    """A statement that is true or not: its words are its subject."""
    return " ".join(sorted(roots(listed))), YES if holds else NO


def attribute(about: Sequence[Word], kind: str, said: str, *, holds: bool) -> tuple[str, str]:
    """A statement that gives one attribute one value; a denied one denies only that value."""
    taken = {root(part) for part in [*kind.split(), said]} | {kind.removesuffix("ing")}
    names = [name for name in sorted(roots(about)) if name not in taken and not name[0].isdigit()]
    return " ".join([*names, kind]), value(said) if holds else NOT + value(said)


def keyed(listed: Sequence[Word], *, holds: bool, about: Sequence[Word] = ()) -> tuple[str, str]:
    """The key of any statement: by the kind of its value, by its number, or by its words."""
    listed, about = timeless(listed), timeless(about)
    found = typed(listed)
    if found:
        word, kind = found
        count = number(listed[max(listed.index(word) - 1, 0) : listed.index(word)])
        if kind in ("units", "currency") and count:
            measured = [other for other in [*about, *listed] if other not in (word, count)]
            said = value(f"{count.low} {word.low}")
            return " ".join([*sorted(roots(measured)), "number"]), said if holds else NOT + said
        others = [other for other in [*about, *listed] if other is not word and kind_of(other.low) != kind]
        return attribute(others, kind, word.low.strip("`\"'"), holds=holds)
    count = number(listed)
    if count and len(roots([*about, *listed])) > 1:
        others = [*about, *(other for other in listed if other is not count)]
        return " ".join([*sorted(roots(others)), "number"]), value(count.low) if holds else NOT + value(count.low)
    return proposition([*about, *listed], holds=holds)


def kind_at_end(subject: str) -> str | None:
    """The kind of value that a subject ends in, if it is one we know."""
    return next((kind for kind in KINDS if subject == kind or subject.endswith(f" {kind}")), None)


def conflict(one: str, other: str) -> bool:
    """Whether two values of one subject cannot both hold."""
    if one == other:
        return False
    if one.startswith(NOT) or other.startswith(NOT):
        return one.removeprefix(NOT) == other.removeprefix(NOT)
    return True


_NEGATIONS = frozenset("not no never nothing nobody none without".split())


def negated(listed: Iterable[Word]) -> bool:
    return any(word.low in _NEGATIONS for word in listed)


def of_text(text: str) -> tuple[str, str]:
    """The key of a memory, from its words alone: written by us, by a model or by hand."""
    listed = words(text)
    return keyed(listed, holds=not negated(listed))


# Words that say too little to be remembered for: moods, gestures, placeholders.
_VAGUE = frozenset(
    "mind weather question project problem issue error bug afraid sorry sure confused tired happy hungry glad "
    "sad bored lost busy phrase none same other talk wish mention look "
    "ahead think know see say tell guess mean wonder hope try leave come way today well kind sort idea case "
    "matter last "
    "nobody everyone everybody someone somebody else earlier apologise nice good bad great right wrong fine ok "
    "okay fun honest understand "
    "happen seem love laugh feel sense rest old whole person people lol haha please thank hello hi bye ach".split()
)


def telling(listed: Iterable[Word]) -> list[str]:
    """The words that a statement would be remembered for."""
    return [one for one in roots(listed) if one not in _VAGUE]
