"""The overview: what memories cost and whether they help."""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct
from starlette.responses import Response

from acumen.meter import costs, memory_health
from acumen.meter.costs import CostReport
from acumen.meter.headline import headline, pareto
from acumen.meter.memory_health import MemoryHealth
from acumen.model.metering.usage import GroupBy, Use
from acumen.model.operations.failure import FailureGroupFilter
from acumen.model.times import DAY_MS
from acumen.review import queue
from acumen.review.operations import failures
from acumen.review.operations.failures import OPEN
from acumen.review.queue import ReviewQuery
from acumen.web import charts
from acumen.web.page import Visit, page

USUAL_DAYS = 30
PARETO_BARS = 10
# Buckets of age and of the last injection, by their upper edge in days.
AGES = {"under a week": 7, "1 to 4 weeks": 28, "1 to 3 months": 90, "3 to 12 months": 365}
# Of the headline: memories further down have no share that a person would notice.
MOST_WASTEFUL = 500
SUMMED = ("shown", "tokens", "cited_shown", "cited_tokens", "echoed_shown", "echoed_tokens", "searches", "zero_hits")


@page("")
async def overview(visit: Visit) -> Response:
    await visit.app.flush_usage()
    days = visit.days(USUAL_DAYS)
    by_day = await costs.report(GroupBy.DAY, 2 * days, None, 2 * days, 0, visit.deps)
    by_memory = await costs.report(GroupBy.MEMORY, days, None, MOST_WASTEFUL, 0, visit.deps)
    health = await memory_health.of_period(days, list(AGES.values()), visit.deps)
    _, open_groups = await failures.page(FailureGroupFilter(states=OPEN), 1, 0, visit.deps)
    values = _costs(visit, days, by_day, by_memory)
    return visit.html(
        "overview.html",
        **values,
        **_ages(health.ages),
        health=health,
        open_groups=open_groups,
        queue=await queue.candidates(ReviewQuery(None), 5, 0, visit.deps),
        funnel=funnel(values["this"], health, cites=by_memory.cited_since is not None),
    )


def _costs(visit: Visit, days: int, by_day: CostReport, by_memory: CostReport) -> dict[str, Any]:
    today = visit.deps.now() // DAY_MS
    first = today - days + 1
    uses = {int(row.key[0]): row.use for row in by_day.rows}
    this, before = total_use(uses, first, today), total_use(uses, first - days, first - 1)
    covered = by_memory.covered_since
    counted = charts.counted_days(first, today, covered)
    return {
        "days": days,
        "covered_since": covered,
        "cited_since": by_memory.cited_since,
        "comparable": covered is not None and covered <= (first - days) * DAY_MS,
        "headline": headline(by_memory.rows, this.tokens),
        "this": this,
        "before": before,
        "chart": charts.daily(uses, counted),
        "counted_days": len(counted),
        "bars": pareto(by_memory.rows, this.wasted_tokens, PARETO_BARS),
    }


def total_use(uses: Mapping[int, Use], first: int, last: int) -> Use:
    """Over the days from first to last."""
    period = [use for day, use in uses.items() if first <= day <= last]
    return Use(**{name: sum(getattr(use, name) for use in period) for name in SUMMED})


def _ages(counts: Mapping[tuple[int, int], int]) -> dict[str, Any]:
    """A table with a row per age and a column per last injection."""
    most = max(counts.values(), default=1)
    names, columns = [*AGES, "over a year"], range(len(AGES) + 2)
    rows = [
        [(counts.get((age, used), 0), charts.level(counts.get((age, used), 0), most)) for used in columns]
        for age in range(len(names))
    ]
    unused = sum(count for (age, used), count in counts.items() if age >= 2 and used >= 3)
    return {"age_names": names, "age_rows": rows, "unused": unused}


class FunnelStep(Struct, frozen=True):
    """`of` is 0 where the share is unknown."""

    name: str
    count: int
    of: int
    unknown: str

    @property
    def share(self) -> float:
        return self.count / self.of if self.of else 0.0


def funnel(use: Use, health: MemoryHealth, *, cites: bool = True) -> Sequence[FunnelStep]:
    """Where no agent cites, the share of citations is unknown."""
    not_cited = "no agent has cited a memory" if use.shown else "nothing was injected"
    return [
        FunnelStep("searches with results", use.searches - use.zero_hits, use.searches, "no agent has searched"),
        FunnelStep("injections cited", use.cited_shown, use.shown if cites else 0, not_cited),
        FunnelStep("successful sessions", health.successes, health.sessions, "no session has a known outcome"),
    ]
