"""Facts that may be lost in a crash, gathered and written in batches: counting must never slow what it counts."""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

log = logging.getLogger(__name__)
F = TypeVar("F")

# Past this new ones are dropped, and the drop is counted: memory is not a queue without end.
MOST_WAITING = 50_000


class WriteBehindBuffer(Generic[F]):
    """Hands over what it was given, at most every `seconds`."""

    def __init__(self, hand_over: Callable[[Sequence[F]], Awaitable[None]], seconds: float) -> None:
        self._hand_over = hand_over
        self._seconds = seconds
        self._waiting: list[F] = []
        self._handing_over = asyncio.Lock()
        self.dropped = 0

    def note(self, fact: F) -> None:
        """Never waits, never raises."""
        if len(self._waiting) >= MOST_WAITING:
            self.dropped += 1
            return
        self._waiting.append(fact)

    async def serve(self, stop: asyncio.Event) -> None:
        while not stop.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), self._seconds)
            await self.flush()

    async def flush(self) -> None:
        """Returns when everything noted before this call is handed over, by this call or by another."""
        if self._waiting or self._handing_over.locked():
            async with self._handing_over:
                await self._flush()

    async def _flush(self) -> None:
        facts, self._waiting = self._waiting, []
        if not facts:
            return
        try:
            await self._hand_over(facts)
        except Exception:
            self.dropped += len(facts)
            log.exception("%s facts could not be written and are lost", len(facts))
