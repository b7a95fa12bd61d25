"""Notes compared with what is known: each is new, known, contradicting, outdated or a wish to forget. Pure."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Generic, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from acumen.deps import Nearness
from acumen.learn import questions
from acumen.learn.changes import Added, Changes, Forgotten, Id, Left, Mentioned, Note, Outdated, Superseded, Which
from acumen.learn.entries import (
    Entry,
    in_order,
    is_newer,
    of_playbook,
    of_playbook_note,
    of_profile,
    of_profile_note,
    one_breath,
    reworded_fact,
    reworded_lesson,
    same_thing,
)
from acumen.learn.questions import NO_TURNS, Answers, Question, Turns
from acumen.learn.rules import rivals
from acumen.learn.rules.carried import carried
from acumen.learn.rules.forgetting import EVERYTHING, LAST
from acumen.learn.rules.rivals import MOST_OF_BARE
from acumen.model.ids import InteractionId, Millis
from acumen.model.playbook import UserPlaybook
from acumen.model.profile import Profile
from acumen.model.secrets import redact

M = TypeVar("M", Profile, UserPlaybook)

# How much of a wish to forget must be found in a memory, by its words, or how near it must be in meaning.
FORGET_WORDS = 0.6
FORGET_MEANING = 0.55
FORGET_MEANING_ALONE = 0.65
# Allergy and allergic, wed and wedding: words that begin alike are taken for one here.
STEM = 5
# What is faint but not fainter than this is kept beside words of its turn that replace something.
BESIDE_A_CHANGE = 0.25


class Verdict(StrEnum):
    """How a note stands to a known memory, by the word of somebody who understands both."""

    SAME = "same"
    CONTRADICTS = "contradicts"
    DIFFERENT = "different"


# By the place of the note among those given, and the id of the known memory. It goes before what words and meaning say.
Verdicts = Mapping[tuple[int, str], Verdict]
NONE: Verdicts = {}


class Comparison(Struct, Generic[M, Note, Id], frozen=True):
    """How notes of one kind meet the memories of one user.

    `near` tells for each note which of the known it comes near; without it each note meets them all, by words only.
    `known` may hold replaced and expired memories too: they are never mentioned or replaced again, but they keep
    their own words from being learned twice, and a wish to forget reaches them.
    """

    of_memory: Callable[[M, Millis], Entry[Id]]
    of_note: Callable[[Note], Entry[Id]]
    reworded: Callable[[Note, str], Note]
    # Whether words of the other kind that end a memory are kept as one of this kind, and what is left of a memory when
    # a part of it is forgotten. A lesson names what it is about in other places too.
    tells_facts: bool = False

    def __call__(
        self,
        known: Sequence[M],
        notes: Sequence[Note],
        at: Millis,
        verdicts: Verdicts = NONE,
        near: Sequence[Nearness] = (),
        answers: Answers | None = None,
    ) -> Changes[Id, Note]:
        """What the notes change. Without answers words and nearness decide."""
        entries = [self.of_memory(memory, at) for memory in known]
        merge = _Merge(entries, self.of_note, self.reworded, self.tells_facts, verdicts, near, answers)
        return merge.run(notes)

    def questions(
        self, known: Sequence[M], notes: Sequence[Note], at: Millis, near: Sequence[Nearness], turns: Turns = NO_TURNS
    ) -> list[Question]:
        """What is worth asking before notes and memories are compared."""
        entries = [self.of_memory(memory, at) for memory in known]
        return questions.asked(entries, [(note, self.of_note(note)) for note in notes], near, turns)


profiles = Comparison(of_profile, of_profile_note, reworded_fact, tells_facts=True)
playbooks = Comparison(of_playbook, of_playbook_note, reworded_lesson)


class _Merge(Struct, Generic[Id, Note]):
    """One pass over the notes, oldest first; each meets all that is known by then."""

    entries: list[Entry[Id]]
    entry_of: Callable[[Note], Entry[Id]]
    reworded: Callable[[Note, str], Note]
    tells_facts: bool
    verdicts: Verdicts
    near: Sequence[Nearness]
    answers: Answers | None
    added: list[Added[Note]] = field(default_factory=list)
    mentioned: list[Mentioned[Id, Note]] = field(default_factory=list)
    superseded: list[Superseded[Id]] = field(default_factory=list)
    left: list[Left[Id]] = field(default_factory=list)
    forgotten: list[Forgotten[Id]] = field(default_factory=list)
    outdated: list[Outdated[Note]] = field(default_factory=list)
    faint: list[tuple[Note, Entry[Id], int]] = field(default_factory=list)  # not kept so far
    past: list[Entry[Id]] = field(default_factory=list)  # of notes that newer words had replaced before they were read

    def run(self, notes: Sequence[Note]) -> Changes[Id, Note]:
        for place, note in enumerate(notes):
            if note.forget:
                self._forget(note, place)
            elif not note.denies:
                self._learn(note, place)
        self._keep_beside_changes()
        for place, note in enumerate(notes):
            if note.denies and not note.forget:
                self._deny(note, place)
        return self._changes()

    def _met(self, place: int) -> list[tuple[Entry[Id], float | None]]:
        """What a note is held against, with how near it is."""
        near = self.near[place] if self.near else None
        return [
            (entry, near.get(entry.key) if near else None)
            for entry in self.entries
            if not entry.gone and (near is None or entry.which.known is None or entry.key in near)
        ]

    def _learn(self, note: Note, place: int) -> None:
        entry = self.entry_of(note)
        met = self._met(place)
        alike = [other for other, cosine in met if self._is_same(place, entry, other, cosine)]
        if any(entry.newest <= other.newest and other.which.known is not None for other in alike):
            return  # read before
        if self._was_carried(entry):
            return
        same = next((other for other in alike if other.live), None)
        others = [(other, cosine) for other, cosine in met if other.live and other not in alike]
        rival = [other for other, cosine in others if self._rivals(place, entry, other, cosine, faint=note.faint)]
        if note.faint and (same or not rival):
            self.faint += [] if same else [(note, entry, place)]
            return  # worth keeping for what it replaces, or not at all
        newer = next((other for other in rival if is_newer(other, entry)), None)
        if newer:
            self.outdated.append(Outdated(note, f'Newer words already say "{newer.content}"'))
            self.past.append(entry)
            return
        told = entry
        if not same:
            note, entry = self._with_context(note, entry, rival)
        which = self._mention(note, entry, same) if same else self._add(note, entry, place)
        self._replace(place, rival, which, entry, rest=entry is told)  # else it is the old sentence, with the new value

    def _replace(
        self, place: int, gone: Sequence[Entry[Id]], which: Which[Id], entry: Entry[Id], *, rest: bool = True
    ) -> None:
        for other in gone:
            other.gone = True
            self.superseded.append(Superseded(other.which, which, f'"{entry.content}" replaces "{other.content}"'))
            if rest:
                self._keep_rest(place, other, f'"{entry.content}" leaves this of "{other.content}"')

    def _keep_rest(self, place: int, other: Entry[Id], because: str) -> None:
        """'We repair phones and tablets, kiosk at Noailles', then 'tablets we stopped': the kiosk stays where it is."""
        answer = self.answers.get((place, other.key)) if self.answers else None
        if answer and answer.rest and other.which.known is not None:
            self.left.append(Left(other.which.known, answer.rest, because))

    def _was_carried(self, entry: Entry[Id]) -> bool:
        """Read before, and kept as the sentence that it changed."""
        read = {one.content for one in self.entries if one.which.known is not None and entry.seen <= one.seen}
        return bool(read) and not read.isdisjoint(_carried(entry, [one for one in self.entries if not one.live]))

    def _with_context(self, note: Note, entry: Entry[Id], rival: Sequence[Entry[Id]]) -> tuple[Note, Entry[Id]]:
        """'It's 9 January now' is kept as the sentence about the exam that it changes."""
        text = next(_carried(entry, rival), None)
        if text is None:
            return note, entry
        note = self.reworded(note, text)
        return note, self.entry_of(note)

    def _keep_beside_changes(self) -> None:
        """'Kindergarten is over! I'm in from 8': what follows from a change is told along with it."""
        changed = [self.added[one.new.added].note for one in self.superseded if one.new.added is not None]
        turns = {note.evidence.interaction_id for note in changed}
        for note, entry, place in self.faint:
            if note.evidence.interaction_id in turns and note.confidence >= BESIDE_A_CHANGE:
                self._add(note, entry, place)

    def _is_same(self, place: int, entry: Entry[Id], other: Entry[Id], cosine: float | None) -> bool:
        verdict = self.verdicts.get((place, str(other.which.known)))
        return same_thing(entry, other, cosine) if verdict is None else verdict is Verdict.SAME

    def _rivals(
        self, place: int, note: Entry[Id], other: Entry[Id], cosine: float | None, *, faint: bool = False
    ) -> bool:
        """Whether the newer of the two leaves no room for the older."""
        verdict = self.verdicts.get((place, str(other.which.known)))
        if verdict is not None:
            return verdict is Verdict.CONTRADICTS
        if one_breath(note, other):
            return False
        if self.answers is not None:
            return self._chance(place, other) >= rivals.LIKELY
        old, new = in_order(note, other)
        return not faint and rivals.by_words(old.saying, new.saying, cosine) >= rivals.BY_WORDS

    def _mention(self, note: Note, entry: Entry[Id], same: Entry[Id]) -> Which[Id]:
        """Said twice in one turn is said once."""
        if entry.newest > same.newest:
            same.seen |= entry.seen
            self.mentioned.append(Mentioned(same.which, note, f'Said again: "{note.evidence.text}"'))
        return same.which

    def _add(self, note: Note, entry: Entry[Id], place: int) -> Which[Id]:
        entry.which, entry.place = Which(added=len(self.added)), place
        self.added.append(Added(note, f'The user said: "{note.evidence.text}"', place))
        self.entries.append(entry)
        return entry.which

    def _deny(self, note: Note, place: int) -> None:
        """What the words leave no room for, and nothing newer has replaced, ends.

        Words that end a fact tell one, whatever else they ask for: 'the pump guy sent new prices, it is 210'. A lesson
        may end by a fact, which is of another kind.
        """
        entry = self.entry_of(note)
        older = [(other, cosine) for other, cosine in self._met(place) if other.live and other.newest < entry.newest]
        ended = [other for other, cosine in older if self._rivals(place, entry, other, cosine)]
        if ended and self.tells_facts:
            self._replace(place, ended, self._add(note, entry, place), entry)
            return
        for other in ended:
            self._end(other, f'The user said otherwise: "{note.evidence.text}"')

    def _forget(self, note: Note, place: int) -> None:
        """What is older than the wish and matches it goes, replaced or not."""
        wish = self.entry_of(note)
        near = self.near[place] if self.near else {}
        asked = int(note.evidence.interaction_id)
        last = {asked, *([int(note.value)] if note.value.isdigit() else [])}
        older = [
            entry
            for entry in self.entries
            if not entry.forgotten and (entry.which.known is None or entry.newest < asked)
        ]
        if any(_named(wish, entry) for entry in self.past) and not any(_named(wish, entry) for entry in older):
            return  # what it names is gone
        meant = [entry for entry in older if self._means(place, entry)]
        meant = [entry for entry in meant if _named(wish, entry)] or meant
        if not meant and not note.faint:
            live = [one for one in older if one.live and not one.gone]
            wished = [entry for entry in older if _wished_away(wish, entry, near.get(entry.key), last)]
            meant = wished or _of_topic(wish, live)
        because = f'The user asked to forget: "{note.evidence.text}"'
        for entry in meant:
            self._end(entry, because, note.evidence.interaction_id)
            if self.tells_facts and entry.live:
                self._keep_rest(place, entry, f"{because}; this is what is left")

    def _means(self, place: int, entry: Entry[Id]) -> bool:
        """Whether a wish to forget means this memory."""
        return self._chance(place, entry) >= rivals.LIKELY

    def _chance(self, place: int, entry: Entry[Id]) -> float:
        answer = self.answers.get((place, entry.key)) if self.answers else None
        return answer.chance if answer else 0.0

    def _end(self, entry: Entry[Id], because: str, asked: InteractionId | None = None) -> None:
        entry.forgotten = entry.gone = True
        self._unlink(entry.which)
        if entry.which.known is not None:
            self.forgotten.append(Forgotten(entry.which.known, because, asked))

    def _unlink(self, forgotten: Which[Id]) -> None:
        """What it had replaced in this pass stands again, or points to what replaced it in turn."""
        heir = next((one.new for one in self.superseded if one.old == forgotten), None)
        for one in self.superseded:
            if one.new == forgotten and heir is None:
                next(entry for entry in self.entries if entry.which == one.old).gone = False
        linked = [replace(one, new=heir) if heir and one.new == forgotten else one for one in self.superseded]
        self.superseded = [one for one in linked if forgotten not in (one.old, one.new)]

    def _changes(self) -> Changes[Id, Note]:
        """The result, without what was added and then forgotten in the same pass."""
        dropped = {entry.which.added for entry in self.entries if entry.forgotten} - {None}
        places = [place for place in range(len(self.added)) if place not in dropped]
        moved = {old: new for new, old in enumerate(places)}

        def renumbered(which: Which[Id]) -> Which[Id]:
            return which if which.added is None else replace(which, added=moved[which.added])

        forgotten = {entry.which for entry in self.entries if entry.forgotten}
        ended = {*(one.old.known for one in self.superseded), *(one.id for one in self.forgotten)}
        return Changes(
            tuple(self.added[place] for place in places),
            tuple(replace(one, which=renumbered(one.which)) for one in self.mentioned if one.which not in forgotten),
            tuple(replace(one, old=renumbered(one.old), new=renumbered(one.new)) for one in self.superseded),
            tuple(one for one in self.left if one.of in ended),
            tuple(self.forgotten),
            tuple(self.outdated),
        )


def _carried(entry: Entry[Id], into: Sequence[Entry[Id]]) -> Iterator[str]:
    """What was spoken may hold a secret that the note had left out."""
    texts = (carried(other.content, new) for other in into for new in (entry.said, entry.content))
    return (text for text in texts if text and redact(text) == text)


def _named(wish: Entry[Id], entry: Entry[Id]) -> int:
    """How many words of a wish stand in a memory."""
    stems = {word[:STEM] for word in entry.words}
    return sum(word[:STEM] in stems for word in wish.words)


def _wished_away(wish: Entry[Id], entry: Entry[Id], cosine: float | None, last: set[int]) -> bool:
    """Whether a wish to forget means this memory: by most of its words, by its meaning, or by when it was said."""
    if wish.content == EVERYTHING:
        return True
    if wish.content == LAST:
        return not last.isdisjoint(entry.seen)
    shared = _named(wish, entry)
    if wish.words and shared >= FORGET_WORDS * len(wish.words):
        return True
    return cosine is not None and cosine >= (FORGET_MEANING if shared else FORGET_MEANING_ALONE)


def _of_topic(wish: Entry[Id], entries: Sequence[Entry[Id]]) -> list[Entry[Id]]:
    """'My salary' means what the user earns."""
    bare = len(wish.words) <= MOST_OF_BARE
    return [entry for entry in entries if bare and not wish.saying.topics.isdisjoint(entry.saying.topics)]
