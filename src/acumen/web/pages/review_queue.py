"""The review queue."""

from collections.abc import Iterable, Sequence

from starlette.responses import Response

from acumen.model.ids import UserId
from acumen.model.metering.intervals import wilson
from acumen.review import duplicate_scan, memory_list, queue
from acumen.review.queue import CandidatePage, ReviewQuery
from acumen.web.csv_export import MOST_ROWS, as_csv
from acumen.web.page import PER_PAGE, Visit, page
from acumen.web.words import SIGNALS

# As of the API: the highest score first, unless wasted tokens are asked for.
ORDERS = ("score", "waste")
COLUMNS = "kind id title user signals why shown cited_shown tokens wasted_tokens saving_tokens_per_day".split()


@page("/review")
async def review_queue(visit: Visit) -> Response:
    await visit.app.flush_usage()
    scanning = await duplicate_scan.scan_pending(visit.deps)
    query = review_query(visit)
    candidates = await queue.candidates(query, PER_PAGE, visit.offset, visit.deps)
    refs = [candidate.ref for candidate in candidates.candidates]
    return visit.html(
        "review.html",
        queue=candidates,
        scanning=scanning,
        views=await memory_list.saved_views("review", visit.deps),
        sessions=await queue.count_sessions(refs, query.days_back, visit.deps),
        rates=[wilson(candidate.use.cited_shown, candidate.use.shown) for candidate in candidates.candidates],
        days=query.days_back,
        order=ORDERS[query.by_waste],
        signal=visit.param("signal"),
        user=visit.param("user"),
    )


def review_query(visit: Visit) -> ReviewQuery:
    signal, user = visit.param("signal"), visit.param("user")
    return ReviewQuery(
        user=UserId(user) if user else None,
        days_back=visit.days(queue.USUAL_DAYS),
        signals=[signal] if signal in SIGNALS else None,
        by_waste=visit.choice("sort", *ORDERS) == "waste",
    )


@page("/review.csv")
async def export(visit: Visit) -> Response:
    await duplicate_scan.scan_pending(visit.deps)
    candidates = await queue.candidates(review_query(visit), MOST_ROWS, 0, visit.deps)
    return as_csv("memory-review.csv", COLUMNS, _rows(candidates))


def _rows(page: CandidatePage) -> Iterable[Sequence[object]]:
    for candidate in page.candidates:
        use, ref = candidate.use, candidate.ref
        names = " ".join(signal.name for signal in candidate.signals)
        why = "; ".join(signal.why for signal in candidate.signals)
        counts = (use.shown, use.cited_shown, use.tokens, use.wasted_tokens, round(candidate.saving, 1))
        yield (ref.kind, ref.id, candidate.title, candidate.user_id, names, why, *counts)
