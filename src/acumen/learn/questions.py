"""What is asked before notes and memories are compared: whether new words leave room for older ones. Pure."""

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from acumen.deps import Nearness
from acumen.learn.changes import Id, Note
from acumen.learn.entries import Entry, in_order, one_breath, same_thing
from acumen.learn.rules import rivals
from acumen.learn.rules.classifier import last_words
from acumen.learn.rules.clauses import clauses, without
from acumen.learn.rules.forgetting import EVERYTHING, LAST
from acumen.model.conversation import Window
from acumen.model.ids import InteractionId, SessionId
from acumen.model.patterns import later

# Each note is held against so many memories at most, those that are likeliest by their words.
MOST_ASKED = 3
MOST_ASKED_TO_FORGET = 8
# A longer turn is about more than what is to be forgotten; a longer sentence before a note about more than the note.
LONGEST_WISH = 240
LONGEST_BEFORE = 120
# From this chance on a memory of several facts is asked about fact by fact; below it a fact of it surely holds.
PARTLY = 0.35
# And so does one that is so much less likely to end than the likeliest, or by such a factor where none is likely.
LESS_LIKELY, SURELY_LESS = 0.3, 0.5
# Of what may be wished away nothing is kept from this chance on.
WISHED = 0.2

# So few characters are hardly understood without what they answer.
SHORT = 60


class Told(Struct, frozen=True):
    """A turn of the user as a whole, and what the agent had said before it."""

    text: str
    before: str = ""


Turns = Mapping[InteractionId, Told]
NO_TURNS: Turns = {}
NOTHING_TOLD = Told("")

Met = list[tuple[Entry[Id], float | None]]


class Question(Struct, frozen=True):
    """Whether what was said leaves room for what was known: of the note at `place` and the memory under `key`."""

    place: int
    key: str
    old: str
    new: str
    leaning: float | None  # what their words say for it; of a wish to forget words say little

    def chance(self, score: float) -> float:
        """How likely it is, by the network's score and by their words."""
        return rivals.sure(score) if self.leaning is None else rivals.chance(score, self.leaning)

    def parts(self, chance: float) -> "list[Question]":
        """The same of each fact of a memory of several, where the new words may end one of them."""
        parts = clauses(self.old) if chance >= PARTLY else []
        return [Question(self.place, self.key, part, self.new, self._leaning(part)) for part in parts]

    def _leaning(self, part: str) -> float | None:
        if self.leaning is None:
            return None
        return rivals.leaning(rivals.saying(part), rivals.saying(self.new), None)


class Answer(Struct, frozen=True):
    """How likely the new replaces the old, or is meant by a wish to forget; and what of the old would hold then."""

    chance: float
    rest: str = ""


Answers = Mapping[tuple[int, str], Answer]


def told(window: Window) -> Turns:
    """The user's turns, each after what the agent had said last in its session."""
    agent: dict[SessionId, str] = {}
    found: dict[InteractionId, Told] = {}
    for turn in window.turns:
        if turn.by_user:
            found[turn.id] = Told(turn.text, agent.pop(turn.session_id, ""))
        else:
            agent[turn.session_id] = turn.text
    return found


def answered(question: Question, chance: float, of_parts: Sequence[tuple[str, float]]) -> Answer:
    """By the whole, and by its parts: where some of it ends, those hold that surely do not."""
    surest = max((likely for _, likely in of_parts), default=0.0)
    if not of_parts or max(chance, surest) < rivals.LIKELY:
        return Answer(chance)
    least = _least(question, surest)
    doubtful = [part for part, likely in of_parts if likely >= least or rivals.names_what_ends(part, question.new)]
    return Answer(max(chance, surest), without(question.old, doubtful))


def _least(question: Question, surest: float) -> float:
    """The chance from which on a part is taken to end with the surest one."""
    if question.leaning is None:
        return WISHED
    return max(PARTLY, surest - LESS_LIKELY) if surest >= rivals.LIKELY else surest * SURELY_LESS


def asked(
    entries: list[Entry[Id]], notes: Sequence[tuple[Note, Entry[Id]]], near: Sequence[Nearness], turns: Turns
) -> list[Question]:
    """For each note about the memories it may replace or mean, and about the notes before it."""
    found: list[Question] = []
    for place, (note, entry) in enumerate(notes):
        spoken = _in_turn(note, entry, turns.get(note.evidence.interaction_id, NOTHING_TOLD))
        found += _of_note(place, note, entry, spoken, [one for one in entries if one.live], near[place])
        if not note.forget and not note.denies:
            entry.place = place
            entries.append(entry)
    return found


def _of_note(
    place: int, note: Note, entry: Entry[Id], spoken: str, live: list[Entry[Id]], near: Nearness
) -> Iterator[Question]:
    met = [(one, near.get(one.key)) for one in live if note.forget or one.key in near]
    for other, cosine in _worth_forgetting(entry, met) if note.forget else _worth_asking(entry, met):
        old, new = in_order(entry, other)
        leaning = None if note.forget else rivals.leaning(old.saying, new.saying, cosine)
        yield Question(place, other.key, old.content, spoken if new is entry else new.spoken, leaning)


def _in_turn(note: Note, entry: Entry[Id], turn: Told) -> str:
    """As it was spoken; what is to be forgotten may be named anywhere in the turn."""
    if note.forget:
        return turn.text if 0 < len(turn.text) <= LONGEST_WISH else entry.spoken
    sentences = _SENTENCES.split(turn.text[: note.evidence.start].rstrip(" ,"))
    return as_spoken(entry.spoken, sentences[-1].strip(), turn.before)


def as_spoken(words: str, before: str, agent: str) -> str:
    """After the sentence before it, which may be what tells of the change; what is short after what it answers.

    'They changed my exam. It's 9 January now.'; '[Still the Tuesday slot?] Thursday.'
    """
    spoken = f"{before} {words}" if 0 < len(before) <= LONGEST_BEFORE else words
    return f"[{last_words(agent)}] {spoken}" if agent and len(spoken) <= SHORT else spoken


# What ends one sentence before the next begins.
_SENTENCES = later(r"(?<=[.!?])\s+|\n+")


def _worth_asking(note: Entry[Id], met: Met[Id]) -> Met[Id]:
    """Those that the note may replace; the likeliest, where there are many."""
    apart = [(one, cosine) for one, cosine in met if not one_breath(note, one) and not same_thing(note, one, cosine)]
    leanings = [rivals.leaning(one.saying, note.saying, cosine) for one, cosine in apart]
    ranked = sorted(zip(leanings, range(len(apart)), strict=True), reverse=True)
    return [apart[place] for leaning, place in ranked[:MOST_ASKED] if rivals.sure(leaning) >= rivals.ASKED]


def _worth_forgetting(wish: Entry[Id], met: Met[Id]) -> Met[Id]:
    """The nearest."""
    if wish.content in (EVERYTHING, LAST):
        return []
    return sorted(met, key=lambda one: one[1] or 0.0, reverse=True)[:MOST_ASKED_TO_FORGET]
