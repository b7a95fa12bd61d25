"""What is known of a session beyond its turns, as rows: whether it is over, and how its caller says it ended."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import sqlalchemy as sa
from msgspec import Struct

from acumen.model.ids import InteractionId, Millis, RequestId, SessionId, UserId
from acumen.model.metering.evaluation import Extent, Outcome, OutcomeFilter, SessionKey, Stated
from acumen.storage.engine.compiled_statement import CompiledSelect, SelectByIds
from acumen.storage.engine.scope import OrgScope, value_of
from acumen.storage.tables import interactions, requests, sessions


class GrownSession(Struct, frozen=True):
    """A session to which something was added."""

    session_id: SessionId
    last_id: InteractionId
    last_at: Millis  # when its newest request came
    finished: bool  # whether a request said that it is over


class EndedSession(Struct, frozen=True):
    """A session of the past, with the version of the agent that took part."""

    key: SessionKey
    agent_version: str


# Asked for every publish: built once.
_FINISHED = SelectByIds(
    sessions.c.session_id,
    [sessions.c.session_id],
    where=sa.and_(sessions.c.user_id == sa.bindparam("user"), sessions.c.finished_at.is_not(None)),
)


@cache
def _grown() -> CompiledSelect:
    i, r = interactions.c, requests.c
    last = sa.func.max(i.interaction_id).label("last_id")
    finished = sa.func.max(sa.case((r.session_finished, 1), else_=0)).label("finished")
    return CompiledSelect(
        sa.select(i.session_id, last, sa.func.max(r.created_at).label("last_at"), finished)
        .join_from(interactions, requests, sa.and_(r.org_id == i.org_id, r.request_id == i.request_id))
        .where(i.org_id == sa.bindparam("org"), i.user_id == sa.bindparam("user"))
        .where(i.interaction_id > sa.bindparam("seen"))
        .group_by(i.session_id)
        .order_by(last)
    )


# What of a stated outcome is kept in one column.
_DETAILS = ("value", "metadata", "contract_digest", "trajectory_digest", "through_request")


class SessionRecords:
    def __init__(self, scope: OrgScope) -> None:
        self._scope = scope

    def exists(self, user: UserId, session: SessionId) -> bool:
        """Whether anything was published in it."""
        c = requests.c
        query = self._scope.select(c.request_id).where(c.session_id == session, c.user_id == user)
        return self._scope.first(query.limit(1)) is not None

    def find_users(self, session: SessionId, limit: int) -> list[UserId]:
        """The users of a session; ids are the callers' own, so there may be several, the most recent first."""
        c = requests.c
        query = self._scope.select(c.user_id).where(c.session_id == session).group_by(c.user_id)
        newest = query.order_by(sa.func.max(c.created_at).desc(), c.user_id).limit(limit)
        return [UserId(row.user_id) for row in self._scope.all(newest)]

    def get_extent(self, user: UserId, session: SessionId) -> Extent:
        i, r = interactions.c, requests.c
        query = (
            sa.select(sa.func.max(i.interaction_id), sa.func.count(), sa.func.min(i.created_at))
            .join_from(requests, interactions, sa.and_(r.org_id == i.org_id, r.request_id == i.request_id))
            .where(r.org_id == self._scope.org, r.session_id == session, r.user_id == user)
        )
        last, count, first_at = self._scope.conn.execute(query).one()
        return Extent(InteractionId(last or 0), count, Millis(first_at or 0))

    def find_grown(self, user: UserId, last_seen: InteractionId) -> list[GrownSession]:
        """Those in which a user's turns came after `seen`, in the order of their newest turns."""
        rows = _grown().rows(self._scope.conn, org=self._scope.org, user=user, seen=last_seen)
        return [GrownSession(**{**row, "finished": bool(row["finished"])}) for row in rows]

    def find_ended(self, since: Millis, until: Millis, sources: Sequence[str] | None) -> list[EndedSession]:
        """Those whose newest request came in that time, both ends included, and that had one of these sources.

        The earliest first.
        """
        c = requests.c
        newest, version = sa.func.max(c.created_at), sa.func.max(c.agent_version).label("agent_version")
        query = self._scope.select(c.user_id, c.session_id, version)
        query = query.group_by(c.user_id, c.session_id).having(newest.between(since, until))
        if sources is not None:
            query = query.having(sa.func.max(sa.case((c.source.in_(sources), 1), else_=0)) == 1)
        rows = self._scope.all(query.order_by(newest, c.user_id, c.session_id))
        return [EndedSession((UserId(row.user_id), SessionId(row.session_id)), row.agent_version) for row in rows]

    def finish(self, user: UserId, session: SessionId) -> None:
        self._set(user, session, {"finished_at": self._scope.at})

    def get_finished_at(self, user: UserId, session: SessionId) -> Millis | None:
        c = sessions.c
        row = self._scope.first(self._scope.select(c.finished_at).where(c.user_id == user, c.session_id == session))
        return None if row is None or row.finished_at is None else Millis(row.finished_at)

    def find_finished(self, user: UserId, ids: Sequence[SessionId]) -> set[SessionId]:
        """Those of them that are over."""
        rows = _FINISHED.rows(self._scope.conn, self._scope.org, ids, user=user)
        return {SessionId(row["session_id"]) for row in rows}

    # --- how they ended, as their callers state it -----------------------------------------------------------------

    def set_outcome(self, stated: Stated) -> None:
        """A later word takes the place of an earlier one."""
        values = {
            "outcome": stated.outcome,
            "outcome_source": stated.source,
            "outcome_label": stated.label,
            "outcome_revision": stated.revision,
            "outcome_at": stated.occurred_at,
            "outcome_stated_at": stated.stated_at,
            "outcome_detail": {name: getattr(stated, name) for name in _DETAILS},
        }
        self._set(stated.user_id, stated.session_id, values)

    def get_outcome(self, user: UserId, session: SessionId) -> Stated | None:
        c = sessions.c
        query = self._scope.select(sessions).where(c.user_id == user, c.session_id == session, c.outcome.is_not(None))
        row = self._scope.first(query)
        return None if row is None else _stated(row)

    def find_outcomes(self, criteria: OutcomeFilter, limit: int, offset: int) -> list[Stated]:
        """The latest first."""
        c = sessions.c
        query = self._scope.select(sessions).where(c.outcome.is_not(None), *_outcomes(criteria))
        query = query.order_by(c.outcome_at.desc(), c.user_id, c.session_id).limit(limit).offset(offset)
        return [_stated(row) for row in self._scope.all(query)]

    def count_outcomes(self, user: UserId) -> int:
        return self._scope.count(sessions, sessions.c.user_id == user, sessions.c.outcome.is_not(None))

    # --- erasure ---------------------------------------------------------------------------------------------------

    def delete(self, session: SessionId) -> int:
        return self._scope.delete(sessions, sessions.c.session_id == session)

    def delete_empty(self, keys: Sequence[SessionKey]) -> None:
        """What was known of those in which nothing is left."""
        for user, session in keys:
            if not self.exists(user, session):
                self._scope.delete(sessions, sessions.c.user_id == user, sessions.c.session_id == session)

    def find_by_requests(self, ids: Sequence[RequestId]) -> list[SessionKey]:
        c = requests.c
        rows = self._scope.all_in(self._scope.select(c.user_id, c.session_id).distinct(), c.request_id, ids)
        return sorted({(UserId(row.user_id), SessionId(row.session_id)) for row in rows})

    def _set(self, user: UserId, session: SessionId, values: dict[str, Any]) -> None:
        self._scope.upsert(sessions, {"user_id": user, "session_id": session}, values)


def _outcomes(criteria: OutcomeFilter) -> list[sa.ColumnElement[bool]]:
    c = sessions.c
    conditions: list[tuple[Any, Callable[[Any], sa.ColumnElement[bool]]]] = [
        (criteria.sessions, c.session_id.in_),
        (criteria.user_id, c.user_id.__eq__),
        (criteria.source, c.outcome_source.__eq__),
        (criteria.outcome, c.outcome.__eq__),
        (criteria.label, c.outcome_label.__eq__),
        (criteria.since, c.outcome_at.__ge__),
        (criteria.until, c.outcome_at.__le__),
    ]
    return [condition(value) for value, condition in conditions if value is not None]


def _stated(row: Any) -> Stated:
    of_row = {name: getattr(row, f"outcome_{name}") for name in ("label", "revision", "stated_at")}
    outcome = {"outcome": Outcome(row.outcome), "occurred_at": row.outcome_at, "source": row.outcome_source or ""}
    return value_of(Stated, row, **of_row, **outcome, **(row.outcome_detail or {}))
