"""Which memories were shown and cited most within a window: the first of them, found without counting all."""

import json
from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from acumen.model.ids import Kind, MemoryRef, Millis
from acumen.model.metering.usage import CITED, SHOWN, CitationStat, InjectionUsage
from acumen.model.times import DAY_MS
from acumen.storage.engine.scope import OrgScope
from acumen.storage.metering.usage_counters import UsageCounters
from acumen.storage.tables import memory_totals, usage_events

# The most used memories of all time, this many times the limit, give a lower bound for the last one of the page.
TRIED = 4

# A memory and a moment.
At = tuple[str, str, int]


class TopMemories:
    def __init__(self, scope: OrgScope, counters: UsageCounters) -> None:
        self._scope = scope
        self._counters = counters

    def page_injected(self, since: Millis, limit: int | None, offset: int) -> tuple[list[InjectionUsage], int]:
        """Per memory, the most shown first; and how many memories were shown at all."""
        page, total = self._first("shown", "last_at", since, limit, offset)
        events, c = self._own(SHOWN), usage_events.c
        details = self._of_each(
            [(row.kind, row.entity_id, row.last_at) for row in page],
            events.add_columns(sa.func.count(c.session_id.distinct())).where(c.created_at >= since),
            events.add_columns(sa.func.min(c.created_at)).where(c.created_at >= since),
            events.add_columns(sa.func.max(c.session_id)).where(c.created_at == _PAGE.c.at),
        )
        return [_stat(row, *details[row.kind, row.entity_id]) for row in page], total

    def page_cited(self, since: Millis, limit: int | None, offset: int) -> tuple[list[CitationStat], int]:
        """Per memory, the most cited first; and how many memories were cited at all."""
        page, total = self._first("citations", "last_cited_at", since, limit, offset)
        c = usage_events.c
        details = self._of_each(
            [(row.kind, row.entity_id, row.last_cited_at) for row in page],
            self._own(CITED).add_columns(sa.func.max(c.metadata_json)).where(c.created_at == _PAGE.c.at),
        )
        return [_citation_stat(row, *details[row.kind, row.entity_id]) for row in page], total

    def count_sessions(self, refs: Sequence[MemoryRef], since: Millis) -> dict[MemoryRef, int]:
        """Of some memories, in how many sessions each was shown."""
        c = usage_events.c
        sessions = self._own(SHOWN).add_columns(sa.func.count(c.session_id.distinct())).where(c.created_at >= since)
        details = self._of_each([(str(ref.kind), ref.id, 0) for ref in refs], sessions)
        return {MemoryRef(Kind(kind), memory_id): count for (kind, memory_id), (count,) in details.items()}

    def _first(self, count: str, last: str, since: Millis, limit: int | None, offset: int) -> tuple[list[Any], int]:
        t = memory_totals.c
        least = 0 if limit is None else self._least(count, since, limit + offset)
        used = self._counters.select_by_memory(since, None, None, t[count] >= least, t[last] >= since)
        order = (used.c[count].desc(), used.c[last].desc(), used.c.kind, used.c.entity_id)
        query = sa.select(used).where(used.c[count] > 0, used.c[last] >= since).order_by(*order)
        page = self._scope.all(query.limit(limit).offset(offset))
        return page, self._scope.count(memory_totals, t[last] >= since)

    def _least(self, count: str, since: Millis, place: int) -> int:
        """What the memory at a place has at least: no memory was used within the window more often than at all."""
        t = memory_totals.c
        often = self._scope.select(t[count]).order_by(t[count].desc()).offset(TRIED * place).limit(1)
        tried = self._scope.first(often)
        if tried is None:
            return 0
        midnight = Millis(-(-since // DAY_MS) * DAY_MS)
        used = self._counters.select_by_memory(midnight, None, None, t[count] >= tried[0])
        row = self._scope.first(sa.select(used.c[count]).order_by(used.c[count].desc()).offset(place - 1).limit(1))
        return int(row[0]) if row else 0

    def _own(self, name: str) -> sa.Select[Any]:
        """Events of a memory of the page."""
        c = usage_events.c
        query = sa.select().where(c.org_id == self._scope.org, c.event_name == name)
        return query.where(c.entity_type == _PAGE.c.kind, c.entity_id == _PAGE.c.id)

    def _of_each(self, refs: Sequence[At], *queries: sa.Select[Any]) -> dict[tuple[str, str], Sequence[Any]]:
        """By memory, a value of each query. Asked memory by memory: SQLite would walk all events to join."""
        values = [query_of_value.correlate(_PAGE).scalar_subquery() for query_of_value in queries]
        page = self._scope.db.json_rows(sa.bindparam("refs", type_=sa.Text), _PAGE).cte("page")
        query = sa.select(_PAGE.c.kind, _PAGE.c.id, *values).add_cte(page)
        refs_json = json.dumps([{"kind": kind, "id": memory_id, "at": at} for kind, memory_id, at in refs])
        return {(row[0], row[1]): row[2:] for row in self._scope.all(query, refs=refs_json)}


# Some memories as a table; which ones is said where it is asked.
_PAGE = sa.table("page", sa.column("kind", sa.Text), sa.column("id", sa.Text), sa.column("at", sa.BigInteger))


def _stat(row: Any, sessions: int, first: int, last: str | None) -> InjectionUsage:
    return InjectionUsage(
        kind=row.kind,
        id=row.entity_id,
        shown=int(row.shown),
        sessions=sessions,
        tokens=int(row.tokens),
        first_at=Millis(first),
        last_at=Millis(row.last_at),
        last_session=last or "",
    )


def _citation_stat(row: Any, metadata: str | None) -> CitationStat:
    turn = json.loads(metadata or "{}").get("interaction_id")
    return CitationStat(row.kind, row.entity_id, int(row.citations), Millis(row.last_cited_at), turn)
