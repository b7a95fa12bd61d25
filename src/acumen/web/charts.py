"""What charts that are drawn on the server show: places, sizes and the sentence beside them. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from statistics import median

from msgspec import Struct

from acumen.meter.costs import CostRow
from acumen.model.ids import Kind, MemoryRef
from acumen.model.times import DAY_MS

# A showing that is cited at least every second time is worth its tokens.
CITED_ENOUGH = 0.5
LEVELS = 5
WEEKS = 26
WIDTH, HEIGHT, LARGEST = 600, 240, 14


class Dot(Struct, frozen=True):
    """A memory by what a showing of it costs and how often it is cited; where it lies on the chart, and how large."""

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
    """`usual` is the tokens of a showing in the middle of all; `middle` is where that lies."""

    dots: Sequence[Dot]
    usual: float
    middle: float
    counts: Mapping[str, int]


def scatter(tags: Iterable[CostRow]) -> Scatter | None:
    """None when nothing was shown."""
    shown = [tag for tag in tags if tag.use.shown and tag.title is not None]
    if not shown:
        return None
    each = [tag.use.tokens / tag.use.shown for tag in shown]
    usual, dearest, most = median(each), max(each) or 1, max(tag.use.shown for tag in shown)
    dots = [_dot(tag, cost, usual, dearest, most) for tag, cost in zip(shown, each, strict=True)]
    # The large ones first, so that none hides a smaller one.
    dots.sort(key=lambda dot: -dot.radius)
    counts = {name: sum(dot.quadrant == name for dot in dots) for name in QUADRANTS}
    return Scatter(dots, usual, WIDTH * usual / dearest, counts)


QUADRANTS = ("cheap and cited", "dear and cited", "cheap, seldom cited", "dear, seldom cited")


def _dot(tag: CostRow, each: float, usual: float, dearest: float, most: int) -> Dot:
    use, rate = tag.use, tag.use.cited_shown / tag.use.shown
    return Dot(
        ref=MemoryRef(Kind(tag.key[0]), tag.key[1]),
        title=tag.title or "",
        shown=use.shown,
        cited=use.cited_shown,
        tokens=use.tokens,
        quadrant=QUADRANTS[(each > usual) + 2 * (rate < CITED_ENOUGH)],
        x=WIDTH * each / dearest,
        y=HEIGHT * (1 - rate),
        radius=max(3.0, LARGEST * (use.shown / most) ** 0.5),
    )


def level(count: int, most: int) -> int:
    """How dark a cell is: 0 for none, up to five for the most."""
    return 0 if not count else 1 + (LEVELS - 1) * (count - 1) // max(1, most - 1)


class Cell(Struct, frozen=True):
    """A day of the calendar; no count where the day is still to come."""

    day: int
    count: int | None
    level: int


def calendar(counts: Mapping[int, int], today: int) -> list[list[Cell]]:
    """Seven rows from Monday to Sunday, a column for each week; days since 1970."""
    monday = today - _weekday(today) - 7 * (WEEKS - 1)
    most = max(counts.values(), default=1)
    return [[_cell(monday + 7 * week + weekday, counts, today, most) for week in range(WEEKS)] for weekday in range(7)]


def _cell(day: int, counts: Mapping[int, int], today: int, most: int) -> Cell:
    count = counts.get(day, 0)
    return Cell(day * DAY_MS, count if day <= today else None, level(count, most))


def _weekday(day: int) -> int:
    return datetime.fromtimestamp(day * DAY_MS / 1000, UTC).weekday()


def percentiles(values: Sequence[float]) -> tuple[float, float, float] | None:
    """The 50th, 95th and 99th, each a value that occurred; None without any."""
    ordered = sorted(values)
    if not ordered:
        return None
    middle, high, highest = (ordered[min(len(ordered) - 1, int(len(ordered) * part))] for part in (0.5, 0.95, 0.99))
    return middle, high, highest
