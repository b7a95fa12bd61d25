"""Which shared lessons become new, grown, merged, withheld or outdated."""

import numpy as np
from msgspec.structs import replace

from acumen.learn.share.gather import Known, Retaught, Taught, Todo, _draft, drafts, fingerprint, plan, wording
from acumen.model.cluster import Cluster
from acumen.model.ids import PlaybookId, UserId
from acumen.model.memory import Status
from acumen.model.playbook import Approval, Lesson
from tests.world import a_user_playbook, an_agent_playbook

TESTS_FIRST = "Always run the tests before committing."
NO_EMOJIS = "Never use emojis in replies."
MEANINGS = {TESTS_FIRST: (1.0, 0.0), NO_EMOJIS: (0.0, 1.0)}


def taught(number: int, content: str = TESTS_FIRST, user: str | None = None) -> Taught:
    playbook = replace(a_user_playbook(content, user or f"user-{number}"), id=PlaybookId(number))
    return Taught(playbook, np.array(MEANINGS[content], np.float32))


def known(*members: Taught, lesson: int = 1, content: str = TESTS_FIRST, **about) -> Known:
    """A shared lesson that was written from these."""
    stored = replace(an_agent_playbook(content), id=PlaybookId(lesson), **about)
    ids = tuple(one.playbook.id for one in members)
    wrote = wording(stored.lesson)
    cluster = Cluster(f"clus-{lesson}", "", "", fingerprint(members), ids, PlaybookId(lesson), wrote)
    users = frozenset(one.user for one in members)
    return Known(stored, cluster, users, np.array(MEANINGS[content], np.float32))


def planned(current: list[Taught], *there: Known, least_users: int = 2):
    return plan(drafts(current, least_users), there, current, least_users)


def test_a_lesson_needs_enough_users_not_enough_lessons():
    one_user = [taught(1, user="ada"), taught(2, user="ada"), taught(3, user="ada")]

    assert drafts(one_user, 2) == []
    assert [len(draft.users) for draft in drafts([*one_user, taught(4)], 2)] == [2]


def test_what_differs_in_case_and_spacing_is_one_wording():
    shouted = replace(taught(2), playbook=replace(taught(2).playbook, lesson=Lesson(TESTS_FIRST.upper())))

    assert len(drafts([taught(1), shouted], 2)) == 1


def test_a_new_cluster_is_a_new_lesson():
    assert planned([taught(1), taught(2)]).todos == (Todo((PlaybookId(1), PlaybookId(2))),)


def test_an_unchanged_cluster_is_left_alone():
    current = [taught(1), taught(2)]

    decided = planned(current, known(*current))

    assert (decided.todos, decided.unchanged) == ((), 1)


def test_a_changed_word_of_a_member_makes_its_cluster_other():
    before = [taught(1), taught(2)]
    changed = replace(before[0].playbook, lesson=Lesson(TESTS_FIRST, rationale="It broke twice."))

    assert fingerprint([Taught(changed), before[1]]) != fingerprint(before)
    assert fingerprint(before[::-1]) == fingerprint(before)


def test_a_cluster_that_grew_keeps_its_lesson():
    before = [taught(1), taught(2)]

    (todo,) = planned([*before, taught(3)], known(*before)).todos

    assert (todo.lesson, len(todo.members)) == (1, 3)


def test_a_lesson_that_says_the_same_is_taken_for_it_even_without_shared_members():
    by_hand = Known(replace(an_agent_playbook(TESTS_FIRST), id=PlaybookId(7)), None, vector=taught(1).vector)

    (todo,) = planned([taught(1), taught(2)], by_hand).todos

    assert todo.lesson == 7


def test_clusters_that_one_lesson_stands_for_are_written_once():
    """As where the second came near the lesson's words, but not near those that it was written from."""
    here, there = [taught(1), taught(2)], [taught(3), taught(4)]
    lesson = known(*here)

    (todo,) = plan([_draft(here), _draft(there)], [lesson], [*here, *there], 2).todos
    again = plan([_draft(here), _draft(there)], [known(*here, *there)], [*here, *there], 2)

    assert (todo.lesson, todo.members) == (1, (1, 2, 3, 4))
    assert (again.todos, again.unchanged) == ((), 1)


def test_a_lesson_that_another_cluster_goes_on_with_is_not_merged_away():
    here, there = [taught(1), taught(2), taught(3)], [taught(4, NO_EMOJIS), taught(5, NO_EMOJIS)]
    inside = known(taught(1), lesson=2, content=NO_EMOJIS)

    todos = plan([_draft(here), _draft(there)], [known(*here[1:]), inside], [*here, *there], 2).todos

    assert [(todo.lesson, todo.merged) for todo in todos] == [(1, ()), (2, ())]


def test_a_rejected_lesson_stays_away_until_as_many_others_teach_it():
    before = [taught(1), taught(2), taught(3)]
    rejected = known(*before, approval=Approval.REJECTED)

    grown = planned([*before, taught(4), taught(5)], rejected)
    doubled = planned([*before, taught(4), taught(5), taught(6)], rejected)

    assert (grown.todos, grown.withheld) == ((), 1)
    assert [todo.lesson for todo in doubled.todos] == [None]


def test_lessons_made_anew_by_the_same_users_are_told_apart_from_those_of_others():
    rejected = known(taught(1, user="ada"), taught(2, user="bob"), approval=Approval.REJECTED)
    anew = [taught(3, user="ada"), taught(4, user="bob"), taught(5, user="carl")]

    decided = planned(anew, rejected)

    assert decided.retaught == (Retaught(PlaybookId(1), (PlaybookId(3), PlaybookId(4))),)
    assert planned([taught(1, user="ada"), taught(2, user="bob")], rejected).retaught == ()


def test_a_lesson_that_a_person_deleted_stays_away_as_well():
    before = [taught(1), taught(2)]
    deleted = replace(known(*before), lesson=None)

    assert planned([*before, taught(3)], deleted).withheld == 1


def test_a_lesson_that_people_want_goes_before_one_they_do_not():
    first, second = [taught(1), taught(2)], [taught(3), taught(4)]
    rejected, live = known(*first, approval=Approval.REJECTED), known(*second, lesson=2)

    (todo,) = planned([*first, *second, taught(5)], rejected, live).todos

    assert todo.lesson == 2


def test_two_pending_lessons_whose_sources_came_together_become_one():
    first, second = [taught(1), taught(2)], [taught(3), taught(4), taught(5)]

    (todo,) = planned([*first, *second], known(*first, lesson=1), known(*second, lesson=2)).todos

    assert (todo.lesson, todo.merged) == (2, (1,))


def test_an_approved_lesson_is_the_one_that_stays_and_is_never_merged_away():
    first, second = [taught(1), taught(2)], [taught(3), taught(4), taught(5)]
    approved = known(*first, lesson=1, approval=Approval.APPROVED)
    other = known(*second, lesson=2, approval=Approval.APPROVED)

    (todo,) = planned([*first, *second], approved, known(*second, lesson=2)).todos
    both = planned([*first, *second], approved, other)

    assert (todo.lesson, todo.merged) == (1, (2,))
    assert all(not todo.merged for todo in both.todos)


def test_a_lesson_without_those_who_taught_it_is_retired():
    before = [taught(1), taught(2)]

    assert planned([taught(1)], known(*before)).retired == (1,)
    assert planned(before, known(*before)).retired == ()
    assert planned([taught(1)], known(*before, approval=Approval.REJECTED)).retired == ()
    assert planned([taught(1)], known(*before, status=Status.ARCHIVED)).retired == ()


def test_what_a_person_wrote_is_not_retired():
    written = known(taught(1), taught(2))
    edited = replace(written, lesson=replace(written.lesson, lesson=Lesson("Test, then commit.")))

    assert planned([taught(1)], edited).retired == ()


def test_different_lessons_are_different_todos():
    current = [taught(1), taught(2), taught(3, NO_EMOJIS), taught(4, NO_EMOJIS)]

    assert {todo.members for todo in planned(current).todos} == {(1, 2), (3, 4)}
    assert {one.user for one in current} == {UserId(f"user-{number}") for number in range(1, 5)}


def test_a_lesson_that_others_teach_now_goes_on():
    """As when all lessons were made anew: other ids, the same words."""
    (todo,) = (decided := planned([taught(11), taught(12)], known(taught(1), taught(2)))).todos

    assert (todo.lesson, decided.retired) == (1, ())
