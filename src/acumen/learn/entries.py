"""Memories and notes in the form in which they are compared. Pure."""

import re
from collections.abc import Sequence
from typing import Generic

from msgspec import Struct
from msgspec.structs import replace

from acumen.deps import beside
from acumen.learn.changes import Id, Which
from acumen.learn.rules import keys, rivals
from acumen.learn.rules.rivals import Saying, saying
from acumen.model.ids import InteractionId, Millis, PlaybookId, ProfileId
from acumen.model.memory import Status
from acumen.model.patterns import later
from acumen.model.playbook import PlaybookNote, UserPlaybook
from acumen.model.profile import NEVER, Profile, ProfileNote

# Shared words of two statements that say the same, as a part of all their words (Jaccard); and how near in meaning.
SAME_WORDS = 0.75
SAME_MEANING = 0.9

_LIVE = frozenset({Status.CURRENT, Status.PENDING})


class Entry(Struct, Generic[Id], eq=False):
    """A memory or a note in the form they are compared in."""

    content: str
    which: Which[Id]
    seen: frozenset[InteractionId]
    saying: Saying
    words: frozenset[str]  # all by which a wish to forget may mean it
    said: str = ""  # the sentence it was read from
    place: int = -1  # of a note among those given
    live: bool = True
    gone: bool = False  # replaced in this pass
    forgotten: bool = False

    @property
    def key(self) -> str:
        """By which its nearness is told."""
        return beside(self.place) if self.which.known is None else str(self.which.known)

    @property
    def spoken(self) -> str:
        return as_meant(self.content, self.said)

    @property
    def newest(self) -> int:
        return max(self.seen, default=-1)


def as_meant(content: str, said: str) -> str:
    """In the user's words, unless more was needed to write down what they mean."""
    return content if len(content.split()) > len(said.split()) + 1 else said


def of_profile(profile: Profile, at: Millis) -> Entry[ProfileId]:
    live = profile.status in _LIVE and not (profile.expires_at != NEVER and profile.expires_at <= at)
    forgotten = profile.status is Status.FORGOTTEN
    which = Which(profile.id)
    return _entry(profile.content, profile.content, profile.interaction_ids, which, live=live, forgotten=forgotten)


def of_playbook(playbook: UserPlaybook, _at: Millis) -> Entry[PlaybookId]:
    lesson = playbook.lesson
    live = playbook.status in _LIVE
    findable = " ".join([lesson.searchable, lesson.pitfall or "", lesson.rationale or ""])
    forgotten = playbook.status is Status.FORGOTTEN
    which = Which(playbook.id)
    return _entry(lesson.content, findable, playbook.interaction_ids, which, live=live, forgotten=forgotten)


def of_profile_note(note: ProfileNote) -> Entry[ProfileId]:
    return _entry(note.content, note.content, [note.evidence.interaction_id], Which(), note)


def of_playbook_note(note: PlaybookNote) -> Entry[PlaybookId]:
    lesson = note.lesson
    return _entry(lesson.content, lesson.searchable, [note.evidence.interaction_id], Which(), note)


def reworded_fact(note: ProfileNote, content: str) -> ProfileNote:
    subject, value = keys.of_text(content)
    return replace(note, content=content, subject=subject, value=value)


def reworded_lesson(note: PlaybookNote, content: str) -> PlaybookNote:
    subject, value = keys.of_text(content)
    return replace(note, lesson=replace(note.lesson, content=content), subject=subject, value=value)


def _entry(
    content: str,
    findable: str,
    seen: Sequence[InteractionId],
    which: Which[Id],
    note: ProfileNote | PlaybookNote | None = None,
    *,
    live: bool = True,
    forgotten: bool = False,
) -> Entry[Id]:
    words = keys.content_roots(findable.replace('"', ""))  # what was asked counts as what was said
    said = note.evidence.text if note else ""
    return Entry(content, which, frozenset(seen), saying(content, said), words, said, live=live, forgotten=forgotten)


# "I told you", "remember?": said again rather than otherwise; but not "I told you so, but it's come on the 21st".
_REMINDS = later(r"\b(?:i (?:just |already )?(?:told|said)|as i said|remember\W*$)(?!.*\bbut\b)", re.IGNORECASE)


def is_newer(known: Entry[Id], note: Entry[Id]) -> bool:
    return known.which.known is not None and known.newest >= note.newest


def in_order(note: Entry[Id], other: Entry[Id]) -> tuple[Entry[Id], Entry[Id]]:
    """The older first."""
    return (note, other) if is_newer(other, note) else (other, note)


def same_thing(note: Entry[Id], other: Entry[Id], cosine: float | None) -> bool:
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


def one_breath(new: Entry[Id], old: Entry[Id]) -> bool:
    """What was said in one breath stands, and what was only said again replaces nothing."""
    return bool(new.seen & old.seen) or bool(_REMINDS.search(new.said) and not rivals.conflict(old.saying, new.saying))
