"""Notes compared with what is known: each is new, known, contradicting, outdated or a wish to forget. Pure."""

import re
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Generic, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from acumen.deps import Nearness, beside
from acumen.learn.rules import keys, rivals
from acumen.learn.rules.forgetting import EVERYTHING, LAST
from acumen.learn.rules.lessons import WORKED
from acumen.learn.rules.rivals import MOST_OF_BARE, Saying, saying
from acumen.model.ids import InteractionId, Millis, PlaybookId, ProfileId
from acumen.model.memory import Status
from acumen.model.patterns import later
from acumen.model.playbook import PlaybookNote, UserPlaybook
from acumen.model.profile import NEVER, Profile, ProfileNote

Id = TypeVar("Id", ProfileId, PlaybookId)
Note = TypeVar("Note", ProfileNote, PlaybookNote)

# Shared words of two statements that say the same, as a part of all their words (Jaccard); and how near in meaning.
SAME_WORDS = 0.75
SAME_MEANING = 0.9
# How much of a wish to forget must be found in a memory, by its words, or how near it must be in meaning.
FORGET_WORDS = 0.6
FORGET_MEANING = 0.55
FORGET_MEANING_ALONE = 0.65
# Where nothing is meant by that measure, the nearest is, if nothing else comes as near.
FORGET_NEAREST = 0.25
FORGET_CLEARLY = 0.1
# Allergy and allergic, wed and wedding: words that begin alike are taken for one here.
STEM = 5


class Verdict(StrEnum):
    """How a note stands to a known memory, by the word of somebody who understands both."""

    SAME = "same"
    CONTRADICTS = "contradicts"
    DIFFERENT = "different"


# By the place of the note among those given, and the id of the known memory. It goes before what words and meaning say.
Verdicts = Mapping[tuple[int, str], Verdict]
NONE: Verdicts = {}


class Which(Struct, Generic[Id], frozen=True):
    """A memory: a known one by its id, or the n-th of `added`."""

    known: Id | None = None
    added: int | None = None


class Added(Struct, Generic[Note], frozen=True):
    note: Note
    because: str
    place: int  # of the note among those given


class Mentioned(Struct, Generic[Id, Note], frozen=True):
    """A memory that was said again later, perhaps in other words."""

    which: Which[Id]
    note: Note
    because: str


class Superseded(Struct, Generic[Id], frozen=True):
    """`old` gave way to `new`. Both may be among the added when one conversation changed its mind."""

    old: Which[Id]
    new: Which[Id]
    because: str


class Forgotten(Struct, Generic[Id], frozen=True):
    id: Id
    because: str


class Outdated(Struct, Generic[Note], frozen=True):
    """A note that says otherwise than a memory with newer evidence: told, not added."""

    note: Note
    because: str


class Changes(Struct, Generic[Id, Note], frozen=True):
    """What to write. Empty when the notes say nothing that is not known."""

    added: tuple[Added[Note], ...] = ()
    mentioned: tuple[Mentioned[Id, Note], ...] = ()
    superseded: tuple[Superseded[Id], ...] = ()
    forgotten: tuple[Forgotten[Id], ...] = ()
    outdated: tuple[Outdated[Note], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.mentioned or self.superseded or self.forgotten)


ProfileChanges = Changes[ProfileId, ProfileNote]
PlaybookChanges = Changes[PlaybookId, PlaybookNote]


def profiles(
    known: Sequence[Profile],
    notes: Sequence[ProfileNote],
    at: Millis,
    verdicts: Verdicts = NONE,
    near: Sequence[Nearness] = (),
) -> ProfileChanges:
    """What the notes change in the profiles of one user.

    `near` tells for each note which of the known it comes near; without it each note meets them all, by words only.
    `known` may hold replaced and expired profiles too: they are never mentioned or replaced again, but they keep
    their own words from being learned twice, and a wish to forget reaches them.
    """
    entries = [_of_profile(profile, at) for profile in known]
    return _Merge(entries, _of_profile_note, verdicts, near).run(notes)


def playbooks(
    known: Sequence[UserPlaybook],
    notes: Sequence[PlaybookNote],
    _at: Millis,
    verdicts: Verdicts = NONE,
    near: Sequence[Nearness] = (),
) -> PlaybookChanges:
    """What the notes change in the lessons of one user. Lessons do not expire; the time is for the twin's sake."""
    entries = [_of_playbook(playbook) for playbook in known]
    return _Merge(entries, _of_playbook_note, verdicts, near).run(notes)


_LIVE = frozenset({Status.CURRENT, Status.PENDING})


class _Entry(Struct, Generic[Id], eq=False):
    """A memory or a note in the form they are compared in."""

    content: str
    which: Which[Id]
    seen: frozenset[InteractionId]
    saying: Saying
    words: frozenset[str]  # all by which a wish to forget may mean it
    said: str = ""  # the sentence it was read from
    place: int = -1  # of a note among those given
    leaning: tuple[float, float] | None = None
    live: bool = True
    gone: bool = False  # replaced in this pass
    forgotten: bool = False

    @property
    def key(self) -> str:
        """By which its nearness is told."""
        return beside(self.place) if self.which.known is None else str(self.which.known)

    @property
    def newest(self) -> int:
        return max(self.seen, default=-1)


def _of_profile(profile: Profile, at: Millis) -> _Entry[ProfileId]:
    live = profile.status in _LIVE and not (profile.expires_at != NEVER and profile.expires_at <= at)
    return _entry(profile.content, profile.content, profile.interaction_ids, Which(profile.id), live=live)


def _of_playbook(playbook: UserPlaybook) -> _Entry[PlaybookId]:
    lesson = playbook.lesson
    live = playbook.status in _LIVE
    findable = " ".join([lesson.searchable, lesson.pitfall or "", lesson.rationale or ""])
    return _entry(lesson.content, findable, playbook.interaction_ids, Which(playbook.id), live=live)


def _of_profile_note(note: ProfileNote) -> _Entry[ProfileId]:
    return _entry(note.content, note.content, [note.evidence.interaction_id], Which(), note)


def _of_playbook_note(note: PlaybookNote) -> _Entry[PlaybookId]:
    lesson = note.lesson
    return _entry(lesson.content, lesson.searchable, [note.evidence.interaction_id], Which(), note)


def _entry(
    content: str,
    findable: str,
    seen: Sequence[InteractionId],
    which: Which[Id],
    note: ProfileNote | PlaybookNote | None = None,
    *,
    live: bool = True,
) -> _Entry[Id]:
    words = keys.content_roots(findable.replace('"', ""))  # what was asked counts as what was said
    said, leaning = (note.evidence.text, note.leaning) if note else ("", None)
    return _Entry(content, which, frozenset(seen), saying(content, said), words, said, leaning=leaning, live=live)


class _Merge(Struct, Generic[Id, Note]):
    """One pass over the notes, oldest first; each meets all that is known by then."""

    entries: list[_Entry[Id]]
    entry_of: Callable[[Note], _Entry[Id]]
    verdicts: Verdicts
    near: Sequence[Nearness]
    added: list[Added[Note]] = field(default_factory=list)
    mentioned: list[Mentioned[Id, Note]] = field(default_factory=list)
    superseded: list[Superseded[Id]] = field(default_factory=list)
    forgotten: list[Forgotten[Id]] = field(default_factory=list)
    outdated: list[Outdated[Note]] = field(default_factory=list)

    def run(self, notes: Sequence[Note]) -> Changes[Id, Note]:
        for place, note in enumerate(notes):
            if note.forget:
                self._forget(note, place)
            elif not note.denies:
                self._learn(note, place)
        for place, note in enumerate(notes):
            if note.denies and not note.forget:
                self._deny(note, place)
        return self._changes()

    def _met(self, place: int) -> list[tuple[_Entry[Id], float | None]]:
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
        same = next((other for other in alike if other.live), None)
        others = [(other, cosine) for other, cosine in met if other.live and other not in alike]
        newer = next(
            (
                other
                for other, cosine in others
                if _is_newer(other, entry) and self._replaces(place, other, entry, cosine)
            ),
            None,
        )
        if newer:
            self.outdated.append(Outdated(note, f'Newer words already say "{newer.content}"'))
            return
        which = self._mention(note, entry, same) if same else self._add(note, entry, place)
        for rival, cosine in others:
            if self._replaces(place, entry, rival, cosine):
                rival.gone = True
                self.superseded.append(Superseded(rival.which, which, f'"{entry.content}" replaces "{rival.content}"'))

    def _is_same(self, place: int, entry: _Entry[Id], other: _Entry[Id], cosine: float | None) -> bool:
        verdict = self.verdicts.get((place, str(other.which.known)))
        return _same(entry, other, cosine) if verdict is None else verdict is Verdict.SAME

    def _replaces(self, place: int, new: _Entry[Id], old: _Entry[Id], cosine: float | None) -> bool:
        """One of the two is a note of this pass, the other may be known."""
        known = old.which.known if old.which.known is not None else new.which.known
        verdict = self.verdicts.get((place, str(known)))
        return _replaces(new, old, cosine) if verdict is None else verdict is Verdict.CONTRADICTS

    def _mention(self, note: Note, entry: _Entry[Id], same: _Entry[Id]) -> Which[Id]:
        """Said twice in one turn is said once."""
        if entry.newest > same.newest:
            same.seen |= entry.seen
            self.mentioned.append(Mentioned(same.which, note, f'Said again: "{note.evidence.text}"'))
        return same.which

    def _add(self, note: Note, entry: _Entry[Id], place: int) -> Which[Id]:
        entry.which, entry.place = Which(added=len(self.added)), place
        self.added.append(Added(note, f'The user said: "{note.evidence.text}"', place))
        self.entries.append(entry)
        return entry.which

    def _deny(self, note: Note, place: int) -> None:
        """What the words leave no room for, and nothing newer has replaced, ends: what follows is of another kind."""
        entry = self.entry_of(note)
        for other, cosine in self._met(place):
            if other.live and other.newest < entry.newest and _replaces(entry, other, cosine):
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
        meant = [entry for entry in older if _wished_away(wish, entry, near.get(entry.key), last)]
        live = [one for one in older if one.live and not one.gone]
        for entry in meant or _of_topic(wish, live) or _nearest(wish, live, near):
            self._end(entry, f'The user asked to forget: "{note.evidence.text}"')

    def _end(self, entry: _Entry[Id], because: str) -> None:
        entry.forgotten = entry.gone = True
        self._unlink(entry.which)
        if entry.which.known is not None:
            self.forgotten.append(Forgotten(entry.which.known, because))

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
        return Changes(
            tuple(self.added[place] for place in places),
            tuple(replace(one, which=renumbered(one.which)) for one in self.mentioned if one.which not in forgotten),
            tuple(replace(one, old=renumbered(one.old), new=renumbered(one.new)) for one in self.superseded),
            tuple(self.forgotten),
            tuple(self.outdated),
        )


def _wished_away(wish: _Entry[Id], entry: _Entry[Id], cosine: float | None, last: set[int]) -> bool:
    """Whether a wish to forget means this memory: by most of its words, by its meaning, or by when it was said."""
    if wish.content == EVERYTHING:
        return True
    if wish.content == LAST:
        return not last.isdisjoint(entry.seen)
    stems = {word[:STEM] for word in entry.words}
    shared = sum(word[:STEM] in stems for word in wish.words)
    if wish.words and shared >= FORGET_WORDS * len(wish.words):
        return True
    return cosine is not None and cosine >= (FORGET_MEANING if shared else FORGET_MEANING_ALONE)


def _of_topic(wish: _Entry[Id], entries: Sequence[_Entry[Id]]) -> list[_Entry[Id]]:
    """'My salary' means what the user earns."""
    bare = len(wish.words) <= MOST_OF_BARE
    return [entry for entry in entries if bare and not wish.saying.topics.isdisjoint(entry.saying.topics)]


def _nearest(wish: _Entry[Id], entries: Sequence[_Entry[Id]], near: Nearness) -> list[_Entry[Id]]:
    """Whoever asks to forget something means something: what comes clearly nearest to the wish."""
    if wish.content in (EVERYTHING, LAST):
        return []
    ranked = sorted(((near.get(entry.key) or 0.0, place) for place, entry in enumerate(entries)), reverse=True)
    second = ranked[1][0] if len(ranked) > 1 else 0.0
    clear = bool(ranked) and ranked[0][0] >= max(FORGET_NEAREST, second + FORGET_CLEARLY)
    return [entries[ranked[0][1]]] if clear else []


# "I told you", "remember?": said again rather than otherwise.
_REMINDS = later(r"\b(?:i (?:just |already )?(?:told|said)|as i said|remember\W*$)", re.IGNORECASE)


def _is_newer(known: _Entry[Id], note: _Entry[Id]) -> bool:
    return known.which.known is not None and known.newest >= note.newest


def _same(note: _Entry[Id], other: _Entry[Id], cosine: float | None) -> bool:
    """Whether two statements say the same thing: the same values, the same sign, and nearly the same words."""
    one, two = note.saying, other.saying
    if (one.negated, one.kinds, one.counts) != (two.negated, two.kinds, two.counts):
        return False
    if one.attribute and one.attribute == two.attribute and one.names and one.names == two.names:
        return True
    either = one.roots | two.roots
    if either and len(one.roots & two.roots) / len(either) >= SAME_WORDS:
        return True
    return cosine is not None and cosine >= SAME_MEANING and one.names == two.names


def _replaces(new: _Entry[Id], old: _Entry[Id], cosine: float | None) -> bool:
    """Whether the new words leave no room for the old. What was said in one breath stands; what worked, worked."""
    if (
        new.seen & old.seen
        or WORKED in (new.content[: len(WORKED)], old.content[: len(WORKED)])
        or (_REMINDS.search(new.said) and not rivals.conflict(old.saying, new.saying))
    ):
        return False
    return rivals.chance(old.saying, new.saying, cosine, new.leaning) >= rivals.REPLACES
