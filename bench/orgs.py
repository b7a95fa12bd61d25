"""Many organizations on one server: what each costs while nobody uses it, and what the first call to one costs."""

import asyncio
import time
from collections.abc import Iterator, Sequence

from acumen.app import App
from acumen.model.config import OrgConfig
from acumen.model.ids import Kind, Millis, OrgId, UserId, now
from acumen.model.memories.search import Filter
from acumen.model.times import HOUR_MS, MINUTE_MS
from acumen.recall.search import Ask, search_memories
from acumen.telemetry.instruments import Sample
from bench.figures import Figure, Run, at_most, below, median
from bench.places import MakePlace
from bench.server import serving

AT_ONCE = 64
WORK_SECONDS = 20.0
# Of periodic jobs: minutes, hour, and the hour of an organization without activity.
PERIODS_MS = (5 * MINUTE_MS, HOUR_MS, 6 * HOUR_MS)


class Ahead:
    """A clock that can be set forward."""

    def __init__(self) -> None:
        self.by = 0

    def __call__(self) -> Millis:
        return Millis(now() + self.by)


def measure(run: Run, make_place: MakePlace) -> Iterator[Figure]:
    count = run.many(10_000, 30)
    orgs = [OrgId(f"org-{number}") for number in range(count)]
    with make_place(run) as place:
        clock = Ahead()
        app = App(place.settings, clock)
        yield Figure("created a second", asyncio.run(_create(app, orgs)), "orgs", note=f"{count:,}, {AT_ONCE} at once")
        with serving(place.environ) as server:
            cpu_ms = server.cpu_seconds * 1000
            yield Figure(
                "start", server.healthy_after, "s", below(5), cpu_ms, f"to the first healthy answer, {count:,}"
            )
            yield Figure("memory after the start", server.rss_megabytes, "MB", at_most(250))
        clock = Ahead()
        app = App(place.settings, clock)
        yield from asyncio.run(_work(app, clock, orgs, run.many(int(WORK_SECONDS), 2)))


async def _create(app: App, orgs: Sequence[OrgId]) -> float:
    await app.start(work=False)
    began, waiting = time.perf_counter(), iter(orgs)

    async def open_some() -> None:
        for org in waiting:
            await app.open_org(org)

    await asyncio.gather(*(open_some() for _ in range(AT_ONCE)))
    seconds = time.perf_counter() - began
    await app.stop()
    return len(orgs) / seconds


async def _work(app: App, clock: Ahead, orgs: Sequence[OrgId], seconds: float) -> list[Figure]:
    await app.start(work=False)
    first = [await _first_search(app, org) for org in orgs[:: max(1, len(orgs) // 50)]]
    figures = [Figure("first search of an organization, p50", median(first), "ms")]
    # All jobs become due in the order in which they were made, so that those that run are of both kinds.
    await app.store.database.write(lambda conn: conn.exec_driver_sql("UPDATE jobs SET run_at = job_id"))
    clock.by = HOUR_MS + MINUTE_MS
    stop, cpu, began = asyncio.Event(), time.process_time(), time.perf_counter()
    working = asyncio.create_task(app.worker.serve(stop))
    await asyncio.sleep(seconds)
    taken, cpu = time.perf_counter() - began, time.process_time() - cpu
    stop.set()
    app.wake_worker()
    due = await _periodic_jobs_an_hour(app, orgs)
    ran = sum(sample.value for sample in _runs(app))
    await working
    await app.stop()
    cpu_ms = cpu / max(ran, 1) * 1000
    return [
        *figures,
        Figure("periodic jobs an hour, nobody active", due, ""),
        Figure("jobs a second", ran / taken, "", note="of one worker process"),
        Figure("CPU of a job", cpu_ms, "ms"),
        Figure("share of one core that idle organizations take", due * cpu_ms / 3_600_000 * 100, "%", at_most(10)),
    ]


async def _first_search(app: App, org: OrgId) -> float:
    began = time.perf_counter()
    deps = await app.deps_for(org)
    filters = {Kind.PROFILE: Filter(user_id=UserId("ada"))}
    await search_memories(Ask("Where does she live?", 5, filters, user_id=UserId("ada")), deps)
    return (time.perf_counter() - began) * 1000


async def _periodic_jobs_an_hour(app: App, orgs: Sequence[OrgId]) -> float:
    """For all organizations, by what was scheduled for those whose jobs ran."""
    at = app.deps(orgs[0], OrgConfig()).now()
    scheduled = "SELECT event, run_at FROM jobs WHERE state = 'waiting' AND event IN ('hour', 'minutes')"
    rows = await app.store.read(lambda conn: list(conn.exec_driver_sql(scheduled)))
    waits = [[run_at - at for name, run_at in rows if name == event and run_at > at] for event in ("hour", "minutes")]
    # Less the seconds that have passed since it was scheduled, a wait is one of the periods.
    return sum(len(orgs) * HOUR_MS / min(p for p in PERIODS_MS if p >= median(wait)) for wait in waits if wait)


def _runs(app: App) -> Sequence[Sample]:
    return next(family.samples for family in app.metrics.families() if family.name == "acumen_job_runs_total")
