"""Background runs: carry them through their items one at a time, watch them, cancel them."""

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from msgspec import Struct, field

from acumen.deps import Deps
from acumen.errors import Conflict, NotFound
from acumen.model.jobs.job import Job, JobState
from acumen.model.jobs.run import ItemState, Run, RunId, RunItem, RunProgress, RunState
from acumen.storage.store import Tx

# Items that are listed; the counts cover all.
MOST_ITEMS = 1000
POLL_SECONDS = 0.05
# Does one item and returns counts of what it did. It is idempotent.
Work = Callable[[Run, str, Deps], Awaitable[Mapping[str, int]]]


class Cancelled(Exception):
    """Raised by work that checks for a cancel within an item: the item is left waiting."""


async def carry(run_id: RunId, work: Work, deps: Deps) -> None:
    """From its next waiting item on. An item that fails does not stop the others.

    Each is done with the org's configuration at its start.
    """
    run = await deps.store.write(lambda tx: tx.runs.begin(run_id))
    if run is None:
        return
    with suppress(Cancelled):
        while (item := await _next(run_id, deps)) is not None:
            await _do(run, item, work, await deps.renewed())
            await deps.stand_back()
    await deps.store.write(lambda tx: _finish(tx, run_id))


async def _next(run_id: RunId, deps: Deps) -> RunItem | None:
    def read(tx: Tx) -> RunItem | None:
        run = tx.runs.get(run_id)
        return None if run is None or run.cancel_asked else tx.run_items.get_next(run_id)

    return await deps.store.read(read)


async def _do(run: Run, item: RunItem, work: Work, deps: Deps) -> None:
    try:
        counts = await work(run, item.item, deps)
    except (Conflict, Cancelled):
        raise  # a conflict is retried by the worker; a cancel ends the run in `carry`
    except Exception as failure:  # noqa: BLE001 - stored with the item, for the caller to see
        cause = f"{type(failure).__name__}: {failure}"
        await deps.store.write(lambda tx: tx.run_items.set_failed(run.id, item.place, cause))
    else:
        await deps.store.write(lambda tx: tx.run_items.set_done(run.id, item.place, counts))


def _finish(tx: Tx, run_id: RunId) -> None:
    run, progress = tx.runs.get(run_id), tx.run_items.get_progress(run_id)
    if run is None or run.state.over:
        return
    state = RunState.COMPLETED
    if run.cancel_asked and progress.waiting:
        state = RunState.CANCELLED
    elif progress.failed:
        state = RunState.PARTIAL if progress.done else RunState.FAILED
    failed = tx.run_items.find(run_id, ItemState.FAILED, 1)
    tx.runs.finish(run_id, state, totals(tx, run_id), failed[0].error if failed else None)
    tx.bookmarks.delete_run(run_id)


def totals(tx: Tx, run_id: RunId) -> dict[str, Any]:
    """The sums of all items' counts so far."""
    summed: Counter[str] = Counter()
    for item in tx.run_items.find(run_id):
        summed.update({name: count for name, count in item.detail.items() if isinstance(count, int)})
    return dict(summed)


# --- status ----------------------------------------------------------------------------------------------------


class RunStatus(Struct, frozen=True):
    """`lost` says why no worker carries it on, though it is not over. Items are listed on request."""

    run: Run
    progress: RunProgress
    job: Job | None  # the one that carries it; None: nothing is left to do
    lost: str | None
    done: Sequence[RunItem] = ()
    failed: Sequence[RunItem] = ()
    current: str | None = None
    counts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def over(self) -> bool:
        return self.run.state.over or self.lost is not None

    @property
    def attempts(self) -> int:
        return self.job.attempts if self.job else int(self.run.started_at is not None)

    @property
    def error(self) -> str | None:
        if self.lost or self.run.state is RunState.CANCELLED:
            return self.lost or "cancelled"
        if self.progress.failed:
            return f"{self.progress.failed} of {self.progress.total} pieces failed; the first: {self.run.cause}"
        return self.run.cause


async def get(run_id: RunId, service: str, deps: Deps, *, items: bool = False) -> RunStatus:
    """NotFound also for a run of another service."""

    def read(tx: Tx) -> RunStatus:
        run = tx.runs.get(run_id)
        if run is None or run.service != service:
            raise NotFound(f"There is no run {run_id!r} of {service}.")
        return _with_items(tx, run) if items else RunStatus(run, tx.run_items.get_progress(run.id), *_job(tx, run))

    return await deps.store.read(read)


async def wait(run_id: RunId, service: str, seconds: float, deps: Deps) -> RunStatus:
    """When the run is over, or after this long."""
    give_up_at = time.monotonic() + seconds
    status = await get(run_id, service, deps)
    while not status.over and time.monotonic() < give_up_at:
        await asyncio.sleep(POLL_SECONDS)
        status = await get(run_id, service, deps)
    return status


async def latest(service: str, deps: Deps) -> RunStatus | None:
    def read(tx: Tx) -> RunStatus | None:
        run = tx.runs.find_latest(service)
        return None if run is None else _with_items(tx, run)

    return await deps.store.read(read)


def _with_items(tx: Tx, run: Run) -> RunStatus:
    waiting = tx.run_items.get_next(run.id) if run.state is RunState.RUNNING else None
    return RunStatus(
        run,
        tx.run_items.get_progress(run.id),
        *_job(tx, run),
        done=tx.run_items.find(run.id, ItemState.DONE, MOST_ITEMS),
        failed=tx.run_items.find(run.id, ItemState.FAILED, MOST_ITEMS),
        current=waiting.item if waiting else None,
        counts=run.result if run.state.over else totals(tx, run.id),
    )


async def cancel(service: str | None, deps: Deps) -> list[str]:
    """Asks every run of the service, or of all services, to stop; returns which services had one."""

    def store(tx: Tx) -> list[str]:
        active = tx.runs.find_active(service)
        for run in active:
            tx.runs.request_cancel(run.id)
            if _job(tx, run)[1] is not None:
                tx.runs.finish(run.id, RunState.CANCELLED, totals(tx, run.id))
        return sorted({run.service for run in active})

    return await deps.store.write(store)


def end_lost(tx: Tx, service: str) -> None:
    """Ends runs that no worker carries on, so that new ones can start."""
    tx.runs.lock(service)
    for run in tx.runs.find_active(service):
        _, lost = _job(tx, run)
        if lost is not None:
            tx.runs.finish(run.id, RunState.FAILED, totals(tx, run.id), lost)


def _job(tx: Tx, run: Run) -> tuple[Job | None, str | None]:
    """The job that carries a run, and why the run is lost: a job that was tried too often is dead."""
    job = min(tx.jobs.find_by_run(run.id), key=lambda job: job.state is JobState.DEAD, default=None)
    if run.state.over or (job is not None and job.state is not JobState.DEAD):
        return job, None
    return job, (job.last_error if job else None) or "its job is gone"
