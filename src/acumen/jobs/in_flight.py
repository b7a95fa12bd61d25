"""How busy the callers keep this process: background work looks at it before it goes on."""

from collections.abc import Iterator
from contextlib import contextmanager

# Fewer callers than this leave the processor time to spare.
FEW = 8


class Traffic:
    """Counts who is being answered right now."""

    def __init__(self) -> None:
        self._callers = 0

    @property
    def busy(self) -> bool:
        return self._callers > FEW

    @contextmanager
    def caller(self) -> Iterator[None]:
        self._callers += 1
        try:
            yield
        finally:
            self._callers -= 1

    @contextmanager
    def aside(self) -> Iterator[None]:
        """A caller who waits for background work is no reason to hold it up."""
        self._callers -= 1
        try:
            yield
        finally:
            self._callers += 1
