"""The open connections of a server: how many there may be, and how long each may take."""

import asyncio
import sys
from collections import Counter
from enum import Enum
from typing import Protocol

from acumen.settings import Limits

# For the database, the log, models and files: what connections may not use up.
RESERVED_DESCRIPTORS = 128
SWEEP_SECONDS = 1.0


class Phase(Enum):
    """What a connection waits for."""

    IDLE = "idle"  # for a request
    HEAD = "head"
    BODY = "body"
    REPLY = "reply"  # for us


class Connection(Protocol):
    address: str
    phase: Phase
    since: float  # of the phase, by the clock of the event loop

    def end(self, why: str, status: int | None) -> None:
        """Closes it; with a status after a reply that says why."""
        ...


class Connections:
    """One per server. Where there are too many, the one that has been idle for longest gives way."""

    def __init__(self, limits: Limits, most: int | None = None) -> None:
        self._limits = limits
        self._most = most or most_connections()
        self._open: dict[Connection, None] = {}  # in the order of arrival
        self._by_address: Counter[str] = Counter()
        self._sweeping = False

    def add(self, connection: Connection) -> bool:
        """False when there is no room: every other connection is being served."""
        address = connection.address
        theirs = self._by_address[address] >= self._limits.connections_per_address
        if (theirs and not self._make_room(address)) or (len(self._open) >= self._most and not self._make_room(None)):
            return False
        self._open[connection] = None
        self._by_address[address] += 1
        if not self._sweeping:
            self._sweeping = True
            asyncio.get_running_loop().call_later(SWEEP_SECONDS, self._sweep)
        return True

    def remove(self, connection: Connection) -> None:
        if connection in self._open:
            del self._open[connection]
            self._by_address[connection.address] -= 1
            if not self._by_address[connection.address]:
                del self._by_address[connection.address]

    def _make_room(self, address: str | None) -> bool:
        """Closes the longest idle one, of this address or of any."""
        idle = (each for each in self._open if each.phase is Phase.IDLE and address in (None, each.address))
        longest = min(idle, key=lambda each: each.since, default=None)
        if longest is None:
            return False
        self.remove(longest)
        longest.end("another connection needs its place", None)
        return True

    def _sweep(self) -> None:
        loop = asyncio.get_running_loop()
        now, seconds = loop.time(), self._seconds()
        for connection in [each for each in self._open if now - each.since > seconds[each.phase]]:
            idle = connection.phase is Phase.IDLE
            self.remove(connection)
            connection.end(f"The {connection.phase.value} of the request took too long.", None if idle else 408)
        self._sweeping = bool(self._open)
        if self._sweeping:
            loop.call_later(SWEEP_SECONDS, self._sweep)

    def _seconds(self) -> dict[Phase, float]:
        limits = self._limits
        return {
            Phase.IDLE: limits.idle_seconds,
            Phase.HEAD: limits.head_seconds,
            Phase.BODY: limits.body_seconds,
            Phase.REPLY: float("inf"),
        }


def most_connections() -> int:
    """As many as descriptors allow, those kept back that everything else needs."""
    if sys.platform == "win32":
        return 10_000
    import resource  # noqa: PLC0415 - not on Windows

    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return max(soft - RESERVED_DESCRIPTORS, soft // 2) if soft != resource.RLIM_INFINITY else 1_000_000
