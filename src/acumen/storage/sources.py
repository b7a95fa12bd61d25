"""Which lessons of users a shared lesson was written from, as rows."""

import sqlalchemy as sa

from acumen.storage.scope import Scope
from acumen.storage.tables import agent_playbook_sources


class Sources:
    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    def of(self, agent_playbook_id: int) -> list[int]:
        c = agent_playbook_sources.c
        query = sa.select(c.user_playbook_id).where(
            c.org_id == self._scope.org, c.agent_playbook_id == agent_playbook_id
        )
        return [row.user_playbook_id for row in self._scope.all(query.order_by(c.user_playbook_id))]
