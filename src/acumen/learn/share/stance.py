"""What an instruction wants and what it does not want, so that "always" and "never" are told apart. Pure.

Sentences about one thing are close together in meaning, whatever they say of it: "use emojis" and "no emojis" have
nearly the same embedding. So the words are read as well: each content word is wanted, unwanted, or only says when
("before committing").
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from msgspec import Struct, field

from acumen.model.patterns import later
from acumen.model.text import STOPWORDS, stem, words

WANTED, UNWANTED = 1, -1

# Each turns what follows into its opposite, up to the end of the clause; two of them cancel out.
_NEGATING = frozenset(
    "not never no avoid avoiding stop skip skipping refrain omit without nothing neither nor nobody ban banned forbid "
    "forbidden prohibited cease quit rather instead ignore exclude excluding remove drop hide".split()
)
# "leave out", "leave emojis out", "turn off": the second word negates.
_NEGATING_PAIRS = frozenset({("leave", "out"), ("turn", "off"), ("switch", "off"), ("keep", "out")})
# "Do not forget to test" asks for tests.
_CANCELLING = frozenset("forget fail hesitate neglect".split())
# What follows says when, not what.
_WHEN = frozenset("before when whenever while after if once during unless until because since".split())
# "Not until", "not unless": what follows is what is wanted first.
_FIRST = frozenset("until unless".split())
_END = frozenset(". ; : ! ? ( ) -- - …".split())
# After a comma or an "and", each of these begins an instruction of its own.
_ANEW = frozenset(
    "always never not no just please only instead rather use keep leave do make then run answer ask add write show "
    "give check send start state include list tell say put take wait deploy test explain".split()
)
# One quality under one name: its opposite is the same quality, unwanted.
_OPPOSITES = {
    opposite: quality
    for quality, opposites in (
        row.split("=")
        for row in (
            "short=long,formal=casual,prose=bullet,ascend=descend,includ=exclud,enabl=disabl,allow=forbid,first=last,"
            "more=less fewer,upper=lower,uppercas=lowercas,public=privat,synchron=asynchron,light=dark,high=low,"
            "maximum=minimum,increas=decreas reduc,open=close,accept=reject refus,earli=late,intern=extern"
        ).split(",")
    )
    for opposite in opposites.split()
}
# Words that mean the same to an agent, under the first of each row.
_SYNONYMS = {
    other: row.split()[0]
    for row in (
        "answer answers reply replies respond response responses,production prod,deploy deployment release ship,"
        "database db,repository repo,documentation docs,postgres postgresql,go golang,mongodb mongo,tab tabs,"
        "short shorter brief briefer concise terse,long longer detailed verbose lengthy thorough in-depth,"
        "casual informal,euro eur euros,dollar usd dollars,metric kilometres kilometers km kg kilograms grams celsius,"
        "imperial miles pounds lbs fahrenheit,email emails,phone call calls,sms text texts,summarize summarise,"
        "organize organise"
    ).split(",")
    for other in row.split()
}
# Kinds whose values exclude each other; of others (weekdays, environments) a rule may well name several.
_EXCLUSIVE = {
    value: kind
    for kind, values in {
        "programming language": "python javascript typescript java kotlin go rust ruby php swift scala perl",
        "database": "postgres mysql mariadb sqlite mongodb dynamodb oracle cassandra redis snowflake bigquery",
        "package manager": "npm yarn pnpm bun pip poetry uv conda pipenv cargo maven gradle",
        "test framework": "pytest unittest jest vitest mocha junit rspec cypress playwright selenium",
        "language": "english french german spanish italian portuguese dutch polish russian chinese "
        "japanese korean arabic hebrew turkish hindi swedish norwegian danish finnish greek czech ukrainian",
        "spelling": "british american",
        "indentation": "tab spaces",
        "units": "metric imperial",
        "currency": "dollar euro gbp chf jpy cad aud",
        "channel": "email sms phone slack whatsapp telegram teams chat",
        "format": "json yaml xml csv toml markdown html pdf",
        "length": "short long",
        "formality": "formal casual",
        "order": "ascending descending",
        "theme": "dark light",
        "rhythm": "daily weekly biweekly monthly quarterly yearly annually hourly",
    }.items()
    for value in values.split()
}
_SHAPES = [
    ("region", later(r"(?:us|eu|ap|sa|ca|me|af|il|cn)-(?:gov-)?(?:nor|sou|ea|we|cen)[a-z]*-?\d[a-z]?")),
    ("time", later(r"\d{1,2}(?::\d\d)?(?:am|pm)|\d{1,2}:\d\d|noon|midnight")),
    ("version", later(r"v\d+(?:\.\d+)*|\d+\.\d+(?:\.\d+)+")),
    ("date format", later(r"[ymd]{1,4}([/.-][ymd]{1,4}){1,2}")),
    ("percentage", later(r"\d[\d.]*%")),
]
_COUNTS = {
    word: str(number)
    for number, word in [
        *enumerate("one two three four five six seven eight nine ten eleven twelve".split(), 1),
        *((10 * n, word) for n, word in enumerate("twenty thirty forty fifty sixty seventy eighty ninety".split(), 2)),
        *((15, "fifteen"), (100, "hundred"), (1, "once"), (2, "twice")),
    ]
}
_NUMBER = later(r"[$€£]?\d[\d,]*(?:\.\d+)?k?")
# What can be done with anything says little about what is meant.
_LIGHT = frozenset(
    map(
        stem,
        "run add write show give put take make check list state create send keep start work set get tell say include "
        "provide need want try look see find every each new anything everything once current".split(),
    )
)


class Stance(Struct, frozen=True):
    """Stems of words, wanted and unwanted; `said` is all of them; values by kind ("region": {"us-west-2"})."""

    wanted: frozenset[str] = frozenset()
    unwanted: frozenset[str] = frozenset()
    said: frozenset[str] = frozenset()
    values: Mapping[str, frozenset[str]] = field(default_factory=dict)
    focus: frozenset[str] = frozenset()  # what it is about, whichever way: no words that go with anything
    situation: frozenset[str] = frozenset()  # the words of its trigger


@lru_cache(maxsize=4096)
def stance(instruction: str, trigger: str | None = None) -> Stance:
    signs: dict[str, int] = {}
    said: set[str] = set()
    values: dict[str, set[str]] = {}
    for clause in _clauses(words(instruction)):
        for word, way in _signed(clause):
            name, sign = _named(word, way)
            if not name:
                continue
            said.add(name)
            if sign:
                signs.setdefault(name, sign)
            if sign == WANTED and (valued := _value(word)):
                values.setdefault(valued[0], set()).add(valued[1])
    return Stance(
        frozenset(name for name, sign in signs.items() if sign == WANTED),
        frozenset(name for name, sign in signs.items() if sign == UNWANTED),
        frozenset(said),
        {kind: frozenset(of_kind) for kind, of_kind in values.items()},
        frozenset(signs) - _LIGHT,
        frozenset(name for word in words(trigger or "") if (name := _named(word, 0)[0])),
    )


def opposed(left: Stance, right: Stance) -> bool:
    """Whether nobody could follow both: other values of one kind, or one wants what the other does not."""
    shared_kinds = left.values.keys() & right.values.keys()
    if any(left.values[kind].isdisjoint(right.values[kind]) for kind in shared_kinds):
        return True
    if shared_kinds:
        return False
    against = len(left.wanted & right.unwanted) + len(left.unwanted & right.wanted)
    along = len(left.wanted & right.wanted) + len(left.unwanted & right.unwanted)
    return against > 0 and against >= along


def agreed(left: Stance, right: Stance) -> bool:
    """Whether both name the same value of some kind."""
    return any(left.values[kind] & right.values[kind] for kind in left.values.keys() & right.values.keys())


def shared(left: Stance, right: Stance) -> float:
    """How much two instructions are about the same, 0 to 1 (Dice), if possible beyond the situation they are for."""
    situation = left.situation | right.situation
    first, second = left.focus - situation, right.focus - situation
    if not (first and second):
        first, second = left.focus or left.said, right.focus or right.said
    return 2 * len(first & second) / (len(first) + len(second)) if first and second else 0.0


def is_value(word: str) -> bool:
    """Whether a lower-case word names a value of a kind: a language, a tool, a unit, a number."""
    return _value(word) is not None


def _clauses(listed: Sequence[str]) -> Iterator[list[str]]:
    """Instructions that stand by themselves: "Never X, always Y; do Z" has three."""
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
    return word in _END or word == "but" or (word in (",", "and") and after in _ANEW)


def _signed(clause: Sequence[str]) -> list[tuple[str, int]]:
    """Each word with WANTED, UNWANTED, or 0 where it only says when."""
    sign = WANTED
    signed: list[tuple[str, int]] = []
    for place, word in enumerate(clause):
        if word == "without" or (sign == UNWANTED and _wants_first(clause, place)):
            # "Never ship without tests", "no refund until …": what came before only says when.
            signed = [(earlier, 0) for earlier, _ in signed]
            sign = -sign
        elif word in _NEGATING or any(
            (earlier, word) in _NEGATING_PAIRS for earlier in clause[max(place - 3, 0) : place]
        ):
            sign = -sign
        elif word in _CANCELLING and sign == UNWANTED:
            sign = WANTED
        elif word in _WHEN:
            following = clause[place + 1 :]
            turns = ("instead", "rather", "without", "never")
            stop = next((n for n, later_word in enumerate(following) if later_word in turns), len(following))
            return [*signed, *((later_word, 0) for later_word in following[:stop]), *_signed(following[stop:])]
        else:
            signed.append((word, sign))
    return signed


def _wants_first(clause: Sequence[str], place: int) -> bool:
    """Whether what follows here, after a "never", must happen first: "… before you have looked", "… until …"."""
    if clause[place] in _FIRST:
        return True
    return clause[place] == "before" and any(word in ("have", "has") for word in clause[place + 1 : place + 3])


def _named(word: str, sign: int) -> tuple[str, int]:
    """The name under which a word is compared, empty for one without content; an opposite turns the sign."""
    plain = word.strip("`\"'.,").removesuffix("'s")
    if plain in STOPWORDS or not any(map(str.isalnum, plain)):
        return "", 0
    named = _SYNONYMS.get(plain, plain)
    root = named if named in _EXCLUSIVE or any(map(str.isdigit, named)) else stem(named)
    return (_OPPOSITES[root], -sign) if root in _OPPOSITES else (root, sign)


def _value(word: str) -> tuple[str, str] | None:
    plain = word.strip("`\"'.,")
    named = _SYNONYMS.get(plain, plain)
    if named in _EXCLUSIVE:
        return _EXCLUSIVE[named], named
    shaped = next((kind for kind, shape in _SHAPES if shape.fullmatch(plain)), None)
    if shaped:
        return shaped, plain
    count = _COUNTS.get(plain, plain)
    return ("number", count.lstrip("$€£").replace(",", "")) if _NUMBER.fullmatch(count) else None
