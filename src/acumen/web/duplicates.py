"""Memories that say nearly the same, pair by pair, with the words that differ."""

from starlette.responses import Response

from acumen.model.ids import UserId
from acumen.model.memories import searchable
from acumen.review import queue, watch
from acumen.web.diff import words_changed
from acumen.web.page import Visit, page

PAIRS_PER_PAGE = 20


@page("/duplicates")
async def duplicates(visit: Visit) -> Response:
    await watch.before_review(visit.deps)
    user = UserId(visit.asked("user")) if visit.asked("user") else None
    pairs, total = await queue.duplicates(user, PAIRS_PER_PAGE, (visit.page - 1) * PAIRS_PER_PAGE, visit.deps)
    diffs = [words_changed(searchable(one.left), searchable(one.right)) for one in pairs]
    return visit.html(
        "duplicates.html", pairs=pairs, diffs=diffs, total=total, per_page=PAIRS_PER_PAGE, user=visit.asked("user")
    )
