"""Who said something that fits a filter, and what of it: what a rerun reads."""

from collections.abc import Callable

import sqlalchemy as sa
from msgspec import Struct

from acumen.model.conversation import Request
from acumen.model.ids import Millis, UserId
from acumen.storage.engine.scope import OrgScope
from acumen.storage.tables import requests


class RequestFilter(Struct, frozen=True):
    """Which requests are meant; None means any. Times are those of arrival, `until` included."""

    user_id: UserId | None = None
    source: str | None = None
    agent_versions: tuple[str, ...] | None = None
    since: Millis | None = None
    until: Millis | None = None

    def admits(self, request: Request) -> bool:
        """The same filter over requests that were read."""
        return (
            (self.user_id is None or request.user_id == self.user_id)
            and (self.source is None or request.source == self.source)
            and (self.agent_versions is None or request.agent_version in self.agent_versions)
            and (self.since is None or request.created_at >= self.since)
            and (self.until is None or request.created_at <= self.until)
        )


class RequestUsers:
    def __init__(self, scope: OrgScope) -> None:
        self._scope = scope

    def find(self, criteria: RequestFilter) -> list[UserId]:
        """Users with a matching request that may be learned from, by name."""
        c = requests.c
        query = sa.select(c.user_id).where(
            c.org_id == self._scope.org, sa.not_(c.evaluation_only), *_conditions(criteria)
        )
        return [UserId(row.user_id) for row in self._scope.all(query.distinct().order_by(c.user_id))]


def _conditions(criteria: RequestFilter) -> list[sa.ColumnElement[bool]]:
    c = requests.c
    conditions: tuple[tuple[object, Callable[[], sa.ColumnElement[bool]]], ...] = (
        (criteria.user_id, lambda: c.user_id == criteria.user_id),
        (criteria.source, lambda: c.source == criteria.source),
        (criteria.agent_versions, lambda: c.agent_version.in_(criteria.agent_versions or ())),
        (criteria.since, lambda: c.created_at >= criteria.since),
        (criteria.until, lambda: c.created_at <= criteria.until),
    )
    return [condition() for value, condition in conditions if value is not None]
