"""How sure a share is, seen from a few cases. Pure."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from msgspec import Struct

# Two-sided 95 %.
Z95 = 1.959963984540054


class Interval(NamedTuple):
    low: float
    high: float

    def holds(self, value: float) -> bool:
        return self.low <= value <= self.high


def wilson(successes: int, cases: int, z: float = Z95) -> Interval:
    """The interval of the true share, by Wilson's score; without cases, all from 0 to 1."""
    if cases <= 0:
        return Interval(0.0, 1.0)
    share, square = successes / cases, z * z
    middle = (share + square / (2 * cases)) / (1 + square / cases)
    spread = z / (1 + square / cases) * math.sqrt(share * (1 - share) / cases + square / (4 * cases * cases))
    return Interval(max(0.0, middle - spread), min(1.0, middle + spread))


def newcombe(successes: int, cases: int, other_successes: int, other_cases: int) -> Interval:
    """The interval of the difference of two shares (first less other), by Newcombe's hybrid score (his method 10)."""
    here, there = successes / cases, other_successes / other_cases
    mine, theirs = wilson(successes, cases), wilson(other_successes, other_cases)
    difference = here - there
    return Interval(
        difference - math.hypot(here - mine.low, theirs.high - there),
        difference + math.hypot(mine.high - here, there - theirs.low),
    )


class UserSample(Struct, frozen=True):
    """The cases of one user: how many, and how many of them succeeded."""

    cases: int
    successes: int


def clustered(treated: Sequence[UserSample], others: Sequence[UserSample]) -> tuple[float, Interval] | None:
    """The difference of two shares and its interval, when the cases of a user resemble each other.

    Each arm's share is a ratio over its users, with the variance between users; None with fewer than two in an arm.
    """
    if min(len(treated), len(others)) < 2:
        return None
    (share, variance), (other_share, other_variance) = _ratio(treated), _ratio(others)
    spread = _t95(len(treated) + len(others) - 2) * math.sqrt(variance + other_variance)
    return share - other_share, Interval(share - other_share - spread, share - other_share + spread)


def _ratio(clusters: Sequence[UserSample]) -> tuple[float, float]:
    """The share over all cases, and its variance by the distance of each cluster from it."""
    cases = sum(cluster.cases for cluster in clusters)
    share = sum(cluster.successes for cluster in clusters) / cases
    off = sum((cluster.successes - share * cluster.cases) ** 2 for cluster in clusters)
    count = len(clusters)
    return share, off / cases**2 * count / (count - 1)


def _t95(freedom: int) -> float:
    """Student's t for 95 %, by Cornish and Fisher's expansion around the normal."""
    z, n = Z95, max(freedom, 1)
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + first / n + second / n**2 + third / n**3
