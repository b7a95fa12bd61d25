"""How far each reader has come with a user's turns, as rows."""

from collections.abc import Callable
from functools import cache
from typing import Any

import sqlalchemy as sa

from acumen.errors import Conflict
from acumen.model.ids import InteractionId, UserId
from acumen.model.jobs.run import RunId
from acumen.storage.engine.compiled_statement import PlainStatement
from acumen.storage.engine.scope import OrgScope
from acumen.storage.tables import bookmarks, interactions

# Asked for every window: built once.
_LAST = PlainStatement(
    sa.select(bookmarks.c.last_id).where(
        bookmarks.c.org_id == sa.bindparam("org"),
        bookmarks.c.user_id == sa.bindparam("user"),
        bookmarks.c.extractor == sa.bindparam("extractor"),
    )
)
_STANDS = PlainStatement(
    sa.select(interactions.c.interaction_id).where(
        interactions.c.interaction_id == sa.bindparam("turn"),
        interactions.c.org_id == sa.bindparam("org"),
        interactions.c.user_id == sa.bindparam("user"),
    )
)


@cache
def _move(insert: Callable[[sa.Table], Any]) -> PlainStatement:
    """Only to a turn that there is."""
    row = [sa.bindparam(f"its_{column.name}", type_=column.type) for column in bookmarks.c]
    there = sa.exists().where(
        interactions.c.interaction_id == sa.bindparam("its_last_id"),
        interactions.c.org_id == sa.bindparam("its_org_id"),
        interactions.c.user_id == sa.bindparam("its_user_id"),
    )
    new = insert(bookmarks).from_select([column.name for column in bookmarks.c], sa.select(*row).where(there))
    moved = {"last_id": new.excluded.last_id, "updated_at": new.excluded.updated_at}
    key, as_seen = ["org_id", "user_id", "extractor"], bookmarks.c.last_id == sa.bindparam("seen")
    return PlainStatement(new.on_conflict_do_update(index_elements=key, set_=moved, where=as_seen))


def of_run(run_id: RunId, extractor: str) -> str:
    """What a run's own bookmark of an extractor is kept under: the extractor's stays where it is."""
    return f"{run_id}/{extractor}"


class Bookmarks:
    def __init__(self, scope: OrgScope) -> None:
        self._scope = scope

    def get(self, user: UserId, extractor: str) -> InteractionId:
        """The last turn it has read; 0 before the first."""
        row = _LAST.first(self._scope.conn, org=self._scope.org, user=user, extractor=extractor)
        return InteractionId(row[0] if row else 0)

    def delete_run(self, run_id: RunId) -> None:
        """The bookmarks of a run, which are not needed when it is over."""
        s = self._scope
        s.delete(bookmarks, bookmarks.c.extractor.startswith(of_run(run_id, ""), autoescape=True))

    def move(self, user: UserId, extractor: str, last_seen: InteractionId, to: InteractionId) -> None:
        """Raises Conflict when another transaction has moved it since `last_seen`: their work counts, ours is dropped.

        The same when what was read has been erased meanwhile: nothing may be learned from it any more.
        """
        s = self._scope
        s.lock_user(user)
        row = s.stamp({"user_id": user, "extractor": extractor, "last_id": to})
        if _move(s.db.insert).run(s.conn, [{**row, "seen": last_seen}]) == 1:
            return
        if not _STANDS.first(s.conn, org=s.org, user=user, turn=to):
            raise Conflict(f"What {extractor} has read was erased meanwhile.")
        raise Conflict(f"Another worker has already read on for {extractor}.")
