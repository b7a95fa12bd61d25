"""What an instruction wants and what it does not want, so that "always" and "never" are told apart. Pure.

Sentences about one thing lie close together in meaning, whatever they say of it: "use emojis" and "no emojis" are
nearly one point to an embedding. So the words are read as well: each one that carries meaning is wanted, unwanted, or
only says when ("before committing").
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from threading import Lock

import Stemmer
from msgspec import Struct, field

from acumen.learn.rules import keys, verbs
from acumen.learn.rules.kinds import kind_of
from acumen.learn.rules.words import Word, words
from acumen.model.patterns import later

WANTED, UNWANTED = 1, -1

# Each turns what follows into its opposite, up to the end of the clause; two of them cancel out.
_TURNING = frozenset(
    "not never no avoid avoiding stop skip skipping refrain omit without nothing neither nor nobody ban banned forbid "
    "forbidden prohibited cease quit rather instead ignore exclude excluding remove drop hide".split()
)
# "leave out", "leave emojis out", "turn off": the second word turns.
_TURNING_PAIRS = frozenset({("leave", "out"), ("turn", "off"), ("switch", "off"), ("keep", "out")})
# "Do not forget to test" asks for tests.
_TURNING_BACK = frozenset("forget fail hesitate neglect".split())
# What follows says when, not what.
_WHEN = frozenset("before when whenever while after if once during unless until because since".split())
# "Not before", "not until", "not unless": what follows is what is wanted first.
_FIRST = frozenset("until unless".split())
_END = frozenset(". ; : ! ? ( ) -- - …".split())
# After a comma or an "and", each of these begins an order of its own.
_ANEW = frozenset("always never not no just please only instead rather use keep leave do make then".split())
# One quality under one name: its opposite is the same quality, unwanted.
_OPPOSITES = {
    other: one
    for one, others in {
        "short": "long",
        "formal": "casual",
        "prose": "bullet",
        "ascending": "descending",
        "include": "exclude",
        "enable": "disable",
        "allow": "forbid",
        "first": "last",
        "more": "less fewer",
        "upper": "lower",
        "uppercase": "lowercase",
        "public": "private",
        "synchronous": "asynchronous",
        "light": "dark",
        "high": "low",
        "maximum": "minimum",
        "increase": "decrease reduce",
        "open": "close",
        "accept": "reject refuse",
        "early": "late",
        "internal": "external",
    }.items()
    for other in others.split()
}
# Kinds whose values exclude each other; of others (weekdays, environments) a rule may well name several.
_EXCLUSIVE = frozenset(
    {
        "programming language", "database", "package manager", "test framework", "language", "indentation", "units",
        "currency", "channel", "region", "length", "formality", "format", "order", "spelling", "time", "percentage",
        "version", "theme", "rhythm",
    }
)  # fmt: skip
# Other names of one value.
_VALUES = {
    other: value
    for value, others in {
        "dollar": "usd dollars",
        "euro": "eur euros",
        "metric": "kilometres kilometers km kg kilograms grams celsius",
        "imperial": "miles pounds lbs fahrenheit",
        "sms": "text texts",
        "phone": "call calls",
        "email": "emails",
        "go": "golang",
        "postgres": "postgresql",
        "mongodb": "mongo",
        "tab": "tabs",
    }.items()
    for other in others.split()
}
NUMBER = "number"
_DATE_FORMAT = later(r"[ymd]{1,4}([/.-][ymd]{1,4}){1,2}")


class Stance(Struct, frozen=True):
    """Roots of words, wanted and unwanted; `said` is all of them; values by kind ("region": {"us-west-2"})."""

    wanted: frozenset[str] = frozenset()
    unwanted: frozenset[str] = frozenset()
    said: frozenset[str] = frozenset()
    values: Mapping[str, frozenset[str]] = field(default_factory=dict)
    focus: frozenset[str] = frozenset()  # what it is about, whichever way: no words that go with anything
    situation: frozenset[str] = frozenset()  # the words of its trigger


def stance(instruction: str, trigger: str | None = None) -> Stance:
    signs: dict[str, int] = {}
    said: set[str] = set()
    values: dict[str, set[str]] = {}
    for clause in _clauses(words(instruction)):
        for word, way in _signed(clause):
            root, sign = _named(word, way)
            if not root:
                continue
            said.add(root)
            if sign:
                signs.setdefault(root, sign)
            if sign == WANTED and (valued := _value(word)):
                values.setdefault(valued[0], set()).add(valued[1])
    return Stance(
        frozenset(root for root, sign in signs.items() if sign == WANTED),
        frozenset(root for root, sign in signs.items() if sign == UNWANTED),
        frozenset(said),
        {kind: frozenset(of_kind) for kind, of_kind in values.items()},
        frozenset(signs) - _light(),
        frozenset(root for word in words(trigger or "") if (root := _named(word, 0)[0])),
    )


# What can be done with anything says little about what is meant.
_LIGHT = (
    "run add write show give put take make check list state create send keep start work set get tell say include "
    "provide need want try look see find every each new anything everything once current"
)


@cache
def _light() -> frozenset[str]:
    return frozenset(map(_stem, _LIGHT.split()))


def opposed(one: Stance, other: Stance) -> bool:
    """Whether nobody could follow both: other values of one kind, or one wants what the other does not."""
    agreed = False
    for kind in one.values.keys() & other.values.keys():
        if one.values[kind].isdisjoint(other.values[kind]):
            return True
        agreed = True
    if agreed:
        return False
    against = len(one.wanted & other.unwanted) + len(one.unwanted & other.wanted)
    along = len(one.wanted & other.wanted) + len(one.unwanted & other.unwanted)
    return against > 0 and against >= along


def _clauses(listed: Sequence[Word]) -> Iterator[list[Word]]:
    """Orders that stand by themselves: "Never X, always Y; do Z" has three."""
    clause: list[Word] = []
    for place, word in enumerate(listed):
        after = listed[place + 1].low if place + 1 < len(listed) else ""
        if _ends(clause, word, after):
            if clause:
                yield clause
            clause = []
        elif not word.is_mark:
            clause.append(word)
    if clause:
        yield clause


def _ends(clause: Sequence[Word], word: Word, after: str) -> bool:
    if word.is_mark and word.low in _END:
        return True
    if word.low == "," and clause and clause[0].low in _WHEN:
        return True  # "Before you commit, run the tests"
    return word.low in (",", "and", "but") and _begins_anew(word.low, after)


def _begins_anew(joint: str, after: str) -> bool:
    return joint == "but" or after in _ANEW or (joint == "and" and after in verbs.BASE_FORMS)


def _signed(clause: Sequence[Word]) -> list[tuple[Word, int]]:
    """Each word with WANTED, UNWANTED, or 0 where it only says when."""
    sign = WANTED
    found: list[tuple[Word, int]] = []
    lows = [word.low for word in clause]
    for place, word in enumerate(clause):
        before = lows[place - 1] if place else ""
        if word.low == "without" or (sign == UNWANTED and _wants_first(lows, place)):
            # "Never ship without tests", "no refund until …": the rest is only when; this is what is asked for.
            found = [(earlier, 0) for earlier, _ in found]
            sign = -sign
        elif word.low in _TURNING or any(
            (earlier, word.low) in _TURNING_PAIRS for earlier in lows[max(place - 3, 0) : place]
        ):
            sign = -sign
        elif word.low in _TURNING_BACK and sign == UNWANTED:
            sign = WANTED
        elif word.low in _WHEN and before != "what":
            found += [(later, 0) for later in _until_turned(clause[place + 1 :])]
            found += _signed(clause[place + 1 + len(_until_turned(clause[place + 1 :])) :])
            return found
        else:
            found.append((word, sign))
    return found


def _wants_first(lows: Sequence[str], place: int) -> bool:
    """Whether what follows here, after a "never", must happen first: "… before you have looked", "… until …"."""
    if lows[place] in _FIRST:
        return True
    return lows[place] == "before" and any(low in ("have", "has") for low in lows[place + 1 : place + 3])


def _until_turned(following: Sequence[Word]) -> list[Word]:
    """The words of a "when …", which ends at the latest where an "instead" or a "without" begins."""
    stop = next((n for n, word in enumerate(following) if word.low in ("instead", "rather", "without", "never")), None)
    return list(following[:stop])


def _named(word: Word, sign: int) -> tuple[str, int]:
    listed = keys.roots([word])
    if not listed:
        return "", 0
    root = keys.root(listed[0])
    return (_OPPOSITES[root], -sign) if root in _OPPOSITES else (_stem(root), sign)


@lru_cache(maxsize=20_000)
def _stem(root: str) -> str:
    """Approve and approval, migrate and migration, under one name."""
    with _STEMMING:
        return str(_STEMMER.stemWord(root))


# A stemmer serves one thread at a time.
_STEMMER, _STEMMING = Stemmer.Stemmer("english"), Lock()


def _value(word: Word) -> tuple[str, str] | None:
    low = word.low.strip("`\"'")
    if _DATE_FORMAT.fullmatch(low):
        return "date format", low
    kind = kind_of(low)
    if kind in _EXCLUSIVE:
        return str(kind), _VALUES.get(low, keys.root(low))
    number = keys.value(low)
    digits = number.lstrip("$€£").replace(",", "").rstrip("%")
    return (NUMBER, digits) if digits.replace(".", "").isdigit() else None


def agreed(one: Stance, other: Stance) -> bool:
    """Whether both name the same value of some kind."""
    return any(one.values[kind] & other.values[kind] for kind in one.values.keys() & other.values.keys())


def shared(one: Stance, other: Stance) -> float:
    """How much two instructions are about the same, 0 to 1 (Dice), if possible beyond the situation they are for."""
    situation = one.situation | other.situation
    first, second = one.focus - situation, other.focus - situation
    if not (first and second):
        first, second = one.focus or one.said, other.focus or other.said
    return 2 * len(first & second) / (len(first) + len(second)) if first and second else 0.0
