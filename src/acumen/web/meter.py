"""What memories cost: the overview, and the costs by memory, user, agent version and day."""

from collections.abc import Sequence
from typing import Any

from msgspec import Struct
from starlette.responses import Response

from acumen.meter import costs
from acumen.meter.costs import CostReport, CostRow
from acumen.meter.headline import headline, pareto
from acumen.model.ids import Kind, MemoryRef, Millis
from acumen.model.memories.search import Filter
from acumen.model.metering.usage import GroupBy, Use
from acumen.model.operations.failure import FailureGroupFilter
from acumen.model.times import DAY_MS
from acumen.review import queue
from acumen.review.failures import OPEN
from acumen.review.queue import CandidatePage, ReviewQuery
from acumen.storage.store import Tx
from acumen.web import charts
from acumen.web.page import PER_PAGE, Visit, page

USUAL_DAYS = 30
PARETO_BARS = 10
UNANSWERED = 5
# Of the memories that waste most; more would hide each other.
DOTS = 120
# How old a memory is, and how long ago it was last shown.
AGES = {"under a week": 7, "1 to 4 weeks": 28, "1 to 3 months": 90, "3 to 12 months": 365}
# For the headline: of memories further down, none takes a share that a person would notice.
MOST_WASTEFUL = 500


class Day(Struct, frozen=True):
    at: Millis
    use: Use


@page("")
async def overview(visit: Visit) -> Response:
    await visit.app.flush_usage()
    days = visit.days(USUAL_DAYS)
    by_day = await costs.report(GroupBy.DAY, 2 * days, None, 2 * days, 0, visit.deps)
    by_memory = await costs.report(GroupBy.MEMORY, days, None, MOST_WASTEFUL, 0, visit.deps)
    found = await queue.candidates(ReviewQuery(None), 5, 0, visit.deps)
    now = visit.deps.now()
    read = await visit.deps.store.read(lambda tx: _read(tx, Millis(now - days * DAY_MS), now))
    told = _overview(visit, days, by_day, by_memory, found)
    return visit.html(
        "overview.html",
        **told,
        **read,
        funnel=funnel(told["this"], *read["ended"], cites=told["cited_since"] is not None),
    )


def _read(tx: Tx, since: Millis, until: Millis) -> dict[str, Any]:
    live, born = _counts(tx, since)
    return {
        "live": live,
        "born": born,
        "ended": tx.outcomes.count_sessions(since, until, None),
        "unanswered": tx.injections.find_unanswered(since, UNANSWERED),
        "failing": tx.failures.find(FailureGroupFilter(states=OPEN), 1, 0)[1],
        **_ages(tx, until),
    }


def _ages(tx: Tx, at: Millis) -> dict[str, Any]:
    """The oldest first, as a table."""
    counts = tx.memory_browser.count_by_age([Millis(at - days * DAY_MS) for days in AGES.values()])
    most = max(counts.values(), default=1)
    names, places = [*AGES, "over a year"], range(len(AGES) + 2)
    rows = [
        [(counts.get((born, used), 0), charts.level(counts.get((born, used), 0), most)) for used in places]
        for born in range(len(names))
    ]
    idle = sum(count for (born, used), count in counts.items() if born >= 2 and used >= 3)
    return {"age_names": names, "age_rows": rows, "idle": idle}


class Part(Struct, frozen=True):
    """So many of so many; of none, where nothing is known."""

    name: str
    count: int
    of: int
    unknown: str

    @property
    def share(self) -> float:
        return self.count / self.of if self.of else 0.0


def funnel(use: Use, ended: int, well: int, *, cites: bool = True) -> list[Part]:
    """From the question to the end of the session; where no agent cites, nothing is known of citations."""
    not_cited = "no agent has cited a memory" if use.shown else "nothing was shown"
    return [
        Part("searches found something", use.searches - use.zero_hits, use.searches, "no agent has searched"),
        Part("showings were cited", use.cited_shown, use.shown if cites else 0, not_cited),
        Part("sessions ended well", well, ended, "no session has ended with a known outcome"),
    ]


def _counts(tx: Tx, since: Millis) -> tuple[int, int]:
    """Memories in use, and how many of them were made since."""
    rows = tx.by_kind.values()
    born = sum(one.count(Filter(since=since, by_creation=True)) for one in rows)
    return sum(one.count(Filter()) for one in rows), born


def _overview(
    visit: Visit, days: int, by_day: CostReport, by_memory: CostReport, found: CandidatePage
) -> dict[str, Any]:
    today = visit.deps.now() // DAY_MS
    first = today - days + 1
    uses = {int(tag.key[0]): tag.use for tag in by_day.tags}
    this, before = together(uses, first, today), together(uses, first - days, first - 1)
    covered = by_memory.covered_since
    counted = _counted_days(first, today, covered)
    return {
        "days": days,
        "covered_since": covered,
        "cited_since": by_memory.cited_since,
        "compared": covered is not None and covered <= (first - days) * DAY_MS,
        "headline": headline(by_memory.tags, this.tokens),
        "this": this,
        "before": before,
        "chart": _chart(uses, counted),
        "counted_days": len(counted),
        "bars": pareto(by_memory.tags, this.wasted_tokens, PARETO_BARS),
        "queue": found,
    }


def _counted_days(first: int, today: int, covered: Millis | None) -> list[int]:
    """The latest first; not those of which nothing is known."""
    start = first if covered is None else max(first, covered // DAY_MS)
    return list(range(today, min(start, today) - 1, -1))


def _chart(uses: dict[int, Use], counted: Sequence[int]) -> list[Day]:
    """Today is not over, and would look like a fall; it is shown only where there is no other day."""
    return [Day(Millis(day * DAY_MS), uses.get(day, Use())) for day in counted[1:] or counted]


def together(uses: dict[int, Use], first: int, last: int) -> Use:
    """The sum over some days."""
    some = [use for day, use in uses.items() if first <= day <= last]
    names = ("shown", "tokens", "cited_shown", "cited_tokens", "echoed_shown", "echoed_tokens", "searches", "zero_hits")
    return Use(**{name: sum(getattr(use, name) for use in some) for name in names})


# --- costs ---------------------------------------------------------------------------------------------------------


@page("/costs")
async def cost_page(visit: Visit) -> Response:
    await visit.app.flush_usage()
    by = GroupBy(visit.choice("by", *GroupBy))
    days = visit.days(USUAL_DAYS)
    model = visit.asked("model") or None
    bill = await costs.report(by, days, model, PER_PAGE, visit.offset, visit.deps)
    trend = await costs.report(GroupBy.DAY, days, model, days, 0, visit.deps)
    wasteful = await costs.report(GroupBy.MEMORY, days, model, DOTS, 0, visit.deps)
    today = visit.deps.now() // DAY_MS
    counted = _counted_days(today - days + 1, today, bill.covered_since)
    uses = {int(tag.key[0]): tag.use for tag in trend.tags}
    return visit.html(
        "costs.html",
        by=by,
        days=days,
        bill=bill,
        names=[_name(by, tag) for tag in bill.tags],
        chart=_chart(uses, counted),
        counted_days=len(counted),
        scatter=charts.scatter(wasteful.tags),
        widest=max((tag.use.tokens for tag in bill.tags), default=1) or 1,
    )


def _name(by: GroupBy, tag: CostRow) -> tuple[MemoryRef | None, str]:
    """What a line of the bill is about: a memory that can be opened, or words."""
    if by is GroupBy.MEMORY:
        ref = MemoryRef(Kind(tag.key[0]), tag.key[1])
        return (ref, tag.title) if tag.title is not None else (None, f"{tag.key[1]} (deleted)")
    if by is GroupBy.DAY:
        return None, str(int(tag.key[0]) * DAY_MS)
    return None, str(tag.key[0])
