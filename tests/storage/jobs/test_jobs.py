"""Jobs as rows: one waits per scope, one runs per scope, and no job is lost with its worker."""

import asyncio
from typing import ClassVar

import pytest

from acumen import loop
from acumen.model.ids import Millis, OrgId, RequestId, SessionId, UserId
from acumen.model.jobs.events import EVENT_NAMES, Event, GenerationAsked, Hour, Published, SessionEnded, SessionQuiet
from acumen.model.jobs.job import Job, JobState
from acumen.model.jobs.run import RunId
from acumen.storage.jobs.jobs import LOSSES_PER_FAILURE, Rotation
from acumen.storage.store import Store, Tx
from tests.world import ORG, Clock

ATTEMPTS = 3
LEASE_MS = 60_000


def published(user: str = "ada", request: str = "r1") -> Published:
    return Published(UserId(user), RequestId(request))


async def add(store: Store, fact=None, at: Millis | None = None, org: OrgId = ORG) -> None:
    await store.of(org).write(lambda tx: tx.jobs.add(fact or published(), at))


async def claim(store: Store, clock: Clock, owner: str = "one", most: int = 10, rotation=None) -> list[Job]:
    until = Millis(clock() + LEASE_MS)
    return await store.lease(lambda leases: leases.claim(owner, until, most, ATTEMPTS, rotation))


async def jobs(store: Store, scope: str = "ada") -> list[tuple[JobState, int]]:
    found = await store.of(ORG).read(lambda tx: tx.jobs.find_by_scope("published", scope))
    return sorted((job.state, job.attempts) for job in found)


async def test_a_job_is_written_with_the_data_that_causes_it_or_not_at_all(store: Store, clock: Clock):
    def half(tx: Tx) -> None:
        tx.jobs.add(published())
        raise ValueError

    with pytest.raises(ValueError):  # noqa: PT011 - raised above, without a word
        await store.of(ORG).write(half)

    assert await claim(store, clock) == []


async def test_jobs_of_one_scope_fold_into_the_one_that_waits(store: Store, clock: Clock):
    for request in ("r1", "r2", "r3"):
        await add(store, published(request=request))
    await add(store, published("bob"))

    claimed = await claim(store, clock)

    assert [(job.scope, job.payload["request_id"]) for job in claimed] == [("ada", "r1"), ("bob", "r1")]


class Novel(Event, frozen=True):
    """Of a version that is newer than the worker."""

    name: ClassVar[str] = "novel"
    about: str = "ada"


async def test_a_job_that_this_version_does_not_know_is_left_to_a_newer_one(store: Store, clock: Clock):
    await add(store, Novel())
    due_alone = await store.peek(lambda leases: leases.has_due())
    await add(store, published("ada"))

    claimed = await claim(store, clock)

    assert not due_alone
    assert [job.event for job in claimed] == ["published"]
    assert [job.state for job in await store.of(ORG).read(lambda tx: tx.jobs.find_by_event("novel"))] == ["waiting"]


def test_this_version_knows_the_events_that_it_has_steps_for():
    assert set(EVENT_NAMES) == set(loop.EVENTS)


async def test_folding_in_takes_the_earlier_of_two_times(store: Store, clock: Clock):
    in_an_hour, in_two = Millis(clock() + 3_600_000), Millis(clock() + 7_200_000)
    await add(store, at=in_two)
    await add(store, at=in_an_hour)
    await add(store, at=in_two)

    assert await store.peek(lambda leases: leases.next_at()) == in_an_hour
    assert await claim(store, clock) == []
    clock.forward(hours=1, seconds=1)
    assert len(await claim(store, clock)) == 1


async def test_jobs_run_in_the_order_of_their_times(store: Store, clock: Clock):
    now = clock()
    for user, late in (("first", 3), ("third", 1), ("second", 2)):
        await add(store, published(user), Millis(now - late * 1000))

    taken = [(await claim(store, clock, most=1))[0].scope for _ in range(3)]

    assert taken == ["first", "second", "third"]


async def test_one_runs_per_scope_and_what_comes_meanwhile_runs_once_after_it(store: Store, clock: Clock):
    await add(store)
    (running,) = await claim(store, clock)
    for request in ("r2", "r3"):
        await add(store, published(request=request))

    while_running = await claim(store, clock, "two")
    await store.lease(lambda leases: leases.finish(running, "one"))
    afterwards = await claim(store, clock, "two")

    assert while_running == []
    assert [job.payload["request_id"] for job in afterwards] == ["r2"]
    assert await jobs(store) == [(JobState.RUNNING, 1)]


async def test_scopes_of_other_facts_and_other_orgs_do_not_wait_for_each_other(store: Store, clock: Clock):
    await add(store)
    await claim(store, clock)
    await add(store, GenerationAsked(RunId("ada")))
    await add(store, org=OrgId("other"))

    claimed = await claim(store, clock, "two")

    assert sorted((job.org_id, job.event) for job in claimed) == [("acme", "generation_asked"), ("other", "published")]


async def test_whatever_makes_a_users_turns_be_read_is_done_one_after_the_other(store: Store, clock: Clock):
    await add(store)
    await add(store, SessionEnded(UserId("ada"), SessionId("s1")))
    await add(store, SessionEnded(UserId("bob"), SessionId("s2")))

    first = await claim(store, clock, "one")
    meanwhile = await claim(store, clock, "two")

    assert sorted(job.scope for job in first) == ["ada", "bob"]
    assert meanwhile == []


async def test_a_job_whose_worker_fell_silent_is_taken_over(store: Store, clock: Clock):
    await add(store)
    (lost,) = await claim(store, clock, "silent")
    early = await claim(store, clock, "two")
    clock.forward(seconds=61)

    (taken,) = await claim(store, clock, "two")

    assert early == []
    assert (taken.id, taken.attempts) == (lost.id, 2)


async def test_a_worker_that_lost_its_job_can_neither_finish_nor_fail_it(store: Store, clock: Clock):
    await add(store)
    (lost,) = await claim(store, clock, "silent")
    clock.forward(seconds=61)
    await claim(store, clock, "two")

    await store.lease(lambda leases: leases.finish(lost, "silent"))
    await store.lease(lambda leases: leases.fail(lost, "silent", "too late", None))

    assert await jobs(store) == [(JobState.RUNNING, 2)]


async def test_a_renewed_lease_is_not_taken_over_and_one_that_was_not_renewed_is(store: Store, clock: Clock):
    await add(store)
    await add(store, published("bob"))
    renewed, forgotten = await claim(store, clock, "busy")
    clock.forward(seconds=50)
    await store.lease(lambda leases: leases.renew_leases("busy", [renewed.id], Millis(clock() + LEASE_MS)))
    clock.forward(seconds=50)

    assert [job.id for job in await claim(store, clock, "two")] == [forgotten.id]


async def test_a_job_that_kills_every_worker_is_dead_in_the_end(store: Store, clock: Clock):
    await add(store)
    for _ in range(ATTEMPTS * LOSSES_PER_FAILURE):
        assert len(await claim(store, clock)) == 1
        clock.forward(seconds=61)

    assert await claim(store, clock) == []

    (dead,) = await store.of(ORG).read(lambda tx: tx.jobs.find_dead_letters(10))
    assert "disappeared" in (dead.last_error or "")


async def test_a_failed_job_waits_for_its_next_try_and_keeps_the_cause(store: Store, clock: Clock):
    await add(store)
    (job,) = await claim(store, clock)
    retry_at = Millis(clock() + 5_000)
    await store.lease(lambda leases: leases.fail(job, "one", "ValueError: no", retry_at))

    at_once = await claim(store, clock)
    clock.forward(seconds=6)
    (again,) = await claim(store, clock)

    assert at_once == []
    assert (again.attempts, again.last_error) == (2, "ValueError: no")


async def test_a_failed_job_folds_into_the_one_that_came_meanwhile_and_lends_it_its_attempts(
    store: Store, clock: Clock
):
    await add(store)
    (job,) = await claim(store, clock)
    await add(store, published(request="r2"))

    await store.lease(lambda leases: leases.fail(job, "one", "no", Millis(clock())))

    assert await jobs(store) == [(JobState.WAITING, 1)]


async def test_a_dead_job_keeps_its_cause_and_does_not_stop_the_next_of_its_scope(store: Store, clock: Clock):
    await add(store)
    (job,) = await claim(store, clock)
    await store.lease(lambda leases: leases.fail(job, "one", "ValueError: never", None))
    await add(store, published(request="r2"))

    (after,) = await claim(store, clock)

    (dead,) = await store.of(ORG).read(lambda tx: tx.jobs.find_dead_letters(10))
    assert dead.last_error == "ValueError: never"
    assert after.payload["request_id"] == "r2"
    assert await store.of(ORG).read(lambda tx: tx.jobs.count()) == {"published": {"dead": 1, "running": 1}}

    await store.lease(lambda leases: leases.finish(after, "one"))
    assert await store.of(ORG).read(lambda tx: tx.jobs.count()) == {}


async def test_a_dead_job_that_nothing_made_good_is_forgotten_in_the_end(store: Store, clock: Clock):
    await add(store)
    (job,) = await claim(store, clock)
    await store.lease(lambda leases: leases.fail(job, "one", "ValueError: never", None))

    before_it = await store.of(ORG).write(lambda tx: tx.jobs.delete_dead_letters(Millis(clock() - 3_600_000)))
    clock.forward(hours=1)
    after_it = await store.of(ORG).write(lambda tx: tx.jobs.delete_dead_letters(clock()))

    assert (before_it, after_it) == (0, 1)


async def test_forgetting_a_user_leaves_the_work_of_others_and_the_schedule(store: Store):
    """Whatever the user is called."""
    for fact in (published("hour"), published("bob"), Hour()):
        await add(store, fact)

    await store.of(ORG).write(lambda tx: tx.jobs.delete_user(UserId("hour")))

    counted = await store.of(ORG).read(lambda tx: tx.jobs.count())
    assert counted == {"hour": {"waiting": 1}, "published": {"waiting": 1}}


async def test_workers_that_claim_at_once_never_share_a_scope(store: Store, clock: Clock):
    """On Postgres they are many processes; each here has its own connection."""
    running: dict[str, int] = {}
    clashes: list[str] = []
    ran: list[str] = []

    async def publish(number: int) -> None:
        for turn in range(6):
            await add(store, published(f"user-{(number + turn) % 4}", f"r-{number}-{turn}"))

    async def work(owner: str) -> None:
        idle = 0
        while idle < 20:
            claimed = await claim(store, clock, owner, most=2)
            idle = 0 if claimed else idle + 1
            for job in claimed:
                running[job.scope] = running.get(job.scope, 0) + 1
                if running[job.scope] > 1:
                    clashes.append(job.scope)
            await asyncio.sleep(0.001)
            for job in claimed:
                running[job.scope] -= 1
                ran.append(job.scope)
                await store.lease(lambda leases, job=job: leases.finish(job, owner))

    await asyncio.gather(*(publish(n) for n in range(6)), *(work(f"worker-{n}") for n in range(4)))

    assert clashes == []
    assert set(ran) == {f"user-{n}" for n in range(4)}
    assert await store.of(ORG).read(lambda tx: tx.jobs.count()) == {}


async def test_only_what_is_due_and_waits_is_overdue(store: Store, clock: Clock):
    async def since() -> Millis | None:
        return await store.of(ORG).read(lambda tx: tx.jobs.overdue_since())

    due_at = Millis(clock() - 5_000)
    await add(store, published("bob"), Millis(clock() + 60_000))
    before = await since()
    await add(store, published("ada"), due_at)
    waiting = await since()
    await claim(store, clock)

    assert (before, waiting, await since()) == (None, due_at, None)


async def test_an_orgs_and_a_users_backlog_do_not_hold_up_the_first_job_of_another(store: Store, clock: Clock):
    """A user has many sessions to evaluate, and the org many users to learn from, all before the others came."""
    earlier = Millis(clock() - 60_000)
    for number in range(20):
        await add(store, SessionQuiet(UserId("busy"), SessionId(f"s{number}")), earlier)
        await add(store, published(f"user{number}"), earlier)
    await add(store, published("last"))
    await add(store, published("guest"), org=OrgId("other"))
    rotation = Rotation()

    order = [(await claim(store, clock, most=1, rotation=rotation))[0] for _ in range(23)]

    places = [(job.org_id, job.payload["user_id"]) for job in order]
    assert places.index(("other", "guest")) <= 1
    assert places.index(("acme", "last")) <= 3
    assert places.count(("acme", "busy")) <= 2


async def test_what_is_scheduled_is_claimed_when_it_is_due_and_not_before(store: Store, clock: Clock):
    await add(store, published("later"), Millis(clock() + 60_000))
    early = await claim(store, clock)
    waits = await store.peek(lambda leases: leases.has_due())
    clock.forward(seconds=61)

    assert (early, waits) == ([], False)
    assert await store.peek(lambda leases: leases.has_due())
    assert [job.scope for job in await claim(store, clock)] == ["later"]


async def test_what_was_due_before_the_clock_was_set_back_is_claimed(store: Store, clock: Clock):
    await add(store)
    clock.forward(hours=-1)

    assert [job.scope for job in await claim(store, clock)] == ["ada"]


async def test_the_lag_is_the_turns_that_are_due_and_how_fast_they_are_learned(store: Store, clock: Clock):
    first_at = clock()
    for user, turns in (("ada", 3), ("ada", 2), ("bob", 5)):
        await store.of(ORG).write(lambda tx, u=user, n=turns: tx.jobs.add(published(u), turns=n))
    await store.of(ORG).write(lambda tx: tx.jobs.add(published("idle"), Millis(clock() + 60_000), turns=7))
    clock.forward(seconds=30)
    before = await store.of(ORG).read(lambda tx: tx.jobs.get_lag())
    (job,) = await claim(store, clock, most=1)
    await store.lease(lambda leases: leases.finish(job, "one"))
    after = await store.of(ORG).read(lambda tx: tx.jobs.get_lag())
    of_all = await store.peek(lambda leases: leases.get_lags())

    assert (before.turns_waiting, before.turns_per_second, before.seconds_left) == (10, 0, None)
    assert first_at <= before.oldest_at <= first_at + 5_000
    assert after.turns_waiting == 5
    assert 0 < after.turns_per_second <= 5
    assert after.seconds_left == 5 / after.turns_per_second
    assert {org: lag.turns_waiting for org, lag in of_all.items()} == {ORG: 5}
