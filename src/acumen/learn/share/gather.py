"""Which lessons of users say the same, and which shared lessons that makes new, grown, merged or outdated. Pure."""

import hashlib
from collections import defaultdict
from collections.abc import Collection, Sequence

from msgspec import Struct

from acumen.learn.share.cluster import LEAST_MEANING, Floats, Point, clusters, same_rule
from acumen.learn.share.personal import without_numbers
from acumen.learn.share.stance import stance
from acumen.model.cluster import Cluster
from acumen.model.ids import PlaybookId, UserId
from acumen.model.memory import Status
from acumen.model.playbook import AgentPlaybook, Approval, Lesson, UserPlaybook
from acumen.model.search import SearchRow


class Taught(Struct, frozen=True):
    """A lesson as one user taught it."""

    playbook: UserPlaybook
    vector: Floats | None = None
    row: SearchRow | None = None  # what search reads of it

    @property
    def user(self) -> UserId:
        return UserId(self.playbook.user_id or "")


class Draft(Struct, frozen=True):
    """Lessons that say the same, by enough users to be shared; the oldest first."""

    taught: tuple[Taught, ...]

    @property
    def ids(self) -> frozenset[PlaybookId]:
        return frozenset(one.playbook.id for one in self.taught)

    @property
    def users(self) -> frozenset[UserId]:
        return frozenset(one.user for one in self.taught)


class Known(Struct, frozen=True):
    """A shared lesson that there is, or was: None is one that a person has deleted."""

    lesson: AgentPlaybook | None
    cluster: Cluster | None  # None: added by hand
    users: frozenset[UserId] = frozenset()  # who had taught it when it was last written
    vector: Floats | None = None

    @property
    def members(self) -> frozenset[PlaybookId]:
        return frozenset(self.cluster.members) if self.cluster else frozenset()

    @property
    def by_person(self) -> bool:
        """Its words are somebody's who added or edited it."""
        return self.lesson is not None and by_person(self.lesson, self.cluster)

    @property
    def withdrawn(self) -> bool:
        """A person does not want it."""
        if self.lesson is None:
            return True
        return self.lesson.approval is Approval.REJECTED or self.lesson.status is not Status.CURRENT


class Todo(Struct, frozen=True):
    """A lesson to write from these members: a new one, or `lesson` anew; `merged` go into it."""

    members: tuple[PlaybookId, ...]
    lesson: PlaybookId | None = None
    merged: tuple[PlaybookId, ...] = ()


class Retaught(Struct, frozen=True):
    """Members by which those who had taught an unwanted lesson teach it now: a rerun has made their lessons anew."""

    lesson: PlaybookId
    members: tuple[PlaybookId, ...]


class Plan(Struct, frozen=True):
    todos: tuple[Todo, ...] = ()
    retired: tuple[PlaybookId, ...] = ()
    retaught: tuple[Retaught, ...] = ()
    unchanged: int = 0
    withheld: int = 0  # a person has rejected or deleted them


def point_of(lesson: Lesson, vector: Floats | None, key: str, weight: int = 1) -> Point:
    return Point(key, stance(without_numbers(lesson.content), lesson.trigger), vector, weight)


def fingerprint(taught: Sequence[Taught]) -> str:
    """Of the members and their words."""
    told = sorted((one.playbook.id, wording(one.playbook.lesson)) for one in taught)
    return hashlib.sha256(repr(told).encode()).hexdigest()[:32]


def wording(lesson: Lesson) -> str:
    """A hash of all that a lesson says."""
    parts = (lesson.trigger, lesson.content, lesson.rationale, lesson.pitfall)
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:32]


def by_person(lesson: AgentPlaybook, cluster: Cluster | None) -> bool:
    """Whether a person has added or edited the lesson: it reads otherwise than it was written."""
    return cluster is None or cluster.wording != wording(lesson.lesson)


def drafts(taught: Sequence[Taught], least_users: int, similarity: float | None = None) -> list[Draft]:
    """The largest first. A user who says a thing many times is still one user."""
    copies: dict[str, list[Taught]] = defaultdict(list)
    for one in taught:
        copies[_plain(one.playbook.lesson)].append(one)
    by_key = {f"{min(one.playbook.id for one in same):020}": same for same in copies.values()}
    points = [_point(key, same) for key, same in by_key.items()]
    least = LEAST_MEANING if similarity is None else similarity
    found = [_draft([one for point in part for one in by_key[point.key]]) for part in clusters(points, least)]
    shared = [draft for draft in found if len(draft.users) >= least_users]
    return sorted(shared, key=lambda draft: (-len(draft.taught), min(draft.ids)))


def _plain(lesson: Lesson) -> str:
    """Equal for lessons that differ in case and spacing only."""
    return "\n".join(" ".join((part or "").casefold().split()) for part in (lesson.trigger, lesson.content))


def _point(key: str, same: Sequence[Taught]) -> Point:
    vector = next((one.vector for one in same if one.vector is not None), None)
    return point_of(same[0].playbook.lesson, vector, key, len(same))


def _draft(taught: Sequence[Taught]) -> Draft:
    return Draft(tuple(sorted(taught, key=lambda one: one.playbook.id)))


def plan(found: Sequence[Draft], known: Sequence[Known], current: Sequence[Taught], least_users: int) -> Plan:
    """What to do about each draft, and which shared lessons have lost those who taught them."""
    matched = _matched(found, known)
    spoken_for = {match.lesson.id for _, match in matched if match is not None and match.lesson is not None}
    todos: list[Todo] = []
    retaught: list[Retaught] = []
    unchanged = withheld = 0
    for draft, match in matched:
        if match is not None and match.withdrawn and not _enough_new(draft, match, least_users):
            withheld += 1
            retaught += _retaught(draft, match)
        elif match is not None and match.cluster and match.cluster.fingerprint == fingerprint(draft.taught):
            unchanged += 1
        else:
            todos.append(_todo(draft, match, known, spoken_for))
    kept = spoken_for | {lesson for todo in todos for lesson in todo.merged}
    retired = [lesson for lesson in _without_teachers(known, current, least_users) if lesson not in kept]
    return Plan(tuple(todos), tuple(retired), tuple(retaught), unchanged, withheld)


def _enough_new(draft: Draft, rejected: Known, least_users: int) -> bool:
    """A lesson that a person did not want returns when as many others teach it as had taught it then."""
    return len(draft.users - rejected.users) >= max(least_users, len(rejected.users))


def _retaught(draft: Draft, unwanted: Known) -> list[Retaught]:
    if unwanted.lesson is None or unwanted.cluster is None:
        return []
    theirs = {one.playbook.id for one in draft.taught if one.user in unwanted.users}
    new = sorted(theirs - unwanted.members)
    return [Retaught(unwanted.lesson.id, tuple(new))] if new else []


def _todo(draft: Draft, match: Known | None, known: Sequence[Known], spoken_for: Collection[PlaybookId]) -> Todo:
    members = tuple(sorted(draft.ids))
    if match is None or match.withdrawn or match.lesson is None:
        return Todo(members)
    inside = [one.lesson.id for one in known if one.lesson and _goes_into(one, draft)]
    return Todo(members, match.lesson.id, tuple(one for one in inside if one not in spoken_for))


def _goes_into(other: Known, draft: Draft) -> bool:
    """Whether all that another lesson was written from now stands for this one."""
    untouched = other.lesson is not None and other.lesson.approval is Approval.PENDING
    return untouched and not other.withdrawn and bool(other.members) and other.members <= draft.ids


def _without_teachers(known: Sequence[Known], current: Sequence[Taught], least_users: int) -> list[PlaybookId]:
    users = {one.playbook.id: one.user for one in current}
    return [
        one.lesson.id
        for one in known
        if one.lesson is not None
        and not one.by_person
        and not one.withdrawn
        and len({users[member] for member in one.members if member in users}) < least_users
    ]


# --- which shared lesson a draft is ------------------------------------------------------------------------------


def _matched(found: Sequence[Draft], known: Sequence[Known]) -> list[tuple[Draft, Known | None]]:
    """Each draft with the lesson that was written from the same members, or else with one that says the same.

    Drafts of the same lesson are one: a lesson is written once.
    """
    matched: list[Known | None] = [None] * len(found)
    taken: set[int] = set()
    for place, other in _by_members(found, known):
        if matched[place] is None and other not in taken:
            matched[place] = known[other]
            taken.add(other)
    for place, draft in enumerate(found):
        if matched[place] is None:
            matched[place] = _saying_the_same(draft, known)
    joined: dict[PlaybookId | frozenset[PlaybookId], tuple[Draft, Known | None]] = {}
    for draft, match in zip(found, matched, strict=True):
        one = draft.ids if match is None or match.lesson is None or match.withdrawn else match.lesson.id
        before = joined[one][0].taught if one in joined else ()
        joined[one] = _draft([*before, *draft.taught]), match
    return list(joined.values())


def _by_members(found: Sequence[Draft], known: Sequence[Known]) -> list[tuple[int, int]]:
    """Pairs that share members: lessons people want before those they do not, then by how many."""
    having: dict[PlaybookId, list[int]] = defaultdict(list)
    for other, one in enumerate(known):
        for member in one.members:
            having[member].append(other)
    shared: dict[tuple[int, int], int] = defaultdict(int)
    for place, draft in enumerate(found):
        for member in draft.ids:
            for other in having.get(member, ()):
                shared[place, other] += 1
    return sorted(shared, key=lambda pair: (_unwanted(known[pair[1]]), -shared[pair], pair))


def _unwanted(known: Known) -> int:
    if known.withdrawn:
        return 2
    return int(known.lesson is not None and known.lesson.approval is not Approval.APPROVED)


def _saying_the_same(draft: Draft, known: Sequence[Known]) -> Known | None:
    points = [point_of(one.playbook.lesson, one.vector, "") for one in draft.taught[:8]]
    for other in sorted(known, key=_unwanted):
        if other.lesson is None:
            continue
        said = point_of(other.lesson.lesson, other.vector, "")
        if sum(same_rule(point, said) for point in points) * 2 > len(points):
            return other
    return None


def users_of(members: Collection[PlaybookId], playbooks: Collection[UserPlaybook]) -> frozenset[UserId]:
    return frozenset(UserId(one.user_id) for one in playbooks if one.id in set(members) and one.user_id)
