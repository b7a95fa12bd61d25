"""Costs of injected memories by memory, user, agent version and day."""

from starlette.responses import Response

from acumen.meter import costs
from acumen.meter.costs import CostRow
from acumen.model.ids import Kind, MemoryRef
from acumen.model.metering.usage import GroupBy, Use, days_in_use
from acumen.model.times import DAY_MS
from acumen.web import charts
from acumen.web.page import PER_PAGE, Visit, page

USUAL_DAYS = 30
# Of the scatter chart: more dots would hide each other.
DOTS = 120


@page("/costs")
async def cost_report(visit: Visit) -> Response:
    await visit.app.flush_usage()
    by, days, model = GroupBy(visit.choice("by", *GroupBy)), visit.days(USUAL_DAYS), visit.param("model") or None
    report = await costs.report(by, days, model, PER_PAGE, visit.offset, visit.deps)
    trend = await costs.report(GroupBy.DAY, days, model, days, 0, visit.deps)
    wasteful = await costs.report(GroupBy.MEMORY, days, model, DOTS, 0, visit.deps)
    today = visit.deps.now() // DAY_MS
    counted = charts.counted_days(today - days + 1, today, report.covered_since)
    return visit.html(
        "costs.html",
        by=by,
        days=days,
        report=report,
        names=[_name(by, row) for row in report.rows],
        chart=charts.daily({int(row.key[0]): row.use for row in trend.rows}, counted),
        tokens_per_day=[_tokens_per_day(by, row.use, len(counted), visit) for row in report.rows],
        scatter=charts.scatter(wasteful.rows),
        widest=max((row.use.tokens for row in report.rows), default=1) or 1,
    )


def _tokens_per_day(by: GroupBy, use: Use, counted_days: int, visit: Visit) -> float:
    """The review queue divides by the same days."""
    return use.tokens / (1 if by is GroupBy.DAY else days_in_use(use.first_at, visit.deps.now(), counted_days))


def _name(by: GroupBy, row: CostRow) -> tuple[MemoryRef | None, str]:
    """A memory with its title, or a plain name."""
    if by is GroupBy.MEMORY:
        ref = MemoryRef(Kind(row.key[0]), row.key[1])
        return (ref, row.title) if row.title is not None else (None, f"{row.key[1]} (deleted)")
    if by is GroupBy.DAY:
        return None, str(int(row.key[0]) * DAY_MS)
    return None, str(row.key[0])
