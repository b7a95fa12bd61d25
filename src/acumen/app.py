"""The composition root: builds every part once and connects them."""

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from msgspec.structs import replace

from acumen import __version__, loop
from acumen.deps import Deps
from acumen.errors import AcumenError
from acumen.index.search_index import SearchIndex
from acumen.index.segments.segments import Segments
from acumen.jobs.child_process import ChildProcesses, JobRun, Report, child_processes
from acumen.jobs.in_flight import Traffic
from acumen.jobs.worker import Worker
from acumen.jobs.write_behind import WriteBehindBuffer
from acumen.llm import providers
from acumen.llm.embedding import NAME
from acumen.llm.gateway import Gateway
from acumen.llm.local_models import LocalModels
from acumen.meter import scheduled_backups, usage
from acumen.meter.llm_ledger import StoredLedger
from acumen.model import config as org_config
from acumen.model.account import StoredConfig
from acumen.model.config import OrgConfig
from acumen.model.ids import LOCAL_ORG, Millis, OrgId, now
from acumen.model.jobs.events import BackupDue, Event, Hour, Minutes
from acumen.model.jobs.job import Job
from acumen.model.jobs.lag import LearningLag
from acumen.model.metering.experiment import Experiment
from acumen.model.metering.usage import Injection
from acumen.model.times import DAY_MS, HOUR_MS, MINUTE_MS
from acumen.operate import prepare
from acumen.recall import replay
from acumen.recall.search import Recalled
from acumen.settings import Settings
from acumen.storage.accounts.orgs import find_metered, find_unscheduled
from acumen.storage.store import Store, Tx, connect
from acumen.telemetry import traces
from acumen.telemetry.metrics import Metrics

# How long a configuration that another process changed may go unnoticed here.
CONFIG_CACHE_SECONDS = 1.0
# How often the lag of learning is measured, and how many times as long as that takes is waited in between.
LAG_SECONDS, LAG_SHARE = 2.0, 30
# Between two announcements of new jobs to workers elsewhere.
ANNOUNCE_SECONDS = 0.02
# An org without any activity for this long is idle; its periodic jobs run this rarely. A check costs milliseconds and
# four commits: at the usual pace, 10,000 idle orgs would take a fifth of a core (bench line `orgs`).
IDLE_AFTER_MS = 7 * DAY_MS
IDLE_MS = {Hour.name: 6 * HOUR_MS, Minutes.name: HOUR_MS}
# Of the jobs that a worker process ran; a report has to fit into the buffer of the pipe that it is read from.
MOST_UNREPORTED, MOST_RUNS_REPORTED = 10_000, 500


class App:
    """The parts of one process."""

    def __init__(self, settings: Settings, clock: Callable[[], Millis] = now) -> None:
        self.settings = settings
        self.storage_label = "PostgreSQL" if settings.database_url else str(settings.sqlite_path)
        self.started_at = clock()
        self._clock = clock
        self.store = Store(connect(settings), clock, settings.limits.waiting_writes)
        self.gateway = Gateway(settings.llm)
        self.local_models = LocalModels(enabled=settings.recall.embeddings)
        self.segments = None if settings.database_url else Segments(settings.data_dir / "search", self.store, NAME)
        self.index = SearchIndex(
            self.local_models, settings.recall.cache_mb * 1024 * 1024, settings.recall.large_scope_rows, self.segments
        )
        self.traffic = Traffic()
        self.metrics = Metrics()
        self.worker = Worker(self.store, self.run_job, settings.jobs, clock, self.traffic)
        self._deps: dict[OrgId, tuple[float, Deps]] = {}
        self._usage = WriteBehindBuffer(self._record_usage, settings.meter.flush_seconds)
        self.children = ChildProcesses(self._hear)
        self._unreported: deque[JobRun] = deque(maxlen=MOST_UNREPORTED)
        self._stop = asyncio.Event()
        self._new_jobs = asyncio.Event()
        self._stop_listening: Callable[[], object] = lambda: None
        self._lags: dict[OrgId, LearningLag] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._stop_traces: Callable[[], None] = lambda: None

    # --- start and stop ----------------------------------------------------------------------------------------------

    async def start(self, *, work: bool = True) -> None:
        """Returns when requests can be answered."""
        prepare(self.store, self.settings)
        for org in await self.store.read(self._orgs_to_open):
            await self.open_org(org)
        if self.settings.backup.folder:
            first_at = scheduled_backups.first_at(self.settings, self._clock())
            await self.store.of(LOCAL_ORG).write(lambda tx: tx.jobs.add(BackupDue(), first_at))
        await self.start_tasks(work=work)
        self._tasks += [asyncio.create_task(self._watch_lag()), asyncio.create_task(self._announce_jobs())]

    def start_children(self, command: Sequence[str]) -> None:
        """The jobs leave this process."""
        count = child_processes(self.settings.jobs)
        self.children.start(count, command, self.settings.model_dump_json(), self._stop)

    async def start_tasks(self, *, work: bool = True) -> None:
        """Starts what runs in the background of a process whose database is ready."""
        self._stop_traces = traces.start(self.settings.telemetry, __version__)
        if providers.configured(self.settings.llm):
            self.gateway.warm_up()
        self._tasks = [asyncio.create_task(self._usage.serve(self._stop))]
        if work and self.settings.jobs.workers:
            if not self.settings.database_url:  # on SQLite all workers are processes of this machine
                await self.worker.take_over()
            self._tasks.append(asyncio.create_task(self.worker.serve(self._stop)))
            hint = partial(asyncio.get_running_loop().call_soon_threadsafe, self.worker.hint)
            self._stop_listening = self.store.database.listen_for_jobs(hint)

    async def stop(self, *, at_once: bool = False) -> None:
        """Finishes current jobs, unless all has to end at once; writes the usage buffer, closes the database."""
        self._stop.set()
        self.wake_worker()
        seconds = 0 if at_once else self.settings.drain_seconds
        await asyncio.gather(self._drain(seconds), self.children.wait(seconds))
        await asyncio.to_thread(self._stop_listening)
        await self._usage.flush()
        await self.gateway.close()
        self.local_models.close()
        if self.segments:
            await asyncio.to_thread(self.segments.close)
        self.store.close()
        await asyncio.to_thread(self._stop_traces)

    async def _drain(self, seconds: float) -> None:
        """A job that outlasts them is cancelled; the next worker starts it again."""
        if self._tasks:
            _, late = await asyncio.wait(self._tasks, timeout=seconds)
            for task in late:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    def _orgs_to_open(self, conn: Any) -> set[OrgId]:
        """Found in one pass: to open each of ten thousand again would take a minute."""
        latest = {event: Millis(self._clock() + IDLE_MS[event.name]) for event in (Hour(), Minutes())}
        unscheduled = {org for event, at in latest.items() for org in find_unscheduled(conn, event, at)}
        return {LOCAL_ORG, *unscheduled, *find_metered(conn, metered=not self.settings.meter.enabled)}

    async def open_org(self, org: OrgId) -> None:
        """Creates the rows of an org, schedules its periodic jobs and records since when it is metered."""

        def store(tx: Tx) -> None:
            tx.orgs.ensure()
            for event in (Hour(), Minutes()):
                tx.jobs.add(event, self._next(event, tx.at))
            if self.settings.meter.enabled:
                tx.usage.begin_metering(tx.at)
            else:
                tx.usage.pause_metering()

        await self.store.of(org).write(store)

    # --- dependencies of handlers and jobs --------------------------------------------------------------------------

    async def deps_for(self, org: OrgId) -> Deps:
        made_at, deps = self._deps.get(org, (0.0, None))
        if deps is None or time.monotonic() - made_at > CONFIG_CACHE_SECONDS:
            if deps is not None:  # concurrent callers use the old ones
                self._deps[org] = (time.monotonic(), deps)
            deps = self.deps(org, await self._config(org))
            self._deps[org] = (time.monotonic(), deps)
        return deps

    def deps(self, org: OrgId, config: OrgConfig) -> Deps:
        """Does not read the database, so that health checks work without it."""
        return Deps(
            org=org,
            store=self.store.of(org),
            local_models=self.local_models,
            index=self.index,
            now=self._clock,
            settings=self.settings,
            config=config,
            llm=self.gateway.of(config.llm, StoredLedger(self.store.of(org))),
            stand_back=self.worker.stand_back,
            renewed=lambda: self.deps_for(org),
        )

    async def stored_config(self, org: OrgId) -> tuple[StoredConfig, list[Experiment]]:
        return await self.store.of(org).read(lambda tx: (tx.orgs.get_config(), tx.experiments.all()))

    async def set_config(self, org: OrgId, config: dict[str, Any], seen_version: int) -> None:
        """Conflict when the stored configuration is no longer of `seen_version`."""
        await self.store.of(org).write(lambda tx: tx.orgs.set_config(config, seen_version))
        self.forget_config(org)

    def forget_config(self, org: OrgId) -> None:
        self._deps.pop(org, None)

    async def _config(self, org: OrgId) -> OrgConfig:
        stored, experiment = await self.store.of(org).read(
            lambda tx: (tx.orgs.get_config(), tx.experiments.get_active())
        )
        return replace(org_config.from_stored(stored.config), experiment=experiment)

    # --- jobs ----------------------------------------------------------------------------------------------------

    @property
    def worker_problem(self) -> str | None:
        """Why background jobs stopped, if they did."""
        if not self.settings.jobs.workers:
            return None
        ended = [task for task in self._tasks if task.done()]
        stopped = f"stopped: {ended[0].exception()}" if ended and not self._stop.is_set() else None
        return stopped or self.children.problem

    @property
    def worker_place(self) -> str:
        """Where the jobs of this server run."""
        if not self.settings.jobs.workers:
            return "none on this server: its jobs are left to `acumen worker`"
        pids = ", ".join(map(str, self.children.pids))
        return f"running in process {pids}" if self.children else "running in this process"

    def wake_worker(self) -> None:
        self.worker.wake()
        self.children.wake()
        self._new_jobs.set()

    def report(self) -> Report:
        """What this process, as a worker, says of itself and of the jobs it ran since its last report."""
        runs = [self._unreported.popleft() for _ in range(min(len(self._unreported), MOST_RUNS_REPORTED))]
        return Report(self.gateway.problems(), runs)

    def _hear(self, report: Report) -> None:
        self.gateway.reported = report.model_problems
        for run in report.runs:
            self.metrics.job(run.event, run.result, run.seconds)

    def learning_delay(self, org: OrgId) -> int | None:
        """In how many seconds a turn published now is learned, while learning is late; else None."""
        lag = self._lags.get(org)
        return lag.delay_seconds(self._clock(), self.settings.jobs.delayed_seconds) if lag else None

    async def _announce_jobs(self) -> None:
        """To workers elsewhere; once for all that is added meanwhile."""
        while not self._stop.is_set():
            await self._new_jobs.wait()
            self._new_jobs.clear()
            with contextlib.suppress(AcumenError):  # they look from time to time
                await self.store.database.announce_jobs()
            await asyncio.sleep(ANNOUNCE_SECONDS)

    async def measure_lag(self) -> None:
        self._lags = await self.store.peek(lambda leases: leases.get_lags())

    async def _watch_lag(self) -> None:
        """Measured by the way, so that no publish waits for it."""
        while not self._stop.is_set():
            began = time.monotonic()
            with contextlib.suppress(AcumenError):  # the old figures will do until the database answers
                await self.measure_lag()
            took = time.monotonic() - began
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stop.wait(), max(LAG_SECONDS, took * LAG_SHARE))

    async def run_job(self, job: Job) -> None:
        self.forget_config(job.org_id)
        # Jobs look for outcomes of injections, which must be stored by then.
        await self.flush_usage()
        deps = await self.deps_for(job.org_id)
        scheduled = self._scheduled_event(job)
        if scheduled is not None:  # first, so that a job that fails does not end its schedule
            await deps.store.write(lambda tx: tx.jobs.add(scheduled, self._after(scheduled, tx)), hold_org=False)
        await self._run_steps(job, deps)

    async def _run_steps(self, job: Job, deps: Deps) -> None:
        began, result = time.monotonic(), "failed"
        try:
            with traces.root(f"job {job.event}") as span:
                span.set(acumen__job__type=job.event, acumen__job__attempt=job.attempts)
                await loop.run(job, deps)
            result = "done"
        finally:
            self._count_run(JobRun(job.event, result, time.monotonic() - began))

    def _count_run(self, run: JobRun) -> None:
        self.metrics.job(run.event, run.result, run.seconds)
        self._unreported.append(run)

    def _scheduled_event(self, job: Job) -> Event | None:
        periodic: list[Event] = [Hour(), Minutes(), *([BackupDue()] if self.settings.backup.folder else [])]
        return next((event for event in periodic if event.name == job.event), None)

    def _next(self, event: Event, at: Millis) -> Millis:
        """When a periodic event is due again."""
        if isinstance(event, BackupDue):
            return Millis(at + HOUR_MS * self.settings.backup.every_hours)
        return Millis(at + (HOUR_MS if isinstance(event, Hour) else MINUTE_MS * self.settings.alerts.every_minutes))

    def _after(self, event: Event, tx: Tx) -> Millis:
        """As `_next`, and later for an org in which nothing happens: most of ten thousand."""
        at = self._next(event, tx.at)
        if event.name in IDLE_MS and tx.orgs.is_idle(Millis(tx.at - IDLE_AFTER_MS)):
            return Millis(max(at, tx.at + IDLE_MS[event.name]))
        return at

    # --- metering --------------------------------------------------------------------------------------------------

    def meter(self, recalled: Recalled, org: OrgId) -> None:
        """Buffers what a search injected, so that the search does not wait for the write."""
        if self.settings.meter.enabled:
            self._usage.note((org, recalled))

    async def flush_usage(self) -> None:
        """Returns when everything buffered so far is written."""
        await self._usage.flush()

    @property
    def lost_usage_events(self) -> int:
        return self._usage.dropped

    async def _record_usage(self, noted: Sequence[tuple[OrgId, Recalled]]) -> None:
        by_org: dict[OrgId, list[Recalled]] = {}
        for org, recalled in noted:
            by_org.setdefault(org, []).append(recalled)
        writes = (self._record_usage_of(org, searches) for org, searches in by_org.items())
        results = await asyncio.gather(*writes, return_exceptions=True)
        for error in filter(None, results):  # after all orgs were tried
            raise error

    async def _record_usage_of(self, org: OrgId, searches: Sequence[Recalled]) -> None:
        injections = [_injection(recalled) for recalled in searches]
        await usage.record(injections, [recalled.duration_ms for recalled in searches], await self.deps_for(org))


def _injection(recalled: Recalled) -> Injection:
    shown = {line.ref: line for line in recalled.context.shown}
    left_out = {line.ref: line for line in recalled.context.left_out}
    return Injection(
        id=recalled.injection_id,
        user_id=recalled.ask.user_id,
        session_id=recalled.ask.session_id,
        request_id=recalled.ask.request_id,
        caller_type=recalled.ask.caller_type,
        query=recalled.ask.query or "",
        rendered=recalled.context.text,
        tokens=recalled.context.tokens,
        ask=replay.kept(recalled.ask, recalled.context_budget, recalled.context.quoted),
        agent_version=recalled.ask.agent_version,
        degraded=recalled.degraded,
        experiment_id=recalled.assignment.experiment_id if recalled.assignment else None,
        experiment_arm=recalled.assignment.arm if recalled.assignment else None,
        hits=[
            {
                "kind": str(hit.ref.kind),
                "id": hit.ref.id,
                "score": hit.match and hit.match.score,
                "reasons": hit.match and hit.match.reasons,
                "shown": hit.ref in shown,
                "line": line.text if (line := shown.get(hit.ref) or left_out.get(hit.ref)) else "",
                "tokens": line.tokens if line else 0,
            }
            for hit in (*recalled.hits, *recalled.also)
        ],
        created_at=Millis(recalled.at),
    )
