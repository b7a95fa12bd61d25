"""Data of the charts: positions, sizes and levels. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from statistics import median

from msgspec import Struct

from acumen.meter.costs import CostRow
from acumen.model.ids import Kind, MemoryRef, Millis
from acumen.model.metering.usage import Use
from acumen.model.times import DAY_MS

# An injection that is cited at least half the time is worth its tokens.
CITED_ENOUGH = 0.5
LEVELS = 5
WEEKS = 26
WIDTH, HEIGHT, LARGEST = 900, 240, 14


class Dot(Struct, frozen=True):
    """A memory by tokens per injection (x), share of injections cited (y) and injections (radius)."""

    ref: MemoryRef
    title: str
    shown: int
    cited: int
    tokens: int
    quadrant: str
    x: float
    y: float
    radius: float

    @property
    def each(self) -> float:
        return self.tokens / self.shown


class Scatter(Struct, frozen=True):
    """`median` is of the tokens per injection; `median_x` is its position."""

    dots: Sequence[Dot]
    median: float
    median_x: float
    counts: Mapping[str, int]


def scatter(rows: Iterable[CostRow]) -> Scatter | None:
    """None when nothing was injected."""
    shown = [row for row in rows if row.use.shown and row.title is not None]
    if not shown:
        return None
    each = [row.use.tokens / row.use.shown for row in shown]
    middle, highest, most = median(each), max(each) or 1, max(row.use.shown for row in shown)
    dots = [_dot(row, cost, middle, highest, most) for row, cost in zip(shown, each, strict=True)]
    # Large dots first, so that they do not hide small ones.
    dots.sort(key=lambda dot: -dot.radius)
    counts = {name: sum(dot.quadrant == name for dot in dots) for name in QUADRANTS}
    return Scatter(dots, middle, WIDTH * middle / highest, counts)


QUADRANTS = ("cheap, cited", "costly, cited", "cheap, rarely cited", "costly, rarely cited")


def _dot(row: CostRow, each: float, middle: float, highest: float, most: int) -> Dot:
    use, rate = row.use, row.use.cited_shown / row.use.shown
    return Dot(
        ref=MemoryRef(Kind(row.key[0]), row.key[1]),
        title=row.title or "",
        shown=use.shown,
        cited=use.cited_shown,
        tokens=use.tokens,
        quadrant=QUADRANTS[(each > middle) + 2 * (rate < CITED_ENOUGH)],
        x=WIDTH * each / highest,
        y=HEIGHT * (1 - rate),
        radius=max(3.0, LARGEST * (use.shown / most) ** 0.5),
    )


def level(count: int, most: int) -> int:
    """The shade of a cell: 0 for no count, 5 for the highest."""
    return 0 if not count else 1 + (LEVELS - 1) * (count - 1) // max(1, most - 1)


class Cell(Struct, frozen=True):
    """A day of the calendar; `count` is None in the future."""

    day: int
    count: int | None
    level: int


def calendar(counts: Mapping[int, int], today: int) -> list[list[Cell]]:
    """Seven rows from Monday to Sunday, a column per week; days since 1970."""
    monday = today - _weekday(today) - 7 * (WEEKS - 1)
    most = max(counts.values(), default=1)
    return [[_cell(monday + 7 * week + weekday, counts, today, most) for week in range(WEEKS)] for weekday in range(7)]


class Month(Struct, frozen=True):
    """A month of the calendar, and how many of its columns begin in it."""

    day: int
    weeks: int


def months(today: int) -> list[Month]:
    """In the order of the columns."""
    first = today - _weekday(today) - 7 * (WEEKS - 1)
    begins = [_begin_of_month(first + 7 * week) for week in range(WEEKS)]
    return [Month(day * DAY_MS, begins.count(day)) for day in sorted(set(begins))]


def _begin_of_month(day: int) -> int:
    return day + 1 - datetime.fromtimestamp(day * DAY_MS / 1000, UTC).day


def _cell(day: int, counts: Mapping[int, int], today: int, most: int) -> Cell:
    count = counts.get(day, 0)
    return Cell(day * DAY_MS, count if day <= today else None, level(count, most))


def _weekday(day: int) -> int:
    return datetime.fromtimestamp(day * DAY_MS / 1000, UTC).weekday()


class Day(Struct, frozen=True):
    """`partial` marks today."""

    at: Millis
    use: Use
    partial: bool = False


def counted_days(first: int, today: int, covered: Millis | None) -> list[int]:
    """Newest first, from the beginning of metering."""
    start = first if covered is None else max(first, covered // DAY_MS)
    return list(range(today, min(start, today) - 1, -1))


def daily(uses: Mapping[int, Use], days: Sequence[int]) -> list[Day]:
    """Newest first; the first day is today."""
    return [Day(Millis(day * DAY_MS), uses.get(day, Use()), day == days[0]) for day in days]
