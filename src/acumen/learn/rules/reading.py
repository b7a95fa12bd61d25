"""A sentence, read: what kind of saying it is, its clauses, when they hold and why."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from acumen.learn.rules import verbs
from acumen.learn.rules.clauses import (
    ADVERBS,
    AUXILIARIES,
    DETERMINERS,
    FIRST,
    PREPOSITIONS,
    SECOND,
    THIRD,
    WH,
    Clause,
    Frame,
    Person,
    Role,
    clauses,
    frame,
)
from acumen.learn.rules.cues import Cue, signs
from acumen.learn.rules.phrasing import (
    as_command,
    is_filler,
    lift,
    unasked,
    with_subject,
    without_denial,
    without_fillers,
)
from acumen.learn.rules.sentences import Sentence
from acumen.learn.rules.words import Word, words


@dataclass(frozen=True, slots=True)
class Part:
    """A main clause as a frame, with the cues of its own opening."""

    frame: Frame
    cues: frozenset[Cue] = frozenset()
    joint: str = ""  # "so", "but" …: how it hangs on the clause before


@dataclass(frozen=True, slots=True)
class Reading:
    """All that later steps ask of a sentence."""

    sentence: Sentence
    words: tuple[Word, ...]
    low: str  # the sentence in lower case, spelling mended, words parted by single blanks
    cues: frozenset[Cue]
    parts: tuple[Part, ...]
    situations: tuple[Clause, ...]
    reasons: tuple[Clause, ...]

    def has(self, *cues: Cue) -> bool:
        return any(cue in self.cues for cue in cues)


def read(sentence: Sentence) -> Reading:
    """The sentence with its cues found, its fillers gone and its clauses framed."""
    heard = tuple(words(sentence.text))
    low = " ".join("…" if word.opaque else word.low for word in heard)
    kept, lifted = lift(heard, low)
    kept, denied = without_denial(without_fillers(kept))
    kept, asked = unasked(kept)
    found = list(_with_phrases(clauses(kept)))
    parts = list(_parts([clause for clause in found if clause.role is Role.MAIN], asked))
    situations = tuple(clause for clause in found if clause.role is Role.WHEN)
    cues = signs(low) | lifted | {cue for part in parts for cue in part.cues}
    cues |= {Cue.DENIAL} if denied else set()
    cues |= {Cue.QUESTION} if _asks(heard) else set()
    cues |= {Cue.STANDING} if any(clause.marker in _RECURRING for clause in situations) else set()
    reasons = tuple(clause for clause in found if clause.role is Role.WHY)
    return Reading(sentence, heard, low, frozenset(cues), tuple(parts), situations, reasons)


_RECURRING = frozenset(
    [
        "whenever",
        "every time",
        "each time",
        "any time",
        "anytime",
        "everytime",
        "the next time",
        "next time",
        "wherever",
    ]
)
_INVERTED = frozenset(
    "is are was were do does did can could will would should may might has have had am shall must".split()
)
_ASKED_ABOUT = FIRST | SECOND | THIRD | {"the", "my", "our", "your", "any"}


def _asks(heard: Sequence[Word]) -> bool:
    """A question by its mark or by its order of words."""
    if any("?" in word.low for word in heard[-2:] if word.is_mark):
        return True
    said = [word.low for word in heard if not word.is_mark]
    while said and said[0] not in _INVERTED | WH and is_filler(Word(said[0], said[0], 0, 0)):
        said.pop(0)
    first, second = [*said, "", ""][:2]
    if first in WH - {"when", "which"}:
        return second in AUXILIARIES or second in ("about", "many", "much", "come", "long", "to")
    return first in _INVERTED and second in _ASKED_ABOUT


# --- situations that stand before their clause


def _with_phrases(found: list[Clause]) -> Iterator[Clause]:
    """The clauses, with phrases like 'for production deploys' told apart as situations."""
    for clause in _contrasts_last(found):
        lead = _leading_phrase(clause.words) if clause.role is Role.MAIN else 0
        if clause.role is Role.MAIN and len(found) > 1 and _is_phrase(clause.words):
            yield replace(clause, role=Role.WHEN, marker="")
        elif lead:
            yield Clause(Role.WHEN, "", clause.words[:lead])
            yield replace(clause, words=clause.words[lead:])
        else:
            yield clause


def _contrasts_last(found: list[Clause]) -> list[Clause]:
    """'instead of yarn, use pnpm' is read as 'use pnpm instead of yarn'."""
    if len(found) > 1 and [word.low for word in found[0].words[:2]] in (["instead", "of"], ["rather", "than"]):
        return [replace(found[1], words=(*found[1].words, *found[0].words)), *found[2:]]
    return found


_LEADING = (PREPOSITIONS | {"before", "after", "since"}) - {"like", "to", "of", "than"}


def _is_phrase(clause: Sequence[Word]) -> bool:
    """'for production deploys': a phrase that waits for its clause."""
    return clause[0].low in _LEADING and not any(word.low in FIRST | SECOND for word in clause)


def _leading_phrase(said: Sequence[Word]) -> int:
    """How many words stand before the subject: 'for children | you go by weight', 'this month | I cover for Luis'."""
    if said[0].low not in _LEADING | {"this", "next"}:
        return 0
    for place in range(2, min(7, len(said) - 1)):
        low, after = said[place].low, said[place + 1].low
        if low in FIRST | SECOND and (after in AUXILIARIES | ADVERBS or verbs.base(after)):
            return place
        if verbs.is_gerund(low) or low in AUXILIARIES | {"that", "which", "who"}:
            return 0
    return 0


# --- main clauses

_JOINTS = frozenset("so but and or then also".split())


def _parts(found: Sequence[Clause], asked: set[Cue]) -> Iterator[Part]:
    """The main clauses. What was asked at the opening of the sentence is asked of its first clause."""
    before: Part | None = None
    for clause in found:
        part = _part(clause, set() if before else asked)
        if before is None or not _goes_on(part, before):
            yield from _each_verb(part)
        before = part


def _part(clause: Clause, asked: set[Cue]) -> Part:
    """The clause with its asking taken off and the rest framed."""
    kept = list(clause.words)
    joint = clause.marker
    if kept[0].low in _JOINTS and len(kept) > 1:
        joint, kept = kept[0].low, kept[1:]
    kept, cues = unasked(kept)
    cues |= asked
    said = as_command(with_subject(kept), cues)
    return Part(frame(tuple(said), ordered=bool(cues)), frozenset(cues), joint)


def _goes_on(part: Part, before: Part) -> bool:
    """'You are persistent and do not give up', 'I sand it, and tape the edges': no command, the subject goes on."""
    bare = part.frame.person is Person.COMMAND and not part.cues and not part.frame.adverbs & {"always", "never"}
    return part.joint == "and" and bare and before.frame.person not in (Person.COMMAND, Person.NONE, Person.YOURS)


# Words that open a clause of their own: a verb after them may not be the speaker's.
_EMBEDDING = frozenset("to who that which how what you whether if".split())
_AFTER_VERB = (
    PREPOSITIONS
    | DETERMINERS
    | ADVERBS
    | {"wondering", "looking", "trying", "thinking", "hoping", "been", "alone", "together"}
)


def _each_verb(part: Part) -> list[Part]:
    """'I live in Berlin and work at Siemens' says two things of one subject."""
    framed, rest = part.frame, part.frame.rest
    if framed.person is not Person.FIRST or framed.modal or framed.negated or framed.past:
        return [part]
    for place in range(1, len(rest) - 1):
        before = rest[place - 1].low
        described = place > 1 and rest[place - 2].low in DETERMINERS
        if before in _EMBEDDING or (verbs.is_gerund(before) and not described):
            return [part]
        if before == "and" and _is_second_verb(rest, place):
            ends = rest[: place - 1]
            ends = ends[:-1] if ends and ends[-1].is_mark else ends
            first = replace(framed, rest=ends, words=framed.words[: len(framed.words) - len(rest) + len(ends)])
            second = frame((*framed.subject, *rest[place:]))
            return [Part(first, part.cues, part.joint), *_each_verb(Part(second, part.cues, "and"))]
    return [part]


def _is_second_verb(rest: Sequence[Word], place: int) -> bool:
    verb = verbs.is_base(rest[place].low) or rest[place].low in ("was", "am", "are", "have")
    return verb and rest[place + 1].low in _AFTER_VERB
