"""How many operations came in which hour, as rows: what is asked of all of them is read here."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any

import sqlalchemy as sa

from acumen.model.ids import Millis
from acumen.model.operations.operation import Operation, OperationKind, OperationStatus, SourceCounts
from acumen.model.times import HOUR_MS
from acumen.storage.engine.bulk_insert import BulkInsert
from acumen.storage.engine.scope import OrgScope
from acumen.storage.tables import operation_hours

_SORT = ("source", "kind", "status")


class HourlyCounts:
    """Of what went wrong and what went well, source by source."""

    def __init__(self, scope: OrgScope) -> None:
        self._scope = scope

    def add(self, operations: Iterable[Operation], at: Millis) -> None:
        sorts = Counter(
            (operation.source, operation.kind._value_, operation.status._value_) for operation in operations
        )
        self._add({(at - at % HOUR_MS, *sort): number for sort, number in sorts.items()})

    def subtract(self, gone: Iterable[Operation]) -> None:
        """As if they had never come."""
        self._add({key: -number for key, number in Counter(map(_hour_of, gone)).items()})
        self._scope.delete(operation_hours, operation_hours.c.count <= 0)

    def _add(self, counted: Mapping[tuple[int, str, str, str], int]) -> None:
        s = self._scope
        rows = [(s.org, s.at, s.at, *key, number) for key, number in sorted(counted.items())]
        _count(s.db.insert).run(s.conn, rows)

    def count_by_source(self) -> list[SourceCounts]:
        """A million operations take no longer than a thousand."""
        c = operation_hours.c
        query = sa.select(c.source, c.kind, c.status, sa.func.sum(c.count), sa.func.max(c.hour))
        rows = self._scope.all(query.where(c.org_id == self._scope.org).group_by(c.source, c.kind, c.status))
        counts: dict[str, SourceCounts] = {}
        for row in rows:
            counts[row.source] = _and(counts.get(row.source) or SourceCounts(row.source), *row[1:])
        return [counts[name] for name in sorted(counts)]

    def count_all(self) -> int:
        """All that were ever recorded, except those that were purged."""
        c = operation_hours.c
        return int(self._scope.first(sa.select(sa.func.sum(c.count)).where(c.org_id == self._scope.org))[0] or 0)

    def find_active_hours(self, since: Millis) -> dict[str, list[int]]:
        """Of each source, the hours up to now in which something came, in order."""
        c = operation_hours.c
        query = (
            sa.select(c.source, c.hour)
            .distinct()
            .where(c.org_id == self._scope.org, c.hour.between(since, self._scope.at))
        )
        hours: dict[str, list[int]] = {}
        for row in self._scope.all(query.order_by(c.hour)):
            hours.setdefault(row.source, []).append(row.hour)
        return hours

    def count_by_hour(self, since: Millis) -> dict[int, int]:
        """By hour, how many came."""
        c = operation_hours.c
        query = self._scope.select(c.hour, sa.func.sum(c.count)).where(c.hour >= since)
        return {row[0]: int(row[1]) for row in self._scope.all(query.group_by(c.hour))}

    def expire(self, before: Millis) -> None:
        """Of the hours before, each sort of operation keeps one, the last: it represents all of them."""
        c = operation_hours.c
        old = (c.org_id == self._scope.org, c.hour < before)
        last, several = sa.func.max(c.hour), sa.func.count() > 1
        query = sa.select(c.source, c.kind, c.status, sa.func.sum(c.count).label("sum"), last.label("last"))
        for row in self._scope.all(query.where(*old).group_by(c.source, c.kind, c.status).having(several)):
            these = (*old, *(c[name] == getattr(row, name) for name in _SORT))
            self._scope.delete(operation_hours, *these, c.hour != row.last)
            last_row = sa.update(operation_hours).where(*these)
            self._scope.conn.execute(last_row.values(count=int(row.sum), updated_at=self._scope.at))


@cache
def _count(insert: Callable[[sa.Table], Any]) -> BulkInsert:
    key = ("org_id", "hour", *_SORT)
    new = insert(operation_hours)
    summed = {"count": operation_hours.c.count + new.excluded.count, "updated_at": new.excluded.updated_at}
    once = new.on_conflict_do_update(index_elements=key, set_=summed)
    return BulkInsert(once, ("org_id", "created_at", "updated_at", *key[1:], "count"))


def _hour_of(operation: Operation) -> tuple[int, str, str, str]:
    return (
        operation.received_at - operation.received_at % HOUR_MS,
        operation.source,
        operation.kind._value_,
        operation.status._value_,
    )


def _and(counts: SourceCounts, kind: str, status: str, number: int, hour: int) -> SourceCounts:
    operation = kind == OperationKind.OPERATION
    return SourceCounts(
        counts.source,
        total=counts.total + int(number),
        successes=counts.successes + (int(number) if operation and status == OperationStatus.OK else 0),
        failures=counts.failures + (int(number) if operation and status == OperationStatus.ERROR else 0),
        last_hour=Millis(max(counts.last_hour or 0, hour)),
    )
