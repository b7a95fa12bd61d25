"""What was said, learned and judged, day by day and against the time before."""

from collections.abc import Mapping
from dataclasses import dataclass

from acumen.deps import Deps
from acumen.model.figures import Made, Period, Totals
from acumen.model.ids import Kind, Millis
from acumen.model.profile import DAY_MS
from acumen.storage.store import Tx

PLAYBOOKS = (Kind.USER_PLAYBOOK, Kind.AGENT_PLAYBOOK)


@dataclass(frozen=True, slots=True)
class Sums:
    made: Made
    ended: Totals


@dataclass(frozen=True, slots=True)
class Dashboard:
    """`days` are the beginnings of all days of the series, in order; what a series does not name is nothing."""

    now: Sums
    before: Sums
    days: list[Millis]
    interactions: Mapping[Millis, int]
    profiles: Mapping[Millis, int]
    playbooks: Mapping[Millis, int]
    ended: Mapping[Millis, Totals]


async def stats(days_back: int, deps: Deps) -> Dashboard:
    """The last days, today included; days are days of UTC."""
    tomorrow = (deps.now() // DAY_MS + 1) * DAY_MS
    period = Period(Millis(max(0, tomorrow - days_back * DAY_MS)), Millis(tomorrow - 1))
    return await deps.store.read(lambda tx: _stats(tx, period))


def _stats(tx: Tx, period: Period) -> Dashboard:
    figures = tx.figures
    interactions = figures.said_per_day(period, DAY_MS)
    profiles = figures.made_per_day([Kind.PROFILE], period, DAY_MS)
    playbooks = figures.made_per_day(PLAYBOOKS, period, DAY_MS)
    ended = dict(figures.buckets(period, DAY_MS, 0))
    # Days before anything happened say nothing.
    first = min((*interactions, *profiles, *playbooks, *ended), default=period.until + 1)
    return Dashboard(
        now=Sums(figures.made(period), figures.totals(period)),
        before=Sums(figures.made(period.before), figures.totals(period.before)),
        days=[Millis(day) for day in range(first, period.until + 1, DAY_MS)],
        interactions=interactions,
        profiles=profiles,
        playbooks=playbooks,
        ended=ended,
    )
