"""Conversations written as lines, what is learned from them, and memories as they stand after a merge."""

from collections.abc import Sequence
from functools import cache
from typing import Any

from msgspec.structs import replace

from acumen.deps import beside
from acumen.learn import merge, playbooks, profiles
from acumen.learn.changes import PlaybookChanges, ProfileChanges
from acumen.learn.extract_rules import playbook_notes, profile_notes
from acumen.learn.questions import NO_TURNS, Answers, Question, Turns, answered
from acumen.llm.embed import Embedder, load_embedder
from acumen.llm.reading import Reader, Spoken, load_reader
from acumen.llm.rivalry import Rivalry, load_rivalry
from acumen.llm.vocabulary import Floats
from acumen.model.conversation import Turn, Window
from acumen.model.ids import InteractionId, Millis, PlaybookId, ProfileId, RequestId, SessionId, UserId
from acumen.model.memories import searchable
from acumen.model.memory import Status
from acumen.model.playbook import PlaybookNote, UserPlaybook
from acumen.model.profile import Profile, ProfileNote

# A Wednesday: 2025-10-15, noon UTC.
NOON = Millis(1_760_529_600_000)


def turn(number: int, line: str, **more: Any) -> Turn:
    """'agent: …' is the agent's; all else is the user's."""
    by_user = not line.startswith("agent: ")
    text = line.removeprefix("agent: ").removeprefix("user: ")
    return Turn(InteractionId(number), RequestId("req"), SessionId("ses"), by_user, text, at=NOON, **more)


def window(*lines: str) -> Window:
    return Window(UserId("ann"), tuple(turn(number, line) for number, line in enumerate(lines, 1)))


@cache
def embedder() -> Embedder:
    return load_embedder()


@cache
def rivalry() -> Rivalry:
    return load_rivalry(embedder().vocabulary)


@cache
def reader() -> Reader:
    return load_reader(embedder().vocabulary)


def read(turns: Sequence[Spoken]) -> list[Floats]:
    return reader().chances(turns)


def told(seen: Window) -> list[ProfileNote]:
    """What is to be kept as facts; what only ends other facts is left out."""
    return [note for note in profile_notes(seen, read) if not note.denies and not note.faint]


def taught(seen: Window) -> list[PlaybookNote]:
    return [note for note in playbook_notes(seen, read) if not note.denies and not note.faint]


def nearness(known: Sequence[Profile] | Sequence[UserPlaybook], texts: Sequence[str]) -> list[dict[str, float | None]]:
    """For each text how near it is to each of the known, as search tells it."""
    if not texts:
        return []
    mine = embedder().embed(list(texts))
    theirs = embedder().embed([*(searchable(memory) for memory in known), *texts])
    ids = [*(str(memory.id) for memory in known), *(beside(place) for place in range(len(texts)))]
    return [dict(zip(ids, map(float, row), strict=True)) for row in mine @ theirs.T]


def answers(asked: Sequence[Question]) -> Answers:
    """What the network says to them."""
    wholes = _chances(asked)
    parts = [one.parts(chance) for one, chance in zip(asked, wholes, strict=True)]
    of_parts = iter(_chances([part for some in parts for part in some]))
    return {
        (one.place, one.key): answered(one, chance, [(part.old, next(of_parts)) for part in some])
        for one, chance, some in zip(asked, wholes, parts, strict=True)
    }


def _chances(asked: Sequence[Question]) -> list[float]:
    scores = rivalry().scores([(one.old, one.new) for one in asked])
    return [one.chance(score) for one, score in zip(asked, scores, strict=True)]


def merged_profiles(
    known: Sequence[Profile], notes: Sequence[ProfileNote], at: Millis = NOON, turns: Turns = NO_TURNS
) -> ProfileChanges:
    near = nearness(known, [note.content for note in notes])
    asked = answers(merge.profiles.questions(known, notes, at, near, turns))
    return merge.profiles(known, notes, at, near=near, answers=asked)


def merged_playbooks(
    known: Sequence[UserPlaybook], notes: Sequence[PlaybookNote], turns: Turns = NO_TURNS
) -> PlaybookChanges:
    near = nearness(known, [note.lesson.searchable for note in notes])
    asked = answers(merge.playbooks.questions(known, notes, NOON, near, turns))
    return merge.playbooks(known, notes, NOON, near=near, answers=asked)


def facts(*lines: str) -> list[str]:
    return [note.content for note in told(window(*lines))]


def lessons(*lines: str) -> list[str]:
    return [note.lesson.content for note in taught(window(*lines))]


def only_fact(*lines: str) -> ProfileNote:
    (note,) = told(window(*lines))
    return note


def only_lesson(*lines: str) -> PlaybookNote:
    (note,) = taught(window(*lines))
    return note


def profiles_after(known: Sequence[Profile], changes: ProfileChanges) -> list[Profile]:
    """The profiles as a store would hold them once the changes are applied."""
    ids = [ProfileId(f"p{len(known) + place}") for place in range(len(changes.added))]
    held = {profile.id: profile for profile in known}
    for fresh, added in zip(ids, changes.added, strict=True):
        note = added.note
        held[fresh] = Profile(
            fresh, UserId("ann"), note.content, NOON, NOON, ttl=note.ttl, expires_at=note.ttl.expires(NOON),
            interaction_ids=[note.evidence.interaction_id], subject=note.subject, value=note.value,
        )  # fmt: skip
    for mention in changes.mentioned:
        which = ids[mention.which.added] if mention.which.added is not None else mention.which.known
        held[which].interaction_ids.append(mention.note.evidence.interaction_id)
    for gone in changes.superseded:
        old, new = (ids[one.added] if one.added is not None else one.known for one in (gone.old, gone.new))
        held[old] = replace(held[old], status=Status.SUPERSEDED, superseded_by=new)
    for forgotten in changes.forgotten:
        held[forgotten.id] = replace(held[forgotten.id], status=Status.ARCHIVED)
    before = {profile.id: profile for profile in known}
    return [*held.values(), *(profiles.READER.rest(before[left.of], left.text, NOON) for left in changes.left)]


def playbooks_after(known: Sequence[UserPlaybook], changes: PlaybookChanges) -> list[UserPlaybook]:
    """The same for lessons."""
    ids = [PlaybookId(len(known) + place + 1) for place in range(len(changes.added))]
    held = {playbook.id: playbook for playbook in known}
    for fresh, added in zip(ids, changes.added, strict=True):
        note = added.note
        held[fresh] = UserPlaybook(
            fresh, UserId("ann"), note.lesson, NOON, NOON,
            interaction_ids=[note.evidence.interaction_id], subject=note.subject, value=note.value,
        )  # fmt: skip
    for mention in changes.mentioned:
        which = ids[mention.which.added] if mention.which.added is not None else mention.which.known
        held[which].interaction_ids.append(mention.note.evidence.interaction_id)
    for gone in changes.superseded:
        old, new = (ids[one.added] if one.added is not None else one.known for one in (gone.old, gone.new))
        held[old] = replace(held[old], status=Status.SUPERSEDED, superseded_by=new)
    for forgotten in changes.forgotten:
        held[forgotten.id] = replace(held[forgotten.id], status=Status.ARCHIVED)
    before = {playbook.id: playbook for playbook in known}
    rests = [playbooks.READER.rest(before[left.of], left.text, NOON) for left in changes.left]
    return [*held.values(), *(replace(one, id=PlaybookId(len(held) + place)) for place, one in enumerate(rests, 1))]


def current(memories: Sequence[Profile] | Sequence[UserPlaybook]) -> list[str]:
    live = [memory for memory in memories if memory.status is Status.CURRENT]
    return [memory.content if isinstance(memory, Profile) else memory.lesson.content for memory in live]
