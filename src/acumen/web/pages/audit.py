"""The audit log."""

from starlette.responses import Response

from acumen.model.times import DAY_MS
from acumen.review import audit_log
from acumen.web import charts
from acumen.web.page import PER_PAGE, Visit, page


@page("/audit")
async def audit(visit: Visit) -> Response:
    actions, total = await audit_log.page(PER_PAGE, visit.offset, None, visit.deps)
    today = visit.deps.now() // DAY_MS
    titles, per_day = await audit_log.titles_and_days(actions, today - 7 * charts.WEEKS, visit.deps)
    calendar = charts.calendar(per_day, today)
    return visit.html(
        "audit.html",
        actions=actions,
        total=total,
        titles=titles,
        calendar=calendar,
        months=charts.months(today),
        active_days=[cell for week in calendar for cell in week if cell.count],
    )
