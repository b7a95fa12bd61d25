"""A sentence, read: what kind of saying it is, its clauses, when they hold and why."""

import re
from dataclasses import dataclass, replace

from acumen.learn import verbs
from acumen.learn.clauses import (
    ADVERBS,
    AUXILIARIES,
    DETERMINERS,
    FIRST,
    PREPOSITIONS,
    SECOND,
    Clause,
    Frame,
    Person,
    Role,
    clauses,
    frame,
)  # fmt: skip
from acumen.learn.sentences import Sentence
from acumen.learn.words import Word, words


_FILLER = frozenset(
    "ok well hey hi hello hmm um uh oh ah so also anyway sorry thanks great perfect cool nice awesome alright right yes sure and but dear ugh argh lol haha good morning afternoon evening everyone team there again gotcha understood".split()
)
_DENIAL_WORDS = frozenset("no wait wrong incorrect nope false stop noo nooo".split())
_NOT_NOMINAL = frozenset(
    "problem problems worries thanks thank way idea need one more longer doubt rush biggie matter luck clue offense offence question questions wonder".split()
)

_INVERTED = frozenset(
    "is are was were do does did can could will would should may might has have had am shall must".split()
)
_WH = frozenset("what why how who whom whose which where when".split())

@dataclass(frozen=True, slots=True)
class Part:
    """A main clause as a frame, with the cues of its own opening."""

    frame: Frame
    cues: frozenset[Cue] = frozenset()
    joint: str = ""  # "so", "but" …: how it hangs on the clause before


@dataclass(frozen=True, slots=True)
class Reading:
    sentence: Sentence
    words: tuple[Word, ...]
    low: str  # the sentence in lower case, spelling mended
    cues: frozenset[Cue]
    parts: tuple[Part, ...]
    situations: tuple[Clause, ...]
    reasons: tuple[Clause, ...]
    until: tuple[Clause, ...] = ()

    def has(self, *cues: Cue) -> bool:
        return any(cue in self.cues for cue in cues)


def read(sentence: Sentence) -> Reading:
    """The sentence with its cues found, its fillers gone and its clauses framed."""
    heard = tuple(words(sentence.text))
    low = " ".join(word.low if not word.opaque else "…" for word in heard)
    cues = _cues(low, heard)
    kept, lifted = _lift(heard, low)
    kept = _without_filler(kept)
    if kept and kept[0].low in _DENIAL_WORDS and _denies(kept):
        cues |= {Cue.DENIAL}
        kept = _without_filler(kept[1:])
    kept, asked = _unasked(kept)
    return _assemble(sentence, heard, low, cues | lifted, asked, clauses(kept))


def _assemble(
    sentence: Sentence, heard: tuple[Word, ...], low: str, cues: set[Cue], asked: set[Cue], found: list[Clause]
) -> Reading:
    """The clauses sorted by what they do. What was asked at the opening of the sentence is asked of its first clause."""
    parts: list[Part] = []
    situations: list[Clause] = []
    reasons = [clause for clause in found if clause.role is Role.WHY]
    until = [clause for clause in found if clause.role is Role.UNTIL]
    for clause in found:
        if clause.role is Role.WHEN:
            situations.append(clause)
        elif clause.role is Role.MAIN and _is_phrase(clause.words) and len(found) > 1:
            situations.append(Clause(Role.WHEN, "", clause.words))
        elif clause.role is Role.MAIN:
            lead = _leading_phrase(clause.words)
            if lead:
                situations.append(Clause(Role.WHEN, "", clause.words[:lead]))
                clause = Clause(Role.MAIN, clause.marker, clause.words[lead:])
            parts += _shared_subject(_part(clause, asked if not parts else set()))
    parts = [part for place, part in enumerate(parts) if not (place and _shares_subject(part, parts[place - 1]))]
    if any(clause.marker in _RECURRING for clause in situations):
        cues.add(Cue.STANDING)
    for part in parts:
        cues |= part.cues
    return Reading(sentence, heard, low, frozenset(cues), tuple(parts), tuple(situations), tuple(reasons), tuple(until))


_RECURRING = frozenset(
    {
        "whenever",
        "every time",
        "each time",
        "any time",
        "anytime",
        "everytime",
        "the next time",
        "next time",
        "wherever",
    }
)


def _cues(low: str, heard: tuple[Word, ...]) -> set[Cue]:
    cues: set[Cue] = set()
    if _asks(low, heard):
        cues.add(Cue.QUESTION)
    if _DENIAL.search(low):
        cues.add(Cue.DENIAL)
    if _CONFIRMED.search(low):
        cues.add(Cue.CONFIRMED)
    if _TROUBLE.search(low):
        cues.add(Cue.TROUBLE)
    if re.search(r"\b(?:anymore|any more|any longer|no longer|ever again)\b", low):
        cues.add(Cue.ANYMORE)
    return cues


def _asks(low: str, heard: tuple[Word, ...]) -> bool:
    """A question by its mark or by its order of words."""
    if (heard and heard[-1].low in ("?", "?!", "!?")) or "?" in (word.low for word in heard[-2:]):
        return True
    first = next((word.low for word in heard if word.low not in _FILLER and not word.is_mark), "")
    second = low.split(first + " ", 1)[-1].split(" ", 1)[0] if first else ""
    if first in _WH - {"when", "which"}:
        return second in AUXILIARIES or second in ("about", "many", "much", "come", "long", "to")
    return first in _INVERTED and second in FIRST | SECOND | {
        "it",
        "there",
        "this",
        "that",
        "they",
        "he",
        "she",
        "the",
        "my",
        "our",
        "your",
        "any",
    }


def _lift(heard: tuple[Word, ...], low: str) -> tuple[list[Word], set[Cue]]:
    """The words without the phrases that only frame them, and the cues those phrases gave."""
    cues: set[Cue] = set()
    gone: set[int] = set()
    for match in _LIFT.finditer(low):
        cue = _CUES[match.lastgroup or ""]
        if cue is not None:
            cues.add(cue)
        first = low.count(" ", 0, match.start())
        gone.update(range(first, first + match[0].count(" ") + 1))
    kept = [word for place, word in enumerate(heard) if place not in gone]
    return _tidied(kept), cues


def _tidied(kept: list[Word]) -> list[Word]:
    """Without marks that now stand first or double."""
    result: list[Word] = []
    for word in kept:
        if word.is_mark and (not result or result[-1].is_mark) and word.low not in ("(", "-"):
            continue
        result.append(word)
    return result


def _without_filler(kept: list[Word]) -> list[Word]:
    at = 0
    while at < len(kept) and (kept[at].is_mark or kept[at].low in _FILLER):
        at += 1
    return kept[at:]


def _denies(kept: list[Word]) -> bool:
    """'No, …' denies; 'No emojis' asks for none; 'stop adding' is a command."""
    if len(kept) == 1 or kept[1].is_mark:
        return True
    if kept[0].low == "stop":
        return False
    after = kept[1].low
    return after in FIRST | SECOND | DETERMINERS | ADVERBS | {
        "it",
        "that",
        "this",
        "do",
        "not",
        "no",
        "please",
        "wait",
    } | _WH or (verbs.is_base(after) and kept[0].low != "no")


def _is_phrase(clause: tuple[Word, ...]) -> bool:
    """'for production deploys': a phrase that waits for its clause."""
    return clause[0].low in (PREPOSITIONS | {"before", "after"}) - {"like", "to", "of", "than"} and not any(
        word.low in FIRST | SECOND for word in clause
    )


def _leading_phrase(said: tuple[Word, ...]) -> int:
    """How many words stand before the subject: 'for children | you go by weight', 'this month | I cover for Luis'."""
    if said[0].low not in PREPOSITIONS | {"before", "after", "this", "next"} or said[0].low in (
        "like",
        "to",
        "of",
        "than",
    ):
        return 0
    for place in range(2, min(7, len(said) - 1)):
        if said[place].low in FIRST | SECOND and (
            said[place + 1].low in AUXILIARIES | ADVERBS or verbs.base(said[place + 1].low)
        ):
            return place
        if verbs.is_gerund(said[place].low) or said[place].low in AUXILIARIES | {"that", "which", "who"}:
            return 0
    return 0


def _part(clause: Clause, asked: set[Cue]) -> Part:
    """The clause with its asking taken off and the rest framed."""
    kept = list(clause.words)
    joint = kept[0].low if kept[0].low in _JOINTS else clause.marker
    if kept[0].low in _JOINTS and len(kept) > 1:
        kept = kept[1:]
    kept, cues = _unasked(kept)
    cues |= asked
    kept = _with_subject(kept)
    return Part(frame(_imperative(tuple(kept), cues), ordered=bool(cues)), frozenset(cues), joint)


_TOLD_OF_SELF = re.compile(
    r"(?P<be>(?:not )?(?:an? )?(?:big |huge |great )?(?:fan of|allergic to|based in|vegan|vegetarian|diabetic)\b)|"
    r"(?P<did>(?:just |recently )*(?:turned \d+|moved (?:to|in|from)|switched (?:to|from)|started (?:a|working|at)|got (?:married|engaged|promoted|divorced)|quit my|retired|joined|graduated)\b)"
)


def _with_subject(kept: list[Word]) -> list[Word]:
    """'My husband and I' → we; 'just turned 40', 'not a fan of mushrooms' → I …."""
    low = " ".join(word.low for word in kept)
    paired = next((n for n in range(1, min(6, len(kept))) if kept[n].low == "i" and kept[n - 1].low == "and"), None)
    if paired and kept[0].low in ("my", "our"):
        return [replace(kept[paired], text="we", low="we"), *kept[paired + 1 :]]
    told = _TOLD_OF_SELF.match(low)
    if not told:
        return kept
    spot = kept[0].start
    me = [Word("I", "i", spot, spot)]
    return [*me, *([Word("am", "am", spot, spot)] if told["be"] else []), *kept]


def _shares_subject(part: Part, before: Part) -> bool:
    """'You are persistent and do not give up': no command, the subject goes on."""
    framed = part.frame
    return (
        part.joint == "and"
        and framed.person is Person.COMMAND
        and framed.negated
        and before.frame.person in (Person.SECOND, Person.THIRD, Person.NOUN)
    )


def _shared_subject(part: Part) -> list[Part]:
    """'I live in Berlin and work at Siemens' says two things of one subject."""
    framed = part.frame
    if framed.person is not Person.FIRST or framed.modal or framed.negated or framed.past:
        return [part]
    for place in range(1, len(framed.rest) - 1):
        word, before, after = framed.rest[place], framed.rest[place - 1].low, framed.rest[place + 1].low
        if (
            before in _EMBEDDING
            or (verbs.is_gerund(before)
            and not (place > 1 and framed.rest[place - 2].low in DETERMINERS))
        ):
            return [part]
        if (
            before == "and"
            and (verbs.is_base(word.low) or word.low in ("was", "am", "are", "have"))
            and after in _AFTER_VERB
        ):
            ends = framed.rest[: place - 1][:-1] if framed.rest[place - 2].is_mark else framed.rest[: place - 1]
            first = replace(framed, rest=ends, words=framed.words[: len(framed.words) - len(framed.rest) + len(ends)])
            second = frame((*framed.subject, *framed.rest[place:]))
            return [Part(first, part.cues, part.joint), *_shared_subject(Part(second, part.cues, "and"))]
    return [part]


# Words that open a clause of their own: a verb after them may not be the speaker's.
_EMBEDDING = frozenset("to who that which how what you whether if".split())
_AFTER_VERB = (
    PREPOSITIONS | DETERMINERS | ADVERBS | frozenset({"wondering", "looking", "trying", "thinking", "hoping", "been"})
)
_JOINTS = frozenset("so but and or then also".split())


def _unasked(kept: list[Word]) -> tuple[list[Word], set[Cue]]:
    """The words after 'could you please', 'I want you to', 'make sure' …, and what those openings were."""
    cues: set[Cue] = set()
    for _ in range(3):
        text = " ".join(word.low for word in kept) + " "
        match = next(((cue, found) for cue, pattern in _ASKS if (found := pattern.match(text))), None)
        if match is None:
            break
        cue, found = match
        taken = found[0].split()
        rest = kept[len(taken) :]
        if not rest:
            break
        cues.add(cue)
        always = [word for word in kept[: len(taken)] if word.low in ("always", "only")]
        denied = "forget" not in taken and bool({"not", "never", "no"} & set(taken))
        kept = [*always, *(_negative(rest) if denied else rest)]
    if len(kept) > 1 and kept[0].low == "not" and (kept[1].low == "to" or verbs.base(kept[1].low)):
        kept = _negative(kept[2:] if kept[1].low == "to" else kept[1:])
    return kept, cues


def _negative(rest: list[Word]) -> list[Word]:
    spot = rest[0].start
    return [Word("do", "do", spot, spot), Word("not", "not", spot, spot), *rest]


def _imperative(kept: tuple[Word, ...], cues: set[Cue]) -> tuple[Word, ...]:
    """After an asking, 'using' and 'used' are 'use'."""
    if not cues or not kept:
        return kept
    place = next((n for n, word in enumerate(kept) if word.low not in ADVERBS | {"not", "do"}), 0)
    word = kept[place]
    base = verbs.base(word.low)
    if (
        cues & {Cue.ASKED, Cue.WISHED}
        and base
        and base != word.low
        and (verbs.is_gerund(word.low) or verbs.is_past(word.low))
    ):
        changed = Word(base, base, word.start, word.end)
        kept = (*kept[:place], changed, *kept[place + 1 :])
        if place and kept[place - 1].low == "not" and (place < 2 or kept[place - 2].low != "do"):
            kept = (*kept[: place - 1], Word("do", "do", word.start, word.start), *kept[place - 1 :])
    return kept
