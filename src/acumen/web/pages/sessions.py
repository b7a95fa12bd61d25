"""Sessions, the timeline of one, and one injection."""

from starlette.responses import Response

from acumen.meter import session_timeline
from acumen.model.ids import Millis, SessionId, UserId
from acumen.model.memories.change import ChangeFilter
from acumen.model.metering.usage import Injection
from acumen.model.times import DAY_MS
from acumen.recall import replay
from acumen.recall.replay import ReplayComparison
from acumen.review import changes
from acumen.web.diff import words_changed
from acumen.web.page import PER_PAGE, Visit, page

MOST_CHANGES = 50


@page("/sessions")
async def sessions(visit: Visit) -> Response:
    await visit.app.flush_usage()
    user, session_id = visit.param("user") or None, visit.param("session") or None
    listed = await session_timeline.page(user, session_id, PER_PAGE, visit.offset, visit.deps)
    return visit.html("sessions.html", listed=listed, user=user, session=session_id)


@page("/session")
async def session(visit: Visit) -> Response:
    await visit.app.flush_usage()
    user, session_id = UserId(visit.param("user")), SessionId(visit.param("id"))
    timeline = await session_timeline.timeline(user, session_id, visit.deps)
    learned = await changes.page(ChangeFilter(user=user, session=session_id), MOST_CHANGES, None, visit.deps)
    return visit.html(
        "session.html", timeline=timeline, entry=timeline.entry, learned=learned, most=session_timeline.MOST_TURNS
    )


@page("/injections/{id}")
async def injection(visit: Visit) -> Response:
    await visit.app.flush_usage()
    stored, titles = await session_timeline.injection(visit.path_id, visit.deps)
    compared = await _compared(visit, stored)
    pieces = words_changed(compared.earlier.context.text, compared.later.context.text) if compared else []
    return visit.html("injection.html", injection=stored, titles=titles, compared=compared, pieces=pieces)


async def _compared(visit: Visit, stored: Injection) -> ReplayComparison | None:
    """The same query `compare` days before the injection and now."""
    days = visit.param("compare")
    if not days.isdecimal() or len(days) > 4 or stored.ask is None:
        return None
    earlier = Millis(stored.created_at - int(days) * DAY_MS)
    return await replay.compare(stored.id, earlier, visit.deps.now(), visit.deps)
