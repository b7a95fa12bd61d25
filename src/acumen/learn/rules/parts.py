"""A sentence, cut where it begins to say something else: facts that can end one by one are kept one by one."""

import re
from collections.abc import Iterator, Sequence

from acumen.learn.rules import verbs
from acumen.learn.rules.sentences import Sentence
from acumen.learn.rules.voice import FIRST, OWN
from acumen.learn.rules.words import Word
from acumen.model.patterns import later

Words = Sequence[Word]

_JOINTS = frozenset([",", "and", "but", ";", "–", "—", "-", "so", "because", "as", "since"])
# Fewer words than this say nothing by themselves.
LEAST = 2
# An item of a list of what somebody is: "38, self-employed, two kids".
MOST_OF_ITEM = 6
_EMBEDDING = frozenset("that which who how what where whether if when than like to".split())
_PHRASE = frozenset("a an the my our in on at to for with from as by".split())


# Where a sentence turns from one kind of saying to another: "…, so use WAT", "…, is that a risk?", "forget X, use Y".
_TURNS = later(
    r"(?P<so>,?(?<!be)(?<!is)(?<!not)(?<!are)(?<!was)(?<!were)\s+so\s+"
    r"(?!that\b|far\b|much\b|many\b|on\b|called\b|kind\b|i can\b|do i\b))"
    r"|,\s+(?=(?:is|are|do|does|did|can|could|would|will|should|what|how|which|why|where)\s+"
    r"(?:i|we|it|this|that|there|you|the|my|a|about|much|many|is|are|do|does)\b[^,]*\?\s*$)"
    r"|(?P<ideas>,\s+(?=(?:any (?:ideas?|thoughts?|tips|suggestions?|advice|chance)|thoughts|ideas)\b[^,]{0,20}\?\s*$))"
    r"|(?P<why>,\s+(?=(?:i'?m|i am|we'?re|we are|i have|i'?ve|we have|we'?ve|my \w+ (?:is|are|has))\b))"
    r"|(?P<rule>,\s+(?=(?:\w+ ){1,3}(?:should|must|has to|have to)\b))"
    r"|(?<=[a-z0-9])\s+(?:-|–|—)\s+|:\s+(?=(?:i|we|my|our)\b)"
    r"|(?P<but>,?\s+but\s+)",
    re.IGNORECASE,
)
_FORGETS = later(
    r"\b(?:forget|scratch|scrap|disregard|delete|remove|drop|strike|throw (?:away|out))\b[^,;]*[,;]\s+", re.IGNORECASE
)
_LIMITED = later(
    r"\b(?:until|till|this (?:week|month|quarter|sprint)|for the (?:next|coming)|for now|today|tonight)\b",
    re.IGNORECASE,
)
# A topic put before its question is part of it: "the trimester after this, is it better?"
_FINITE = later(r"\b(?:i|we|is|are|am|was|were|has|have|had|does|did|\w+ed|\w+['’](?:s|m|re|ve))\b", re.IGNORECASE)
# "Email only, I'm deaf": what is asked, and why.
_COMMANDS = later(
    r"(?:please |pls |ok |and |so |but )*(?:no (?!,|i\b|we\b)|never|always|don'?t|do not|stop|avoid|skip|keep|use|"
    r"write|give|send|put|call|make|plan|show|be|say|speak|only|[\w-]+ only\b|nothing)",
    re.IGNORECASE,
)
# "I'm diabetic, carbs must be counted": what is so, and what follows.
_OF_SELF = later(r"\b(?:i'?m|i am|we'?re|we are|i have|i'?ve|we have)\b", re.IGNORECASE)
# Fewer words than this are no saying of their own.
LEAST_OF_SEGMENT = 3


def segments(sentence: Sentence) -> list[Sentence]:
    """The sentence, cut where it turns from telling to asking, or from one span of time to another."""
    text, cuts = sentence.text, [0]
    for turn in _TURNS.finditer(text):
        left, right = text[cuts[-1] : turn.start()], text[turn.end() :]
        if len(left.split()) < LEAST or len(right.split()) < (
            LEAST if turn["why"] or turn["ideas"] else LEAST_OF_SEGMENT
        ):
            continue
        if (turn["why"] and not _COMMANDS.match(left)) or (turn["rule"] and not _OF_SELF.search(left)):
            continue
        if len(left.split()) < LEAST_OF_SEGMENT and not (turn["why"] or _FINITE.search(left)):
            continue
        if turn["but"] and bool(_LIMITED.search(left)) == bool(_LIMITED.search(right)):
            continue
        if not (turn["so"] or turn["but"]) and "?" in right and not _FINITE.search(left):
            continue
        cuts.append(turn.end())
    wish = _FORGETS.search(text)
    if wish and len(text[wish.end() :].split()) >= LEAST_OF_SEGMENT and wish.end() not in cuts:
        cuts.append(wish.end())
    ends = [*sorted(cuts)[1:], len(text)]
    return [_piece(sentence, start, end) for start, end in zip(sorted(cuts), ends, strict=True)]


def _piece(sentence: Sentence, start: int, end: int) -> Sentence:
    text = re.sub(r"(?:[\s,–—-]|\bso|\bbut)+$", "", sentence.text[start:end], flags=re.IGNORECASE)
    return Sentence(sentence.start + start, sentence.start + start + len(text), text)


def statements(said: Words) -> list[list[Word]]:
    """The clauses of a sentence that has a speaker for its subject; any other sentence stays whole."""
    parts = [part for clause in _clauses(list(said)) for part in _verbs(clause)]
    return [item for part in parts for item in _items(part)]


def _clauses(said: list[Word]) -> Iterator[list[Word]]:
    """'I weigh 94 kg and I am 1.82' says two things; 'the one that I use' one."""
    start = 0
    for place in range(LEAST, len(said) - 1):
        opens = (said[place].low in FIRST and not _is_aside(said[place + 1])) or (
            said[place].low in OWN and _has_verb(said[place + 1 : place + 6])
        )
        opens = opens or (
            said[place - 1].low == "," and _equates(said[place : place + 4]) and _has_verb(said[start:place])
        )
        if (
            opens
            and said[place - 1].low in _JOINTS
            and _BACK.isdisjoint(word.low for word in said[place : place + MOST_OF_ITEM])
            and not _is_bracketed(said[start:place])
            and _is_whole(said[start : place - 1])
            and len(said) - place > LEAST
        ):
            yield _trimmed(said[start:place])
            start = place
    yield _trimmed(said[start:])


# "…, I maintain it alone" is nothing without what it goes with.
_BACK = frozenset("it them him".split())


def _is_aside(verb: Word) -> bool:
    """'…, I wept', '…, I feel like a circus': goes with what it is said of."""
    return verb.low in _ASIDES or verbs.is_past(verb.low)


_ASIDES = frozenset("feel look could would shall was were think guess hope know love hate mean wonder".split())


def _is_bracketed(said: Words) -> bool:
    """'(type 1, since I was nine)' stays together."""
    return sum(word.low == "(" for word in said) > sum(word.low == ")" for word in said)


def _is_whole(said: Words) -> bool:
    """A clause of its own: 'my husband' and 'as a freelancer' wait for their verb."""
    return len(said) >= LEAST and any(
        word.low in _BE or verbs.base(word.low) or word.low in verbs.MODALS for word in said
    )


_BE = frozenset("is are am was were has have had".split())


def _has_verb(said: Words) -> bool:
    return any(word.low in ("is", "are", "was", "has", "have", "goes", "runs", "does", "can", "will") for word in said)


def _equates(said: Words) -> bool:
    """'prod is `osprey`', 'office supplies is 6815': a noun of one or two words, and what it is."""
    place = next((n for n, word in enumerate(said) if word.low in ("is", "are") and n), 0)
    return bool(place) and not {said[0].low, said[place - 1].low} & _PRONOUNS


_PRONOUNS = frozenset("it that this they there which what who he she not but and so when where".split())


def _trimmed(part: list[Word]) -> list[Word]:
    while len(part) > 1 and part[-1].low in _JOINTS:
        part.pop()
    return part


def _verbs(part: list[Word]) -> list[list[Word]]:
    """'I live in Berlin and work at Siemens' says two things of one subject."""
    if part[0].low not in FIRST or len(part) < 2 or not (verbs.is_base(part[1].low) or part[1].low == "am"):
        return [part]
    for place in range(3, len(part) - 1):
        word, before, after = part[place].low, part[place - 1].low, part[place + 1].low
        if before in _EMBEDDING:
            return [part]
        if before == "and" and (verbs.is_base(word) or word in ("am", "have")) and after in _PHRASE:
            return [_trimmed(part[:place]), *_verbs([part[0], *part[place:]])]
    return [part]


def _items(part: list[Word]) -> list[list[Word]]:
    """'I am 38, self-employed, two kids, renting in Lyon' says four."""
    if [word.low for word in part[:2]] not in (["i", "am"], ["we", "are"]):
        return [part]
    items: list[list[Word]] = [[]]
    for word in part[2:]:
        if word.low == ",":
            items.append([])
        else:
            items[-1].append(word)
    listed = [item for item in items if item]
    if len(listed) < 3 or any(len(item) > MOST_OF_ITEM or _is_clause(item) for item in listed):
        return [part]
    return [[*part[:2], *listed[0]], *(_item(part[:2], item) for item in listed[1:])]


def _is_clause(item: Words) -> bool:
    """'we are in Belgium, celsius here, and knock twenty off' lists nothing."""
    orders = item[0].low == "and" and len(item) > 2 and verbs.is_base(item[1].low) and item[1].low not in _DOES
    return orders or any(word.low in FIRST or word.low in ("is", "are", "not") for word in item)


def _item(subject: Words, item: list[Word]) -> list[Word]:
    """'two kids' are had; all else the speaker is."""
    spot = item[0].start
    if item[0].low in _DOES and len(item) > 1:
        return [subject[0], *item]
    counted = any(word.low.isdigit() or word.low in _COUNTS for word in item[:2])
    if counted and len(item) > 1 and item[1].low not in ("years", "year"):
        return [subject[0], Word("have", "have", spot, spot), *item]
    if item[0].low == "and" and len(item) > 1:
        return _item(subject, item[1:])
    return [*subject, *item]


_DOES = frozenset("have work live need want use own speak".split())
_COUNTS = frozenset("two three four five six seven eight nine ten no".split())
