"""The list of memories, and the page of one memory."""

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import json
from starlette.responses import Response

from acumen.errors import NotFound
from acumen.meter import outcomes
from acumen.model.ids import Kind, MemoryRef
from acumen.model.memories.base import Status
from acumen.model.memories.listing import MemoryEntry, MemoryFilter
from acumen.model.memories.memory import Memory, searchable, title
from acumen.model.memories.profile import Profile
from acumen.model.metering.intervals import wilson
from acumen.review import memory_detail, memory_list, queue
from acumen.review.memory_detail import MemorySummary
from acumen.review.queue import ReviewQuery
from acumen.web.csv_export import MOST_ROWS, as_csv
from acumen.web.diff import Piece, words_changed
from acumen.web.page import PER_PAGE, Visit, page
from acumen.web.words import SIGNALS

USE_DAYS = 90
INJECTIONS_ON_PAGE, INJECTIONS_IN_PANEL = 20, 5
FILTERS = ("q", "status", "kind", "user", "version", "signal", "tag", "size")
# Characters: at least, and less than.
SIZES = {
    "under 100": (0, 100),
    "100 to 500": (100, 500),
    "500 to 1,000": (500, 1_000),
    "1,000 to 5,000": (1_000, 5_000),
    "5,000 and more": (5_000, None),
}
STATUSES = ("current", "any", *(str(status) for status in Status if status is not Status.CURRENT))


@page("/memories")
async def memories(visit: Visit) -> Response:
    listed = await memory_list.page(await memory_filter(visit), PER_PAGE, visit.offset, USE_DAYS, visit.deps)
    return visit.html(
        "memories.html",
        listed=listed,
        use_days=USE_DAYS,
        statuses=STATUSES,
        sizes=SIZES,
        views=await memory_list.saved_views("memories", visit.deps),
        filters={name: visit.param(name) for name in FILTERS},
    )


async def memory_filter(visit: Visit) -> MemoryFilter:
    kind, status = visit.param("kind"), visit.choice("status", *STATUSES)
    return MemoryFilter(
        text=visit.param("q")[:1_000].replace("\x00", "") or None,
        kind=Kind(kind) if kind in set(Kind) else None,
        statuses=None if status == "any" else (Status(status),),
        user_id=visit.param("user") or None,
        agent_version=visit.param("version") or None,
        tag=visit.param("tag") or None,
        length=SIZES.get(visit.param("size")),
        refs=await _with_signal(visit, visit.param("signal")),
    )


async def _with_signal(visit: Visit, signal: str) -> tuple[MemoryRef, ...] | None:
    if signal not in SIGNALS:
        return None
    flagged = await queue.candidates(ReviewQuery(None, signals=[signal]), MOST_ROWS, 0, visit.deps)
    return tuple(candidate.ref for candidate in flagged.candidates)


@page("/memories.csv")
async def export(visit: Visit) -> Response:
    entries = await memory_list.entries(await memory_filter(visit), MOST_ROWS, visit.deps)
    return as_csv("memories.csv", "kind id user status agent_version version name content".split(), _rows(entries))


def _rows(entries: Iterable[MemoryEntry]) -> Iterable[Sequence[object]]:
    for entry in entries:
        about = (entry.ref.kind, entry.ref.id, entry.user_id, entry.status, entry.agent_version, entry.version)
        yield (*about, entry.name, entry.content)


# --- one memory ----------------------------------------------------------------------------------------------------


@page("/memories/{kind}/{id:path}")
async def memory(visit: Visit) -> Response:
    await visit.app.flush_usage()
    ref = _ref(visit)
    summary = await memory_detail.summary(ref, USE_DAYS, INJECTIONS_ON_PAGE, visit.deps, queue.USUAL_DAYS)
    history = await memory_detail.history(ref, USE_DAYS, visit.deps)
    return visit.html(
        "memory.html",
        **_shared(summary),
        title=title(summary.memory),
        heading=_heading(summary.memory),
        history=history,
        version_diffs=[version.texts and words_changed(*version.texts) for version in history.versions],
        raw=json.format(json.encode(summary.memory), indent=2).decode(),
        helped=await outcomes.of_memory(ref, USE_DAYS, visit.deps),
        days=USE_DAYS,
    )


@page("/panel/{kind}/{id:path}")
async def panel(visit: Visit) -> Response:
    """The memory next to a list."""
    days = visit.days(queue.USUAL_DAYS)
    summary = await memory_detail.summary(_ref(visit), days, INJECTIONS_IN_PANEL, visit.deps)
    return visit.html("part/panel.html", **_shared(summary), days=days)


def _shared(summary: MemorySummary) -> dict[str, Any]:
    text = searchable(summary.memory)
    diffs: list[Sequence[Piece]] = [words_changed(text, duplicate.text) for duplicate in summary.duplicates]
    interval = wilson(summary.use.cited_shown, summary.use.shown)
    return {"summary": summary, "duplicate_diffs": diffs, "interval": interval}


def _heading(memory: Memory) -> str:
    """Not cut, unlike its title."""
    return memory.content if isinstance(memory, Profile) else memory.name or memory.lesson.content


def _ref(visit: Visit) -> MemoryRef:
    kind = str(visit.request.path_params["kind"])
    if kind not in set(Kind):
        raise NotFound(f"There is no kind of memory called {kind[:50]}.")
    return MemoryRef(Kind(kind), visit.path_id)
