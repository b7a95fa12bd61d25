"""Runs as whoever asked for them sees them: how far they are, what failed, and how to stop them."""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct, field

from acumen.deps import Deps
from acumen.learn.runs.runs import totals
from acumen.model.job import JobState
from acumen.model.run import ItemState, Progress, Run, RunItem, RunState
from acumen.storage.store import Tx

# Enough to see what is going on; the counts tell the whole.
MOST_ITEMS_TOLD = 1000


class Operation(Struct, frozen=True):
    """A run as it stands. `lost` says why nobody works on it any more, though it is not over."""

    run: Run
    progress: Progress
    done: Sequence[RunItem] = ()
    failed: Sequence[RunItem] = ()
    current: str | None = None
    counts: Mapping[str, Any] = field(default_factory=dict)
    lost: str | None = None


async def latest(service: str, deps: Deps) -> Operation | None:
    """The last one of a service that somebody asked for."""

    def read(tx: Tx) -> Operation | None:
        run = tx.runs.latest(service)
        return None if run is None else _operation(tx, run)

    return await deps.store.read(read)


def _operation(tx: Tx, run: Run) -> Operation:
    waiting = None if run.state.over else tx.run_items.next(run.id)
    return Operation(
        run=run,
        progress=tx.run_items.progress(run.id),
        done=tx.run_items.of(run.id, ItemState.DONE, MOST_ITEMS_TOLD),
        failed=tx.run_items.of(run.id, ItemState.FAILED, MOST_ITEMS_TOLD),
        current=waiting.item if waiting and run.state is RunState.RUNNING else None,
        counts=run.result if run.state.over else totals(tx, run.id),
        lost=None if run.state.over else _lost(tx, run),
    )


async def cancel(service: str | None, deps: Deps) -> list[str]:
    """Asks every run of the service, or of all services, to stop; returns which services had one."""

    def store(tx: Tx) -> list[str]:
        active = tx.runs.all_active(service)
        for run in active:
            tx.runs.ask_cancel(run.id)
            if _lost(tx, run) is not None:
                tx.runs.finish(run.id, RunState.CANCELLED, totals(tx, run.id))
        return sorted({run.service for run in active})

    return await deps.store.write(store)


def end_lost(tx: Tx, service: str) -> None:
    """Runs that nobody works on any more do not keep new ones from being admitted."""
    tx.runs.hold(service)
    for run in tx.runs.all_active(service):
        cause = _lost(tx, run)
        if cause is not None:
            tx.runs.finish(run.id, RunState.FAILED, totals(tx, run.id), cause)


def _lost(tx: Tx, run: Run) -> str | None:
    """A run lives as long as its job does: tried too often, that is dead, and `last_error` says why."""
    jobs = tx.jobs.of_run(run.id)
    if any(job.state is not JobState.DEAD for job in jobs):
        return None
    return next((job.last_error for job in jobs if job.last_error), "its job is gone")
