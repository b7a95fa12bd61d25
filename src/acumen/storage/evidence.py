"""Turns as evidence: a turn whose every memory was taken back is not shown in its place, nor one that tells what was
to be forgotten, whatever else it tells.

What is hidden follows from the memories alone, so whatever brings a memory back brings its turns back too.
"""

from collections.abc import Collection, Iterable, Iterator
from functools import cache

import sqlalchemy as sa

from acumen.model.ids import InteractionId
from acumen.model.memory import TAKEN_BACK, Status, part_of_a_rerun
from acumen.model.search import TURN
from acumen.storage.prepared import ByIds, Row, Select
from acumen.storage.scope import Scope, in_batches
from acumen.storage.search_rows import SearchRows
from acumen.storage.tables import interactions, profiles, search_rows, user_playbooks

_entity = search_rows.c.entity_id
_HIDDEN = ByIds(_entity, [_entity], where=sa.and_(search_rows.c.kind == TURN, search_rows.c.gone))

_EXISTING = ByIds(interactions.c.interaction_id, [interactions.c.interaction_id])


@cache
def _resting(table: sa.Table, statuses: tuple[Status, ...]) -> Select:
    """What a user's memories of these statuses rest on."""
    c, named = table.c, [sa.literal(str(one)) for one in statuses]
    (key,) = (column for column in table.primary_key if column.name != "org_id")
    mine = (c.org_id == sa.bindparam("org"), c.user_id == sa.bindparam("user"), c.status.in_(named))
    return Select(sa.select(key.label("id"), c.status, c.superseded_by, c.interaction_ids).where(*mine))


class Evidence:
    def __init__(self, scope: Scope, search: SearchRows) -> None:
        self._scope = scope
        self._search = search

    def hidden(self, turns: Collection[InteractionId]) -> set[InteractionId]:
        """Those of them that search must not find."""
        ids = [str(turn) for turn in turns]
        found = (row for some in in_batches(ids) for row in _HIDDEN.rows(self._scope.conn, self._scope.org, some))
        return {InteractionId(int(row["entity_id"])) for row in found}

    def settle(self, user: str, turns: Iterable[InteractionId]) -> None:
        """Hides and shows these turns of a user as the memories that rest on them say."""
        asked = set(turns)
        taken_back, forgotten = (asked & some for some in self._taken_back(user))
        hidden = self.hidden(asked)
        if taken_back or hidden:
            hide = self._existing(forgotten | (taken_back - self._standing(user)))
            self._hide(user, sorted(hide - hidden))
            self._show(sorted(self._existing(hidden - hide)))

    def settle_all(self, users: set[str]) -> None:
        """The same for every turn of these users that any memory was taken back from."""
        for user in sorted(users & self._with_taken_back()):
            self.settle(user, self._taken_back(user)[0])

    def _with_taken_back(self) -> set[str]:
        found = set()
        for c in (profiles.c, user_playbooks.c):
            query = self._scope.mine(c.user_id).where(c.status.in_([str(one) for one in TAKEN_BACK]))
            found |= {row.user_id for row in self._scope.all(query.distinct())}
        return found - {None}

    def _taken_back(self, user: str) -> tuple[set[InteractionId], set[InteractionId]]:
        """What memories that were taken back rest on, and of these the forgotten ones.

        What a rerun took back within itself is its own affair.
        """
        turns: set[InteractionId] = set()
        forgotten: set[InteractionId] = set()
        for rows in self._memories(user, Status.PENDING, *TAKEN_BACK):
            rerun = part_of_a_rerun({row["id"]: (Status(row["status"]), row["superseded_by"]) for row in rows})
            for row in rows:
                its = set() if row["id"] in rerun else set(row["interaction_ids"] or ())
                turns |= its
                forgotten |= its if row["status"] == Status.FORGOTTEN else set()
        return turns, forgotten

    def _standing(self, user: str) -> set[InteractionId]:
        """What current memories rest on."""
        rows = (row for some in self._memories(user, Status.CURRENT) for row in some)
        return {turn for row in rows for turn in row["interaction_ids"] or ()}

    def _memories(self, user: str, *statuses: Status) -> Iterator[list[Row]]:
        for table in (profiles, user_playbooks):
            yield _resting(table, statuses).rows(self._scope.conn, org=self._scope.org, user=user)

    def _existing(self, turns: Collection[InteractionId]) -> set[InteractionId]:
        batches = in_batches(sorted(turns))
        found = (row for some in batches for row in _EXISTING.rows(self._scope.conn, self._scope.org, some))
        return {InteractionId(row["interaction_id"]) for row in found}

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
        for some in in_batches(ids):
            self._scope.update(search_rows, c.kind == TURN, c.entity_id.in_(some), gone=False)
        self._search.touch_all(TURN, ids)
