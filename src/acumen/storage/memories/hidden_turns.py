"""Turns as evidence: search finds every turn, except those that tell what the user asked to forget.

What is hidden follows from the memories alone, so undoing a "forget" brings its turns back too.
"""

from collections.abc import Collection, Iterable
from functools import cache

import sqlalchemy as sa

from acumen.model.ids import InteractionId
from acumen.model.memories.base import Status
from acumen.model.memories.search import TURN
from acumen.storage.engine.compiled_statement import CompiledSelect, SelectByIds
from acumen.storage.engine.scope import OrgScope, in_batches
from acumen.storage.memories.search_rows import SearchRows
from acumen.storage.tables import interactions, profiles, search_rows, user_playbooks

_entity = search_rows.c.entity_id
_HIDDEN = SelectByIds(_entity, [_entity], where=sa.and_(search_rows.c.kind == TURN, search_rows.c.gone))

_EXISTING = SelectByIds(interactions.c.interaction_id, [interactions.c.interaction_id])


@cache
def _forgotten(table: sa.Table) -> CompiledSelect:
    """What a user's forgotten memories rest on."""
    c = table.c
    mine = (c.org_id == sa.bindparam("org"), c.user_id == sa.bindparam("user"))
    return CompiledSelect(sa.select(c.interaction_ids).where(*mine, c.status == sa.literal(str(Status.FORGOTTEN))))


class HiddenTurns:
    def __init__(self, scope: OrgScope, search: SearchRows) -> None:
        self._scope = scope
        self._search = search

    def find_hidden(self, turns: Collection[InteractionId]) -> set[InteractionId]:
        """Those of them that search must not find."""
        ids = [str(turn) for turn in turns]
        rows = (row for batch in in_batches(ids) for row in _HIDDEN.rows(self._scope.conn, self._scope.org, batch))
        return {InteractionId(int(row["entity_id"])) for row in rows}

    def refresh(self, user: str, turns: Iterable[InteractionId]) -> None:
        """Hides the turns that forgotten memories rest on, and shows the others of these."""
        turns = set(turns)
        forgotten, hidden = turns & self._forgotten(user), self.find_hidden(turns)
        if forgotten or hidden:
            self._hide(user, sorted(self._existing(forgotten - hidden)))
            self._show(sorted(self._existing(hidden - forgotten)))

    def refresh_users(self, users: set[str]) -> None:
        """The same for every turn that a forgotten memory of these users rests on."""
        for user in sorted(users & self._with_forgotten()):
            self.refresh(user, self._forgotten(user))

    def _with_forgotten(self) -> set[str]:
        users: set[str] = set()
        for c in (profiles.c, user_playbooks.c):
            query = self._scope.select(c.user_id).where(c.status == str(Status.FORGOTTEN))
            users |= {row.user_id for row in self._scope.all(query.distinct()) if row.user_id}
        return users

    def _forgotten(self, user: str) -> set[InteractionId]:
        queries = (_forgotten(table) for table in (profiles, user_playbooks))
        rows = (row for query in queries for row in query.rows(self._scope.conn, org=self._scope.org, user=user))
        return {turn for row in rows for turn in row["interaction_ids"] or ()}

    def _existing(self, turns: Collection[InteractionId]) -> set[InteractionId]:
        batches = in_batches(sorted(turns))
        rows = (row for batch in batches for row in _EXISTING.rows(self._scope.conn, self._scope.org, batch))
        return {InteractionId(row["interaction_id"]) for row in rows}

    def _hide(self, user: str, turns: Collection[InteractionId]) -> None:
        """What search knows of them is kept: it is needed when they are shown again."""
        new = self._scope.db.insert(search_rows)
        upsert = new.on_conflict_do_update(index_elements=["org_id", "kind", "entity_id"], set_={"gone": True})
        blank = {"kind": TURN, "user_id": user, "seq": 0, "gone": True, "analyser": "", "terms": "", "model": ""}
        rows = [self._scope.stamp({**blank, "entity_id": str(turn), "vector": None}) for turn in turns]
        if rows:
            self._scope.conn.execute(upsert, rows)
            self._search.touch_all(TURN, [str(turn) for turn in turns])

    def _show(self, turns: Collection[InteractionId]) -> None:
        ids = [str(turn) for turn in turns]
        c = search_rows.c
        for batch in in_batches(ids):
            self._scope.update(search_rows, c.kind == TURN, c.entity_id.in_(batch), gone=False)
        self._search.touch_all(TURN, ids)
