"""The index that grouping uses, in a transaction: each answer is cached until its end."""

from collections.abc import Sequence

import sqlalchemy as sa

from acumen.model.operations.failure import GroupState
from acumen.model.operations.signature import VERSION, GroupCandidate, Signature
from acumen.model.times import DAY_MS
from acumen.storage.engine.compiled_statement import PlainStatement, SelectByIds
from acumen.storage.engine.database import Lock
from acumen.storage.engine.scope import OrgScope
from acumen.storage.tables import failure_groups, failure_keys


class FailureGroupIndex:
    """A bucket that gets a new group is locked until COMMIT: no other transaction adds a group to it."""

    def __init__(self, scope: OrgScope) -> None:
        self._scope = scope
        self._known: dict[str, str] = {}
        self._leaves: dict[str, dict[str, str]] = {}
        self._rooms: dict[str, int] = {}

    def look_up(self, keys: Sequence[str]) -> None:
        """Looks up all of them at once. The last use of words is kept to the day."""
        s = self._scope
        rows = _BY_KEY.rows(s.conn, s.org, list(dict.fromkeys(keys)))
        self._known |= {row["key"]: row["group_id"] for row in rows}
        unused = [row["key"] for row in rows if row["updated_at"] < s.at - DAY_MS]
        _SET_USED.run(s.conn, [{"mine": s.org, "at": s.at, "used_key": key} for key in unused])

    def by_key(self, key: str) -> str | None:
        return self._known.get(key)

    def hold(self, signature: Signature) -> str | None:
        """Locks the bucket; another transaction may have filled it while we waited."""
        if signature.bucket not in self._rooms:
            self._scope.db.lock(self._scope.conn, Lock(f"failures:{self._scope.org}:{signature.bucket}"))
            self._rooms[signature.bucket] = self._scope.count(
                failure_groups, failure_groups.c.bucket == signature.bucket
            )
        self.look_up([signature.key])
        return self._known.get(signature.key)

    def at_leaf(self, leaf: str) -> list[GroupCandidate]:
        """In the order in which they were made."""
        if leaf not in self._leaves:
            c = failure_groups.c
            query = sa.select(c.group_id, c.template).where(c.org_id == self._scope.org, c.leaf == leaf)
            rows = self._scope.all(query.order_by(c.created_at, c.group_id))
            self._leaves[leaf] = {row.group_id: row.template for row in rows}
        return [GroupCandidate(group_id, template) for group_id, template in self._leaves[leaf].items()]

    def room_in(self, bucket: str) -> int:
        return self._rooms[bucket]

    def add(self, group_id: str, signature: Signature, template: str) -> None:
        at = self._scope.at
        row = {
            "group_id": group_id,
            "version": VERSION,
            "source": signature.source,
            "endpoint": signature.endpoint,
            "error_type": signature.error_type,
            "bucket": signature.bucket,
            "leaf": None if signature.exact else signature.leaf,
            "template": template,
            "state": str(GroupState.NEW),
            "analysed_at": None,
            **dict.fromkeys(("first_seen", "last_seen"), at),
            **dict.fromkeys(("count", "sessions", "analysed_count"), 0),
        }
        self._scope.insert(failure_groups, [row])
        self._rooms[signature.bucket] += 1
        if not signature.exact and signature.leaf in self._leaves:
            self._leaves[signature.leaf][group_id] = template

    def widen(self, group_id: str, template: str) -> None:
        c = failure_groups.c
        changed = sa.update(failure_groups).where(c.org_id == self._scope.org, c.group_id == group_id)
        self._scope.conn.execute(changed.values(template=template, updated_at=self._scope.at))
        for templates in self._leaves.values():
            if group_id in templates:
                templates[group_id] = template

    def remember(self, key: str, group_id: str) -> None:
        self._known[key] = group_id
        self._scope.insert(failure_keys, [{"key": key, "group_id": group_id}])


_BY_KEY = SelectByIds(failure_keys.c.key, (failure_keys.c.key, failure_keys.c.group_id, failure_keys.c.updated_at))
_SET_USED = PlainStatement(
    sa.update(failure_keys)
    .where(failure_keys.c.org_id == sa.bindparam("mine"), failure_keys.c.key == sa.bindparam("used_key"))
    .values(updated_at=sa.bindparam("at"))
)
