"""The library of memories, and one memory with its whole life."""

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import Struct, json
from starlette.responses import Response

from acumen.meter import outcomes
from acumen.model.conversation import Interaction
from acumen.model.ids import Kind, MemoryRef, Millis
from acumen.model.memories.base import Status
from acumen.model.memories.conflict import OpenConflict
from acumen.model.memories.memory import Memory, title
from acumen.model.metering.usage import Use
from acumen.model.review.action import UNREVIEWED, Action, ReviewState
from acumen.model.times import DAY_MS
from acumen.review import changes, conflicts, queue
from acumen.review.changes import Change
from acumen.review.queue import ReviewQuery
from acumen.storage.memories.memory_browser import MemoryEntry, MemoryFilter
from acumen.storage.store import Tx
from acumen.web.diff import Piece, words_changed
from acumen.web.page import PER_PAGE, Visit, page
from acumen.web.review import (
    Likeness,
    Shown,
    as_csv,
    memory_of,
    rate_of,
    ref_of,
    showings,
    twins_of,
)
from acumen.web.words import SIGNALS

USE_DAYS = 90
LIFT_DAYS = 90
MOST_EXPORTED = 10_000
VERSIONS_OFFERED = 100
SHOWINGS = 20
# The last turns that a memory rests on, as its page links them.
TURNS_LINKED = 5
FILTERS = ("q", "status", "kind", "user", "version", "signal", "tag", "size")
# Characters: at least, and less than.
SIZES = {
    "under 100": (0, 100),
    "100 to 500": (100, 500),
    "500 to 1,000": (500, 1_000),
    "1,000 to 5,000": (1_000, 5_000),
    "5,000 and more": (5_000, None),
}
STATUSES = ("current", "any", *(str(one) for one in Status if one is not Status.CURRENT))
# How a memory counts as text in its snapshots, in the order in which it is read.
TEXT_FIELDS = ("trigger", "content", "pitfall", "rationale")


@page("/memories")
async def library(visit: Visit) -> Response:
    shelf = await shelf_of(visit)
    since = Millis(visit.deps.now() - USE_DAYS * DAY_MS)
    (entries, total), used, versions = await visit.deps.store.read(lambda tx: _page(tx, shelf, visit.offset, since))
    return visit.html(
        "memories.html",
        entries=entries,
        total=total,
        used=used,
        use_days=USE_DAYS,
        versions=versions,
        statuses=STATUSES,
        sizes=SIZES,
        views=await visit.deps.store.read(lambda tx: tx.saved_views.find("memories")),
        asked={name: visit.asked(name) for name in FILTERS},
    )


def _page(
    tx: Tx, shelf: MemoryFilter, offset: int, since: Millis
) -> tuple[tuple[list[MemoryEntry], int], Any, list[str]]:
    found = tx.memory_browser.page_memories(shelf, PER_PAGE, offset)
    ids = {kind: [entry.ref.id for entry in found[0] if entry.ref.kind is kind] for kind in Kind}
    used = {
        MemoryRef(kind, name): use
        for kind, some in ids.items()
        if some
        for name, use in tx.usage.counters.get_uses(kind, since, some).items()
    }
    return found, used, tx.memory_browser.find_agent_versions(VERSIONS_OFFERED)


async def shelf_of(visit: Visit) -> MemoryFilter:
    """The filters of the URL; those that it does not have are left open."""
    kind, status = visit.asked("kind"), visit.choice("status", *STATUSES)
    return MemoryFilter(
        text=visit.asked("q")[:1_000].replace("\x00", "") or None,
        kind=Kind(kind) if kind in set(Kind) else None,
        statuses=None if status == "any" else (Status(status),),
        user_id=visit.asked("user") or None,
        agent_version=visit.asked("version") or None,
        tag=visit.asked("tag") or None,
        length=SIZES.get(visit.asked("size")),
        refs=await _signalled(visit, visit.asked("signal")),
    )


async def _signalled(visit: Visit, signal: str) -> tuple[MemoryRef, ...] | None:
    if signal not in SIGNALS:
        return None
    found = await queue.candidates(ReviewQuery(None, signals=[signal]), MOST_EXPORTED, 0, visit.deps)
    return tuple(one.ref for one in found.candidates)


@page("/memories.csv")
async def exported(visit: Visit) -> Response:
    shelf = await shelf_of(visit)
    entries, _ = await visit.deps.store.read(lambda tx: tx.memory_browser.page_memories(shelf, MOST_EXPORTED, 0))
    heads = "kind id user status agent_version version name content".split()
    return as_csv("memories.csv", heads, _lines(entries))


def _lines(entries: Iterable[MemoryEntry]) -> Iterable[Sequence[object]]:
    for one in entries:
        about = (one.ref.kind, one.ref.id, one.user_id, one.status, one.agent_version, one.version)
        yield (*about, one.name, one.content)


# --- one memory ----------------------------------------------------------------------------------------------------


class Version(Struct, frozen=True):
    """One event of a memory's life. `pieces` tell how its words changed; None where they were erased."""

    change: Change
    version: int | None
    pieces: Sequence[Piece] | None
    sources: Sequence[str]


class Day(Struct, frozen=True):
    at: Millis
    use: Use


class Life(Struct, frozen=True):
    memory: Memory
    mark: ReviewState
    use: Use
    days: Sequence[Day]
    versions: Sequence[Version]
    twins: Sequence[Likeness]
    shown: Sequence[Shown]
    actions: Sequence[Action]
    kin: dict[MemoryRef, str]
    raw: str
    conflicts: Sequence[OpenConflict]
    turns: Sequence[Interaction]


@page("/memories/{kind}/{id:path}")
async def memory(visit: Visit) -> Response:
    await visit.app.flush_usage()
    ref = ref_of(visit)
    since = Millis(visit.deps.now() - USE_DAYS * DAY_MS)
    life = await visit.deps.store.read(
        lambda tx: _life(tx, ref, since, visit.deps.now(), visit.deps.thresholds.similarity)
    )
    helped = await outcomes.of_memory(ref, LIFT_DAYS, visit.deps)
    return visit.html(
        "memory.html",
        ref=ref,
        life=life,
        title=title(life.memory),
        signals=(await queue.signals_against([ref], queue.USUAL_DAYS, visit.deps)).get(ref, ()),
        helped=helped,
        lift_days=LIFT_DAYS,
        use_days=USE_DAYS,
        interval=rate_of(life.use),
    )


def _life(tx: Tx, ref: MemoryRef, since: Millis, at: Millis, least: float) -> Life:
    found = memory_of(tx, ref)
    actions, _ = tx.actions.page(10, 0, ref)
    uses = dict(tx.usage.counters.get_days(ref, since // DAY_MS))
    return Life(
        memory=found,
        mark=tx.review_states.find(ref.kind, [ref.id]).get(ref.id, UNREVIEWED),
        use=tx.usage.counters.get_uses(ref.kind, since, [ref.id]).get(ref.id, Use()),
        days=[Day(Millis(day * DAY_MS), uses.get(day, Use())) for day in _days(uses, at)],
        versions=_versions(tx, ref),
        twins=twins_of(tx, ref, found, least),
        shown=showings(tx, ref, since, SHOWINGS),
        actions=actions,
        kin=_kin(tx, ref, found),
        raw=json.format(json.encode(found), indent=2).decode(),
        conflicts=conflicts.of_memory(tx, ref),
        turns=tx.conversations.get_many(getattr(found, "interaction_ids", [])[-TURNS_LINKED:]),
    )


def _days(uses: dict[int, Use], at: Millis) -> Iterable[int]:
    """From the first use to yesterday, the latest first: today is not over, and would look like a fall."""
    return range(at // DAY_MS - 1, min(uses) - 1, -1) if uses else ()


def _versions(tx: Tx, ref: MemoryRef) -> list[Version]:
    """Newest first."""
    events = tx.lineage.find(ref)[::-1]
    return [_version(*both) for both in zip(events, changes.described(tx, events), strict=True)]


def _version(event: dict[str, Any], change: Change) -> Version:
    before, after = event["before"], event["after"]
    told = after or before
    return Version(
        change=change,
        version=told.get("version") if told else None,
        pieces=words_changed(_text(before), _text(after)) if told else None,
        sources=event["sources"] or (),
    )


def _text(snapshot: dict[str, Any] | None) -> str:
    if not snapshot:
        return ""
    said = {**snapshot, **(snapshot.get("lesson") or {})}
    return "\n".join(str(said[name]) for name in TEXT_FIELDS if said.get(name))


def _kin(tx: Tx, ref: MemoryRef, found: Memory) -> dict[MemoryRef, str]:
    """Memories that this one came from or gave way to, each with what it is to it."""
    kin: dict[MemoryRef, str] = {}
    if found.superseded_by is not None:
        kin[MemoryRef(ref.kind, str(found.superseded_by))] = "superseded by"
    if found.merged_into is not None:
        kin[MemoryRef(ref.kind, str(found.merged_into))] = "merged into"
    return kin | dict(tx.memory_browser.find_links_to(ref))
