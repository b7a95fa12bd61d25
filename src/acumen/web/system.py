"""The system itself: is it well, what is it doing, how much does it hold, since when does it count."""

import shutil
from collections.abc import Sequence
from typing import Any

from msgspec import Struct
from starlette.responses import Response

from acumen.llm.embedding import DIMS
from acumen.model.ids import Kind, Millis
from acumen.model.jobs.job import Job
from acumen.model.memories.base import Status
from acumen.model.memories.search import Filter
from acumen.model.metering.llm_call import Spent
from acumen.model.metering.usage import SEARCHED, UNRESOLVED
from acumen.model.operations.alert import Alert, Delivery
from acumen.model.operations.operation import OperationFilter, SourceCounts
from acumen.model.times import DAY_MS, HOUR_MS, MINUTE_MS
from acumen.storage.engine import backup
from acumen.storage.store import Tx
from acumen.web import charts, words
from acumen.web.page import Visit, page

DEAD_SHOWN = 20
ALERTS_SHOWN = 20
DELIVERIES_SHOWN = 5
# With less room than this the next writes may well fail.
LEAST_FREE_BYTES = 50 * 1024 * 1024
MONTH_MS = 30 * DAY_MS
HOURS_SHOWN = 24
# Of so many of the latest it is told how long they took.
TIMED = 1_000


class Source(Struct, frozen=True):
    """Who sends operations: how they ended, and how long the latest took."""

    counts: SourceCounts
    took: tuple[float, float, float] | None
    timed: int


class Ingest(Struct, frozen=True):
    """What comes in: operations by hour, the last of which is not over; and for how long what is due has waited."""

    hours: Sequence[int]
    a_minute: float
    searches: int
    lag_ms: int | None


class Room(Struct, frozen=True):
    """On the disk of the data folder; `why` says why it is not known for how many days that is enough."""

    free: int | None
    days: float | None
    why: str = ""


class State(Struct, frozen=True):
    database: str
    size: int
    jobs: dict[str, dict[str, int]]
    dead: list[Job]
    memories: dict[Kind, dict[str, int]]
    turns: int
    without_vector: int
    metered_since: Millis | None
    unresolved: int
    alerts: list[Alert]
    deliveries: list[Delivery]
    searches: tuple[float, float, float] | None
    searched: int
    sources: list[Source]
    models: Spent
    ingest: Ingest
    room: Room


@page("/system")
async def system(visit: Visit) -> Response:
    await visit.app.flush_usage()
    state = await visit.deps.store.read(lambda tx: _state(tx, visit))
    return visit.html(
        "system.html",
        state=state,
        most_of_a_source=max((one.counts.total for one in state.sources), default=1),
        checks=_checks(visit),
        backup=None if visit.app.settings.database_url else backup.last(visit.app.settings),
        dims=DIMS,
        kinds=list(Kind),
        statuses=[status for status in Status if any(some[status] for some in state.memories.values())],
    )


def _state(tx: Tx, visit: Visit) -> State:
    database, conn = visit.app.store.database, tx.scope.conn
    return State(
        database=database.version(conn),
        size=database.size_bytes(conn),
        jobs=tx.jobs.count(),
        dead=tx.jobs.find_dead_letters(DEAD_SHOWN),
        memories={kind: _by_status(tx, kind) for kind in Kind},
        turns=tx.conversations.count_turns(),
        without_vector=sum(tx.search_rows.count_without_vector(visit.app.local_models.name, kind) for kind in Kind),
        metered_since=tx.usage.get_metered_since(),
        alerts=tx.alerts.find_latest(ALERTS_SHOWN, only_open=True),
        deliveries=tx.alerts.find_deliveries(DELIVERIES_SHOWN),
        unresolved=tx.usage.count(UNRESOLVED, Millis(visit.deps.now() - MONTH_MS)),
        searches=charts.percentiles(latencies := tx.usage.find_latencies(TIMED)),
        searched=len(latencies),
        sources=_sources(tx),
        models=tx.llm_calls.get_spent(Millis(tx.at - DAY_MS)),
        ingest=_ingest(tx),
        room=_room(tx, visit, database.size_bytes(conn)),
    )


def _ingest(tx: Tx) -> Ingest:
    this_hour = tx.at - tx.at % HOUR_MS
    came, overdue = (
        tx.hourly_counts.count_by_hour(Millis(this_hour - HOUR_MS * (HOURS_SHOWN - 1))),
        tx.jobs.overdue_since(),
    )
    hours = [came.get(this_hour - HOUR_MS * back, 0) for back in reversed(range(HOURS_SHOWN))]
    return Ingest(
        hours=hours,
        a_minute=sum(hours[-2:]) / (60 + (tx.at - this_hour) / MINUTE_MS),
        searches=tx.usage.count(SEARCHED, Millis(tx.at - HOUR_MS)),
        lag_ms=None if overdue is None else tx.at - overdue,
    )


def _room(tx: Tx, visit: Visit, size: int) -> Room:
    """For how many days the disk is enough, if the database goes on to grow as it did on average since it began."""
    if visit.app.settings.database_url:
        return Room(None, None, "the database server has a disk of its own")
    free = shutil.disk_usage(visit.app.settings.data_dir).free
    days = (tx.at - tx.orgs.first_created_at()) / DAY_MS
    if days < 1:
        return Room(free, None, "the database is younger than a day, so it is not known how fast it grows")
    return Room(free, free / (size / days))


def _sources(tx: Tx) -> list[Source]:
    took: dict[str, list[float]] = {}
    for one in tx.operations.find_latest(OperationFilter(), TIMED, TIMED):
        if one.duration_ms is not None:
            took.setdefault(one.source, []).append(one.duration_ms)
    return [
        Source(counts, charts.percentiles(took.get(counts.source, ())), len(took.get(counts.source, ())))
        for counts in tx.hourly_counts.count_by_source()
    ]


def _by_status(tx: Tx, kind: Kind) -> dict[str, int]:
    return {str(status): tx.by_kind[kind].count(Filter(statuses=(status,))) for status in Status}


def _checks(visit: Visit) -> list[tuple[str, bool, str]]:
    """Name, whether it is well, and what is to be said."""
    app: Any = visit.app
    meaning, problem = app.local_models, app.worker_problem
    workers = app.settings.jobs.workers
    worker = problem or (f"{workers} at once in this process" if workers else "none in this process")
    by = f"search goes by words only: {meaning.problem}" if meaning.problem else f"{meaning.name}, {DIMS} dimensions"
    model = (
        f"{app.settings.llm.model or app.settings.llm.provider or app.settings.llm.url}" or "none: rules do its work"
    )
    return [
        ("Database", True, app.storage_label),
        _disk(visit),
        ("Worker", problem is None, worker),
        ("Meaning", meaning.problem is None, by),
        ("Language model", True, model),
        (
            "Metering",
            app.settings.meter.enabled,
            "counts what is shown" if app.settings.meter.enabled else "switched off",
        ),
        ("Counts lost", app.lost_usage_events == 0, f"{app.lost_usage_events} since the start"),
    ]


def _disk(visit: Visit) -> tuple[str, bool, str]:
    if visit.app.settings.database_url:
        return "Disk", True, "the database server's own"
    free = shutil.disk_usage(visit.app.settings.data_dir).free
    return "Disk", free > LEAST_FREE_BYTES, f"{words.size(free)} free in the data folder"
