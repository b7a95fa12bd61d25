"""Retry of work that another writer has overtaken."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from acumen.errors import Conflict

T = TypeVar("T")


async def retry_on_conflict(work: Callable[[], Awaitable[T]], retries: int) -> T:
    """Runs `work` again from its beginning on `Conflict`, at most `retries` times; the last conflict is raised."""
    for _ in range(retries):
        try:
            return await work()
        except Conflict:
            continue
    return await work()
