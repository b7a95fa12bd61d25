"""Runs are admitted one at a time and remember how far they are."""

import pytest

from acumen.errors import Conflict
from acumen.model.jobs.run import RunProgress, RunState
from acumen.storage.store import OrgStore
from tests.world import Clock


async def test_a_second_run_of_the_same_service_and_subject_waits_for_the_first(org_store: OrgStore) -> None:
    first = await org_store.write(lambda tx: tx.runs.start("rerun", "", {}, ["a"]))

    with pytest.raises(Conflict, match=first.id):
        await org_store.write(lambda tx: tx.runs.start("rerun", "", {}, ["a"]))
    other = await org_store.write(lambda tx: tx.runs.start("rerun", "elsewhere", {}, []))
    await org_store.write(lambda tx: tx.runs.finish(first.id, RunState.COMPLETED, {}))
    again = await org_store.write(lambda tx: tx.runs.start("rerun", "", {}, []))

    assert {run.id for run in await org_store.read(lambda tx: tx.runs.find_active("rerun"))} == {other.id, again.id}


async def test_a_run_knows_which_items_are_done_failed_and_waiting(org_store: OrgStore) -> None:
    run = await org_store.write(lambda tx: tx.runs.start("rerun", "", {"user_id": "u"}, ["a", "b", "c"]))

    await org_store.write(lambda tx: tx.run_items.set_done(run.id, 0, {"made": 2}))
    await org_store.write(lambda tx: tx.run_items.set_failed(run.id, 1, "it broke"))

    progress, waiting = await org_store.read(
        lambda tx: (tx.run_items.get_progress(run.id), tx.run_items.get_next(run.id))
    )
    assert progress == RunProgress(total=3, done=1, failed=1)
    assert waiting is not None
    assert waiting.item == "c"


async def test_a_run_of_many_items_keeps_them_in_order(org_store: OrgStore) -> None:
    names = [f"user {number}" for number in range(12_000)]

    run = await org_store.write(lambda tx: tx.runs.start("rerun", "", {}, names))

    assert [item.item for item in await org_store.read(lambda tx: tx.run_items.find(run.id))] == names


async def test_what_is_found_on_the_way_comes_after_what_is_there(org_store: OrgStore) -> None:
    run = await org_store.write(lambda tx: tx.runs.start("rerun", "", {}, ["first"]))
    await org_store.write(lambda tx: tx.run_items.set_done(run.id, 0, {}))

    await org_store.write(lambda tx: tx.run_items.add(run.id, ["second", "third"]))

    items, left = await org_store.read(lambda tx: (tx.run_items.find(run.id), tx.run_items.get_progress(run.id)))
    assert [(item.place, item.item) for item in items] == [(0, "first"), (1, "second"), (2, "third")]
    assert (left.total, left.waiting) == (3, 2)


async def test_a_run_that_was_cancelled_before_it_began_does_not_begin(org_store: OrgStore) -> None:
    run = await org_store.write(lambda tx: tx.runs.start("rerun", "", {}, ["a"]))

    cancelled = await org_store.write(lambda tx: tx.runs.request_cancel(run.id))
    begun = await org_store.write(lambda tx: tx.runs.begin(run.id))

    assert (cancelled.state, begun) == (RunState.CANCELLED, None)
    assert await org_store.read(lambda tx: tx.runs.find_active("rerun")) == []


async def test_the_run_told_of_is_one_under_way_or_the_one_that_ended_last(org_store: OrgStore, clock: Clock) -> None:
    async def latest() -> str:
        run = await org_store.read(lambda tx: tx.runs.find_latest("rerun"))
        return run.id if run else ""

    first, second, third = [
        await org_store.write(lambda tx, s=subject: tx.runs.start("rerun", s, {"mode": s}, []))
        for subject in ("", "manual:b", "manual:a")
    ]
    told = [await latest()]
    for run in (third, first, second):
        clock.forward(seconds=1)
        await org_store.write(lambda tx, one=run: tx.runs.finish(one.id, RunState.COMPLETED, {}))
        told.append(await latest())

    assert told == [first.id, first.id, second.id, second.id]
    of_mode = await org_store.read(lambda tx: tx.runs.find_latest("rerun", "manual:a"))
    assert of_mode is not None
    assert of_mode.id == third.id
