"""A circuit breaker per model: it opens after too many failures in a row; later one request tries the model again."""

from collections.abc import Callable

from msgspec import Struct

# Seconds. A larger value has the wrong unit or calendar; without a limit the model would never be tried again.
LONGEST_REST = 3_600.0


class CircuitBreaker(Struct):
    """Times are seconds of a clock that never goes back."""

    failures_allowed: int
    rest_seconds: float
    clock: Callable[[], float]
    failures: int = 0
    rests_until: float = 0.0
    trying: bool = False
    why: str = ""  # how the last question failed

    @property
    def spent(self) -> bool:
        """Whether it failed too often, and does not only rest because it asked for a pause."""
        return self.failures >= self.failures_allowed

    @property
    def resting(self) -> float:
        """Seconds until it may be tried again; 0 when it may be asked."""
        return max(0.0, self.rests_until - self.clock())

    def admits(self) -> bool:
        """Whether to ask now. After a rest, one question goes ahead and the others wait for how it ends."""
        if not self.spent and not self.resting:
            return True
        if self.resting or self.trying:
            return False
        self.trying = True
        return True

    def worked(self) -> None:
        self.failures, self.rests_until, self.trying, self.why = 0, 0.0, False, ""

    def failed(self, wait: float | None = None, why: str = "") -> None:
        """`wait` is how long the model itself asked to be left alone; it is, for an hour at most."""
        self.failures, self.trying, self.why = self.failures + 1, False, why
        pause = min(wait or 0.0, LONGEST_REST)
        if self.spent:
            self.rests_until = self.clock() + max(self.rest_seconds, pause)
        elif pause:
            self.rests_until = self.clock() + pause

    def dropped(self) -> None:
        """The question was given up by us, which says nothing about the model."""
        self.trying = False
