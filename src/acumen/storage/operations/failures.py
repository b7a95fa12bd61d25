"""Groups of failures, as rows: the index that grouping uses, and the counts of each."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from typing import Any

import sqlalchemy as sa

from acumen.model.ids import Millis
from acumen.model.operations.failure import WEEK_HOURS, FailureGroup, FailureGroupFilter, GroupState
from acumen.model.operations.operation import Operation
from acumen.model.times import HOUR_MS
from acumen.storage.engine.bulk_insert import BulkInsert
from acumen.storage.engine.compiled_statement import PlainStatement, Row, SelectByIds
from acumen.storage.engine.scope import OrgScope, in_batches
from acumen.storage.tables import (
    failure_aliases,
    failure_groups,
    failure_hours,
    failure_keys,
    failure_sessions,
    operations,
    proposals,
)

_TABLES = (failure_keys, failure_hours, failure_sessions, failure_aliases, failure_groups)


class Failures:
    def __init__(self, scope: OrgScope) -> None:
        self._scope = scope

    # --- counting ------------------------------------------------------------------------------------------------

    def get_for_update(self, ids: Sequence[str]) -> dict[str, FailureGroup]:
        """Current values, locked until COMMIT."""
        return {row["group_id"]: _group(row) for row in _HELD.rows(self._scope.conn, self._scope.org, ids)}

    def count(self, failures: Mapping[str, Sequence[Operation]]) -> dict[str, tuple[int, int]]:
        """Of each group how many sessions are new to it, and how many failures it has in this hour, these included."""
        s, hour = self._scope, self._scope.at - self._scope.at % HOUR_MS
        mine = (s.org, s.at, s.at)
        rows = [(*mine, name, hour, len(operations_of_group)) for name, operations_of_group in failures.items()]
        in_hour: dict[str, int] = dict(_count_hour(s.db.insert).returning(s.conn, rows))
        named = sorted(
            {
                (name, operation.session_id)
                for name, operations_of_group in failures.items()
                for operation in operations_of_group
                if operation.session_id
            }
        )
        new = Counter(
            name
            for (name,) in _add_sessions(s.db.insert).returning(s.conn, [(*mine, *operation) for operation in named])
        )
        return {name: (new[name], in_hour[name]) for name in failures}

    def get_week(self, group: FailureGroup) -> list[int]:
        """The hours of the last week before this one, from its first on; those without a failure are zero."""
        at = self._scope.at
        this_hour = at - at % HOUR_MS
        since = max(this_hour - WEEK_HOURS * HOUR_MS, group.first_seen - group.first_seen % HOUR_MS)
        counted = self.get_hours([group.id], Millis(since)).get(group.id, {})
        return [counted.get(hour, 0) for hour in range(since, this_hour, HOUR_MS)]

    def get_hours(self, ids: Sequence[str], since: Millis) -> dict[str, dict[int, int]]:
        """By group, how many in each hour."""
        c = failure_hours.c
        hours: dict[str, dict[int, int]] = {}
        for batch in in_batches(ids):
            mine = (c.org_id == self._scope.org, c.group_id.in_(batch), c.hour >= since)
            for row in self._scope.all(sa.select(c.group_id, c.hour, c.count).where(*mine)):
                hours.setdefault(row.group_id, {})[row.hour] = row.count
        return hours

    def update(self, *groups: FailureGroup) -> None:
        """What counting and a change of state leave behind."""
        s = self._scope
        mine = {"mine": s.org, "at": s.at}
        _SAVE.run(s.conn, [{**mine, "group": group.id, **_saved(group)} for group in groups])

    # --- reading -------------------------------------------------------------------------------------------------

    def find(self, criteria: FailureGroupFilter, limit: int, offset: int = 0) -> tuple[list[FailureGroup], int]:
        """Groups that are not merged into another, the latest first; and how many there are."""
        c = failure_groups.c
        alias = sa.exists().where(failure_aliases.c.org_id == c.org_id, failure_aliases.c.group_id == c.group_id)
        where = [c.org_id == self._scope.org, ~alias, *_wanted(criteria)]
        total = self._scope.conn.execute(sa.select(sa.func.count()).select_from(failure_groups).where(*where))
        page = sa.select(failure_groups).where(*where).order_by(c.last_seen.desc(), c.group_id).limit(limit)
        return [_group(row) for row in self._scope.rows(page.offset(offset))], int(total.scalar_one())

    def find_unsettled(self) -> list[FailureGroup]:
        """Those whose state changes as time passes."""
        states = [str(GroupState.NEW), str(GroupState.ESCALATING)]
        return self._groups(failure_groups.c.state.in_(states))

    def find_members(self, group_id: str) -> list[FailureGroup]:
        """The group and those that are merged into it."""
        c = failure_aliases.c
        query = sa.select(c.group_id).where(c.org_id == self._scope.org, c.merged_into == group_id)
        ids = [group_id, *(row.group_id for row in self._scope.all(query))]
        return self._groups(failure_groups.c.group_id.in_(ids))

    def find_merged(self) -> dict[str, list[FailureGroup]]:
        """Under each group that others are merged into, those others."""
        c = failure_aliases.c
        into = {
            row.group_id: row.merged_into
            for row in self._scope.all(sa.select(c.group_id, c.merged_into).where(c.org_id == self._scope.org))
        }
        by_root: dict[str, list[FailureGroup]] = {}
        for ids in in_batches(list(into)):
            for group in self._groups(failure_groups.c.group_id.in_(ids)):
                by_root.setdefault(into[group.id], []).append(group)
        return by_root

    def get_root(self, group_id: str) -> str:
        """The group that it is merged into, or itself."""
        row = _ROOT.first(self._scope.conn, mine=self._scope.org, group=group_id)
        return str(row[0]) if row else group_id

    def find_sessions(self, ids: Sequence[str]) -> list[str]:
        c = failure_sessions.c
        query = sa.select(c.session_id).distinct().where(c.org_id == self._scope.org, c.group_id.in_(ids))
        return [row[0] for row in self._scope.all(query.order_by(c.session_id))]

    # --- by hand -------------------------------------------------------------------------------------------------

    def alias(self, group_id: str, into: str, actor: str) -> None:
        self._scope.insert(failure_aliases, [{"group_id": group_id, "merged_into": into, "actor": actor}])

    def unalias(self, group_id: str) -> int:
        return self._scope.delete(failure_aliases, failure_aliases.c.group_id == group_id)

    # --- removing ------------------------------------------------------------------------------------------------

    def expire(self, sessions_before: Millis, hours_before: Millis) -> None:
        """Which sessions and hours they fell into; how many they were stays with the groups."""
        self._scope.delete(failure_sessions, failure_sessions.c.created_at < sessions_before)
        self._scope.delete(failure_hours, failure_hours.c.hour < hours_before)

    def delete_unseen(self, before: Millis) -> int:
        """Groups that were not seen since, that have no decision and no lesson. Returns how many.

        Of the others, the words that were not used since; a group is named after the first ones, which are kept.
        """
        c, p, a, k = failure_groups.c, proposals.c, failure_aliases.c, failure_keys.c
        decided = [str(GroupState.RESOLVED), str(GroupState.ARCHIVED)]
        taught = sa.exists().where(p.org_id == c.org_id, p.group_id == c.group_id)
        merged = sa.exists().where(a.org_id == c.org_id, sa.or_(a.group_id == c.group_id, a.merged_into == c.group_id))
        old = self._scope.select(c.group_id).where(c.last_seen < before, c.state.not_in(decided), ~taught, ~merged)
        ids = [row.group_id for row in self._scope.all(old)]
        for table in _TABLES:
            self._scope.delete_in(table.c.group_id, ids)
        first = k.group_id == sa.literal("grp_").concat(sa.func.substr(k.key, 1, 24))
        self._scope.delete(failure_keys, k.updated_at < before, ~first)
        return len(ids)

    def erase_sessions(self, sessions: Collection[str]) -> int:
        """Which failures they had; how many sessions had it stays with the groups."""
        return self._scope.delete_in(failure_sessions.c.session_id, sessions)

    def set_template(self, group_id: str, template: str) -> None:
        self._scope.update(failure_groups, failure_groups.c.group_id == group_id, template=template)

    def recount(self, gone: Mapping[str, Sequence[Operation]]) -> list[str]:
        """After operations were removed: what stays of their groups. Returns the groups of which nothing does."""
        return [group_id for group_id, removed in gone.items() if not self._recounted(group_id, removed)]

    def _recounted(self, group_id: str, removed: Sequence[Operation]) -> bool:
        s, c = self._scope, operations.c
        mine = (c.org_id == s.org, c.group_id == group_id)
        group = next(iter(self._groups(failure_groups.c.group_id == group_id)), None)
        left = group.count - len(removed) if group else 0
        if group is None or left <= 0:
            for table in _TABLES:
                s.delete(table, table.c.group_id == group_id)
            s.delete(failure_aliases, failure_aliases.c.merged_into == group_id)
            return False
        for hour in {operation.received_at - operation.received_at % HOUR_MS for operation in removed}:
            number = sum(operation.received_at - operation.received_at % HOUR_MS == hour for operation in removed)
            self._less_in_hour(group_id, hour, number)
        left_sessions = sa.select(c.session_id).distinct().where(*mine, c.session_id.is_not(None))
        forgotten = s.delete(
            failure_sessions,
            failure_sessions.c.group_id == group_id,
            failure_sessions.c.session_id.not_in(left_sessions.scalar_subquery()),
        )
        changed = sa.update(failure_groups).where(
            failure_groups.c.org_id == s.org, failure_groups.c.group_id == group_id
        )
        s.conn.execute(changed.values(count=left, sessions=group.sessions - forgotten, updated_at=s.at))
        return True

    def _less_in_hour(self, group_id: str, hour: int, number: int) -> None:
        s, c = self._scope, failure_hours.c
        changed = sa.update(failure_hours).where(c.org_id == s.org, c.group_id == group_id, c.hour == hour)
        s.conn.execute(changed.values(count=c.count - number, updated_at=s.at))
        s.delete(failure_hours, c.group_id == group_id, c.count <= 0)

    def _groups(self, *where: sa.ColumnElement[bool]) -> list[FailureGroup]:
        c = failure_groups.c
        query = sa.select(failure_groups).where(c.org_id == self._scope.org, *where)
        return [_group(row) for row in self._scope.rows(query.order_by(c.group_id))]


# Asked for every failure, so compiled once.
_HELD = SelectByIds(failure_groups.c.group_id, held=True)
_ROOT = PlainStatement(
    sa.select(failure_aliases.c.merged_into).where(
        failure_aliases.c.org_id == sa.bindparam("mine"), failure_aliases.c.group_id == sa.bindparam("group")
    )
)
_SAVED = ("state", "count", "sessions", "last_seen", "analysed_count", "analysed_at")
_SAVE = PlainStatement(
    sa.update(failure_groups)
    .where(failure_groups.c.org_id == sa.bindparam("mine"), failure_groups.c.group_id == sa.bindparam("group"))
    .values(updated_at=sa.bindparam("at"), **{name: sa.bindparam(f"new_{name}") for name in _SAVED})
)


def _saved(group: FailureGroup) -> dict[str, Any]:
    return {**{f"new_{name}": getattr(group, name) for name in _SAVED}, "new_state": group.state.value}


_MINE = ("org_id", "created_at", "updated_at", "group_id")


@cache
def _count_hour(insert: Callable[[sa.Table], Any]) -> BulkInsert:
    new, c = insert(failure_hours), failure_hours.c
    summed = {"count": c.count + new.excluded.count, "updated_at": new.excluded.updated_at}
    once = new.on_conflict_do_update(index_elements=["org_id", "group_id", "hour"], set_=summed)
    return BulkInsert(once.returning(c.group_id, c.count), (*_MINE, "hour", "count"))


@cache
def _add_sessions(insert: Callable[[sa.Table], Any]) -> BulkInsert:
    once = insert(failure_sessions).prefix_with("OR IGNORE", dialect="sqlite").on_conflict_do_nothing()
    return BulkInsert(once.returning(failure_sessions.c.group_id), (*_MINE, "session_id"))


def _wanted(criteria: FailureGroupFilter) -> list[sa.ColumnElement[bool]]:
    c = failure_groups.c
    equal = [
        c[name] == value
        for name, value in (("source", criteria.source), ("endpoint", criteria.endpoint))
        if value is not None
    ]
    states = [c.state.in_([str(state) for state in criteria.states])] if criteria.states else []
    since = [c.last_seen >= criteria.since] if criteria.since is not None else []
    return [*equal, *states, *since]


_GROUP = tuple(name for name in FailureGroup.__struct_fields__ if name not in ("id", "state", "merged_into"))


def _group(row: Row | sa.RowMapping) -> FailureGroup:
    values = {name: row[name] for name in _GROUP}
    return FailureGroup(id=row["group_id"], state=GroupState(row["state"]), **values)
