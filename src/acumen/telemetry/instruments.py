"""Counters and histograms of this process. An observation takes about a microsecond and no lock, so each instrument
is written by one thread: that of the event loop.
"""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Literal

from msgspec import Struct

Labels = tuple[str, ...]
NO_LABELS: Mapping[str, str] = {}


class Sample(Struct, frozen=True):
    value: float
    labels: Mapping[str, str] = NO_LABELS
    suffix: str = ""  # of the name: `_bucket`, `_sum` or `_count` of a histogram


class Family(Struct, frozen=True):
    """All samples of one name. The name of a counter ends in `_total`."""

    name: str
    kind: Literal["counter", "gauge", "histogram"]
    help: str
    samples: Sequence[Sample]


def gauge(name: str, about: str, value: float) -> Family:
    return Family(name, "gauge", about, [Sample(value)])


def counter(name: str, about: str, value: float) -> Family:
    return Family(name, "counter", about, [Sample(value)])


class Counter:
    def __init__(self, name: str, about: str, *labels: str) -> None:
        self._name = name
        self._about = about
        self._labels = labels
        self._counts: dict[Labels, float] = {}

    def add(self, labels: Labels = (), amount: float = 1) -> None:
        self._counts[labels] = self._counts.get(labels, 0) + amount

    def family(self) -> Family:
        counts = list(self._counts.items())
        samples = [Sample(count, _named(self._labels, labels)) for labels, count in counts]
        return Family(self._name, "counter", self._about, samples)


class Histogram:
    """Counts durations in seconds by upper bound."""

    def __init__(self, name: str, about: str, bounds: Sequence[float], *labels: str) -> None:
        self._name = name
        self._about = about
        self._bounds = bounds
        self._labels = labels
        self._counts: dict[Labels, list[int]] = {}  # by bucket; the last one has no bound
        self._sums: dict[Labels, float] = {}

    def observe(self, labels: Labels, seconds: float) -> None:
        counts = self._counts.get(labels)
        if counts is None:
            counts = self._counts[labels] = [0] * (len(self._bounds) + 1)
        counts[bisect_left(self._bounds, seconds)] += 1
        self._sums[labels] = self._sums.get(labels, 0.0) + seconds

    def family(self) -> Family:
        counts = list(self._counts.items())
        samples = [sample for labels, buckets in counts for sample in self._samples(labels, buckets)]
        return Family(self._name, "histogram", self._about, samples)

    def _samples(self, labels: Labels, buckets: Sequence[int]) -> list[Sample]:
        named, cumulative = _named(self._labels, labels), list(accumulate(buckets))
        bounds = [*(f"{bound:g}" for bound in self._bounds), "+Inf"]
        return [
            *(
                Sample(count, {**named, "le": bound}, "_bucket")
                for bound, count in zip(bounds, cumulative, strict=True)
            ),
            Sample(self._sums[labels], named, "_sum"),
            Sample(cumulative[-1], named, "_count"),
        ]


def _named(names: Sequence[str], values: Labels) -> dict[str, str]:
    return dict(zip(names, values, strict=True))
