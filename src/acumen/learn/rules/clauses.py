"""A sentence as clauses: what is said, when it holds, and why."""

from dataclasses import dataclass, field
from enum import StrEnum

from acumen.learn.rules import verbs
from acumen.learn.rules.kinds import kind_of
from acumen.learn.rules.words import Word

FIRST = frozenset("i we".split())
SECOND = frozenset("you".split())
THIRD = frozenset(
    "he she it they this that these those there everyone everybody nobody someone somebody everything nothing".split()
)
WH = frozenset("what why how who whom whose which where when".split())
DETERMINERS = frozenset(
    "the a an this that these those my our your his her its their some any each every no all both another".split()
)
PREPOSITIONS = frozenset(
    "in on at to for from with by about of as into onto over under during without within via per through "
    "between against across than like towards toward upon around near except unless-for regarding".split()
)
ADVERBS = frozenset(
    "always never usually generally normally typically often sometimes rarely hardly seldom mostly mainly "
    "only just really currently still already also even ever simply strictly absolutely definitely please "
    "kindly probably recently primarily exclusively ideally first literally honestly personally basically "
    "constantly repeatedly regularly then instead now actually completely totally all both finally "
    "explicitly automatically immediately directly carefully consistently kinda quite very so too".split()
)
HABIT = frozenset(
    "always never usually generally normally typically often mostly mainly only exclusively primarily "
    "rarely seldom".split()
)
BE = frozenset("am is are was were be been being".split())
HAVE = frozenset("have has had having".split())
DO = frozenset("do does did".split())
AUXILIARIES = BE | HAVE | DO | verbs.MODALS
_CONJUNCTIONS = frozenset("and but so then or plus yet".split())
_BREAKS = frozenset({";", ":", "—", "–", "-", "--", "---", "...", "..", "…", "(", ")", "!", "?"})


class Role(StrEnum):
    """What a clause does in its sentence."""

    MAIN = "main"
    WHEN = "when"  # the situation: when, if, before, after, for …
    WHY = "why"
    UNTIL = "until"
    ASIDE = "aside"  # although, while: neither said nor denied


_MARKERS = {
    Role.WHY: "because|since|as|so that|otherwise|as otherwise",
    Role.WHEN: "when|whenever|if|unless|before|after|once|every time|each time|any time|anytime|everytime|as soon as|"
    "in case|while|wherever|the next time|next time",
    Role.UNTIL: "until",
    Role.ASIDE: "although|though|even though|even if",
    Role.MAIN: "whereas",
}
_SUBORDINATORS = {tuple(phrase.split()): role for role, phrases in _MARKERS.items() for phrase in phrases.split("|")}
_FIRST_OF_MARKERS = frozenset(marker[0] for marker in _SUBORDINATORS)
_LONGEST = 3
# These also lead plain phrases ("before Friday", "since 2019"): a clause needs a verb soon after.
_ALSO_PREPOSITIONS = frozenset("before after since until once while".split())


@dataclass(frozen=True, slots=True)
class Clause:
    role: Role
    marker: str
    words: tuple[Word, ...]


def clauses(sentence: list[Word]) -> list[Clause]:
    """The clauses of a sentence, in order, without the marks between them."""
    found: list[Clause] = []
    role, marker, start, at = Role.MAIN, "", 0, 0

    def close(end: int) -> None:
        body = tuple(sentence[start:end])
        while body and (body[-1].is_mark or body[-1].low in _CONJUNCTIONS):
            body = body[:-1]
        while body and body[0].is_mark:
            body = body[1:]
        if body:
            found.append(Clause(role, marker, body))

    while at < len(sentence):
        opening = _subordinator(sentence, at)
        if opening:
            close(at)
            role, length = opening
            marker = " ".join(word.low for word in sentence[at : at + length])
            start = at = at + length
        elif _breaks(sentence, at):
            close(at)
            role, marker = Role.MAIN, sentence[at].low if sentence[at].low in _CONJUNCTIONS else ""
            start = at = at + 1
        else:
            at += 1
    close(len(sentence))
    return found


def _subordinator(words: list[Word], at: int) -> tuple[Role, int] | None:
    if words[at].low not in _FIRST_OF_MARKERS:
        return None
    for length in range(_LONGEST, 0, -1):
        key = tuple(word.low for word in words[at : at + length])
        role = _SUBORDINATORS.get(key)
        if role is None or len(key) < length:
            continue
        if key[-1] == "time" and not _has_subject(words, at + length):
            continue
        if key == ("as",) and not (
            at
            and at + 1 < len(words)
            and words[at + 1].low in FIRST | {"my", "our", "it"}
            and words[at - 1].low not in AUXILIARIES
        ):
            continue
        if key[0] in _ALSO_PREPOSITIONS and not _verb_soon(words, at + length):
            continue
        return role, length
    return None


def _verb_soon(words: list[Word], at: int) -> bool:
    """Whether a clause follows: a pronoun, a gerund, or a noun and its verb."""
    ahead = _ahead(words, at, 7)
    if not ahead:
        return False
    if any(word.low in FIRST for word in ahead[1:3]):
        return False  # "since January I …": the clause comes after the phrase
    if ahead[0].low in FIRST | SECOND | THIRD - {"this", "that", "these", "those"} or verbs.is_gerund(ahead[0].low):
        return True
    return any(word.low in AUXILIARIES or verbs.is_third(word.low) for word in ahead[1:])


def _has_subject(words: list[Word], at: int) -> bool:
    if at >= len(words):
        return False
    return words[at].low in FIRST | SECOND | THIRD | DETERMINERS or _is_plural(words[at].low)


def _ahead(words: list[Word], at: int, count: int) -> list[Word]:
    """Words up to the next mark."""
    found: list[Word] = []
    for word in words[at : at + count]:
        if word.is_mark:
            break
        found.append(word)
    return found


def _breaks(words: list[Word], at: int) -> bool:
    """Whether one main clause ends at this word and another begins after it."""
    word = words[at]
    if word.low in _BREAKS and not word.opaque:
        return True
    if word.low == ",":
        return starts_clause(words, at + 1, after_comma=True)
    if word.low in _CONJUNCTIONS and 0 < at < len(words) - 1:
        follows = word.low == "so" and len(_ahead(words, at + 1, 3)) > 1
        return starts_clause(words, at + 1, after_comma=follows)
    return False


_OPENERS = frozenset("please never always don't stop remember ensure make yes no thanks sorry ok avoid".split())


# These open a clause even after a plain "and".
_STRONG_OPENERS = frozenset("please never always".split())


def starts_clause(words: list[Word], at: int, *, after_comma: bool) -> bool:
    """Whether a new clause begins at this word."""
    ahead = _ahead(words, at, 9)
    if not ahead:
        return at < len(words) and words[at].is_mark
    first, second = ahead[0].low, ahead[1].low if len(ahead) > 1 else ""
    if first in _CONJUNCTIONS and after_comma:
        return starts_clause(words, at + 1, after_comma=True)
    if _starts_with_subject(ahead):
        return True
    if first in ("never", "always"):
        return verbs.is_base(second)
    if first in (_OPENERS if after_comma else _STRONG_OPENERS) or (first == "do" and second == "not"):
        return second != "to"
    return after_comma and _starts_after_comma(words, at, ahead)


def _starts_with_subject(ahead: list[Word]) -> bool:
    """'I live', 'now we use', 'that one is', 'my team has'."""
    first, second = ahead[0].low, ahead[1].low if len(ahead) > 1 else ""
    if first == "let" or (first in ("now", "then", "today", "currently", "usually") and second in FIRST):
        return True
    if first in ("that", "this", "these", "those") and any(word.low in AUXILIARIES for word in ahead[1:4]):
        return True
    if first in FIRST | SECOND | THIRD:
        return second in AUXILIARIES | ADVERBS | FIRST or verbs.base(second) is not None
    owned = first in ("my", "our", "your", "the")
    return owned and any(word.low in AUXILIARIES or verbs.is_third(word.low) for word in ahead[2:7])


def _starts_after_comma(words: list[Word], at: int, ahead: list[Word]) -> bool:
    """', just get to the point', ', for children you …', ', updates belong in …', ', use tabs'."""
    first, second = ahead[0].low, ahead[1].low if len(ahead) > 1 else ""
    if first in ("just", "instead", "simply"):
        return verbs.is_base(second)
    if first in ("from", "going", "next", "in", "for", "with", "on"):
        return any(word.low in FIRST | SECOND for word in ahead[1:6])
    if _is_plural(first) and second in _PLAIN_VERBS:
        return True
    return verbs.is_base(first) and not _list_item(words, at)


def _list_item(words: list[Word], at: int) -> bool:
    """'design, test, and deploy': a bare word between commas is an item, not a clause."""
    after = words[at + 1].low if at + 1 < len(words) else ""
    last = after in ("", ".", "!")
    return after in (",", "and", "or") or (last and any(word.low in (",", "and", "or") for word in words[: at - 1]))


class Person(StrEnum):
    FIRST = "first"  # I, we
    MINE = "mine"  # my deadline, our team
    SECOND = "second"
    YOURS = "yours"  # your answers
    THIRD = "third"  # he, it, that
    NOUN = "noun"  # any other noun phrase
    COMMAND = "command"  # nobody: an imperative
    NONE = "none"  # no verb found: a fragment


@dataclass(frozen=True, slots=True)
class Frame:
    """Who does what, in one clause."""

    person: Person
    subject: tuple[Word, ...]
    chain: tuple[Word, ...]  # auxiliaries and adverbs before the verb
    verb: str  # its base form; "" in a fragment
    verb_word: Word | None
    rest: tuple[Word, ...]
    modal: str = ""
    negated: bool = False
    adverbs: frozenset[str] = frozenset()
    past: bool = False
    progressive: bool = False
    perfect: bool = False
    passive: bool = False
    words: tuple[Word, ...] = field(default=())
    trail: tuple[Word, ...] = ()  # "not", "usually" … between "am" and the rest

    @property
    def habitual(self) -> bool:
        return bool(self.adverbs & HABIT)


_NOT = frozenset({"not", "never", "no-longer", "hardly", "nor"})


def frame(words: tuple[Word, ...], *, ordered: bool = False) -> Frame:
    """The clause read left to right: subject, auxiliaries, verb, the rest.

    `ordered`: what came before ("make sure to") tells that a command follows, even if we do not know its verb.
    """
    skipped = 0
    while (
        skipped < len(words)
        and (words[skipped].is_mark or words[skipped].low in ADVERBS | _CONJUNCTIONS)
        and words[skipped].low != "all"
    ):
        skipped += 1
    person, subject_end = _subject(words, skipped)
    if person in (Person.NONE, Person.NOUN) and _must_be_verb(words, skipped, ordered=ordered):
        person, subject_end = Person.COMMAND, skipped
    if person is Person.NONE:
        return Frame(
            Person.NONE,
            (),
            (),
            "",
            None,
            words,
            words=words,
            adverbs=_adverbs(words[:skipped]),
            negated=_has_never(words[:skipped]),
        )
    return _predicate(words, skipped, person, subject_end)


def _must_be_verb(words: tuple[Word, ...], at: int, *, ordered: bool) -> bool:
    """An unknown word where only a verb can stand: after an order, 'always' or 'never'."""
    if (
        at >= len(words)
        or not words[at].low.isalpha()
        or words[at].low in DETERMINERS | PREPOSITIONS | THIRD | AUXILIARIES
    ):
        return False
    if ordered and verbs.is_base(words[at].low):
        return True
    follows = at + 1 < len(words) and words[at + 1].low in DETERMINERS | {"to", "it", "me"}
    return follows and (ordered or bool(at and words[at - 1].low in ("always", "never")))


def _adverbs(words: tuple[Word, ...]) -> frozenset[str]:
    return frozenset(word.low for word in words if word.low in ADVERBS)


def _has_never(words: tuple[Word, ...]) -> bool:
    return any(word.low == "never" for word in words)


def _subject(words: tuple[Word, ...], at: int) -> tuple[Person, int]:
    """Who the clause is about, and where its predicate starts."""
    if at >= len(words) or words[at].opaque:
        return Person.NONE, at
    first = words[at].low
    second = words[at + 1].low if at + 1 < len(words) else ""
    if first == "no" and second not in ("one", "body"):
        return Person.NONE, at
    if first in FIRST or first == "user":
        return Person.FIRST, at + 1
    if (first, second) == ("the", "user"):
        return Person.FIRST, at + 2
    if first in SECOND:
        return Person.SECOND, at + 1
    if first in ("my", "our", "your", "user's"):
        end = _finite_verb(words, at + 1)
        return (Person.NONE, at) if end is None else (Person.YOURS if first == "your" else Person.MINE, end)
    if _commands(words, at):
        return Person.COMMAND, at
    if first in THIRD and (second in AUXILIARIES or second in ADVERBS or verbs.base(second)):
        return Person.THIRD, at + 1
    end = _finite_verb(words, at + 1)
    return (Person.NONE, at) if end is None else (Person.NOUN, end)


# Bare words that open a clause far more often as something else than as a command.
_SELDOM_COMMANDS = frozenset(
    "like need want order account issue time cost work question number state sound mind value interest "
    "function result water love hate hope wish thank thanks type guess last matter project model market "
    "program profile price place lack fit face wonder please well can will see appreciate happen depend "
    "mean die welcome seem appear look position sign source test bug design plan code bill report package "
    "class light lead back process level line total name object message mail detail second version cause "
    "understand know believe have".split()
)


def _commands(words: tuple[Word, ...], at: int) -> bool:
    """Whether the clause opens like an imperative."""
    first = words[at].low
    second = words[at + 1].low if at + 1 < len(words) else ""
    if first == "do" and second == "not":
        return True
    if first == "like" or (first == "do" and second in FIRST | SECOND | THIRD) or (first, second) in _COMPOUNDS:
        return False
    if first == "let" or (first == "be" and second not in AUXILIARIES):
        return True
    if not verbs.is_base(first) or first in AUXILIARIES - {"do", "have"}:
        return False
    if at and words[at - 1].low in ("please", "never", "always", "just", "kindly", "only", "then", "instead", "not"):
        return True
    if first in _SELDOM_COMMANDS:
        return (
            second in DETERMINERS | {"me", "us", "it", "them", "that", "what", "sure", "at"}
            and _finite_verb(words, at + 1) is None
        )
    return second not in AUXILIARIES


_COMPOUNDS = frozenset(
    {("use", "cases"), ("use", "case"), ("test", "cases"), ("test", "case"), ("check", "list"), ("work", "items")}
)


def _finite_verb(words: tuple[Word, ...], at: int) -> int | None:
    """Where the finite verb of a noun-phrase subject stands, if one comes soon."""
    for place in range(at, min(at + 9, len(words))):
        word = words[place]
        if word.low in (",", ";", "?") or word.low in FIRST | SECOND:
            return None
        if word.opaque or word.is_mark:
            continue
        if word.low in AUXILIARIES - {"been", "being", "be", "having", "may"} or word.low == "be":
            return place
        if word.low in HABIT and place + 1 < len(words):
            return place
        if word.low in ("need", "needs", "require", "requires") and place + 1 < len(words):
            return place
        if words[place - 1].low in PREPOSITIONS | DETERMINERS:
            continue
        reduced = verbs.is_past(word.low) and _verb_follows(words, place + 1)
        finite = (verbs.is_third(word.low) or verbs.is_past(word.low)) and not reduced
        if finite and place + 1 < len(words) and words[place + 1].low not in AUXILIARIES:
            return place
        if verbs.is_base(word.low) and _plural_before(words, at - 1, place):
            return place
    return None


def _verb_follows(words: tuple[Word, ...], at: int) -> bool:
    """'tickets tagged P1 get an answer': the first participle only describes."""
    return any(word.low in AUXILIARIES or word.low in ("get", "go", "need", "require") for word in words[at : at + 4])


def _plural_before(words: tuple[Word, ...], start: int, place: int) -> bool:
    """Whether the words up to here are a plural subject, so that a bare verb agrees with it."""
    counted = words[place - 1].low[:1].isdigit() or words[place - 1].low[:1] in "$€£" or words[place - 1].text.isupper()
    plural = _is_plural(words[max(start, 0)].low)
    return _is_plural(words[place - 1].low) or (plural and (counted or words[place].low in _PLAIN_VERBS))


# Bare words that are hardly ever nouns.
_PLAIN_VERBS = frozenset("go get need come take require belong live follow expire have".split())


def _is_plural(low: str) -> bool:
    return low.endswith("s") and not low.endswith(("'s", "ss", "us", "is"))


_SEMI_MODALS = {
    (word, "to"): modal
    for modal, listed in {
        "must": "need needs have has got required",
        "should": "ought",
        "meant": "supposed expected meant",
        "may": "allowed",
        "will": "going",
        "can": "able",
        "used": "used",
    }.items()
    for word in listed.split()
}


@dataclass(slots=True)
class _Chain:
    """The auxiliaries and adverbs before a verb, gathered word by word."""

    modal: str = ""
    negated: bool = False
    adverbs: set[str] = field(default_factory=set)
    helpers: set[str] = field(default_factory=set)

    def take(self, words: tuple[Word, ...], at: int, person: Person) -> int:
        """How many words at this place belong to the chain; 0 at the verb."""
        low = words[at].low
        after = words[at + 1].low if at + 1 < len(words) else ""
        if (low, after) in _SEMI_MODALS:
            self.modal = _SEMI_MODALS[low, after]
            return 2
        if (low, after) == ("no", "longer"):
            self.negated = True
            self.adverbs.add("anymore")
            return 2
        if low in verbs.MODALS or (low == "better" and "had" in self.helpers):
            self.modal = "should" if low == "better" else low
            return 1
        if low in _NOT or low in ADVERBS or _is_adverb(low):
            self.negated = self.negated or low in _NOT
            self.adverbs |= {low} - {"not"}
            return 1
        if low in AUXILIARIES and _is_helper(words, at, person):
            self.helpers.add(low)
            return 1
        return 0


def _is_adverb(low: str) -> bool:
    return low.endswith("ly") and len(low) > 4 and verbs.base(low) is None


def _predicate(words: tuple[Word, ...], begin: int, person: Person, at: int) -> Frame:
    """Auxiliaries and adverbs until the main verb, then the rest."""
    subject = () if person is Person.COMMAND else words[begin:at]
    chain = _Chain(negated=_has_never(words[:begin]), adverbs=set(_adverbs(words[:begin])))
    start = at
    while at < len(words) and (taken := chain.take(words, at, person)):
        at += taken
    at = _last_helper(words, start, at) if at >= len(words) else at
    word = words[at] if at < len(words) else None
    if word is None or word.is_mark or word.opaque:
        return Frame(
            person,
            subject,
            words[start:at],
            "",
            None,
            words[at:],
            chain.modal,
            chain.negated,
            frozenset(chain.adverbs),
            words=words,
        )
    return _framed(words, person, subject, chain, (start, at))


def _framed(
    words: tuple[Word, ...], person: Person, subject: tuple[Word, ...], chain: _Chain, span: tuple[int, int]
) -> Frame:
    """The frame around a verb; `span` is where its chain starts and where the verb stands."""
    start, at = span
    word = words[at]
    verb = verbs.base(word.low) or word.low
    after = at + 1
    while verb == "be" and after < len(words) and words[after].low in ADVERBS | _NOT:
        chain.take(words, after, person)
        after += 1
    simple_past = word.low in ("was", "were") or (verbs.is_past(word.low) and not chain.helpers)
    return Frame(
        person=person,
        subject=subject,
        chain=words[start:at],
        verb=verb,
        verb_word=word,
        rest=words[after:],
        modal=chain.modal,
        negated=chain.negated,
        adverbs=frozenset(chain.adverbs),
        past=simple_past or bool(chain.helpers & {"was", "were", "did", "had"}),
        progressive=bool(chain.helpers & BE) and word.low.endswith("ing"),
        perfect=bool(chain.helpers & HAVE),
        passive=bool(chain.helpers & BE) and not word.low.endswith("ing"),
        words=words,
        trail=words[at + 1 : after],
    )


def _last_helper(words: tuple[Word, ...], start: int, end: int) -> int:
    """'I always do': the helper is the verb."""
    for place in range(end - 1, start - 1, -1):
        if words[place].low in AUXILIARIES - verbs.MODALS:
            return place
    return end


def _is_helper(words: tuple[Word, ...], at: int, person: Person) -> bool:
    """Whether be, have or do at this place only helps the verb after it."""
    low, after = words[at].low, at + 1
    while after < len(words) and words[after].low in ADVERBS | _NOT:
        after += 1
    if after >= len(words) or words[after].opaque:
        return False
    following = words[after].low
    if low in DO:
        denied = any(word.low in _NOT for word in words[at + 1 : after])
        return verbs.is_base(following) and (denied or person is not Person.COMMAND)
    if low in HAVE:
        return verbs.is_past(following) or following in _SAME_PARTICIPLE | {"been", "better", "got"}
    if (following, "to") in _SEMI_MODALS:
        return after + 1 < len(words) and words[after + 1].low == "to"
    if following in BE or verbs.is_gerund(following) or _like_gerund(following):
        return True
    return verbs.is_past(following) and following not in _ADJECTIVES and kind_of(following) is None


def _like_gerund(low: str) -> bool:
    return low.endswith("ing") and len(low) > 6 and low not in _THINGS


_THINGS = frozenset(
    "morning evening nothing something anything everything wedding building meeting ceiling housing "
    "clothing willing interesting amazing boring".split()
)
_SAME_PARTICIPLE = frozenset("become come run put set cut read hit let cost quit reset".split())
# Participles that describe a state rather than report an act.
_ADJECTIVES = frozenset(
    "married interested tired worried confused annoyed retired located based used fed concerned divorced "
    "engaged experienced self-employed broken left".split()
)
