"""Whether a new statement leaves room for an old one: a small classifier over pairs.

Trained by `scripts/train_rivals.py` on the pairs under `scripts/pairs/`.
"""

import math
import re
from collections.abc import Sequence
from functools import cache, lru_cache
from itertools import takewhile
from pathlib import Path

import numpy as np
from msgspec import Struct

from acumen.learn.rules import keys, verbs
from acumen.learn.rules.classifier import Floats
from acumen.learn.rules.kinds import kind_in_place
from acumen.learn.rules.topics import topics
from acumen.learn.rules.words import Word, words
from acumen.model.patterns import later

_CHANGE = later(
    r"\b(?:now|nowadays|these days|lately|since|as of|from now on|from here on|from today|from next|starting|"
    r"switch(?:ed|ing)?|"
    r"mov(?:ed|ing)|chang(?:ed|ing)|renamed|replaced|upgrad\w+|migrated|transferred|relocated|rescheduled|pushed|"
    r"instead|new(?! to\b)|raised|lowered|doubled|went (?:up|down|back)|goes (?:up|down)|"
    r"turned|turns out|became|again|already|"
    r"after all|become|becomes|make (?:it|that|the)|bumped|it is|swapped|started|passed|over|finally)\b"
)
_ENDING = later(
    r"\b(?:no longer|anymore|any more|any longer|not|never|gone|left|quit|stop(?:ped)?|sold|broke|died|dead|"
    r"closing|shut|"
    r"closed|cancelled|"
    r"retired|ended|over|lifted|killed|ditched|dropped|replaced|renamed|goodbye|bye|got rid|gave up|forget|"
    r"scrap|scratch|"
    r"instead of|rather than|used to|removed|deleted|torn|ripped|outgrew|too (?:early|late|small|big|short|long|"
    r"much|little)|"
    r"out of|from|off|history|finished|back|fine|allowed|ok|was)\b"
)
# From this chance on a statement replaces another, and a wish to forget means a memory.
LIKELY = 0.45
# The same by words alone, where there is no network to ask; and from which chance on it is worth asking.
BY_WORDS = 0.2
ASKED = 0.05
# How much the network's score and that of words count in a chance: as fits talk that neither had learned from, but
# more for words, which alone carry plain parallels out of nowhere ("window seats", "aisle seats").
BY_TOKENS, BESIDE_TOKENS, USUAL = 0.95, 0.4, 0.2
# How much it counts beside both that words plainly say so, or otherwise.
PLAINLY = 6.0
# Such a share of their words in common is what both say something of.
SAME_FRAME = 0.5
# How near statements must be that share no word, to be about one thing.
NEAR_WITHOUT_WORDS = 0.42
# So few words that carry meaning are a value without what it is given to.
MOST_OF_BARE = 2
_UNITS = {"kilo": "kg", "kilos": "kg", "kilograms": "kg", "percent": "%", "hrs": "hours", "mins": "minutes"}
WEIGHTS = Path(__file__).with_name("rivals.npz")
_NEAR = 3  # how many words a number's unit may be away


class Saying(Struct, frozen=True):
    """A statement in the form it is compared in."""

    roots: frozenset[str]
    kinds: dict[str, frozenset[str]]
    numbers: dict[str, frozenset[str]]  # what is counted, with the counts
    names: frozenset[str]
    negated: bool
    change: bool
    ended: frozenset[str]  # words near one that ends them
    attribute: frozenset[str]  # what a value is given to: "the user's manager", "where they live"
    topics: frozenset[str]  # things of which there is mostly one
    bare: bool  # a value of some kind, and hardly anything besides
    adds: str  # a verb that more than one thing can be said with: speak, use, like …
    more: bool  # says that it comes on top of what is known: also, too, another …
    forbids: bool  # tells not to do something
    core: tuple[str, ...]  # the words before any that tell where, when or for what

    @property
    def deed(self) -> str:
        """What it tells to do, or not to do, if its verb says more than 'add' or 'write'."""
        first = self.core[0] if self.core else ""
        return first if verbs.is_base(first) and first not in _ANY_DEED else ""

    @property
    def counts(self) -> frozenset[str]:
        return frozenset().union(*self.numbers.values())


def saying(text: str, said: str = "") -> Saying:
    """`text` is what is compared, `said` the words it came from, which tell of change."""
    return _saying(text.replace('"', ""), said or text)


@lru_cache(maxsize=4096)
def _saying(text: str, said: str) -> Saying:
    listed = words(text)
    spoken = listed if said == text else words(said)
    low = " ".join(word.low for word in spoken)
    roots = frozenset(keys.roots(listed))
    return Saying(
        roots=roots,
        kinds=_kinds(listed),
        numbers=_numbers(listed),
        names=frozenset(_names(listed)) | frozenset(_names(spoken)),
        negated=keys.negated(listed),
        change=bool(_CHANGE.search(low)),
        ended=_ended(spoken),
        attribute=_attribute(listed),
        topics=topics(roots),
        bare=len(roots - {"prefer", "want"}) <= MOST_OF_BARE,
        adds=next((root for root in map(keys.root, (word.low for word in listed)) if root in _ADDS), ""),
        more=bool(_MORE.search(low)),
        forbids=bool(_FORBIDS.match(low)),
        core=tuple(keys.roots(takewhile(lambda word: word.low not in _SCOPED, listed))),
    )


_FORBIDS = later(r"(?:please |and |also |so |ok |, )*(?:do not|never|stop|quit|avoid|no more)\b")
_ANY_DEED = frozenset("add write include send show start create".split())
_SCOPED = frozenset("in on to for from with at by of into onto before after when while during about".split())


# "Too long" is no addition, "too" at the end of a clause is.
_MORE = later(r"\b(?:also|as well|another|additionally|in addition|on top of that)\b|\btoo(?= [.,;!?)–—-]|$)")
_ADDS = frozenset("speak use like love hate eat drink have own know play allergic take add enjoy learn read".split())
_KIN = frozenset(
    "parent mother father mum dad spouse wife husband sister brother son daughter child friend boss colleague coworker "
    "neighbour partner aunt uncle cousin team office".split()
)
_LIVE = frozenset("live move base reside sit".split())
_WORK = frozenset("work join employ".split())


def _attribute(listed: Sequence[Word]) -> frozenset[str]:
    """What stands before 'is'; or living, or working, of which there is mostly one."""
    lows = [word.low for word in listed]
    place = next((n for n, low in enumerate(lows[:7]) if low in ("is", "are", "was", "has") and n), 0)
    found = {keys.root(low) for low in lows}
    whose = f"{lows[1]} " if lows[:1] and lows[0] in ("user's", "my", "our") and keys.root(lows[1]) in _KIN else ""
    if found & _LIVE:
        return frozenset({f"{whose}live"})
    if found & _WORK and "at" in lows:
        return frozenset({f"{whose}work"})
    return frozenset(keys.roots(listed[:place])) if lows[:1] != ["user"] else frozenset()


def _kinds(listed: Sequence[Word]) -> dict[str, frozenset[str]]:
    lows = ["", *(word.low for word in listed), ""]
    found: dict[str, set[str]] = {}
    for place, word in enumerate(listed):
        kind = kind_in_place(word.text, lows[place], lows[place + 2])
        if kind:
            found.setdefault(kind, set()).add(keys.root(word.low))
    return {kind: frozenset(values) for kind, values in found.items()}


def _numbers(listed: Sequence[Word]) -> dict[str, frozenset[str]]:
    """Each number under the unit that follows it, or under none."""
    found: dict[str, set[str]] = {}
    for place, word in enumerate(listed):
        match = re.match(r"[$€£]?(\d[\d.,]*\d|\d)([a-z%]*)$", word.low.strip("`\"'"))
        count = match[1] if match else keys.COUNTS.get(word.low)
        if count is None:
            continue
        after = (
            match[2]
            if match and match[2]
            else next((w.low for w in listed[place + 1 : place + _NEAR] if not w.is_mark), "")
        )
        unit = keys.root(_UNITS.get(after, after))
        found.setdefault(unit, set()).add(count.replace(",", ""))
    return {unit: frozenset(counts) for unit, counts in found.items()}


def _names(listed: Sequence[Word]) -> list[str]:
    """Names, codes and numbers: what a memory cannot be mistaken for another by."""
    return [
        keys.root(word.low)
        for place, word in enumerate(listed)
        if word.opaque or any(map(str.isdigit, word.low)) or (place and word.text[:1].isupper() and len(word.low) > 1)
    ]


def _ended(spoken: Sequence[Word]) -> frozenset[str]:
    """The words of each clause that has a word of ending in it."""
    found: set[str] = set()
    clause: list[Word] = []
    for word in [*spoken, Word(".", ".", 0, 0)]:
        if word.low in (",", ";", ".", "!", "-", "–", "—", "(", ")", "but", "so"):
            if _ENDING.search(" ".join(one.low for one in clause)):
                found |= set(keys.roots(clause))
            clause = []
        else:
            clause.append(word)
    return frozenset(found)


def features(old: Saying, new: Saying, cosine: float | None) -> Floats:
    """What is seen of a pair without the new sentence's tokens."""
    shared = len(old.roots & new.roots) / max(min(len(old.roots), len(new.roots)), 1)
    same_topic = not old.topics.isdisjoint(new.topics)
    same_attribute = bool(old.attribute) and old.attribute == new.attribute
    differ = conflict(old, new)
    seen = [shared, not old.roots & new.roots, differ, shared * differ, number_conflict(old, new)]
    seen += [new.change, shared * new.change, differ * new.change, bool(new.ended & old.roots), bool(new.ended)]
    seen += [same_topic, same_topic * (new.change or bool(new.ended)), same_topic * differ, same_attribute]
    seen += [(old.negated != new.negated) * shared, bool(old.names & (new.roots | new.names))]
    seen += [_stand_together(old, new), _stand_apart(old, new, cosine), certain(old, new), elsewhere(old, new)]
    near = cosine or 0.0
    return np.array([*seen, near, near * new.change, near * differ, 1.0], np.float32)


def conflict(old: Saying, new: Saying) -> bool:
    """Whether they give one kind of thing two values, or two counts."""
    return kind_conflict(old, new) or bool(old.counts and new.counts and not old.counts & new.counts)


def kind_conflict(old: Saying, new: Saying) -> bool:
    return any(not old.kinds[kind] & new.kinds[kind] for kind in old.kinds.keys() & new.kinds.keys())


def by_words(old: Saying, new: Saying, cosine: float | None) -> float:
    """How likely the new statement replaces the old one, where there is no network to ask."""
    if elsewhere(old, new) or _stand_together(old, new) or _stand_apart(old, new, cosine):
        return 0.0
    if certain(old, new):
        return 1.0
    weights = _weights()["words" if cosine is None else "near"]
    return sure(float(features(old, new, cosine) @ weights))


def elsewhere(old: Saying, new: Saying) -> bool:
    """Whether they are said of different places: what holds in staging replaces nothing in production."""
    scopes = _SCOPES & old.kinds.keys() & new.kinds.keys()
    return any(old.kinds[scope].isdisjoint(new.kinds[scope]) for scope in scopes)


def certain(old: Saying, new: Saying) -> bool:
    """Whether one thing is plainly given another value: 'my deadline is Friday', 'my deadline is Monday'."""
    if _stand_together(old, new):
        return False
    if old.roots and old.roots <= new.ended and old.negated != new.negated:
        return True  # "I no longer work at Google"
    if old.attribute and old.attribute == new.attribute:
        return conflict(old, new) or bool(old.names and new.names and old.names.isdisjoint(new.names))
    frame = len(old.roots & new.roots) / max(min(len(old.roots), len(new.roots)), 1)
    return conflict(old, new) if frame >= SAME_FRAME else old.bare and new.bare and kind_conflict(old, new)


def names_what_ends(old: str, new: str) -> bool:
    """'Weblogic', 'weblogic is history'; 'Saturdays, mornings', 'Saturdays are out': whether some of the old ends."""
    known = saying(old)
    return not (known.names | known.roots).isdisjoint(saying(new).ended)


def leaning(old: Saying, new: Saying, cosine: float | None) -> float:
    """What the words of a pair and their nearness say for it: above zero where they would decide for it alone."""
    plainly = PLAINLY * (certain(old, new) - (elsewhere(old, new) or _forbids_else(old, new)))
    return plainly + float(features(old, new, cosine) @ _weights()["near"])


def _forbids_else(old: Saying, new: Saying) -> bool:
    """'Write tests for new code', 'stop adding comments to new code'; or 'sign commits', 'do not squash commits'."""
    other_deed = bool(old.deed and new.deed) and old.deed != new.deed
    return new.forbids and bool(new.core) and (other_deed or set(old.core).isdisjoint(new.core))


def chance(score: float, leaning: float) -> float:
    """How likely it is by the network's score and by their words: each sees what the other does not."""
    return sure(BY_TOKENS * score + BESIDE_TOKENS * leaning + USUAL)


def sure(score: float) -> float:
    return 1 / (1 + math.exp(-score))


def _stand_together(old: Saying, new: Saying) -> bool:
    """'I speak German' and 'I also speak Polish'; 'my wife is pregnant' and 'my wife is a vegetarian'."""
    if new.change or old.negated != new.negated:
        return False
    if new.more and not new.ended:
        return True
    if old.attribute and new.attribute and old.attribute.isdisjoint(new.attribute) and not new.ended:
        return True  # one is about the daughter, the other about the son
    if number_conflict(old, new):
        return False
    if old.names and old.names <= new.names and not new.ended & old.roots:
        return True  # the same said at more length
    people = bool(old.attribute & new.attribute & _PEOPLE)
    return people or (bool(old.adds) and old.adds == new.adds)


def _stand_apart(old: Saying, new: Saying, cosine: float | None) -> bool:
    """Without a word or a kind of thing in common they must be near: made-up names alone bring vectors together."""
    subject = old.attribute & new.attribute or old.kinds.keys() & new.kinds.keys()
    subject = subject or old.topics & new.topics or old.counts & new.counts
    return not (subject or old.roots & new.roots or new.ended & old.roots) and (cosine or 0.0) < NEAR_WITHOUT_WORDS


def number_conflict(old: Saying, new: Saying) -> bool:
    """Whether they count the same thing differently."""
    return any(not old.numbers[unit] & new.numbers[unit] for unit in old.numbers.keys() & new.numbers.keys())


_PEOPLE = frozenset("wife husband spouse son daughter child mother father sister brother friend dog cat boss".split())
# Kinds that tell where something holds rather than what holds.
_SCOPES = frozenset({"environment"})


@cache
def _weights() -> dict[str, Floats]:
    with np.load(WEIGHTS) as stored:
        return {name: stored[name] for name in stored.files}
