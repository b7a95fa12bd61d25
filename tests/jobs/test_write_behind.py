"""Counting must never slow, fail or lose sight of what it counts."""

import asyncio
from collections.abc import Sequence

import pytest

from acumen.jobs import write_behind
from acumen.jobs.write_behind import WriteBehindBuffer


class Ledger:
    """Takes a moment to write, and may fail."""

    def __init__(self, *, fails: bool = False) -> None:
        self.batches: list[list[int]] = []
        self.fails = fails

    async def __call__(self, facts: Sequence[int]) -> None:
        await asyncio.sleep(0.02)
        if self.fails:
            raise OSError("no ink")
        self.batches.append(list(facts))


async def test_what_was_noted_is_handed_over_together():
    ledger = Ledger()
    waiting = WriteBehindBuffer(ledger, seconds=60)
    for fact in range(3):
        waiting.note(fact)

    await waiting.flush()
    await waiting.flush()

    assert ledger.batches == [[0, 1, 2]]


async def test_serving_hands_over_by_itself_and_once_more_at_the_end():
    ledger = Ledger()
    waiting = WriteBehindBuffer(ledger, seconds=0.01)
    stop = asyncio.Event()
    serving = asyncio.create_task(waiting.serve(stop))
    waiting.note(1)
    await asyncio.sleep(0.08)
    waiting.note(2)
    stop.set()
    await serving

    assert ledger.batches == [[1], [2]]


async def test_flush_waits_for_what_somebody_else_is_handing_over():
    ledger = Ledger()
    waiting = WriteBehindBuffer(ledger, seconds=60)
    waiting.note(1)
    other = asyncio.create_task(waiting.flush())
    await asyncio.sleep(0)

    await waiting.flush()

    assert ledger.batches == [[1]]
    await other


async def test_a_ledger_that_fails_stops_nobody_and_the_loss_is_counted():
    ledger = Ledger(fails=True)
    waiting = WriteBehindBuffer(ledger, seconds=60)
    waiting.note(1)
    await waiting.flush()
    ledger.fails = False
    waiting.note(2)

    await waiting.flush()

    assert ledger.batches == [[2]]
    assert waiting.dropped == 1


async def test_memory_is_no_queue_without_end(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(write_behind, "MOST_WAITING", 2)
    ledger = Ledger()
    waiting = WriteBehindBuffer(ledger, seconds=60)
    for fact in range(5):
        waiting.note(fact)

    await waiting.flush()

    assert len(ledger.batches[0]) == 2
    assert waiting.dropped == 3
