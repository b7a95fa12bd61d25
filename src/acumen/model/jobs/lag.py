"""How far learning is behind publishing."""

from collections.abc import Iterable, Mapping

from msgspec import Struct

from acumen.model.ids import Millis
from acumen.model.times import MINUTE_MS

# The rate is that of the best of as many minutes: in the others there may have been little to learn.
RATE_MINUTES = 5
# Of a minute that has only begun, so much counts at least.
LEAST_MS = 10_000


class LearningLag(Struct, frozen=True):
    """Turns that are published and due to be read, but not read yet.

    `oldest_at` is when the oldest of them became due; None without a backlog. `turns_per_second` is how fast turns were
    learned in the best of the last minutes.
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
        """When a turn that is published now will be learned, if the oldest waits longer than the limit; else None."""
        age = self.age_ms(at) / 1000
        return round(max(age, self.seconds_left or 0.0)) if age > limit else None


def turns_per_second(learned: Mapping[Millis, int], at: Millis) -> float:
    """From the turns learned by minute."""
    rates = (1000 * turns / min(MINUTE_MS, max(LEAST_MS, at - start)) for start, turns in learned.items())
    return max(rates, default=0.0)


def total_lag(lags: Iterable[LearningLag]) -> LearningLag:
    """Of all orgs together."""
    each = list(lags)
    oldest = min((lag.oldest_at for lag in each if lag.oldest_at is not None), default=None)
    return LearningLag(sum(lag.turns_waiting for lag in each), oldest, sum(lag.turns_per_second for lag in each))
