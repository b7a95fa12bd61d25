"""What is known of a session beyond its turns, as rows."""

from collections.abc import Sequence

import sqlalchemy as sa

from acumen.model.ids import SessionId, UserId
from acumen.storage.scope import Scope
from acumen.storage.tables import requests, sessions


class Sessions:
    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    def exists(self, user: UserId, session: SessionId) -> bool:
        """Whether anything was published in it."""
        c = requests.c
        query = sa.select(c.request_id).where(c.org_id == self._scope.org, c.session_id == session, c.user_id == user)
        return self._scope.one(query.limit(1)) is not None

    def finish(self, user: UserId, session: SessionId) -> None:
        s = self._scope
        statement = s.db.insert(sessions).on_conflict_do_update(
            index_elements=["org_id", "user_id", "session_id"], set_={"finished_at": s.at, "updated_at": s.at}
        )
        s.conn.execute(statement, s.stamp({"user_id": user, "session_id": session, "finished_at": s.at}))

    def finished(self, user: UserId, ids: Sequence[SessionId]) -> set[SessionId]:
        """Those of them that are over."""
        c = sessions.c
        query = sa.select(c.session_id).where(
            c.org_id == self._scope.org, c.user_id == user, c.session_id.in_(ids), c.finished_at.is_not(None)
        )
        return {SessionId(row.session_id) for row in self._scope.all(query)}

    def delete(self, session: SessionId) -> int:
        return self._scope.delete(sessions, sessions.c.session_id == session)
