"""Workers: they run what is due, try again what failed, and go on when the database comes back."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from acumen.errors import Unavailable
from acumen.jobs.worker import Worker
from acumen.model.ids import Millis, OrgId, RequestId, UserId
from acumen.model.jobs.events import Hour, Published
from acumen.model.jobs.job import Job
from acumen.settings import JobSettings
from acumen.storage.store import Store
from tests.world import ORG, Clock

QUICK = JobSettings(attempts=3, backoff_seconds=1, poll_seconds=0.01, workers=2)


async def add(store: Store, user: str = "ada", request: str = "r1") -> None:
    await store.of(ORG).write(lambda tx: tx.jobs.add(Published(UserId(user), RequestId(request))))


async def failing(_job: Job) -> None:
    raise ValueError("the page is torn")


async def until(true: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(5):
        while not await true():  # noqa: ASYNC110 - the database tells nobody when it changes
            await asyncio.sleep(0.01)


async def nothing_left(store: Store) -> bool:
    return await store.of(ORG).read(lambda tx: tx.jobs.count()) == {}


async def test_a_job_that_fails_is_tried_again_later_each_time_and_dead_in_the_end(store: Store, clock: Clock):
    await add(store)
    worker = Worker(store, failing, QUICK, clock)
    waits: list[int] = []
    for _ in range(QUICK.attempts):
        tried_at = clock()
        assert await worker.run_due() == 1
        next_at = await store.peek(lambda leases: leases.next_at())
        if next_at is not None:
            waits.append(round((next_at - tried_at) / 1000))
            clock.forward(milliseconds=next_at - clock() + 1)

    assert waits == [1, 2]
    assert await worker.run_due() == 0
    (dead,) = await store.of(ORG).read(lambda tx: tx.jobs.find_dead_letters(10))
    assert (dead.attempts, dead.last_error) == (3, "ValueError: the page is torn")


async def test_a_job_that_succeeds_is_gone(store: Store):
    ran: list[Job] = []

    async def run(job: Job) -> None:
        ran.append(job)

    await add(store)
    await Worker(store, run, QUICK).run_due()

    assert [job.payload for job in ran] == [{"user_id": "ada", "request_id": "r1"}]
    assert await nothing_left(store)


async def test_workers_run_different_scopes_at_once_and_one_scope_after_the_other(store: Store):
    at_once: dict[str, int] = {}
    most: dict[str, int] = {}
    running = 0
    most_running = 0

    async def run(job: Job) -> None:
        nonlocal running, most_running
        at_once[job.scope] = at_once.get(job.scope, 0) + 1
        most[job.scope] = max(most.get(job.scope, 0), at_once[job.scope])
        running += 1
        most_running = max(most_running, running)
        await asyncio.sleep(0.02)
        running -= 1
        at_once[job.scope] -= 1

    workers = [Worker(store, run, QUICK) for _ in range(2)]
    stop = asyncio.Event()
    serving = [asyncio.create_task(worker.serve(stop)) for worker in workers]
    for request in range(5):
        for user in ("ada", "bob", "cyd"):
            await add(store, user, f"r{request}")
        await asyncio.sleep(0.01)
    await until(lambda: nothing_left(store))
    stop.set()
    await asyncio.gather(*serving)

    assert set(most.values()) == {1}
    assert most_running > 1


async def test_told_to_stop_a_worker_finishes_what_it_has_begun(store: Store):
    began, finished = asyncio.Event(), asyncio.Event()

    async def run(_job: Job) -> None:
        began.set()
        await asyncio.sleep(0.05)
        finished.set()

    await add(store)
    stop = asyncio.Event()
    worker = Worker(store, run, QUICK)
    serving = asyncio.create_task(worker.serve(stop))
    await asyncio.wait_for(began.wait(), 5)
    stop.set()
    worker.wake()
    await serving

    assert finished.is_set()
    assert await nothing_left(store)


async def test_what_a_worker_cannot_finish_in_time_is_begun_by_the_next_at_once(store: Store):
    begun = asyncio.Event()

    async def never_end(_job: Job) -> None:
        begun.set()
        await asyncio.Event().wait()

    async def run(job: Job) -> None:
        ran.append(job.scope)

    ran: list[str] = []
    await add(store)
    serving = asyncio.create_task(Worker(store, never_end, QUICK).serve(asyncio.Event()))
    await begun.wait()
    serving.cancel()
    await asyncio.gather(serving, return_exceptions=True)

    await Worker(store, run, QUICK).run_due()

    assert ran == ["ada"]


async def test_a_worker_outlives_a_database_that_is_away_for_a_moment(store: Store, monkeypatch: pytest.MonkeyPatch):
    ran = asyncio.Event()

    async def run(_job: Job) -> None:
        ran.set()

    async def away(*_: object) -> None:
        raise Unavailable

    stop = asyncio.Event()
    with monkeypatch.context() as broken:
        broken.setattr(store.database, "read", away)
        broken.setattr(store.database, "write", away)
        serving = asyncio.create_task(Worker(store, run, QUICK).serve(stop))
        await asyncio.sleep(0.05)
    await add(store)

    await asyncio.wait_for(ran.wait(), 5)
    await until(lambda: nothing_left(store))
    stop.set()
    await serving


async def test_news_wake_a_worker_before_its_next_look(store: Store):
    ran = asyncio.Event()

    async def run(_job: Job) -> None:
        ran.set()

    worker = Worker(store, run, JobSettings(poll_seconds=60))
    stop = asyncio.Event()
    serving = asyncio.create_task(worker.serve(stop))
    await asyncio.sleep(0.05)
    await add(store)
    worker.wake()

    await asyncio.wait_for(ran.wait(), 5)
    stop.set()
    worker.wake()
    await serving


async def test_somebody_who_waits_may_run_one_job_and_no_other(store: Store, clock: Clock):
    for user in ("ada", "bob"):
        await add(store, user)
    ran: list[str] = []

    async def run(job: Job) -> None:
        ran.append(job.scope)

    worker = Worker(store, run, QUICK, clock)
    bobs = Published(UserId("bob"), RequestId("r1"))

    await worker.run_this(ORG, bobs)
    await worker.run_this(ORG, bobs)

    assert ran == ["bob"]
    assert await store.of(ORG).read(lambda tx: tx.jobs.count()) == {"published": {"waiting": 1}}


async def test_a_schedule_that_is_due_is_run_once_by_whichever_worker_comes_first(store: Store, clock: Clock):
    orgs = [OrgId(f"org{number}") for number in range(20)]
    ran: list[OrgId] = []

    async def run(job: Job) -> None:
        ran.append(job.org_id)
        await asyncio.sleep(0.01)

    for org in orgs:
        for _ in range(2):  # every process that starts schedules it
            await store.of(org).write(lambda tx: tx.jobs.add(Hour(), Millis(tx.at + 60_000)))
    clock.forward(seconds=61)
    await asyncio.gather(*(Worker(store, run, QUICK, clock).run_due() for _ in range(2)))

    assert sorted(ran) == sorted(orgs)
