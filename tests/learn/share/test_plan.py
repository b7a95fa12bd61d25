"""Which shared lessons become new, grown, merged, withheld or outdated."""

import numpy as np
from msgspec.structs import replace

from acumen.learn.share.cluster import LessonIndex, regroup
from acumen.learn.share.plan import (
    PlannedWrite,
    SharedLesson,
    UserLesson,
    fingerprint,
    group_of,
    make_plan,
    users_of,
    wording_hash,
)
from acumen.model.ids import PlaybookId, UserId
from acumen.model.memories.base import Status
from acumen.model.memories.cluster import Cluster
from acumen.model.memories.playbook import Approval, Lesson
from tests.world import a_user_playbook, an_agent_playbook

TESTS_FIRST = "Always run the tests before committing."
NO_EMOJIS = "Never use emojis in replies."
MEANINGS = {TESTS_FIRST: (1.0, 0.0), NO_EMOJIS: (0.0, 1.0)}


def taught(number: int, content: str = TESTS_FIRST, user: str | None = None) -> UserLesson:
    playbook = replace(a_user_playbook(content, user or f"user-{number}"), id=PlaybookId(number))
    return UserLesson(playbook, np.array(MEANINGS[content], np.float32))


def known(*members: UserLesson, lesson: int = 1, content: str = TESTS_FIRST, **about) -> SharedLesson:
    """A shared lesson that was written from these."""
    stored = replace(an_agent_playbook(content), id=PlaybookId(lesson), **about)
    ids = tuple(member.playbook.id for member in members)
    wrote = wording_hash(stored.lesson)
    cluster = Cluster(f"clus-{lesson}", "", "", fingerprint(members), ids, PlaybookId(lesson), wrote)
    users = frozenset(member.user for member in members)
    return SharedLesson(stored, cluster, users, np.array(MEANINGS[content], np.float32))


def users(*lessons: UserLesson) -> dict[PlaybookId, UserId]:
    return {lesson.playbook.id: lesson.user for lesson in lessons}


def index(*lessons: UserLesson, changed: tuple[int, ...] | None = None) -> LessonIndex:
    """Without `changed`, ids of lessons, all have."""
    ids = [lesson.playbook.id for lesson in lessons]
    vectors = np.stack([np.zeros(2, np.float32) if lesson.vector is None else lesson.vector for lesson in lessons])
    flags = [changed is None or playbook in changed for playbook in ids]
    return LessonIndex(ids, vectors, flags)


def grouped(*lessons: UserLesson, shared=(), changed: tuple[int, ...] | None = None, read: list | None = None):
    texts = {lesson.playbook.id: lesson.playbook.lesson for lesson in lessons}

    def words(ids):
        if read is not None:
            read.extend(ids)
        return [texts[playbook] for playbook in ids]

    return regroup(index(*lessons, changed=changed), shared, words)


def planned(current: list[UserLesson], *there: SharedLesson, least_users: int = 2):
    by_id = {lesson.playbook.id: lesson for lesson in current}
    groups = [group_of([by_id[member] for member in group]) for group in grouped(*current)]
    return make_plan(
        [group for group in groups if len(users_of(group)) >= least_users], there, users(*current), least_users
    )


# --- grouping ------------------------------------------------------------------------------------------------------


def test_what_differs_in_case_and_spacing_is_one_group():
    shouted = replace(taught(2), playbook=replace(taught(2).playbook, lesson=Lesson(TESTS_FIRST.upper())))

    assert grouped(taught(1), shouted) == [(1, 2)]


def test_a_new_lesson_joins_the_group_that_says_the_same_and_no_other_lesson_is_read():
    tests, emojis = [taught(1), taught(2)], [taught(3, NO_EMOJIS), taught(4, NO_EMOJIS)]
    shared = [known(*tests), known(*emojis, lesson=2, content=NO_EMOJIS)]
    read: list[int] = []

    result = grouped(*tests, *emojis, taught(5), shared=shared, changed=(5,), read=read)

    assert result == [(1, 2, 5)]
    assert set(read) == {1, 2, 5}


def test_a_new_lesson_finds_a_single_one_that_was_known_before():
    result = grouped(taught(1), taught(2, NO_EMOJIS), taught(3), changed=(3,))

    assert result == [(1, 3)]


def test_a_lesson_that_changed_its_words_leaves_its_group():
    before = [taught(1), taught(2), taught(3)]
    changed = replace(taught(3, NO_EMOJIS), playbook=replace(taught(3, NO_EMOJIS).playbook, id=PlaybookId(3)))

    result = grouped(*before[:2], changed, shared=[known(*before)], changed=(3,))

    assert result == [(3,)]


def test_a_group_that_lost_a_member_is_looked_at():
    before = [taught(1), taught(2), taught(3)]

    assert grouped(*before[:2], shared=[known(*before)], changed=()) == [(1, 2)]
    assert grouped(*before, shared=[known(*before)], changed=()) == []


def test_lessons_that_nobody_could_approve_are_in_no_group():
    frustrated = [
        replace(taught(n), playbook=replace(taught(n).playbook, lesson=Lesson("It is frustrating."))) for n in (1, 2)
    ]

    assert grouped(*frustrated) == [(1,), (2,)]


# --- planning ------------------------------------------------------------------------------------------------------


def test_a_lesson_needs_enough_users_not_enough_lessons():
    by_ada = [taught(1, user="ada"), taught(2, user="ada"), taught(3, user="ada")]

    assert planned(by_ada).writes == ()
    assert len(planned([*by_ada, taught(4)]).writes) == 1


def test_a_new_cluster_is_a_new_lesson():
    assert planned([taught(1), taught(2)]).writes == (PlannedWrite((PlaybookId(1), PlaybookId(2))),)


def test_an_unchanged_cluster_is_left_alone():
    current = [taught(1), taught(2)]

    decided = planned(current, known(*current))

    assert (decided.writes, decided.unchanged) == ((), 1)


def test_a_changed_word_of_a_member_makes_its_cluster_other():
    before = [taught(1), taught(2)]
    changed = replace(before[0].playbook, lesson=Lesson(TESTS_FIRST, rationale="It broke twice."))

    assert fingerprint([UserLesson(changed), before[1]]) != fingerprint(before)
    assert fingerprint(before[::-1]) == fingerprint(before)


def test_a_cluster_that_grew_keeps_its_lesson():
    before = [taught(1), taught(2)]

    (write,) = planned([*before, taught(3)], known(*before)).writes

    assert (write.lesson, len(write.members)) == (1, 3)


def test_a_lesson_that_says_the_same_is_taken_for_it_even_without_shared_members():
    by_hand = SharedLesson(replace(an_agent_playbook(TESTS_FIRST), id=PlaybookId(7)), None, vector=taught(1).vector)

    (write,) = planned([taught(1), taught(2)], by_hand).writes

    assert write.lesson == 7


def test_clusters_that_one_lesson_stands_for_are_written_once():
    """As where the second came near the lesson's words, but not near those that it was written from."""
    here, there = [taught(1), taught(2)], [taught(3), taught(4)]
    lesson = known(*here)

    (write,) = make_plan([group_of(here), group_of(there)], [lesson], users(*here, *there), 2).writes
    again = make_plan([group_of(here), group_of(there)], [known(*here, *there)], users(*here, *there), 2)

    assert (write.lesson, write.members) == (1, (1, 2, 3, 4))
    assert (again.writes, again.unchanged) == ((), 1)


def test_a_lesson_that_another_cluster_goes_on_with_is_not_merged_away():
    here, there = [taught(1), taught(2), taught(3)], [taught(4, NO_EMOJIS), taught(5, NO_EMOJIS)]
    inside = known(taught(1), lesson=2, content=NO_EMOJIS)

    writes = make_plan([group_of(here), group_of(there)], [known(*here[1:]), inside], users(*here, *there), 2).writes

    assert [(write.lesson, write.merged) for write in writes] == [(1, ()), (2, ())]


def test_a_rejected_lesson_stays_away_until_as_many_others_teach_it():
    before = [taught(1), taught(2), taught(3)]
    rejected = known(*before, approval=Approval.REJECTED)

    grown = planned([*before, taught(4), taught(5)], rejected)
    doubled = planned([*before, taught(4), taught(5), taught(6)], rejected)

    assert (grown.writes, grown.withheld) == ((), 1)
    assert [write.lesson for write in doubled.writes] == [None]


def test_lessons_made_anew_by_the_same_users_are_told_apart_from_those_of_others():
    rejected = known(taught(1, user="ada"), taught(2, user="bob"), approval=Approval.REJECTED)
    anew = [taught(3, user="ada"), taught(4, user="bob"), taught(5, user="carl")]

    decided = planned(anew, rejected)

    assert decided.retaught == (PlannedWrite((PlaybookId(3), PlaybookId(4)), PlaybookId(1)),)
    assert planned([taught(1, user="ada"), taught(2, user="bob")], rejected).retaught == ()


def test_a_lesson_that_a_person_deleted_stays_away_as_well():
    before = [taught(1), taught(2)]
    deleted = replace(known(*before), playbook=None)

    assert planned([*before, taught(3)], deleted).withheld == 1


def test_a_lesson_that_people_want_goes_before_one_they_do_not():
    first, second = [taught(1), taught(2)], [taught(3), taught(4)]
    rejected, live = known(*first, approval=Approval.REJECTED), known(*second, lesson=2)

    (write,) = planned([*first, *second, taught(5)], rejected, live).writes

    assert write.lesson == 2


def test_two_pending_lessons_whose_sources_came_together_become_one():
    first, second = [taught(1), taught(2)], [taught(3), taught(4), taught(5)]

    (write,) = planned([*first, *second], known(*first, lesson=1), known(*second, lesson=2)).writes

    assert (write.lesson, write.merged) == (2, (1,))


def test_an_approved_lesson_is_the_one_that_stays_and_is_never_merged_away():
    first, second = [taught(1), taught(2)], [taught(3), taught(4), taught(5)]
    approved = known(*first, lesson=1, approval=Approval.APPROVED)
    other = known(*second, lesson=2, approval=Approval.APPROVED)

    (write,) = planned([*first, *second], approved, known(*second, lesson=2)).writes
    both = planned([*first, *second], approved, other)

    assert (write.lesson, write.merged) == (1, (2,))
    assert all(not write.merged for write in both.writes)


def test_a_lesson_without_those_who_taught_it_is_retired():
    before = [taught(1), taught(2)]

    assert planned([taught(1)], known(*before)).retired == (1,)
    assert planned(before, known(*before)).retired == ()
    assert planned([taught(1)], known(*before, approval=Approval.REJECTED)).retired == ()
    assert planned([taught(1)], known(*before, status=Status.ARCHIVED)).retired == ()


def test_what_a_person_wrote_is_not_retired():
    written = known(taught(1), taught(2))
    edited = replace(written, playbook=replace(written.playbook, lesson=Lesson("Test, then commit.")))

    assert planned([taught(1)], edited).retired == ()


def test_different_lessons_are_different_writes():
    current = [taught(1), taught(2), taught(3, NO_EMOJIS), taught(4, NO_EMOJIS)]

    assert {write.members for write in planned(current).writes} == {(1, 2), (3, 4)}
    assert {lesson.user for lesson in current} == {UserId(f"user-{number}") for number in range(1, 5)}


def test_a_lesson_that_others_teach_now_goes_on():
    """As when all lessons were made anew: other ids, the same words."""
    (write,) = (decided := planned([taught(11), taught(12)], known(taught(1), taught(2)))).writes

    assert (write.lesson, decided.retired) == (1, ())
