"""Callers who want the same written at the same time share one transaction: the more they are, the less each costs."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence, Sized
from typing import Generic, TypeVar

from acumen.errors import Unavailable

I = TypeVar("I", bound=Sized)  # noqa: E741 - what is written
O = TypeVar("O")  # noqa: E741 - what is answered

# Limit for all callers together: enough to share a write, few enough that the first does not wait long, and that the
# locks of their users (two each) fit into Postgres' table of locks, by default 6,400 for all processes.
MOST_AT_ONCE = 500


class WriteBatcher(Generic[I, O]):
    """While one write is under way, callers wait; the next write takes all of them."""

    def __init__(self, write: Callable[[Sequence[I]], Awaitable[Sequence[O]]], most_waiting: int) -> None:
        self._write = write
        self._most = most_waiting
        self._waiting: list[tuple[I, asyncio.Future[O]]] = []
        self._writer: asyncio.Task[None] | None = None

    async def add(self, item: I) -> O:
        """Returns after COMMIT."""
        if len(self._waiting) >= self._most:
            raise Unavailable("Too many writes are waiting for the disk; try again shortly.")
        answer: asyncio.Future[O] = asyncio.get_running_loop().create_future()
        self._waiting.append((item, answer))
        if self._writer is None:
            self._writer = asyncio.create_task(self._serve())
        return await answer

    async def _serve(self) -> None:
        try:
            while self._waiting:
                await self._answer(self._take())
        finally:
            self._writer = None

    def _take(self) -> list[tuple[I, "asyncio.Future[O]"]]:
        """One at least, and then as many as fit."""
        size = taken = 0
        for item, _ in self._waiting:
            size += len(item)
            if taken and size > MOST_AT_ONCE:
                break
            taken += 1
        group, self._waiting = self._waiting[:taken], self._waiting[taken:]
        return group

    async def _answer(self, group: Sequence[tuple[I, asyncio.Future[O]]]) -> None:
        try:
            answers = await self._write([item for item, _ in group])
        except Exception as wrong:  # noqa: BLE001 - raised to the caller that caused it
            if len(group) > 1 and not isinstance(wrong, Unavailable):  # one caused it; the others are retried
                for member in group:
                    await self._answer([member])
                return
            for _, future in group:
                if not future.done():
                    future.set_exception(wrong)
            return
        for (_, future), answer in zip(group, answers, strict=True):
            if not future.done():
                future.set_result(answer)
