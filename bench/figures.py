"""What a bench line yields: figures, each with the target it is held against."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Literal

from msgspec import Struct


class Target(Struct, frozen=True):
    """A limit that a figure should keep to."""

    way: Literal["≤", "≥", "<"]
    limit: float

    def met_by(self, value: float) -> bool:
        if self.way == "≥":
            return value >= self.limit
        return value < self.limit if self.way == "<" else value <= self.limit

    def __str__(self) -> str:
        return f"{self.way} {self.limit:,g}"


def at_most(limit: float) -> Target:
    return Target("≤", limit)


def below(limit: float) -> Target:
    return Target("<", limit)


def at_least(limit: float) -> Target:
    return Target("≥", limit)


class Figure(Struct, frozen=True):
    """One measured number. `cpu_ms` is what the server's own process computed per request, whoever else was busy."""

    name: str
    value: float
    unit: str
    target: Target | None = None
    cpu_ms: float | None = None
    note: str = ""

    @property
    def met(self) -> bool | None:
        return None if self.target is None else self.target.met_by(self.value)


class Run(Struct, frozen=True):
    """One run of the bench. `quick` shows that a line works; its numbers mean nothing."""

    folder: Path  # for data that is thrown away afterwards
    quick: bool = False

    def many(self, usual: int, quick: int) -> int:
        return quick if self.quick else usual


class Line(Struct, frozen=True):
    """A line of the table, which runs alone too."""

    name: str
    says: str
    measure: Callable[[Run], Iterator[Figure]]
    only_named: bool = False  # too long for a run over all lines


class Measured(Struct, frozen=True):
    """The figures of a line as far as they came, and how busy the machine was around them."""

    figures: list[Figure]
    whole: bool
    load_average: float
    python_ms: tuple[float, float]  # what `machine.pace` told before and after


class CannotMeasure(Exception):
    """Something that is not ours to bring is missing here; the message says what."""


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least this share of the values do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, min(len(ordered) - 1, -int(-share * len(ordered) // 1) - 1))]


def median(values: Sequence[float]) -> float:
    return percentile(values, 0.5)
