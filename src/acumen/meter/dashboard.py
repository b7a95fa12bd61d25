"""Interactions, memories and session outcomes per day, compared with the previous period."""

from collections.abc import Mapping

from msgspec import Struct

from acumen.deps import Deps
from acumen.model.ids import Kind, Millis
from acumen.model.metering.figures import ReportPeriod, Totals
from acumen.model.times import DAY_MS
from acumen.storage.store import Tx

PLAYBOOKS = (Kind.USER_PLAYBOOK, Kind.AGENT_PLAYBOOK)

# Under the beginning of a day (UTC); days that are not named had none.
PerDay = Mapping[Millis, int]


class PeriodTotals(Struct, frozen=True):
    """Of one period."""

    interactions: int
    profiles: int
    playbooks: int
    ended: Totals


class Dashboard(Struct, frozen=True):
    """`days` are the beginnings of all days of the series, in order."""

    now: PeriodTotals
    before: PeriodTotals
    days: list[Millis]
    interactions: PerDay
    profiles: PerDay
    playbooks: PerDay
    ended: Mapping[Millis, Totals]


async def stats(days_back: int, deps: Deps) -> Dashboard:
    """The last days, today included; days are days of UTC."""
    tomorrow = (deps.now() // DAY_MS + 1) * DAY_MS
    period = ReportPeriod(Millis(max(0, tomorrow - days_back * DAY_MS)), Millis(tomorrow - 1))
    return await deps.store.read(lambda tx: _stats(tx, period))


def _stats(tx: Tx, period: ReportPeriod) -> Dashboard:
    both = ReportPeriod(period.before.since, period.until)
    counts = (
        tx.session_statistics.count_turns_per_day(both),
        tx.session_statistics.count_memories_per_day([Kind.PROFILE], both),
        tx.session_statistics.count_memories_per_day(PLAYBOOKS, both),
    )
    interactions, profiles, playbooks = (
        {day: n for day, n in per_day.items() if period.holds(day)} for per_day in counts
    )
    ended = dict(tx.session_statistics.get_buckets(period, DAY_MS, 0))
    # The series starts on the first day with data.
    first = min((*interactions, *profiles, *playbooks, *ended), default=period.until + 1)
    return Dashboard(
        now=_sums(tx, period, counts),
        before=_sums(tx, period.before, counts),
        days=[Millis(day) for day in range(first, period.until + 1, DAY_MS)],
        interactions=interactions,
        profiles=profiles,
        playbooks=playbooks,
        ended=ended,
    )


def _sums(tx: Tx, period: ReportPeriod, counts: tuple[PerDay, PerDay, PerDay]) -> PeriodTotals:
    turns, profiles, playbooks = (sum(n for day, n in per_day.items() if period.holds(day)) for per_day in counts)
    return PeriodTotals(turns, profiles, playbooks, tx.session_statistics.get_totals(period))
