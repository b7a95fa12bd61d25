"""Carries a run through its items: one at a time, each written down when it is done, until the end or a cancel."""

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any

from acumen.deps import Deps
from acumen.errors import Conflict
from acumen.model.jobs.run import ItemState, Run, RunId, RunItem, RunState
from acumen.storage.store import Tx

# Does one item and returns counts of what it did. It is idempotent.
Work = Callable[[Run, str, Deps], Awaitable[Mapping[str, int]]]


class Cancelled(Exception):
    """Raised by work that looks for a cancel itself, between the pieces of an item: the item is left waiting."""


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
    """The counts of all items, as far as they have come, summed."""
    summed: Counter[str] = Counter()
    for item in tx.run_items.find(run_id):
        summed.update({name: count for name, count in item.detail.items() if isinstance(count, int)})
    return dict(summed)
