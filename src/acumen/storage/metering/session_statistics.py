"""Sums over many rows, added up by the database: how sessions ended, what shadows would have done, what was learned."""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from acumen.model.ids import Kind, MemoryRef, Millis, SessionId, UserId
from acumen.model.memories.base import Status
from acumen.model.metering.evaluation import FailureType, Preference, SessionKey
from acumen.model.metering.figures import MOST_CORRECTIONS, Attribution, ReportPeriod, Totals, Wins
from acumen.model.metering.usage import CITED
from acumen.model.times import DAY_MS
from acumen.storage.engine.scope import OrgScope
from acumen.storage.tables import (
    agent_playbooks,
    evaluations,
    interactions,
    profiles,
    shadow_verdicts,
    usage_events,
    user_playbooks,
)

# None: sessions of any source.
Sources = Sequence[str] | None

_MEMORIES = {
    Kind.PROFILE: profiles,
    Kind.USER_PLAYBOOK: user_playbooks,
    Kind.AGENT_PLAYBOOK: agent_playbooks,
}


class SessionStatistics:
    def __init__(self, scope: OrgScope) -> None:
        self._scope = scope

    # --- how sessions ended ----------------------------------------------------------------------------------------

    def get_totals(self, period: ReportPeriod, sources: Sources = None) -> Totals:
        query = sa.select(*_TOTALS).where(*self._ended(period, sources))
        return _totals(self._scope.conn.execute(query).one())

    def get_buckets(
        self, period: ReportPeriod, width: int, origin: int, sources: Sources = None
    ) -> list[tuple[Millis, Totals]]:
        """The periods with data, in order, each under the time at which it begins. All times in milliseconds."""
        start = ((evaluations.c.ended_at - origin) // width).label("bucket")
        query = sa.select(start, *_TOTALS).where(*self._ended(period, sources)).group_by(start).order_by(start)
        return [(Millis(origin + row.bucket * width), _totals(row)) for row in self._scope.all(query)]

    def count_corrections(self, period: ReportPeriod, sources: Sources = None) -> list[int]:
        """How many sessions had none, one, two … corrections."""
        c = evaluations.c.corrections
        bin_ = sa.case((c > MOST_CORRECTIONS, MOST_CORRECTIONS), else_=c).label("bin")
        query = sa.select(bin_, sa.func.count()).where(*self._ended(period, sources)).group_by(bin_)
        counts = dict(self._scope.all(query))
        return [counts.get(number, 0) for number in range(MOST_CORRECTIONS + 1)]

    def get_attribution(self, period: ReportPeriod, limit: int, sources: Sources = None) -> list[Attribution]:
        """The memories cited in those sessions: the ones first that moved most, in either direction."""
        cited = self._cited()
        c = evaluations.c
        good, bad = _count(c.is_success), _count(sa.not_(c.is_success))
        query = (
            sa.select(cited.c.entity_type, cited.c.entity_id, good.label("good"), bad.label("bad"))
            .join_from(evaluations, cited, _same_session(cited))
            .where(*self._ended(period, sources))
            .group_by(cited.c.entity_type, cited.c.entity_id)
            .order_by(sa.func.abs(good - bad).desc(), sa.func.count().desc(), cited.c.entity_type, cited.c.entity_id)
        )
        return [
            Attribution(MemoryRef(Kind(row.entity_type), row.entity_id), int(row.good), int(row.bad))
            for row in self._scope.all(query.limit(limit))
        ]

    def find_sessions_citing(
        self, ref: MemoryRef, period: ReportPeriod, limit: int, sources: Sources = None
    ) -> list[SessionId]:
        """The latest first."""
        c = usage_events.c
        cited = self._cited(c.entity_type == ref.kind, c.entity_id == ref.id)
        query = (
            sa.select(evaluations.c.session_id)
            .join_from(evaluations, cited, _same_session(cited))
            .where(*self._ended(period, sources))
            .order_by(evaluations.c.ended_at.desc(), evaluations.c.session_id)
        )
        return [SessionId(row.session_id) for row in self._scope.all(query.limit(limit))]

    def get_first_ended(self) -> Millis | None:
        """When the first session ended that was ever judged."""
        c = evaluations.c
        first = self._scope.first(self._scope.select(c.ended_at).order_by(c.ended_at).limit(1))
        return None if first is None else Millis(first.ended_at)

    def count_by_source(self, period: ReportPeriod) -> dict[str, int]:
        """How many sessions ended, source by source."""
        c = evaluations.c
        query = sa.select(c.source, sa.func.count()).where(*self._ended(period, None)).group_by(c.source)
        return dict(self._scope.all(query.order_by(c.source)))

    def find_sessions(self, period: ReportPeriod, sources: Sources, limit: int) -> list[SessionKey]:
        """The latest first."""
        c = evaluations.c
        query = sa.select(c.user_id, c.session_id).where(*self._ended(period, sources))
        rows = self._scope.all(query.order_by(c.ended_at.desc(), c.evaluation_id.desc()).limit(limit))
        return [(UserId(row.user_id), SessionId(row.session_id)) for row in rows]

    # --- shadows ---------------------------------------------------------------------------------------------------

    def count_wins(self, period: ReportPeriod, width: int, origin: int = 0) -> list[tuple[Millis, Wins]]:
        """How answers did against their shadows, bucket by bucket."""
        c = shadow_verdicts.c
        start = ((c.created_at - origin) // width).label("bucket")
        won = _count(c.preference.in_([Preference.REGULAR, Preference.REGULAR_SLIGHTLY])).label("won")
        lost = _count(c.preference.in_([Preference.SHADOW, Preference.SHADOW_SLIGHTLY])).label("lost")
        query = (
            sa.select(start, won, lost, sa.func.count().label("all"))
            .where(c.org_id == self._scope.org, c.created_at.between(period.since, period.until))
            .group_by(start)
            .order_by(start)
        )
        return [
            (Millis(origin + row.bucket * width), Wins(int(row.won), int(row.lost), int(row.all - row.won - row.lost)))
            for row in self._scope.all(query)
        ]

    # --- what came to be -------------------------------------------------------------------------------------------

    def count_memories_per_day(self, kinds: Sequence[Kind], period: ReportPeriod) -> dict[Millis, int]:
        """Memories that came to be and still stand, under the beginnings of the days (UTC)."""
        return self._per_day([_MEMORIES[kind] for kind in kinds], period)

    def count_turns_per_day(self, period: ReportPeriod) -> dict[Millis, int]:
        return self._per_day([interactions], period)

    def _per_day(self, tables: Sequence[sa.Table], period: ReportPeriod) -> dict[Millis, int]:
        counts: dict[Millis, int] = {}
        for table in tables:
            start = (table.c.created_at // DAY_MS).label("day")
            query = sa.select(start, sa.func.count()).where(*self._made(table, period)).group_by(start)
            for day, number in self._scope.all(query):
                at = Millis(day * DAY_MS)
                counts[at] = counts.get(at, 0) + number
        return counts

    def _made(self, table: sa.Table, period: ReportPeriod) -> list[sa.ColumnElement[bool]]:
        c = table.c
        mine = [c.org_id == self._scope.org, c.created_at.between(period.since, period.until)]
        return [*mine, c.status == Status.CURRENT] if "status" in c else mine

    def _ended(self, period: ReportPeriod, sources: Sources) -> list[sa.ColumnElement[bool]]:
        c = evaluations.c
        mine = [c.org_id == self._scope.org, c.ended_at.between(period.since, period.until)]
        return mine if sources is None else [*mine, c.source.in_(sources)]

    def _cited(self, *where: sa.ColumnElement[bool]) -> sa.Subquery:
        """Each memory once per session, however often it was cited there."""
        c = usage_events.c
        names = (c.org_id, c.user_id, c.session_id, c.entity_type, c.entity_id)
        mine = (c.org_id == self._scope.org, c.event_name == CITED)
        return sa.select(*names).where(*mine, *where).distinct().subquery("cited")


def _same_session(cited: sa.Subquery) -> sa.ColumnElement[bool]:
    e = evaluations.c
    return sa.and_(cited.c.org_id == e.org_id, cited.c.user_id == e.user_id, cited.c.session_id == e.session_id)


def _count(condition: Any) -> sa.ColumnElement[int]:
    """Rows for which it holds; no rows are none, and not null."""
    return sa.func.coalesce(sa.func.sum(sa.case((condition, 1), else_=0)), 0)


def _sum(column: Any) -> sa.ColumnElement[int]:
    return sa.func.coalesce(sa.func.sum(column), 0)


_C = evaluations.c
_TOTALS = (
    sa.func.count().label("sessions"),
    _count(_C.is_success).label("successes"),
    _count(sa.and_(sa.not_(_C.is_success), _C.failure_type == FailureType.SYSTEM_ERROR)).label("system_errors"),
    _sum(_C.corrections).label("corrections"),
    _count(_C.turns_to_resolution.is_not(None)).label("resolved"),
    _sum(_C.turns_to_resolution).label("turns"),
    _count(_C.is_escalated).label("escalations"),
)


def _totals(row: Any) -> Totals:
    return Totals(*(int(getattr(row, column.name)) for column in _TOTALS))
