"""Which lessons of users say the same, and which shared lessons that makes new, grown, merged or outdated. Pure."""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

import numpy as np
from msgspec import Struct

from acumen.learn.share.anonymize import without_case_numbers
from acumen.learn.share.cluster import LEAST_MEANING, Floats, Grouping, same_rule
from acumen.learn.share.shareable import shareable
from acumen.learn.share.stance import Stance, stance
from acumen.model.ids import PlaybookId, UserId
from acumen.model.memories.base import Status
from acumen.model.memories.cluster import Cluster
from acumen.model.memories.playbook import AgentPlaybook, Approval, Lesson, UserPlaybook
from acumen.model.memories.search import SearchRow

Users = Mapping[PlaybookId, UserId]  # who teaches each current lesson


class UserLesson(Struct, frozen=True):
    """A lesson as a user taught it."""

    playbook: UserPlaybook
    vector: Floats | None = None
    row: SearchRow | None = None  # what search reads of it

    @property
    def user(self) -> UserId:
        return UserId(self.playbook.user_id or "")


# Lessons that say the same, the oldest first.
LessonGroup = tuple[UserLesson, ...]


def ids_of(lessons: Iterable[UserLesson]) -> frozenset[PlaybookId]:
    return frozenset(lesson.playbook.id for lesson in lessons)


def users_of(lessons: Iterable[UserLesson]) -> frozenset[UserId]:
    return frozenset(lesson.user for lesson in lessons)


class SharedLesson(Struct, frozen=True):
    """A shared lesson that exists, or did: `playbook` is None where a person has deleted it."""

    playbook: AgentPlaybook | None
    cluster: Cluster | None  # None: added by hand
    users: frozenset[UserId] = frozenset()  # who taught it when it was last written
    vector: Floats | None = None

    @property
    def members(self) -> frozenset[PlaybookId]:
        return frozenset(self.cluster.members) if self.cluster else frozenset()

    @property
    def withdrawn(self) -> bool:
        """A person does not want it."""
        if self.playbook is None:
            return True
        return self.playbook.approval is Approval.REJECTED or self.playbook.status is not Status.CURRENT

    @property
    def is_of_person(self) -> bool:
        """A person does not want it, or has added or edited it."""
        return self.withdrawn or self.playbook is None or by_person(self.playbook, self.cluster)

    @property
    def rank(self) -> int:
        """Approved, pending, withdrawn: the order in which a group is matched."""
        return 2 if self.withdrawn else int(self.playbook is None or self.playbook.approval is not Approval.APPROVED)


class PlannedWrite(Struct, frozen=True):
    """A lesson to write from these members: a new one, or `lesson` again; `merged` go into it."""

    members: tuple[PlaybookId, ...]
    lesson: PlaybookId | None = None
    merged: tuple[PlaybookId, ...] = ()


class Plan(Struct, frozen=True):
    """`retaught`: new playbooks of users who had taught a withdrawn lesson before, by a rerun; it stays withdrawn."""

    writes: tuple[PlannedWrite, ...] = ()
    retired: tuple[PlaybookId, ...] = ()
    retaught: tuple[PlannedWrite, ...] = ()
    unchanged: int = 0
    withheld: int = 0  # a person has rejected or deleted them


def fingerprint(lessons: Sequence[UserLesson]) -> str:
    """Of the members and their words."""
    parts = sorted((lesson.playbook.id, wording_hash(lesson.playbook.lesson)) for lesson in lessons)
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:32]


def wording_hash(lesson: Lesson) -> str:
    parts = (lesson.trigger, lesson.content, lesson.rationale, lesson.pitfall)
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:32]


def by_person(playbook: AgentPlaybook, cluster: Cluster | None) -> bool:
    """Whether a person has added or edited the lesson: its words are not those that were written."""
    return cluster is None or cluster.wording != wording_hash(playbook.lesson)


# --- grouping ------------------------------------------------------------------------------------------------------


class LessonIndex(Struct, frozen=True):
    """All current lessons of one agent version and name, without their words; equal positions belong together."""

    ids: Sequence[PlaybookId] = ()
    users: Sequence[UserId] = ()
    vectors: Floats = np.zeros((0, 1), np.float32)  # zeros where there is none of this model
    changed: Sequence[bool] = ()  # since the bookmark


class Grouped(Struct, frozen=True):
    """Members of each group that has lessons to look at, and ids of clusters whose members stayed as they were."""

    groups: tuple[tuple[PlaybookId, ...], ...]
    untouched: frozenset[str]


def regroup(
    index: LessonIndex,
    shared: Sequence[SharedLesson],
    read: Callable[[Sequence[PlaybookId]], Sequence[Lesson]],
    similarity: float | None = None,
) -> Grouped:
    """Changed lessons leave their groups and are placed again; groups without any are left alone, unread."""
    rows = {lesson: row for row, lesson in enumerate(index.ids)}
    labels = np.arange(len(index.ids))
    for known in sorted(shared, key=lambda known: -known.rank):
        left = [row for member in known.members if (row := rows.get(member)) is not None and not index.changed[row]]
        labels[left] = min(left, default=0)

    known_stances: dict[int, Stance | None] = {}

    def stances(wanted: Sequence[int]) -> list[Stance | None]:
        missing = [row for row in wanted if row not in known_stances]
        if missing:
            lessons = read([index.ids[row] for row in missing])
            read_now = [lesson_stance(lesson) if shareable(lesson.content) else None for lesson in lessons]
            known_stances.update(zip(missing, read_now, strict=True))
        return [known_stances[row] for row in wanted]

    grouping = Grouping(index.vectors, labels, stances, LEAST_MEANING if similarity is None else similarity)
    touched = grouping.place(row for row, changed in enumerate(index.changed) if changed)
    lost = {
        rows[member] for known in shared if _lost_members(known, rows) for member in known.members if member in rows
    }
    groups = {int(grouping.labels[row]) for row in touched | lost}
    members = [tuple(index.ids[row] for row in grouping.members(label)) for label in sorted(groups)]
    inside = {member for group in members for member in group}
    clusters = (known.cluster for known in shared if known.members.isdisjoint(inside))
    return Grouped(tuple(members), frozenset(cluster.id for cluster in clusters if cluster))


def _lost_members(known: SharedLesson, rows: Mapping[PlaybookId, int]) -> bool:
    return not known.withdrawn and any(member not in rows for member in known.members)


def lesson_stance(lesson: Lesson) -> Stance:
    return stance(without_case_numbers(lesson.content), lesson.trigger)


# --- planning ------------------------------------------------------------------------------------------------------


def plan(
    groups: Sequence[LessonGroup],
    shared: Sequence[SharedLesson],
    users: Users,
    least_users: int,
    untouched: Collection[str] = (),
) -> Plan:
    """What to do about each group, and which shared lessons too few users still teach."""
    matched = _matched(groups, shared)
    live = {known.playbook.id for _, known in matched if known is not None and known.playbook is not None}
    writes: list[PlannedWrite] = []
    retaught: list[PlannedWrite] = []
    unchanged = withheld = 0
    for group, known in matched:
        if known is None or (known.withdrawn and _enough_new(group, known, least_users)):
            writes.append(PlannedWrite(tuple(sorted(ids_of(group)))))
        elif known.withdrawn:
            withheld += 1
            retaught += _retaught(group, known)
        elif known.cluster and known.cluster.fingerprint == fingerprint(group):
            unchanged += 1
        elif known.playbook is not None:
            inside = [other.playbook.id for other in shared if other.playbook and _goes_into(other, group)]
            merged = tuple(lesson for lesson in inside if lesson not in live)
            writes.append(PlannedWrite(tuple(sorted(ids_of(group))), known.playbook.id, merged))
    live |= {lesson for write in writes for lesson in write.merged}
    retired: list[PlaybookId] = []
    for known in shared:
        enough = len({users[member] for member in known.members if member in users}) >= least_users
        if enough and known.cluster and known.cluster.id in untouched:
            unchanged, withheld = unchanged + (not known.withdrawn), withheld + known.withdrawn
        elif not enough and known.playbook and known.playbook.id not in live and not known.is_of_person:
            retired.append(known.playbook.id)
    return Plan(tuple(writes), tuple(retired), tuple(retaught), unchanged, withheld)


def _enough_new(group: LessonGroup, rejected: SharedLesson, least_users: int) -> bool:
    """A lesson that a person did not want returns when as many others teach it as had taught it then."""
    return len(users_of(group) - rejected.users) >= max(least_users, len(rejected.users))


def _retaught(group: LessonGroup, withdrawn: SharedLesson) -> list[PlannedWrite]:
    if withdrawn.playbook is None or withdrawn.cluster is None:
        return []
    theirs = ids_of(lesson for lesson in group if lesson.user in withdrawn.users)
    new = tuple(sorted(theirs - withdrawn.members))
    return [PlannedWrite(new, withdrawn.playbook.id)] if new else []


def _goes_into(other: SharedLesson, group: LessonGroup) -> bool:
    """Whether all that another lesson was written from is in this group now, and no person has decided on it."""
    pending = other.playbook is not None and other.playbook.approval is Approval.PENDING
    return pending and not other.withdrawn and bool(other.members) and other.members <= ids_of(group)


# --- which shared lesson a group is --------------------------------------------------------------------------------


def _matched(
    groups: Sequence[LessonGroup], shared: Sequence[SharedLesson]
) -> list[tuple[LessonGroup, SharedLesson | None]]:
    """Each group with the lesson that was written from the same members, or else with one that says the same.

    Groups of the same lesson are joined: a lesson is written once.
    """
    by_members: dict[int, int] = {}
    taken: set[int] = set()
    for place, other in _by_members(groups, shared):
        if place not in by_members and other not in taken:
            by_members[place] = other
            taken.add(other)
    joined: dict[PlaybookId | frozenset[PlaybookId], tuple[LessonGroup, SharedLesson | None]] = {}
    for place, group in enumerate(groups):
        known = shared[by_members[place]] if place in by_members else _saying_the_same(group, shared)
        key = ids_of(group) if known is None or known.playbook is None or known.withdrawn else known.playbook.id
        before = joined[key][0] if key in joined else ()
        joined[key] = group_of([*before, *group]), known
    return list(joined.values())


def group_of(lessons: Iterable[UserLesson]) -> LessonGroup:
    return tuple(sorted(lessons, key=lambda lesson: lesson.playbook.id))


def _by_members(groups: Sequence[LessonGroup], shared: Sequence[SharedLesson]) -> list[tuple[int, int]]:
    """Pairs that have members in common: lessons that people want first, then by how many members."""
    having: dict[PlaybookId, list[int]] = defaultdict(list)
    for other, known in enumerate(shared):
        for member in known.members:
            having[member].append(other)
    members = ((place, member) for place, group in enumerate(groups) for member in ids_of(group))
    common = Counter((place, other) for place, member in members for other in having.get(member, ()))
    return sorted(common, key=lambda pair: (shared[pair[1]].rank, -common[pair], pair))


def _saying_the_same(group: LessonGroup, shared: Sequence[SharedLesson]) -> SharedLesson | None:
    some = [(lesson_stance(lesson.playbook.lesson), lesson.vector) for lesson in group[:8]]
    for known in sorted(shared, key=lambda known: known.rank):
        if known.playbook is not None:
            point = lesson_stance(known.playbook.lesson), known.vector
            if sum(same_rule(*point, *other) for other in some) * 2 > len(some):
                return known
    return None
