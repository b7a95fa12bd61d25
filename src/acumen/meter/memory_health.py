"""Counts for the overview: active memories by age and use, session outcomes, unanswered searches."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from acumen.deps import Deps
from acumen.model.ids import Millis
from acumen.model.memories.search import Filter
from acumen.model.metering.usage import Unanswered
from acumen.model.times import DAY_MS
from acumen.storage.store import Tx

UNANSWERED = 5


class MemoryHealth(Struct, frozen=True):
    """`ages` counts by (age bucket, bucket of the last injection); buckets are the edges given, oldest last."""

    active: int
    created: int
    sessions: int
    successes: int
    unanswered: Sequence[Unanswered]
    ages: Mapping[tuple[int, int], int]


async def of_period(days: int, age_edges: Sequence[int], deps: Deps) -> MemoryHealth:
    """`age_edges` are in days."""
    at = deps.now()
    return await deps.store.read(lambda tx: _health(tx, Millis(at - days * DAY_MS), at, age_edges))


def _health(tx: Tx, since: Millis, at: Millis, age_edges: Sequence[int]) -> MemoryHealth:
    repositories = tx.by_kind.values()
    sessions, successes = tx.outcomes.count_sessions(since, at, None)
    return MemoryHealth(
        active=sum(memories.count(Filter()) for memories in repositories),
        created=sum(memories.count(Filter(since=since, by_creation=True)) for memories in repositories),
        sessions=sessions,
        successes=successes,
        unanswered=tx.injections.find_unanswered(since, UNANSWERED),
        ages=tx.memory_browser.count_by_age([Millis(at - days * DAY_MS) for days in age_edges]),
    )
