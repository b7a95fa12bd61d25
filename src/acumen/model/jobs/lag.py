"""How far learning is behind publishing."""

from msgspec import Struct

from acumen.model.ids import Millis
from acumen.model.times import MINUTE_MS

# The rate is an average over as many whole minutes.
RATE_MINUTES = 5


class LearningLag(Struct, frozen=True):
    """Turns that are published and due to be read, but not read yet.

    `oldest_at` is when the oldest of them became due; None without a backlog. `turns_per_second` is how fast turns were
    learned lately.
    """

    turns_waiting: int = 0
    oldest_at: Millis | None = None
    turns_per_second: float = 0.0

    @property
    def seconds_left(self) -> float | None:
        """When everything that waits is learned, at the rate of the last minutes; None when nothing was learned."""
        if not self.turns_waiting:
            return 0.0
        return self.turns_waiting / self.turns_per_second if self.turns_per_second else None

    def age_ms(self, at: Millis) -> int:
        return max(0, at - self.oldest_at) if self.oldest_at is not None else 0

    def delay_seconds(self, at: Millis, limit: float) -> int | None:
        """How late a turn that is published now is learned, when that is above the limit; else None."""
        delay = max(self.age_ms(at) / 1000, self.seconds_left or 0.0)
        return round(delay) if delay > limit else None


def per_second(learned: int, first_minute: Millis | None, at: Millis) -> float:
    """`learned` since the start of this minute."""
    if first_minute is None:
        return 0.0
    return learned / max(1.0, (at - max(first_minute, at - RATE_MINUTES * MINUTE_MS)) / 1000)
