"""Notes compared with what is known: each is new, known, contradicting, outdated or a wish to forget. Pure."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Generic, TypeVar

from acumen.learn.rules import facts, keys, lessons
from acumen.learn.rules.forgetting import EVERYTHING
from acumen.model.ids import InteractionId, Millis, PlaybookId, ProfileId
from acumen.model.memory import Status
from acumen.model.playbook import PlaybookNote, UserPlaybook
from acumen.model.profile import NEVER, Profile, ProfileNote

Id = TypeVar("Id", ProfileId, PlaybookId)
Note = TypeVar("Note", ProfileNote, PlaybookNote)

# Shared words of two subjects, as a part of all their words (Jaccard).
# An attribute's subject ends in its kind, so half may differ; a statement's words are all it has.
SAME_ATTRIBUTE = 0.5
SAME_STATEMENT = 0.75
OPPOSITE_STATEMENT = 0.65
# How much of a wish to forget must be found in a memory.
FORGET_MATCH = 0.6


class Verdict(StrEnum):
    """How a note stands to a known memory, by the word of somebody who understands both."""

    SAME = "same"
    CONTRADICTS = "contradicts"
    DIFFERENT = "different"


# By the place of the note among those given, and the id of the known memory. It goes before what words and keys say.
Verdicts = Mapping[tuple[int, str], Verdict]
NONE: Verdicts = {}


@dataclass(frozen=True, slots=True)
class Which(Generic[Id]):
    """A memory: a known one by its id, or the n-th of `added`."""

    known: Id | None = None
    added: int | None = None


@dataclass(frozen=True, slots=True)
class Added(Generic[Note]):
    note: Note
    because: str
    place: int  # of the note among those given


@dataclass(frozen=True, slots=True)
class Mentioned(Generic[Id, Note]):
    """A memory that was said again later, perhaps in other words."""

    which: Which[Id]
    note: Note
    because: str


@dataclass(frozen=True, slots=True)
class Superseded(Generic[Id]):
    """`old` gave way to `new`. Both may be among the added when one conversation changed its mind."""

    old: Which[Id]
    new: Which[Id]
    because: str


@dataclass(frozen=True, slots=True)
class Forgotten(Generic[Id]):
    id: Id
    because: str


@dataclass(frozen=True, slots=True)
class Outdated(Generic[Note]):
    """A note that says otherwise than a memory with newer evidence: told, not added."""

    note: Note
    because: str


@dataclass(frozen=True, slots=True)
class Changes(Generic[Id, Note]):
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
    known: Sequence[Profile], notes: Sequence[ProfileNote], at: Millis, verdicts: Verdicts = NONE
) -> ProfileChanges:
    """What the notes change in the profiles of one user.

    `known` may hold replaced and expired profiles too: they are never mentioned or replaced again, but they keep
    their own words from being learned twice, and a wish to forget reaches them.
    """
    entries = [_of_profile(profile, at) for profile in known]
    return _Merge(entries, _of_profile_note, lambda note: note.content, verdicts).run(notes)


def playbooks(
    known: Sequence[UserPlaybook], notes: Sequence[PlaybookNote], _at: Millis, verdicts: Verdicts = NONE
) -> PlaybookChanges:
    """What the notes change in the lessons of one user. Lessons do not expire; the time is for the twin's sake."""
    entries = [_of_playbook(playbook) for playbook in known]
    return _Merge(entries, _of_playbook_note, lambda note: note.lesson.content, verdicts).run(notes)


_LIVE = frozenset({Status.CURRENT, Status.PENDING})


@dataclass(slots=True)
class _Entry(Generic[Id]):
    """A memory or a note in the form they are compared in."""

    subject: str
    value: str
    content: str
    which: Which[Id]
    seen: frozenset[InteractionId]
    tokens: frozenset[str] = frozenset()
    roots: frozenset[str] = frozenset()
    ends: tuple[frozenset[str], ...] = ()
    exclusive: bool = True
    live: bool = True
    gone: bool = False  # replaced in this pass
    forgotten: bool = False

    def __post_init__(self) -> None:
        self.tokens = frozenset(self.subject.split())
        self.roots = keys.content_roots(self.content)

    @property
    def newest(self) -> int:
        return max(self.seen, default=-1)

    @property
    def is_statement(self) -> bool:
        return self.value in (keys.YES, keys.NO)


def _of_profile(profile: Profile, at: Millis) -> _Entry[ProfileId]:
    subject, value = (profile.subject, profile.value) if profile.subject else facts.keys_of(profile.content)
    live = profile.status in _LIVE and not (profile.expires_at != NEVER and profile.expires_at <= at)
    return _Entry(subject, value, profile.content, Which(profile.id), frozenset(profile.interaction_ids), live=live)


def _of_playbook(playbook: UserPlaybook) -> _Entry[PlaybookId]:
    content = playbook.lesson.content
    subject, value = (playbook.subject, playbook.value) if playbook.subject else lessons.keys_of(content)
    live = playbook.status in _LIVE
    return _Entry(subject, value, content, Which(playbook.id), frozenset(playbook.interaction_ids), live=live)


def _of_profile_note(note: ProfileNote) -> _Entry[ProfileId]:
    subject, value = (note.subject, note.value) if note.subject else facts.keys_of(note.content)
    ends = tuple(frozenset(end.split()) for end in note.ends)
    seen = frozenset({note.evidence.interaction_id})
    return _Entry(subject, value, note.content, Which(), seen, ends=ends, exclusive=note.exclusive)


def _of_playbook_note(note: PlaybookNote) -> _Entry[PlaybookId]:
    subject, value = (note.subject, note.value) if note.subject else lessons.keys_of(note.lesson.content)
    return _Entry(subject, value, note.lesson.content, Which(), frozenset({note.evidence.interaction_id}))


@dataclass(slots=True)
class _Merge(Generic[Id, Note]):
    """One pass over the notes, oldest first; each meets all that is known by then."""

    entries: list[_Entry[Id]]
    entry_of: Callable[[Note], _Entry[Id]]
    text_of: Callable[[Note], str]
    verdicts: Verdicts
    added: list[Added[Note]] = field(default_factory=list)
    mentioned: list[Mentioned[Id, Note]] = field(default_factory=list)
    superseded: list[Superseded[Id]] = field(default_factory=list)
    forgotten: list[Forgotten[Id]] = field(default_factory=list)
    outdated: list[Outdated[Note]] = field(default_factory=list)

    def run(self, notes: Sequence[Note]) -> Changes[Id, Note]:
        for place, note in enumerate(notes):
            if note.forget:
                self._forget(note)
            else:
                self._learn(note, self.entry_of(note), place)
        return self._changes()

    def _learn(self, note: Note, entry: _Entry[Id], place: int) -> None:
        alike = [other for other in self.entries if not other.gone and self._is_same(place, entry, other)]
        if any(entry.newest <= other.newest and other.which.known is not None for other in alike):
            return  # read before
        same = next((other for other in alike if other.live), None)
        met = [other for other in self.entries if other.live and not other.gone and other is not same]
        newer = next((other for other in met if _is_newer(other, entry) and self._is_rival(place, other, entry)), None)
        if newer:
            self.outdated.append(Outdated(note, f'Newer words already say "{newer.content}"'))
            return
        which = self._mention(note, entry, same) if same else self._add(note, entry, place)
        for rival in met:
            if self._is_rival(place, entry, rival):
                rival.gone = True
                self.superseded.append(Superseded(rival.which, which, f'"{entry.content}" replaces "{rival.content}"'))

    def _is_same(self, place: int, entry: _Entry[Id], other: _Entry[Id]) -> bool:
        verdict = self.verdicts.get((place, str(other.which.known)))
        return _same(entry, other) if verdict is None else verdict is Verdict.SAME

    def _is_rival(self, place: int, entry: _Entry[Id], other: _Entry[Id]) -> bool:
        """One of the two is a note of this pass, the other may be known."""
        known = other.which.known if other.which.known is not None else entry.which.known
        verdict = self.verdicts.get((place, str(known)))
        return _rival(entry, other) if verdict is None else verdict is Verdict.CONTRADICTS

    def _mention(self, note: Note, entry: _Entry[Id], same: _Entry[Id]) -> Which[Id]:
        """Said twice in one turn is said once."""
        if entry.newest > same.newest:
            same.seen |= entry.seen
            self.mentioned.append(Mentioned(same.which, note, f'Said again: "{note.evidence.text}"'))
        return same.which

    def _add(self, note: Note, entry: _Entry[Id], place: int) -> Which[Id]:
        entry.which = Which(added=len(self.added))
        self.added.append(Added(note, f'The user said: "{note.evidence.text}"', place))
        self.entries.append(entry)
        return entry.which

    def _forget(self, note: Note) -> None:
        """What is older than the wish and matches it goes, replaced or not."""
        for entry in self.entries:
            newer = entry.which.known is not None and entry.newest >= note.evidence.interaction_id
            if entry.forgotten or newer or not _wished_away(self.text_of(note), entry):
                continue
            entry.forgotten = entry.gone = True
            self._unlink(entry.which)
            if entry.which.known is not None:
                because = f'The user asked to forget: "{note.evidence.text}"'
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


def _wished_away(wish: str, entry: _Entry[Id]) -> bool:
    """Whether a wish to forget means this memory: by its key, or by most of the words of the wish."""
    if wish == EVERYTHING or facts.keys_of(wish) == (entry.subject, entry.value):
        return True
    words = keys.content_roots(wish) - _NAMING
    return bool(words) and len(words & (entry.roots | entry.tokens)) >= FORGET_MATCH * len(words)


# Words that name a memory rather than say what it holds.
_NAMING = frozenset(
    "rule instruction preference fact note information detail thing memory everything remember know tell say old "
    "previous".split()
)


def _is_newer(known: _Entry[Id], note: _Entry[Id]) -> bool:
    return known.which.known is not None and known.newest >= note.newest


def _overlap(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / len(one | other) if one and other else 0.0


def _same(note: _Entry[Id], other: _Entry[Id]) -> bool:
    """Whether two statements say the same thing."""
    if note.value != other.value:
        return False
    return (bool(note.roots) and note.roots == other.roots) or _alike(note, other, SAME_STATEMENT)


def _rival(note: _Entry[Id], other: _Entry[Id]) -> bool:
    """Whether the note's words leave no room for the other's."""
    denied = other.value == keys.NO or other.value.startswith(keys.NOT)
    if any(end and end <= other.roots for end in note.ends) and not denied:
        return True
    if not keys.conflict(note.value, other.value) or note.is_statement != other.is_statement:
        return False
    denial = denied or note.value.startswith(keys.NOT)
    return (note.is_statement or note.exclusive or denial) and _alike(note, other, OPPOSITE_STATEMENT)


def _alike(note: _Entry[Id], other: _Entry[Id], least: float) -> bool:
    """Whether two subjects are one. `least` is for statements; attributes must be of a kind and of one scope."""
    if not note.tokens or not other.tokens or note.is_statement:
        return _overlap(note.tokens, other.tokens) >= least
    kind = keys.kind_at_end(note.subject)
    if kind != keys.kind_at_end(other.subject):
        return False
    if kind is None:
        one_head = note.subject.split()[-1] == other.subject.split()[-1]
        return one_head and _overlap(note.tokens, other.tokens) >= SAME_ATTRIBUTE
    scopes = [entry.tokens - frozenset(kind.split()) for entry in (note, other)]
    if all(scopes):
        return _overlap(*scopes) >= SAME_ATTRIBUTE
    return all(scope <= _ANY_SCOPE for scope in scopes)


# Scopes that mean no more than none at all: "answer in French" and "use French".
_ANY_SCOPE = frozenset("answer message unit mode write".split())
