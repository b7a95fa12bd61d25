"""Work that another writer has overtaken is done again, a few times."""

import pytest

from acumen.errors import BadInput, Conflict
from acumen.jobs.retry_on_conflict import retry_on_conflict


def overtaken(times: int, failure: type[Exception] = Conflict):
    runs: list[int] = []

    async def work() -> int:
        runs.append(1)
        if len(runs) <= times:
            raise failure("overtaken")
        return len(runs)

    return work


async def test_work_is_repeated_until_no_conflict_is_raised():
    assert await retry_on_conflict(overtaken(2), 2) == 3


async def test_the_last_conflict_is_raised():
    with pytest.raises(Conflict):
        await retry_on_conflict(overtaken(3), 2)


async def test_another_failure_is_not_retried():
    with pytest.raises(BadInput):
        await retry_on_conflict(overtaken(1, BadInput), 2)
