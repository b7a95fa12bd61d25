"""Operations, as rows: written in batches, and never twice."""

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cache
from operator import itemgetter
from typing import Any

import sqlalchemy as sa
from msgspec.structs import replace

from acumen.model.ids import Millis
from acumen.model.operations.operation import (
    AHEAD_MS,
    Operation,
    OperationFilter,
    OperationId,
    OperationKind,
    OperationStatus,
)
from acumen.model.times import HOUR_MS
from acumen.storage.engine.bulk_insert import BulkInsert
from acumen.storage.engine.compiled_statement import CompiledStatement, PlainStatement, Row, SelectByIds
from acumen.storage.engine.database import Lock
from acumen.storage.engine.scope import OrgScope, in_batches
from acumen.storage.tables import findings, operations, proposals, tool_versions, ways

# The column and the field, where they differ.
_RENAMED = {"id": "op_id", "received_at": "created_at"}
# By what a tail is narrowed, and how many values of each are offered.
FACETS = ("source", "status", "endpoint", "agent")
MOST_VALUES = 20
# An operation may be reported this much earlier than one that preceded it.
OUT_OF_ORDER_MS = HOUR_MS
_FIELDS = {name: _RENAMED.get(name, name) for name in Operation._fields}


class Operations:
    """What agents did."""

    def __init__(self, scope: OrgScope) -> None:
        self._scope = scope

    # --- writing -------------------------------------------------------------------------------------------------

    def get_hashes(self, ids: Sequence[str]) -> dict[str, str]:
        """Hashes of the bodies stored under these ids. Up to COMMIT no other transaction records for this org."""
        self._scope.db.lock(self._scope.conn, Lock(f"operations:{self._scope.org}"))
        return {row["op_id"]: row["body_hash"] for row in _HASHES.rows(self._scope.conn, self._scope.org, ids)}

    def add(self, fresh: Sequence[Operation]) -> Millis:
        """Returns the arrival time: later than all stored ones, so that a reader that continues there misses none."""
        s = self._scope
        newest = _NEWEST.first(s.conn, mine=s.org)
        later = newest[0] + 1 - s.at if newest else 0
        at = Millis(s.at + later if 0 < later < AHEAD_MS else s.at)  # a corrected clock is not held up
        _add(s.db.insert).run(
            s.conn, [(s.org, at, at, *_made(operation), *_PLAIN_OF(operation)) for operation in fresh]
        )
        return at

    def count_ways(self, fresh: Sequence[Operation]) -> list[tuple[str, int, int]]:
        """Each way that was used, with its successes before and after."""
        s = self._scope
        used: dict[str, list[Operation]] = {}
        for operation in fresh:
            if operation.way_key is not None and (operation.succeeded or operation.failed):
                used.setdefault(operation.way_key, []).append(operation)
        if not used:
            return []
        rows = [s.stamp(_way_row(key, used[key])) for key in sorted(used)]
        _count_ways(s.db.insert).run(s.conn, rows)
        after = {row["way_key"]: row["successes"] for row in _SUCCESSES.rows(s.conn, s.org, list(used))}
        return [(row["way_key"], after[row["way_key"]] - row["successes"], after[row["way_key"]]) for row in rows]

    def add_versions(self, fresh: Sequence[Operation]) -> list[tuple[str, str, str, str]]:
        """Schemas and agent versions that were never seen at an endpoint which is known by others."""
        s = self._scope
        versions = {
            (operation.source, operation.endpoint, operation.schema_hash or "", operation.agent_version or "")
            for operation in fresh
            if operation.schema_hash or operation.agent_version
        }
        return [version for version in sorted(versions) if self._is_new_version(version, s)]

    def _is_new_version(self, version: tuple[str, str, str, str], s: OrgScope) -> bool:
        row = dict(zip(("source", "endpoint", "schema_hash", "agent_version"), version, strict=True))
        return bool(_add_version(s.db.insert).run(s.conn, [s.stamp(row)]))

    # --- reading -------------------------------------------------------------------------------------------------

    def get(self, op_id: str) -> Operation | None:
        matches = self.find(OperationFilter(ids=(op_id,)), 1)
        return matches[0] if matches else None

    def find(self, criteria: OperationFilter, limit: int | None, *, oldest_first: bool = False) -> list[Operation]:
        c = operations.c
        query = sa.select(operations).where(c.org_id == self._scope.org, *_conditions(criteria))
        order = (c.created_at, c.op_id) if oldest_first else (c.created_at.desc(), c.op_id.desc())
        return [_operation(row) for row in self._scope.rows(query.order_by(*order).limit(limit))]

    def find_anonymous(self, sessions: Collection[str], requests: Collection[str]) -> list[Operation]:
        """Operations of these sessions and requests that do not say whose they are."""
        c = operations.c
        query = self._scope.select(c.op_id).where(c.user_id.is_(None))
        rows = self._scope.all_in(query, c.session_id, sessions) + self._scope.all_in(query, c.request_id, requests)
        ids = sorted({row.op_id for row in rows})
        return [found for batch in in_batches(ids) for found in self.find(OperationFilter(ids=tuple(batch)), None)]

    def find_after(self, at: Millis, op_id: str, criteria: OperationFilter, limit: int) -> list[Operation]:
        """Operations that came after the one named, oldest first: how a tail is followed and an export paged."""
        c = operations.c
        later = sa.or_(c.created_at > at, sa.and_(c.created_at == at, c.op_id > op_id))
        query = sa.select(operations).where(
            c.org_id == self._scope.org, c.created_at >= at, later, *_conditions(criteria)
        )
        return [_operation(row) for row in self._scope.rows(query.order_by(c.created_at, c.op_id).limit(limit))]

    def find_latest(self, criteria: OperationFilter, limit: int, among: int) -> list[Operation]:
        """The latest first, of no more than the `among` latest: a tail that finds little looks no further."""
        c = operations.c
        since = sa.select(c.created_at).where(c.org_id == self._scope.org).order_by(c.created_at.desc())
        oldest = self._scope.first(since.limit(1).offset(among - 1))
        return self.find(replace(criteria, since=oldest[0] if oldest else None), limit)

    def count_facets(self, among: int) -> dict[str, list[tuple[str, int]]]:
        """Values of each facet among the latest, the most frequent first."""
        c = operations.c
        shown = sa.select(*(c[name] for name in FACETS)).where(c.org_id == self._scope.org)
        latest = shown.order_by(c.created_at.desc()).limit(among).subquery()
        rows = self._scope.all(sa.select(*latest.c, sa.func.count()).group_by(*latest.c))
        counted: dict[str, Counter[str]] = {name: Counter() for name in FACETS}
        for *values, number in rows:
            for name, value in zip(FACETS, values, strict=True):
                if value is not None:
                    counted[name][value] += number
        return {name: values.most_common(MOST_VALUES) for name, values in counted.items()}

    def find_failed_before(self, calls: Sequence[Operation]) -> list[tuple[str, str, str]]:
        """Of these calls those that failed in the same session: its id, source and endpoint, each once."""
        called = {(call.session_id or "", call.source, call.endpoint) for call in calls}
        rows = _FAILED_IN.rows(self._scope.conn, self._scope.org, sorted({call[0] for call in called}))
        return sorted(called & {(row["session_id"], row["source"], row["endpoint"]) for row in rows})

    def find_since_failure(self, session_id: str, source: str, endpoint: str, limit: int) -> list[Operation]:
        """A session's calls of one endpoint, from about the first failure in it on, oldest first."""
        failed = OperationFilter(session_id=session_id, status=OperationStatus.ERROR)
        query = sa.select(sa.func.min(operations.c.created_at)).where(operations.c.org_id == self._scope.org)
        first = self._scope.first(query.where(*_conditions(failed)))[0]
        if first is None:
            return []
        since = Millis(first - OUT_OF_ORDER_MS)
        calls = OperationFilter(source, OperationKind.OPERATION, endpoint=endpoint, session_id=session_id, since=since)
        return self.find(calls, limit, oldest_first=True)

    def find_sessions_of_call(
        self, source: str, endpoints: Sequence[str], group_ids: Sequence[str]
    ) -> dict[str, tuple[Millis, bool]]:
        """Every session that made the call: when it first did, and whether one failed in one of the groups."""
        c = operations.c
        failed = sa.func.max(sa.case((c.group_id.in_(group_ids), 1), else_=0))
        query = sa.select(c.session_id, sa.func.min(c.created_at), failed).where(
            c.org_id == self._scope.org,
            c.source == source,
            c.endpoint.in_(endpoints),
            c.kind == str(OperationKind.OPERATION),
            c.session_id.is_not(None),
        )
        rows = self._scope.all(query.group_by(c.session_id))
        return {row[0]: (Millis(row[1]), bool(row[2])) for row in rows}

    def filter_sessions(self, sessions: Collection[str], criteria: OperationFilter) -> set[str]:
        """Those of these sessions that have such operations."""
        c = operations.c
        query = self._scope.select(c.session_id).where(*_conditions(criteria)).distinct()
        return {row.session_id for row in self._scope.all_in(query, c.session_id, sessions)}

    def get_last_received(self, source: str) -> Millis:
        """When something of the source came last; 0 if that is no longer kept."""
        c = operations.c
        its = self._scope.select(c.created_at).where(c.source == source, c.created_at <= self._scope.at)
        latest = self._scope.first(its.order_by(c.created_at.desc()).limit(1))
        return Millis(latest.created_at if latest else 0)

    # --- removing ------------------------------------------------------------------------------------------------

    def expire(self, before: Millis, most: int) -> int:
        """Deletes the oldest first, in batches; their counts are kept."""
        c = operations.c
        ids = self._scope.select(c.op_id).where(c.created_at < before).order_by(c.created_at).limit(most)
        return self._scope.delete(operations, c.op_id.in_(ids.scalar_subquery()))

    def delete_unused_ways(self, before: Millis) -> int:
        """Ways of calling that were not used since, and that no lesson is about."""
        c, p = ways.c, proposals.c
        taught = sa.exists().where(p.org_id == c.org_id, p.key == c.way_key)
        return self._scope.delete(ways, c.updated_at < before, ~taught)

    def delete(self, gone: Sequence[Operation]) -> int:
        """As if they had never come."""
        for operation in gone:
            if operation.way_key is not None:
                self._uncount_way(operation)
        for ids in in_batches([operation.id for operation in gone]):
            self._scope.delete(findings, findings.c.op_id.in_(ids))
            self._scope.delete(operations, operations.c.op_id.in_(ids))
        return len(gone)

    def _uncount_way(self, operation: Operation) -> None:
        c = ways.c
        less = {"successes": c.successes - 1} if operation.succeeded else {"failures": c.failures - 1}
        if operation.succeeded or operation.failed:
            changed = sa.update(ways).where(c.org_id == self._scope.org, c.way_key == operation.way_key)
            self._scope.conn.execute(changed.values(updated_at=self._scope.at, **less))
        self._scope.delete(ways, c.way_key == operation.way_key, c.successes <= 0, c.failures <= 0)


_HASHES = SelectByIds(operations.c.op_id, (operations.c.op_id, operations.c.body_hash))
_FAILED_IN = SelectByIds(
    operations.c.session_id,
    (operations.c.session_id, operations.c.source, operations.c.endpoint),
    where=operations.c.status == sa.literal_column("'error'"),
)
_SUCCESSES = SelectByIds(ways.c.way_key, (ways.c.way_key, ways.c.successes))


_NEWEST = PlainStatement(
    sa.select(operations.c.created_at)
    .where(operations.c.org_id == sa.bindparam("mine"))
    .order_by(operations.c.created_at.desc())
    .limit(sa.literal_column("1"))
)


@cache
def _add(insert: Callable[[sa.Table], Any]) -> BulkInsert:
    return BulkInsert(insert(operations).prefix_with("OR FAIL", dialect="sqlite"), _COLUMNS)


@cache
def _add_version(insert: Callable[[sa.Table], Any]) -> CompiledStatement:
    return CompiledStatement(insert(tool_versions).on_conflict_do_nothing())


@cache
def _count_ways(insert: Callable[[sa.Table], Any]) -> CompiledStatement:
    new = insert(ways)
    summed = {
        "successes": ways.c.successes + new.excluded.successes,
        "failures": ways.c.failures + new.excluded.failures,
        "updated_at": new.excluded.updated_at,
    }
    return CompiledStatement(new.on_conflict_do_update(index_elements=["org_id", "way_key"], set_=summed))


def _way_row(key: str, used: Iterable[Operation]) -> dict[str, Any]:
    went = list(used)
    return {
        "way_key": key,
        "source": went[0].source,
        "endpoint": went[0].endpoint,
        "successes": sum(operation.succeeded for operation in went),
        "failures": sum(operation.failed for operation in went),
    }


def _conditions(criteria: OperationFilter) -> list[sa.ColumnElement[bool]]:
    c = operations.c
    names = ("source", "endpoint", "agent", "session_id", "user_id", "way_key")
    values = [(name, getattr(criteria, name)) for name in names]
    equal = [c[name] == value for name, value in values if value is not None]
    # Spelled out, since a partial index serves only queries that repeat its condition.
    words = (("kind", criteria.kind), ("status", criteria.status))
    equal += [c[name] == sa.literal_column(f"'{value.value}'") for name, value in words if value is not None]
    lists = ((c.group_id, criteria.group_ids), (c.op_id, criteria.ids))
    among = [column.in_(values) for column, values in lists if values is not None]
    since = [c.created_at >= criteria.since] if criteria.since is not None else []
    until = [c.created_at <= criteria.until] if criteria.until is not None else []
    ended = [c.kind != sa.literal_column("'operation'")] if criteria.outcomes else []
    return [*equal, *among, *since, *until, *ended]


# Drivers are slow with text that is also something else, so these are made into text before; and by its public name
# the value of an enumeration costs as much as to bind it.
_MADE = ("kind", "status", "attributes", "arguments")
_PLAIN = [name for name in _FIELDS if name not in (*_MADE, "received_at")]
_PLAIN_OF = itemgetter(*map(Operation._fields.index, _PLAIN))
_COLUMNS = ("org_id", "created_at", "updated_at", *_MADE, *(_FIELDS[name] for name in _PLAIN))


def _made(operation: Operation) -> tuple[str | None, ...]:
    attributes = json.dumps(operation.attributes) if operation.attributes else None
    arguments = json.dumps(operation.arguments) if operation.arguments is not None else None
    return operation.kind._value_, operation.status._value_, attributes, arguments


def _operation(row: Row | sa.RowMapping) -> Operation:
    values = {name: row[column] for name, column in _FIELDS.items()}
    values["id"] = OperationId(values["id"])
    values["kind"], values["status"] = OperationKind(row["kind"]), OperationStatus(row["status"])
    values["attributes"] = row["attributes"] or {}
    return Operation(**values)
