"""Callers who want the same written at the same time share one transaction, and nothing else."""

import asyncio
from collections.abc import Sequence

import pytest

from acumen.errors import BadInput, Unavailable
from acumen.storage.engine.write_batcher import WriteBatcher


class Disk:
    """Writes one batch at a time, and only when it is let."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.free = asyncio.Event()

    async def write(self, items: Sequence[str]) -> list[str]:
        await self.free.wait()
        self.batches.append(list(items))
        if "bad" in items:
            raise BadInput("bad")
        if "full" in items:
            raise Unavailable("full")
        return [item.upper() for item in items]


async def test_those_who_come_while_one_is_written_are_written_at_once():
    disk = Disk()
    gathered = WriteBatcher(disk.write, most_waiting=10)
    tasks = [asyncio.create_task(gathered.add(item)) for item in "abcd"]
    await asyncio.sleep(0)
    disk.free.set()

    assert await asyncio.gather(*tasks) == list("ABCD")
    assert [len(batch) for batch in disk.batches] in ([4], [1, 3])


async def test_what_is_wrong_with_one_is_told_to_that_one_only():
    disk = Disk()
    gathered = WriteBatcher(disk.write, most_waiting=10)
    disk.free.set()

    answers = await asyncio.gather(*(gathered.add(item) for item in ("a", "bad", "c")), return_exceptions=True)

    assert (answers[0], answers[2]) == ("A", "C")
    assert isinstance(answers[1], BadInput)


async def test_a_database_that_is_away_is_asked_once_for_all_of_them():
    disk = Disk()
    gathered = WriteBatcher(disk.write, most_waiting=10)
    disk.free.set()

    answers = await asyncio.gather(*(gathered.add(item) for item in ("full", "b", "c")), return_exceptions=True)

    assert all(isinstance(answer, Unavailable) for answer in answers)
    assert disk.batches == [["full", "b", "c"]]


async def test_whoever_goes_away_leaves_the_others_their_answers():
    disk = Disk()
    gathered = WriteBatcher(disk.write, most_waiting=10)
    tasks = [asyncio.create_task(gathered.add(item)) for item in "abc"]
    await asyncio.sleep(0)
    tasks[1].cancel()
    disk.free.set()

    answers = await asyncio.gather(*tasks, return_exceptions=True)

    assert (answers[0], answers[2]) == ("A", "C")
    assert isinstance(answers[1], asyncio.CancelledError)


async def test_more_than_may_wait_are_refused():
    disk = Disk()
    gathered = WriteBatcher(disk.write, most_waiting=2)
    tasks = [asyncio.create_task(gathered.add(item)) for item in "ab"]
    await asyncio.sleep(0.01)

    with pytest.raises(Unavailable):
        await asyncio.gather(*(gathered.add(item) for item in "xyz"))
    disk.free.set()
    assert await asyncio.gather(*tasks) == list("AB")


async def test_no_transaction_takes_more_than_its_share_and_a_large_one_goes_alone():
    disk = Disk()
    gathered = WriteBatcher(disk.write, most_waiting=100)
    sent = ["x" * 400, "y" * 400, "z" * 400, "w" * 5_000, "v"]
    tasks = [asyncio.create_task(gathered.add(item)) for item in sent]
    await asyncio.sleep(0)
    disk.free.set()

    assert await asyncio.gather(*tasks) == [item.upper() for item in sent]
    assert all(len(batch) == 1 or sum(map(len, batch)) <= 1_000 for batch in disk.batches)
