"""Which shared lessons are new, grown, merged, withheld or outdated, given the groups of users' lessons. Pure."""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from acumen.learn.share.anonymize import without_case_numbers
from acumen.learn.share.stance import Stance, Vector, same_rule, stance
from acumen.model.ids import PlaybookId, UserId
from acumen.model.memories.base import Status
from acumen.model.memories.cluster import Cluster
from acumen.model.memories.playbook import AgentPlaybook, Approval, Lesson, UserPlaybook

Users = Mapping[PlaybookId, UserId]  # who teaches each current lesson
# Members of a group that are compared with a shared lesson.
COMPARED = 8


class UserLesson(Struct, frozen=True):
    """A lesson as a user taught it."""

    playbook: UserPlaybook
    vector: Vector | None = None

    @property
    def user(self) -> UserId:
        return UserId(self.playbook.user_id or "")


# Lessons that say the same, the oldest first.
LessonGroup = tuple[UserLesson, ...]


def group_of(lessons: Iterable[UserLesson]) -> LessonGroup:
    return tuple(sorted(lessons, key=lambda lesson: lesson.playbook.id))


def ids_of(lessons: Iterable[UserLesson]) -> tuple[PlaybookId, ...]:
    return tuple(sorted(lesson.playbook.id for lesson in lessons))


def users_of(lessons: Iterable[UserLesson]) -> frozenset[UserId]:
    return frozenset(lesson.user for lesson in lessons)


class SharedLesson(Struct, frozen=True):
    """A shared lesson that exists, or did: `playbook` is None where a person has deleted it."""

    playbook: AgentPlaybook | None
    cluster: Cluster | None  # None: a person added it
    users: frozenset[UserId] = frozenset()  # who taught it when it was last written
    vector: Vector | None = None

    @property
    def members(self) -> frozenset[PlaybookId]:
        return frozenset(self.cluster.members) if self.cluster else frozenset()

    @property
    def withdrawn(self) -> bool:
        """A person has deleted, rejected or archived it."""
        if self.playbook is None:
            return True
        return self.playbook.approval is Approval.REJECTED or self.playbook.status is not Status.CURRENT

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
    lessons: int = 0  # of users, that were compared

    @property
    def counts(self) -> dict[str, int]:
        clusters = len(self.writes) + self.unchanged + self.withheld
        compared = {"user_playbooks_processed": self.lessons, "clusters_found": clusters}
        return {**compared, "unchanged": self.unchanged, "withheld": self.withheld}


def fingerprint(lessons: Sequence[UserLesson]) -> str:
    """Of the members and their words."""
    return _hash(sorted((lesson.playbook.id, wording_hash(lesson.playbook.lesson)) for lesson in lessons))


def wording_hash(lesson: Lesson) -> str:
    return _hash((lesson.trigger, lesson.content, lesson.rationale, lesson.pitfall))


def _hash(parts: object) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:32]


def by_person(playbook: AgentPlaybook, cluster: Cluster | None) -> bool:
    """Whether a person has added or edited the lesson: its words differ from the generated ones."""
    return cluster is None or cluster.wording != wording_hash(playbook.lesson)


def lesson_stance(lesson: Lesson) -> Stance:
    return stance(without_case_numbers(lesson.content), lesson.trigger)


def make_plan(groups: Sequence[LessonGroup], shared: Sequence[SharedLesson], users: Users, least_users: int) -> Plan:
    """What to do about each group, and which shared lessons too few users still teach."""
    matched = _matched(groups, shared)
    settled = {id(lesson) for _, lesson in matched if lesson is not None}
    writes: list[PlannedWrite] = []
    retaught: list[PlannedWrite] = []
    unchanged = withheld = 0
    for group, lesson in matched:
        if lesson is None or (lesson.withdrawn and _enough_new(group, lesson, least_users)):
            writes.append(PlannedWrite(ids_of(group)))
        elif lesson.playbook is None or lesson.withdrawn:
            withheld += 1
            retaught += _retaught(group, lesson)
        elif lesson.cluster and lesson.cluster.fingerprint == fingerprint(group):
            unchanged += 1
        else:
            inside = [merged for merged in shared if id(merged) not in settled and _goes_into(merged, group)]
            settled.update(map(id, inside))
            merged = tuple(merged.playbook.id for merged in inside if merged.playbook)
            writes.append(PlannedWrite(ids_of(group), lesson.playbook.id, merged))
    retired: list[PlaybookId] = []
    for lesson in shared:
        if id(lesson) in settled:
            continue
        if len({users[member] for member in lesson.members if member in users}) >= least_users:
            unchanged, withheld = unchanged + (not lesson.withdrawn), withheld + lesson.withdrawn
        elif lesson.playbook and not lesson.withdrawn and not by_person(lesson.playbook, lesson.cluster):
            retired.append(lesson.playbook.id)
    return Plan(tuple(writes), tuple(retired), tuple(retaught), unchanged, withheld, len(users))


def _enough_new(group: LessonGroup, rejected: SharedLesson, least_users: int) -> bool:
    """A lesson that a person rejected returns when as many others teach it as had taught it then."""
    return len(users_of(group) - rejected.users) >= max(least_users, len(rejected.users))


def _retaught(group: LessonGroup, withdrawn: SharedLesson) -> list[PlannedWrite]:
    if withdrawn.playbook is None or withdrawn.cluster is None:
        return []
    members = ids_of(lesson for lesson in group if lesson.user in withdrawn.users)
    new = tuple(member for member in members if member not in withdrawn.members)
    return [PlannedWrite(new, withdrawn.playbook.id)] if new else []


def _goes_into(lesson: SharedLesson, group: LessonGroup) -> bool:
    """Whether every source of a lesson is in this group now, and no person has decided on it."""
    pending = lesson.playbook is not None and lesson.playbook.approval is Approval.PENDING
    return pending and not lesson.withdrawn and bool(lesson.members) and lesson.members <= set(ids_of(group))


def _matched(
    groups: Sequence[LessonGroup], shared: Sequence[SharedLesson]
) -> list[tuple[LessonGroup, SharedLesson | None]]:
    """Each group with the lesson that was written from the same members, or else with one that says the same.

    Groups of the same lesson are joined: a lesson is written once.
    """
    by_members: dict[int, int] = {}
    taken: set[int] = set()
    for place, number in _common_members(groups, shared):
        if place not in by_members and number not in taken:
            by_members[place] = number
            taken.add(number)
    joined: dict[PlaybookId | tuple[PlaybookId, ...], tuple[LessonGroup, SharedLesson | None]] = {}
    for place, group in enumerate(groups):
        lesson = shared[by_members[place]] if place in by_members else _saying_the_same(group, shared)
        playbook = lesson.playbook if lesson and not lesson.withdrawn else None
        key = playbook.id if playbook else ids_of(group)
        before = joined[key][0] if key in joined else ()
        joined[key] = group_of([*before, *group]), lesson
    return list(joined.values())


def _common_members(groups: Sequence[LessonGroup], shared: Sequence[SharedLesson]) -> list[tuple[int, int]]:
    """Pairs that have members in common: lessons that people want first, then by how many members."""
    taught: dict[PlaybookId, list[int]] = defaultdict(list)
    for number, lesson in enumerate(shared):
        for member in lesson.members:
            taught[member].append(number)
    members = ((place, member) for place, group in enumerate(groups) for member in ids_of(group))
    common = Counter((place, number) for place, member in members for number in taught.get(member, ()))
    return sorted(common, key=lambda pair: (shared[pair[1]].rank, -common[pair], pair))


def _saying_the_same(group: LessonGroup, shared: Sequence[SharedLesson]) -> SharedLesson | None:
    points = [(lesson_stance(lesson.playbook.lesson), lesson.vector) for lesson in group[:COMPARED]]
    for lesson in sorted(shared, key=lambda lesson: lesson.rank):
        if lesson.playbook is not None:
            point = lesson_stance(lesson.playbook.lesson), lesson.vector
            if sum(same_rule(*point, *member) for member in points) * 2 > len(points):
                return lesson
    return None
