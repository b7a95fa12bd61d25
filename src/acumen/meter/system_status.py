"""The state of the server as an operator sees it: what it stores, what it does, what waits."""

import shutil
from collections.abc import Mapping, Sequence

from msgspec import Struct

from acumen.deps import Deps
from acumen.meter.llm_ledger import midnight
from acumen.model.ids import Kind, Millis
from acumen.model.jobs.job import Job
from acumen.model.jobs.lag import LearningLag
from acumen.model.memories.base import Status
from acumen.model.memories.search import Filter
from acumen.model.metering.llm_call import Spent
from acumen.model.metering.usage import SEARCHED, UNRESOLVED
from acumen.model.operations.alert import Alert, Delivery
from acumen.model.operations.operation import OperationFilter, SourceCounts
from acumen.model.times import DAY_MS, HOUR_MS, MINUTE_MS
from acumen.settings import Settings
from acumen.storage.store import Tx

DEAD_LETTERS_LISTED = 20
ALERTS_LISTED = 20
DELIVERIES_LISTED = 5
HOURS = 24
# Percentiles are taken over this many of the latest calls.
TIMED = 1_000
# With less free space than this the next writes may fail.
LEAST_FREE_BYTES = 50 * 1024 * 1024


class SystemStatus(Struct, frozen=True):
    """`jobs` counts by event and state, `memories` by kind and status."""

    database: str
    size_bytes: int
    jobs: Mapping[str, Mapping[str, int]]
    dead_letters: Sequence[Job]
    memories: Mapping[Kind, Mapping[str, int]]
    turns: int
    without_vector: int
    metered_since: Millis | None
    alerts: Sequence[Alert]
    llm_today: Spent
    learning: LearningLag


async def status(deps: Deps) -> SystemStatus:
    return await deps.store.read(lambda tx: _status(tx, deps))


def _status(tx: Tx, deps: Deps) -> SystemStatus:
    database, conn = tx.scope.db, tx.scope.conn
    return SystemStatus(
        database=database.version(conn),
        size_bytes=database.size_bytes(conn),
        jobs=tx.jobs.count(),
        dead_letters=tx.jobs.find_dead_letters(DEAD_LETTERS_LISTED),
        memories={
            kind: {str(status): tx.by_kind[kind].count(Filter(statuses=(status,))) for status in Status}
            for kind in Kind
        },
        turns=tx.conversations.count_turns(),
        without_vector=sum(tx.search_rows.count_without_vector(deps.local_models.name, kind) for kind in Kind),
        metered_since=tx.usage.get_metered_since(),
        alerts=tx.alerts.find_latest(ALERTS_LISTED, only_open=True),
        llm_today=tx.llm_calls.get_spent(midnight(tx.at)),
        learning=tx.jobs.get_lag(),
    )


# --- activity ------------------------------------------------------------------------------------------------------


class Percentiles(Struct, frozen=True):
    """In milliseconds, over `count` calls."""

    p50: float
    p95: float
    p99: float
    count: int


class SourceActivity(Struct, frozen=True):
    counts: SourceCounts
    durations: Percentiles | None


class Activity(Struct, frozen=True):
    """`hours` counts operations per hour, oldest first, the current hour last; `lag_ms` is the wait of the oldest due
    job, None without a backlog. `growth_per_day` is in bytes, None in the first day of a database.
    """

    hours: Sequence[int]
    per_minute: float
    searches_last_hour: int
    lag_ms: int | None
    search_durations: Percentiles | None
    sources: Sequence[SourceActivity]
    llm_calls: Spent
    deliveries: Sequence[Delivery]
    unresolved_citations: int
    growth_per_day: float | None


async def activity(deps: Deps) -> Activity:
    return await deps.store.read(_activity)


def _activity(tx: Tx) -> Activity:
    this_hour = tx.at - tx.at % HOUR_MS
    counts, due = tx.hourly_counts.count_by_hour(Millis(this_hour - HOUR_MS * (HOURS - 1))), tx.jobs.overdue_since()
    hours = [counts.get(this_hour - HOUR_MS * back, 0) for back in reversed(range(HOURS))]
    age_days = (tx.at - tx.orgs.first_created_at()) / DAY_MS
    return Activity(
        hours=hours,
        per_minute=sum(hours[-2:]) / (60 + (tx.at - this_hour) / MINUTE_MS),
        searches_last_hour=tx.usage.count(SEARCHED, Millis(tx.at - HOUR_MS)),
        lag_ms=None if due is None else tx.at - due,
        search_durations=percentiles(tx.usage.find_latencies(TIMED)),
        sources=_sources(tx),
        llm_calls=tx.llm_calls.get_spent(Millis(tx.at - DAY_MS)),
        deliveries=tx.alerts.find_deliveries(DELIVERIES_LISTED),
        unresolved_citations=tx.usage.count(UNRESOLVED, Millis(tx.at - 30 * DAY_MS)),
        growth_per_day=tx.scope.db.size_bytes(tx.scope.conn) / age_days if age_days >= 1 else None,
    )


def _sources(tx: Tx) -> list[SourceActivity]:
    durations: dict[str, list[float]] = {}
    for operation in tx.operations.find_latest(OperationFilter(), TIMED, TIMED):
        if operation.duration_ms is not None:
            durations.setdefault(operation.source, []).append(operation.duration_ms)
    counted = tx.hourly_counts.count_by_source()
    return [SourceActivity(counts, percentiles(durations.get(counts.source, ()))) for counts in counted]


def percentiles(values: Sequence[float]) -> Percentiles | None:
    """Each is a value that occurred; None without values."""
    ordered = sorted(values)
    if not ordered:
        return None
    p50, p95, p99 = (ordered[min(len(ordered) - 1, int(len(ordered) * share))] for share in (0.5, 0.95, 0.99))
    return Percentiles(p50, p95, p99, len(ordered))


async def sources_last_seen(deps: Deps) -> list[tuple[str, Millis | None]]:
    """To the hour where the operations themselves have expired."""

    def read(tx: Tx) -> list[tuple[str, Millis | None]]:
        counted = tx.hourly_counts.count_by_source()
        return [
            (counts.source, tx.operations.get_last_received(counts.source) or counts.last_hour) for counts in counted
        ]

    return await deps.store.read(read)


def free_bytes(settings: Settings) -> int | None:
    """On the disk of the data folder; None when the database server has its own."""
    return None if settings.database_url else shutil.disk_usage(settings.data_dir).free
