"""How sessions ended, joined with what was shown in them, counted in SQL."""

from collections.abc import Iterable
from typing import Any

import sqlalchemy as sa

from acumen.model.ids import Kind, MemoryRef, Millis
from acumen.model.metering.usage import SHOWN
from acumen.storage.engine.scope import OrgScope
from acumen.storage.tables import evaluations, injections, operations, requests, usage_events

# How many, and how many of them succeeded.
Counted = tuple[int, int]

_SUCCESSES: sa.ColumnElement[Any] = sa.func.coalesce(sa.func.sum(sa.cast(evaluations.c.is_success, sa.Integer)), 0)


class Outcomes:
    def __init__(self, scope: OrgScope) -> None:
        self._scope = scope

    def count_sessions(self, since: Millis, until: Millis, user: str | None) -> Counted:
        """Sessions with a known outcome that ended in that time: of one user, or of all."""
        return self._counted(*self._ended(since, until, user))

    def count_sessions_with(self, ref: MemoryRef, since: Millis, until: Millis) -> Counted:
        """Those in which the memory was shown."""
        e, u = evaluations.c, usage_events.c
        shown = (
            sa.select(u.user_id, u.session_id)
            .where(u.org_id == self._scope.org, u.entity_type == str(ref.kind), u.entity_id == ref.id)
            .where(u.event_name == SHOWN, u.created_at <= until)
            .distinct()
            .subquery()
        )
        both = sa.and_(shown.c.user_id == e.user_id, shown.c.session_id == e.session_id)
        query: sa.Select[Any] = sa.select(sa.func.count(), _SUCCESSES).select_from(evaluations.join(shown, both))
        row = self._scope.first(query.where(*self._ended(since, until, None)))
        return int(row[0]), int(row[1])

    def count_by_memory(self, since: Millis, until: Millis) -> dict[MemoryRef, Counted]:
        """The same for every memory that was shown in that time."""
        e, u = evaluations.c, usage_events.c
        shown = (
            sa.select(u.entity_type, u.entity_id, u.user_id, u.session_id)
            .where(u.org_id == self._scope.org, u.event_name == SHOWN, u.created_at >= since, u.created_at <= until)
            .where(u.session_id.is_not(None))
            .distinct()
            .subquery()
        )
        both = sa.and_(shown.c.user_id == e.user_id, shown.c.session_id == e.session_id)
        query = (
            sa.select(shown.c.entity_type, shown.c.entity_id, sa.func.count(), _SUCCESSES)
            .select_from(evaluations.join(shown, both))
            .where(*self._ended(since, until, None))
            .group_by(shown.c.entity_type, shown.c.entity_id)
        )
        rows = self._scope.all(query)
        return {MemoryRef(Kind(row[0]), row[1]): (int(row[2]), int(row[3])) for row in rows}

    def count_by_user(self, since: Millis, until: Millis) -> dict[str, Counted]:
        e = evaluations.c
        query = sa.select(e.user_id, sa.func.count(), _SUCCESSES).where(*self._ended(since, until, None))
        return {row[0]: (int(row[1]), int(row[2])) for row in self._scope.all(query.group_by(e.user_id))}

    def sum_by_user(self, since: Millis, until: Millis) -> Iterable[Any]:
        """Per user: cases, successes, corrections, turns to resolution (sum, number), escalations."""
        e = evaluations.c
        query = sa.select(
            e.user_id,
            sa.func.count().label("cases"),
            _SUCCESSES.label("successes"),
            sa.func.sum(e.corrections).label("corrections"),
            sa.func.sum(e.turns_to_resolution).label("turns"),
            sa.func.count(e.turns_to_resolution).label("resolved"),
            sa.func.sum(sa.cast(e.is_escalated, sa.Integer)).label("escalated"),
        ).where(*self._ended(since, until, None))
        return self._scope.all(query.group_by(e.user_id))

    def sum_output_tokens(self, since: Millis, until: Millis) -> dict[str, tuple[int, int]]:
        """Per user: what models wrote in evaluated sessions, and in how many of them operations tell it."""
        e, o = evaluations.c, operations.c
        ended = self._scope.all(sa.select(e.user_id, e.session_id).where(*self._ended(since, until, None)))
        query = self._scope.select(o.session_id, o.user_id, sa.func.sum(o.tokens_out).label("tokens"))
        query = query.where(o.tokens_out.is_not(None)).group_by(o.session_id, o.user_id)
        wrote: dict[str, dict[str | None, int]] = {}
        # Joined, SQLite would begin with the operations, which are many more.
        for row in self._scope.all_in(query, o.session_id, {row.session_id for row in ended}):
            wrote.setdefault(row.session_id, {})[row.user_id] = int(row.tokens)
        by_user: dict[str, tuple[int, int]] = {}
        for user, session in ended:
            its = [tokens for whose, tokens in wrote.get(session, {}).items() if whose in (None, user)]
            if its:
                tokens, sessions = by_user.get(user, (0, 0))
                by_user[user] = (tokens + sum(its), sessions + 1)
        return by_user

    def count_published_sessions(self, since: Millis, until: Millis) -> dict[str, int]:
        """How many sessions of each user were published in."""
        r = requests.c
        query = sa.select(r.user_id, sa.func.count(r.session_id.distinct())).where(
            r.org_id == self._scope.org, r.created_at >= since, r.created_at <= until
        )
        return {row[0]: int(row[1]) for row in self._scope.all(query.group_by(r.user_id))}

    def find_stated_arms(self, experiment: str) -> dict[str, str]:
        """Users whose publisher said which arm of the experiment they are in."""
        r = requests.c
        query = sa.select(r.user_id, sa.func.max(r.experiment_arm)).where(
            r.org_id == self._scope.org, r.experiment_id == experiment, r.experiment_arm.is_not(None)
        )
        return {row[0]: row[1] for row in self._scope.all(query.group_by(r.user_id))}

    def find_assigned_users(self, experiment: str) -> dict[str, str]:
        """Users whose searches were answered under the experiment, and the arm they were in."""
        i = injections.c
        query = sa.select(i.user_id, sa.func.max(i.experiment_arm)).where(
            i.org_id == self._scope.org, i.experiment_id == experiment, i.user_id.is_not(None)
        )
        return {row[0]: row[1] for row in self._scope.all(query.group_by(i.user_id))}

    def _counted(self, *where: sa.ColumnElement[bool]) -> Counted:
        query: sa.Select[Any] = sa.select(sa.func.count(), _SUCCESSES).select_from(evaluations)
        row = self._scope.first(query.where(*where))
        return int(row[0]), int(row[1])

    def _ended(self, since: Millis, until: Millis, user: str | None) -> list[sa.ColumnElement[bool]]:
        e = evaluations.c
        where = [e.org_id == self._scope.org, e.ended_at >= since, e.ended_at <= until]
        return where if user is None else [*where, e.user_id == user]
