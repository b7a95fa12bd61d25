"""A clock that is set back: what was scheduled by it is not left waiting for the time that it had shown."""

from acumen.model.times import HOUR_MS
from tests.world import Clock, Org, Start, local, said


async def contents(org: Org) -> list[str]:
    return [memory.content for memory in (await org.sdk.profiles(user_id="ada")).user_profiles]


async def test_learning_goes_on_when_the_clock_goes_back_an_hour(start: Start, clock: Clock):
    org = local(await start())
    await org.learn()
    await org.sdk.publish(**said("I live in Oslo.", session="s1"))

    clock.forward(hours=-1)
    await org.learn()
    await org.sdk.publish(**said("I work at Nordlys.", session="s2"))
    await org.learn()

    assert [word for word in ("Oslo", "Nordlys") if word not in str(await contents(org))] == []


async def test_a_clock_that_was_ahead_for_a_while_leaves_no_schedule_in_its_future(start: Start, clock: Clock):
    org = local(await start())
    clock.forward(days=400)
    await org.sdk.publish(**said("I live in Oslo.", session="s1"))
    failed = {"source": "mcp", "endpoint": "read", "status": "error", "error_message": "no such file"}
    await org.sdk.record_operations(operations=[{**failed, "session_id": "s1"}])
    await org.learn()

    clock.forward(days=-400)
    await org.learn()
    jobs = (await org.rows())["jobs"]

    assert {job["event"] for job in jobs} >= {"hour", "minutes"}
    assert [job["event"] for job in jobs if job["run_at"] > clock() + HOUR_MS] == []
    assert [job["event"] for job in jobs if (job["lease_until"] or 0) > clock() + HOUR_MS] == []


async def test_a_session_whose_last_turn_is_of_a_time_to_come_is_evaluated(start: Start, clock: Clock):
    org = local(await start())
    clock.forward(days=400)
    await org.sdk.publish(**said("Where is it?", "agent: Here.", "Thanks, that solved it!", session="s1"))
    await org.learn()
    clock.forward(days=-400)
    await org.learn()

    clock.forward(hours=1)
    await org.learn()

    assert [row["session_id"] for row in (await org.rows())["evaluations"]] == ["s1"]
