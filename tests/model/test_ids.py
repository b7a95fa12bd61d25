"""Ids and facts."""

from acumen.loop import EVENTS
from acumen.model.ids import RequestId, SessionId, UserId, fresh_id
from acumen.model.jobs.events import Hour, Published, SessionEnded


def test_fresh_ids_are_unique_and_sort_by_the_time_they_were_made():
    made = [fresh_id("x") for _ in range(1_000)]

    assert len(set(made)) == 1_000
    assert [name[:16] for name in made] == sorted(name[:16] for name in made)


def test_a_fact_comes_back_from_its_payload():
    for fact in (Published(UserId("u"), RequestId("r")), SessionEnded(UserId("u"), SessionId("s")), Hour()):
        assert EVENTS[fact.name].of(fact.payload()) == fact
