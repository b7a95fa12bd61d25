"""Did a memory help: sessions with it against sessions without it. Pure."""

from msgspec import Struct

from acumen.model.metering.intervals import Interval, newcombe

# Below this on either side any difference may be chance.
ENOUGH = 20
NOT_ENOUGH = "not enough data"


class OutcomeCounts(Struct, frozen=True):
    """Sessions whose outcome is known."""

    cases: int = 0
    successes: int = 0

    @property
    def rate(self) -> float | None:
        """None where there are none: unknown is not zero."""
        return self.successes / self.cases if self.cases else None

    def without(self, others: "OutcomeCounts") -> "OutcomeCounts":
        return OutcomeCounts(self.cases - others.cases, self.successes - others.successes)


class Lift(Struct, frozen=True):
    """How much more often sessions `here` succeed than those `there`; None without enough of either."""

    here: OutcomeCounts
    there: OutcomeCounts
    difference: float | None = None
    interval: Interval | None = None

    @property
    def harms(self) -> bool:
        """Even the best case is worse than without it."""
        return self.interval is not None and self.interval.high < 0

    @property
    def helps(self) -> bool:
        return self.interval is not None and self.interval.low > 0

    @property
    def verdict(self) -> str:
        if self.interval is None:
            return NOT_ENOUGH
        return "harms" if self.harms else "helps" if self.helps else "no clear difference"


def lift(here: OutcomeCounts, there: OutcomeCounts) -> Lift:
    if min(here.cases, there.cases) < ENOUGH:
        return Lift(here, there)
    interval = newcombe(here.successes, here.cases, there.successes, there.cases)
    return Lift(here, there, here.successes / here.cases - there.successes / there.cases, interval)
