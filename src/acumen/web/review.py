"""The review queue: which memories deserve a look, and one of them beside the list."""

import csv
import io
from collections.abc import Iterable, Sequence

from msgspec import Struct
from starlette.responses import Response

from acumen.errors import NotFound
from acumen.model.conversation import Interaction
from acumen.model.ids import Kind, MemoryRef, Millis, SessionId, UserId
from acumen.model.memories.conflict import OpenConflict
from acumen.model.memories.memory import Memory, searchable
from acumen.model.metering.intervals import Interval, wilson
from acumen.model.metering.usage import CITED, ECHOED, SHOWN, UsageEvent, Use
from acumen.model.review.action import UNREVIEWED, ReviewState
from acumen.model.times import DAY_MS
from acumen.review import conflicts, memory_scan, queue
from acumen.review.queue import CandidatePage, ReviewQuery
from acumen.review.signals import Signal
from acumen.storage.store import Tx
from acumen.web.diff import Piece, words_changed
from acumen.web.page import PER_PAGE, Visit, page
from acumen.web.words import SIGNALS, cell

ORDERS = ("waste", "score")
INJECTIONS_SHOWN = 5
TWINS_SHOWN = 3
EVENTS_READ = 200
MOST_EXPORTED = 10_000


@page("/review")
async def review_queue(visit: Visit) -> Response:
    await visit.app.flush_usage()
    being_counted = await memory_scan.scan_pending(visit.deps)
    wanted = wanted_by(visit)
    found = await queue.candidates(wanted, PER_PAGE, visit.offset, visit.deps)
    refs = [one.ref for one in found.candidates]
    since = Millis(visit.deps.now() - wanted.days_back * DAY_MS)
    views, sessions = await visit.deps.store.read(
        lambda tx: (tx.saved_views.find("review"), tx.usage.top.count_sessions(refs, since))
    )
    return visit.html(
        "review.html",
        queue=found,
        being_counted=being_counted,
        views=views,
        sessions=sessions,
        rates=[rate_of(one.use) for one in found.candidates],
        days=wanted.days_back,
        order=ORDERS[0] if wanted.by_waste else ORDERS[1],
        signal=visit.asked("signal"),
        user=visit.asked("user"),
    )


def wanted_by(visit: Visit) -> ReviewQuery:
    """The filters of the URL; those that it does not have are left open."""
    signal, user = visit.asked("signal"), visit.asked("user")
    return ReviewQuery(
        user=UserId(user) if user else None,
        days_back=visit.days(queue.USUAL_DAYS),
        signals=[signal] if signal in SIGNALS else None,
        by_waste=visit.choice("sort", *ORDERS) == "waste",
    )


def rate_of(use: Use) -> Interval:
    """Where the true share of cited showings lies."""
    return wilson(use.cited_shown, use.shown)


@page("/review.csv")
async def exported(visit: Visit) -> Response:
    await memory_scan.scan_pending(visit.deps)
    found = await queue.candidates(wanted_by(visit), MOST_EXPORTED, 0, visit.deps)
    heads = "kind id title user signals why shown cited_shown tokens wasted_tokens saving_tokens_per_day".split()
    return as_csv("memory-review.csv", heads, _lines(found))


def _lines(found: CandidatePage) -> Iterable[Sequence[object]]:
    for one in found.candidates:
        names = " ".join(signal.name for signal in one.signals)
        why = "; ".join(signal.why for signal in one.signals)
        counts = (one.use.shown, one.use.cited_shown, one.use.tokens, one.use.wasted_tokens, round(one.saving, 1))
        yield (one.ref.kind, one.ref.id, one.title, one.user_id, names, why, *counts)


def as_csv(name: str, heads: Sequence[str], lines: Iterable[Sequence[object]]) -> Response:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(heads)
    writer.writerows([cell(value) for value in line] for line in lines)
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(out.getvalue().encode(), headers=headers, media_type="text/csv; charset=utf-8")


# --- one memory, beside the list -----------------------------------------------------------------------------------


class Likeness(Struct, frozen=True):
    """Another memory that says nearly the same, and what it says otherwise."""

    ref: MemoryRef
    similarity: float
    pieces: Sequence[Piece]


class Shown(Struct, frozen=True):
    """One time that the memory was put into a context, the agent's answer to it, and what came back."""

    event: UsageEvent
    answer: str | None
    cited: bool
    echoed: bool


class Panel(Struct, frozen=True):
    ref: MemoryRef
    memory: Memory
    mark: ReviewState
    use: Use
    signals: Sequence[Signal]
    twins: Sequence[Likeness]
    shown: Sequence[Shown]
    conflicts: Sequence[OpenConflict]


@page("/panel/{kind}/{id:path}")
async def panel(visit: Visit) -> Response:
    ref = ref_of(visit)
    days = visit.days(queue.USUAL_DAYS)
    since = Millis(visit.deps.now() - days * DAY_MS)
    signals = (await queue.signals_against([ref], days, visit.deps)).get(ref, ())
    told = await visit.deps.store.read(lambda tx: _panel(tx, ref, since, signals, visit.deps.thresholds.similarity))
    return visit.html("part/panel.html", panel=told, days=days, interval=rate_of(told.use))


def ref_of(visit: Visit) -> MemoryRef:
    kind = str(visit.request.path_params["kind"])
    if kind not in set(Kind):
        raise NotFound(f"There is no kind of memory called {kind[:50]}.")
    return MemoryRef(Kind(kind), visit.path_id)


def memory_of(tx: Tx, ref: MemoryRef) -> Memory:
    found: Memory | None = tx.by_kind[ref.kind].get(ref.id)
    if found is None:
        raise NotFound(f"There is no {ref.kind} {ref.id[:100]}; it may have been deleted.")
    return found


def _panel(tx: Tx, ref: MemoryRef, since: Millis, signals: Sequence[Signal], least: float) -> Panel:
    memory = memory_of(tx, ref)
    return Panel(
        ref=ref,
        memory=memory,
        mark=tx.review_states.find(ref.kind, [ref.id]).get(ref.id, UNREVIEWED),
        use=tx.usage.counters.get_uses(ref.kind, since, [ref.id]).get(ref.id, Use()),
        signals=signals,
        twins=twins_of(tx, ref, memory, least),
        shown=showings(tx, ref, since, INJECTIONS_SHOWN),
        conflicts=conflicts.of_memory(tx, ref),
    )


def twins_of(tx: Tx, ref: MemoryRef, memory: Memory, least: float) -> list[Likeness]:
    pairs = tx.memory_flags.find_pairs(ref.kind, least=least, ids=[ref.id])
    others = {pair.right if pair.left == ref.id else pair.left: pair.similarity for pair in pairs[:TWINS_SHOWN]}
    found: dict[str, Memory] = dict(tx.by_kind[ref.kind].get_many(list(others)))
    return [
        Likeness(MemoryRef(ref.kind, name), others[name], words_changed(searchable(memory), searchable(other)))
        for name, other in found.items()
    ]


def showings(tx: Tx, ref: MemoryRef, since: Millis, limit: int) -> list[Shown]:
    """The latest first."""
    events = tx.usage.find_events(ref, since, EVENTS_READ)
    shown = [event for event in events if event.name == SHOWN][:limit]
    came_back = {(event.name, event.session_id) for event in events if event.name in (CITED, ECHOED)}
    return [
        Shown(
            event, _answer(tx, event), (CITED, event.session_id) in came_back, (ECHOED, event.session_id) in came_back
        )
        for event in shown
    ]


def _answer(tx: Tx, event: UsageEvent) -> str | None:
    """What the agent said next in that session; None when nothing was published."""
    if not event.user_id or not event.session_id:
        return None
    turns = turns_of(tx, UserId(event.user_id), SessionId(event.session_id))
    return next((turn.content for turn in turns if not turn.by_user and turn.created_at >= event.at), None)


def turns_of(tx: Tx, user: UserId, session: SessionId) -> list[Interaction]:
    """Everything that was said in a session, in order."""
    page, _ = tx.conversations.page_sessions(tx.conversations.select_requests(user=user, session=session), 1, 0)
    return tx.conversations.find_by_requests([request.id for request in page[0]]) if page else []
