"""The states of a group of failures."""

from itertools import pairwise

import pytest
from msgspec.structs import replace

from acumen.model.ids import Millis
from acumen.model.operations.failure import (
    COOL_DOWN_MS,
    FailureGroup,
    GroupState,
    due_at,
    is_escalating,
    settled,
    state_after,
    worth_a_look,
    worth_analysing,
)
from acumen.model.times import DAY_MS

AT = Millis(10 * DAY_MS)
OLD = FailureGroup("g", "g1", "mcp", "read", "E", "t", GroupState.ONGOING, Millis(0), AT, count=9, sessions=3)
CALM = [1] * 168


@pytest.mark.parametrize(
    "state,this_hour,after",
    [
        (GroupState.NEW, 1, GroupState.NEW),
        (GroupState.ONGOING, 3, GroupState.ONGOING),
        (GroupState.ONGOING, 6, GroupState.ESCALATING),
        (GroupState.ESCALATING, 1, GroupState.ESCALATING),
        (GroupState.RESOLVED, 1, GroupState.REGRESSED),
        (GroupState.REGRESSED, 1, GroupState.REGRESSED),
        (GroupState.ARCHIVED, 4, GroupState.ARCHIVED),
        (GroupState.ARCHIVED, 6, GroupState.ESCALATING),
    ],
)
def test_what_another_failure_makes_of_a_group(state: GroupState, this_hour: int, after: GroupState):
    assert state_after(replace(OLD, state=state), AT, this_hour, CALM) is after


def test_a_new_group_does_not_escalate():
    new = replace(OLD, state=GroupState.NEW, first_seen=AT)

    assert state_after(new, AT, 500, []) is GroupState.NEW


def test_time_settles_what_is_new_and_what_has_calmed_down():
    assert settled(replace(OLD, state=GroupState.NEW), AT, 0, CALM) is GroupState.ONGOING
    assert settled(replace(OLD, state=GroupState.NEW, first_seen=AT), AT, 0, CALM) is GroupState.NEW
    assert settled(replace(OLD, state=GroupState.ESCALATING), AT, 2, CALM) is GroupState.ONGOING
    assert settled(replace(OLD, state=GroupState.ESCALATING), AT, 50, CALM) is GroupState.ESCALATING
    assert settled(replace(OLD, state=GroupState.RESOLVED), AT, 50, CALM) is GroupState.RESOLVED


def test_escalating_needs_a_handful_and_three_times_the_usual():
    assert not is_escalating(4, [0] * 100)
    assert is_escalating(5, [0] * 100)
    assert not is_escalating(30, [10] * 100)
    assert is_escalating(31, [10] * 100)


def test_an_hour_is_looked_at_when_it_has_grown_by_a_tenth():
    looked = [count for count in range(1, 1000) if worth_a_look(count - 1, count)]

    assert looked[:4] == [5, 6, 7, 8]
    assert all(later <= earlier * 1.1 + 1 for earlier, later in pairwise(looked))
    assert len(looked) < 60


def test_evidence_is_worth_an_analysis_once_until_there_is_more():
    fresh = replace(OLD, count=3, sessions=2)

    assert worth_analysing(replace(OLD, count=2, sessions=2), fresh)
    assert worth_analysing(replace(OLD, count=9, sessions=1), OLD), "a second session is what was missing"
    assert not worth_analysing(fresh, replace(fresh, count=4)), "it has been asked for"
    assert not worth_analysing(None, replace(fresh, sessions=1)), "one bad session is an accident"
    assert not worth_analysing(None, replace(OLD, analysed_count=7))


def test_a_group_cools_down_between_analyses():
    assert due_at(OLD, AT) == AT
    assert due_at(replace(OLD, analysed_at=AT), AT) == AT + COOL_DOWN_MS
