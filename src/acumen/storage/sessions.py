"""What is known of a session beyond its turns, as rows: whether it is over, and how its caller says it ended."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from acumen.model.evaluation import Extent, Outcome, SessionKey, Stated
from acumen.model.ids import InteractionId, Millis, RequestId, SessionId, UserId
from acumen.storage.scope import Scope, in_batches
from acumen.storage.tables import interactions, requests, sessions


@dataclass(frozen=True, slots=True)
class Grown:
    """A session to which something was added."""

    session_id: SessionId
    last_id: InteractionId
    last_at: Millis  # when its newest request came
    finished: bool  # whether a request said that it is over


@dataclass(frozen=True, slots=True)
class Ended:
    """A session of the past, with the version of the agent that took part."""

    key: SessionKey
    agent_version: str


@dataclass(frozen=True, slots=True)
class WantedOutcomes:
    """Which stated outcomes; None means "any". Times are those at which the caller says it ended."""

    sessions: Sequence[SessionId] | None = None
    user_id: UserId | None = None
    source: str | None = None
    outcome: Outcome | None = None
    label: str | None = None
    since: Millis | None = None
    until: Millis | None = None


class Sessions:
    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    def exists(self, user: UserId, session: SessionId) -> bool:
        """Whether anything was published in it."""
        c = requests.c
        query = sa.select(c.request_id).where(c.org_id == self._scope.org, c.session_id == session, c.user_id == user)
        return self._scope.one(query.limit(1)) is not None

    def users_of(self, session: SessionId, limit: int) -> list[UserId]:
        """Whose session it is; ids being the callers' own, there may be several, the last to speak first."""
        c = requests.c
        query = sa.select(c.user_id).where(c.org_id == self._scope.org, c.session_id == session).group_by(c.user_id)
        newest = query.order_by(sa.func.max(c.created_at).desc(), c.user_id).limit(limit)
        return [UserId(row.user_id) for row in self._scope.all(newest)]

    def extent(self, user: UserId, session: SessionId) -> Extent:
        i, r = interactions.c, requests.c
        query = (
            sa.select(sa.func.max(i.interaction_id), sa.func.count(), sa.func.min(i.created_at))
            .join_from(requests, interactions, sa.and_(r.org_id == i.org_id, r.request_id == i.request_id))
            .where(r.org_id == self._scope.org, r.session_id == session, r.user_id == user)
        )
        last, count, first_at = self._scope.conn.execute(query).one()
        return Extent(InteractionId(last or 0), count, Millis(first_at or 0))

    def grown(self, user: UserId, seen: InteractionId) -> list[Grown]:
        """Those in which a user's turns came after `seen`, in the order of their newest turns."""
        i, r = interactions.c, requests.c
        last = sa.func.max(i.interaction_id).label("last_id")
        finished = sa.func.max(sa.case((r.session_finished, 1), else_=0)).label("finished")
        query = (
            sa.select(i.session_id, last, sa.func.max(r.created_at).label("last_at"), finished)
            .join_from(interactions, requests, sa.and_(r.org_id == i.org_id, r.request_id == i.request_id))
            .where(i.org_id == self._scope.org, i.user_id == user, i.interaction_id > seen)
            .group_by(i.session_id)
            .order_by(last)
        )
        return [
            Grown(SessionId(row.session_id), InteractionId(row.last_id), Millis(row.last_at), bool(row.finished))
            for row in self._scope.all(query)
        ]

    def ended_between(self, since: Millis, until: Millis, sources: Sequence[str] | None) -> list[Ended]:
        """Those whose newest request came in that time, both ends included, the earliest first."""
        c = requests.c
        newest, version = sa.func.max(c.created_at), sa.func.max(c.agent_version).label("agent_version")
        query = sa.select(c.user_id, c.session_id, version).where(c.org_id == self._scope.org)
        if sources is not None:
            query = query.where(c.source.in_(sources))
        query = query.group_by(c.user_id, c.session_id).having(newest.between(since, until))
        rows = self._scope.all(query.order_by(newest, c.user_id, c.session_id))
        return [Ended((UserId(row.user_id), SessionId(row.session_id)), row.agent_version) for row in rows]

    def finish(self, user: UserId, session: SessionId) -> None:
        self._set(user, session, {"finished_at": self._scope.at})

    def finished_at(self, user: UserId, session: SessionId) -> Millis | None:
        row = self._scope.one(sa.select(sessions.c.finished_at).where(*self._of(user, session)))
        return None if row is None or row.finished_at is None else Millis(row.finished_at)

    def finished(self, user: UserId, ids: Sequence[SessionId]) -> set[SessionId]:
        """Those of them that are over."""
        c = sessions.c
        query = sa.select(c.session_id).where(
            c.org_id == self._scope.org, c.user_id == user, c.session_id.in_(ids), c.finished_at.is_not(None)
        )
        return {SessionId(row.session_id) for row in self._scope.all(query)}

    # --- how they ended, as their callers state it -----------------------------------------------------------------

    def state(self, stated: Stated) -> None:
        """A later word takes the place of an earlier one."""
        values = {
            "outcome": stated.outcome,
            "outcome_source": stated.source,
            "outcome_label": stated.label,
            "outcome_revision": stated.revision,
            "outcome_at": stated.occurred_at,
            "outcome_stated_at": stated.stated_at,
            "outcome_detail": {
                "value": stated.value,
                "metadata": stated.metadata,
                "contract_digest": stated.contract_digest,
                "trajectory_digest": stated.trajectory_digest,
                "through_request": stated.through_request,
            },
        }
        self._set(stated.user_id, stated.session_id, values)

    def stated(self, user: UserId, session: SessionId) -> Stated | None:
        row = self._scope.one(sa.select(sessions).where(*self._of(user, session), sessions.c.outcome.is_not(None)))
        return None if row is None else _stated(row)

    def outcomes(self, wanted: WantedOutcomes, limit: int, offset: int) -> list[Stated]:
        """The latest first."""
        c = sessions.c
        query = sa.select(sessions).where(c.org_id == self._scope.org, c.outcome.is_not(None), *_outcomes(wanted))
        query = query.order_by(c.outcome_at.desc(), c.user_id, c.session_id).limit(limit).offset(offset)
        return [_stated(row) for row in self._scope.all(query)]

    def count_stated(self, user: UserId) -> int:
        return self._scope.count(sessions, sessions.c.user_id == user, sessions.c.outcome.is_not(None))

    # --- erasure ---------------------------------------------------------------------------------------------------

    def delete(self, session: SessionId) -> int:
        return self._scope.delete(sessions, sessions.c.session_id == session)

    def delete_empty(self, keys: Sequence[SessionKey]) -> None:
        """What was known of those in which nothing is left."""
        for user, session in keys:
            if not self.exists(user, session):
                self._scope.delete(sessions, sessions.c.user_id == user, sessions.c.session_id == session)

    def of_requests(self, ids: Sequence[RequestId]) -> list[SessionKey]:
        c = requests.c
        found: set[SessionKey] = set()
        for some in in_batches(ids):
            query = sa.select(c.user_id, c.session_id).where(c.org_id == self._scope.org, c.request_id.in_(some))
            found |= {(UserId(row.user_id), SessionId(row.session_id)) for row in self._scope.all(query.distinct())}
        return sorted(found)

    def _set(self, user: UserId, session: SessionId, values: dict[str, Any]) -> None:
        s = self._scope
        statement = s.db.insert(sessions).on_conflict_do_update(
            index_elements=["org_id", "user_id", "session_id"], set_={**values, "updated_at": s.at}
        )
        s.conn.execute(statement, s.stamp({"user_id": user, "session_id": session, **values}))

    def _of(self, user: UserId, session: SessionId) -> tuple[sa.ColumnElement[bool], ...]:
        c = sessions.c
        return c.org_id == self._scope.org, c.user_id == user, c.session_id == session


def _outcomes(wanted: WantedOutcomes) -> list[sa.ColumnElement[bool]]:
    c = sessions.c
    asked: list[tuple[Any, Callable[[Any], sa.ColumnElement[bool]]]] = [
        (wanted.sessions, c.session_id.in_),
        (wanted.user_id, c.user_id.__eq__),
        (wanted.source, c.outcome_source.__eq__),
        (wanted.outcome, c.outcome.__eq__),
        (wanted.label, c.outcome_label.__eq__),
        (wanted.since, c.outcome_at.__ge__),
        (wanted.until, c.outcome_at.__le__),
    ]
    return [condition(value) for value, condition in asked if value is not None]


def _stated(row: Any) -> Stated:
    detail = row.outcome_detail or {}
    through = detail.get("through_request")
    return Stated(
        user_id=UserId(row.user_id),
        session_id=SessionId(row.session_id),
        outcome=Outcome(row.outcome),
        occurred_at=Millis(row.outcome_at),
        stated_at=Millis(row.outcome_stated_at),
        source=row.outcome_source or "",
        label=row.outcome_label,
        value=detail.get("value"),
        metadata=detail.get("metadata"),
        revision=row.outcome_revision,
        contract_digest=detail.get("contract_digest", ""),
        trajectory_digest=detail.get("trajectory_digest", ""),
        through_request=None if through is None else RequestId(through),
    )
