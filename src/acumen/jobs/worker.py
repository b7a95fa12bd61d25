"""A worker: leases due jobs, runs them, retries failures, and releases its leases when it stops."""

import asyncio
import contextlib
import logging
import os
import secrets
import sys
import time
from collections.abc import Awaitable, Callable
from typing import ClassVar

from acumen.errors import AcumenError
from acumen.jobs.in_flight import Traffic
from acumen.model.ids import Millis, OrgId, now
from acumen.model.jobs.events import Event
from acumen.model.jobs.job import Job
from acumen.settings import JobSettings as Settings
from acumen.storage.jobs.jobs import Rotation
from acumen.storage.store import Store
from acumen.telemetry import logs

log = logging.getLogger(__name__)

LONGEST_BACKOFF_SECONDS = 300
# While many callers are being answered, background work is paused, but never for longer than this.
PATIENCE_SECONDS = 3.0
LOOK_AGAIN_SECONDS = 0.05
# How often to look for jobs of a clock that was ahead; at once where this process sees its own clock go back.
CLOCK_SECONDS = 60.0


class Worker:
    """Runs jobs of all orgs. Any number of workers, in any number of processes, share the work."""

    _of_this_process: ClassVar[set[str]] = set()

    def __init__(
        self,
        store: Store,
        run: Callable[[Job], Awaitable[None]],
        settings: Settings,
        clock: Callable[[], Millis] = now,
        traffic: Traffic | None = None,
    ) -> None:
        self._store = store
        self._run = run
        self._settings = settings
        self._now = clock
        self._traffic = traffic or Traffic()
        self._owner = f"{os.getpid()}-{secrets.token_hex(4)}"
        self._rotation = Rotation()
        self._clock_at, self._clock_due = Millis(0), 0.0
        self._news = asyncio.Event()
        self._announced = False
        self._running: set[asyncio.Task[None]] = set()
        self._in_hand: set[int] = set()
        self._of_this_process.add(self._owner)

    def wake(self) -> None:
        """There is something new to do: claim it now instead of at the next poll."""
        self._announced = True
        self._news.set()

    def hint(self) -> None:
        """There may be: every worker hears of it, and one gets it, so look first."""
        self._news.set()

    async def serve(self, stop: asyncio.Event) -> None:
        """Runs until `stop`; then finishes the jobs under way, and abandons those that take too long."""
        keeping = asyncio.create_task(self._keep_leases())
        try:
            await self._work(stop)
        finally:
            keeping.cancel()
            await self._release_leases()
            self._of_this_process.discard(self._owner)

    async def _release_leases(self) -> None:
        """Another worker can begin at once, and need not wait for our leases to expire."""
        running = list(self._running)
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        if running:
            with contextlib.suppress(AcumenError):  # then they do run out
                await self._store.lease(lambda leases: leases.end_leases([self._owner]))

    async def _work(self, stop: asyncio.Event) -> None:
        while not stop.is_set():
            announced, self._announced = self._announced, False
            self._news.clear()
            if not await self._poll_safely(announced=announced):
                await self._wait(stop)
        if self._running:
            await asyncio.wait(self._running, timeout=self._settings.lease_seconds)

    async def take_over(self) -> None:
        """What killed processes of this machine had begun can be begun again at once."""
        gone = [owner for owner in await self._store.peek(lambda leases: leases.find_owners()) if self._is_gone(owner)]
        if gone:
            await self._store.lease(lambda leases: leases.end_leases(gone))

    async def run_due(self) -> int:
        """Runs what is due, and what that causes, until nothing is; returns how many jobs ran."""
        ran = 0
        while jobs := await self._claim(1):
            await self._run_and_record(jobs[0])
            ran += 1
        return ran

    async def run_this(self, org: OrgId, event: Event) -> None:
        """Runs the job of this event here and now, for a caller that waits for it; nothing if another worker has it."""
        until = self._lease_end()
        for job in await self._store.lease(lambda leases: leases.claim_event(org, event, self._owner, until)):
            await self._run_and_record(job)

    async def _poll_safely(self, *, announced: bool) -> bool:
        """A database that does not answer now may answer at the next poll."""
        try:
            return await self._take(announced=announced)
        except AcumenError as problem:
            log.warning("no work can be taken: %s", problem)
            return False

    async def _take(self, *, announced: bool) -> bool:
        room = self._settings.workers - len(self._running)
        if room <= 0:
            await asyncio.wait(self._running, return_when=asyncio.FIRST_COMPLETED)
            return True
        await self.stand_back()
        jobs = await self._claim(room, announced=announced)
        for job in jobs:
            task = asyncio.create_task(self._run_and_record(job))
            self._running.add(task)
            task.add_done_callback(self._done)
        return bool(jobs)

    def _done(self, task: asyncio.Task[None]) -> None:
        """There is room, and what waited for this job to end may be due."""
        self._running.discard(task)
        self.wake()

    async def _claim(self, most: int, *, announced: bool = False) -> list[Job]:
        """Unannounced, looks first: most of the time there is nothing, and writing needs a lock."""
        await self._follow_clock()
        if not announced and not await self._store.peek(lambda leases: leases.has_due()):
            return []
        until = self._lease_end()
        self._rotation.trim()
        return await self._store.lease(
            lambda leases: leases.claim(self._owner, until, most, self._settings.attempts, self._rotation)
        )

    async def _follow_clock(self) -> None:
        """A clock that is set back must not leave jobs waiting for the time that it had shown."""
        at, last = self._now(), self._clock_at
        self._clock_at = at
        if at >= last and time.monotonic() < self._clock_due:
            return
        self._clock_due = time.monotonic() + CLOCK_SECONDS
        if await self._store.peek(lambda leases: leases.is_ahead()):
            count = await self._store.lease(lambda leases: leases.bring_back())
            log.warning("the clock was set back: %d jobs are due as long from now as they were from then", count)

    async def _run_and_record(self, job: Job) -> None:
        """A job whose result cannot be stored is retried when its lease expires."""
        self._in_hand.add(job.id)
        about = logs.work.set(lambda: _log_fields(job))
        try:
            await self._run_job(job)
        except AcumenError as problem:
            log.warning("the end of job %s could not be written: %s", job.event, problem)
        finally:
            logs.work.reset(about)
            self._in_hand.discard(job.id)

    async def _run_job(self, job: Job) -> None:
        try:
            await self._run(job)
        except Exception as error:  # noqa: BLE001 - any error of a step is stored with the job, for its owner to see
            await self._retry_or_dead_letter(job, error)
        else:
            await self._store.lease(lambda leases: leases.finish(job, self._owner))

    async def _retry_or_dead_letter(self, job: Job, error: Exception) -> None:
        cause = _cause(error)
        last = job.attempts >= self._settings.attempts
        most, said = self._settings.attempts, logs.brief(error)
        log.warning("job %s failed (%s of %s): %s", job.event, job.attempts, most, said)
        wait = _backoff(self._settings.backoff_seconds, job.attempts)
        retry_at = None if last else Millis(self._now() + int(1000 * wait))
        await self._store.lease(lambda leases: leases.fail(job, self._owner, cause, retry_at))

    def _lease_end(self) -> Millis:
        return Millis(self._now() + 1000 * self._settings.lease_seconds)

    async def _keep_leases(self) -> None:
        while True:
            await asyncio.sleep(self._settings.lease_seconds / 3)
            if self._in_hand:
                with contextlib.suppress(AcumenError):  # tried again long before the lease ends
                    await self._renew()

    async def _renew(self) -> None:
        ids, until = list(self._in_hand), self._lease_end()
        await self._store.lease(lambda leases: leases.renew_leases(self._owner, ids, until))

    def _is_gone(self, owner: str) -> bool:
        """False when in doubt: then the lease decides."""
        pid = int(owner.partition("-")[0])
        if pid == os.getpid():
            return owner not in self._of_this_process
        if sys.platform == "win32":
            return False
        try:
            os.kill(pid, 0)  # signal 0 only asks whether the process exists
        except ProcessLookupError:
            return True
        except PermissionError:
            pass
        return False

    async def stand_back(self) -> None:
        """Lets callers go first; long work asks between its pieces."""
        waited = 0.0
        while self._traffic.busy and waited < PATIENCE_SECONDS:
            await asyncio.sleep(LOOK_AGAIN_SECONDS)
            waited += LOOK_AGAIN_SECONDS

    async def _wait(self, stop: asyncio.Event) -> None:
        """Until there is news, a finished job, the next poll, or the end."""
        waits = [asyncio.create_task(self._news.wait()), asyncio.create_task(stop.wait())]
        await asyncio.wait(waits, timeout=self._settings.poll_seconds, return_when=asyncio.FIRST_COMPLETED)
        for task in waits:
            task.cancel()


def _log_fields(job: Job) -> dict[str, str | int]:
    """The id leads to the job; its scope may name a user."""
    request = job.payload.get("request_id")
    return {"job": job.event, "job_id": job.id, **({"request_id": request} if request else {})}


def _backoff(first: float, attempts: int) -> float:
    """Seconds; each wait is twice the one before."""
    return min(first * 2.0 ** (attempts - 1), LONGEST_BACKOFF_SECONDS)


def _cause(error: Exception) -> str:
    """Of steps that failed together, each one's own."""
    if isinstance(error, ExceptionGroup):
        return "; ".join(_cause(cause) for cause in error.exceptions)
    return f"{type(error).__name__}: {error}"
