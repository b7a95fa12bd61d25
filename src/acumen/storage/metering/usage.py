"""What was shown, echoed and cited, as rows."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

import sqlalchemy as sa

from acumen.model.ids import Kind, MemoryRef, Millis
from acumen.model.metering.usage import CITED, ECHOED, EVENTS, SEARCHED, SHOWN, UsageEvent
from acumen.model.times import DAY_MS
from acumen.storage.engine.bulk_insert import BulkInsert
from acumen.storage.engine.compiled_statement import PlainStatement, SelectByIds
from acumen.storage.engine.database import Lock
from acumen.storage.engine.scope import OrgScope, in_batches
from acumen.storage.metering.injections import ECHO_DAYS
from acumen.storage.metering.usage_counters import IDS_AT_ONCE, UsageCounters
from acumen.storage.metering.usage_rollup import UsageRollup, day_of
from acumen.storage.metering.usage_top import TopMemories
from acumen.storage.tables import injections, orgs, usage_events


class Usage:
    def __init__(self, scope: OrgScope) -> None:
        self._scope = scope
        self.counters = UsageCounters(scope)
        self.top = TopMemories(scope, self.counters)

    def add(self, events: Sequence[UsageEvent]) -> None:
        """Events carry ids made from what they count, so the same fact counted twice is one row."""
        s = self._scope
        if not events:
            return
        # New rows must be known for the sums, so no other transaction counts meanwhile.
        s.db.lock(s.conn, Lock(f"meter:{s.org}"))
        new = self._unknown(events)
        if new:
            same = (s.org, s.at, *_SAME.values())
            _ADD_EVENTS.run(s.conn, [(*_event_values(event), *same) for event in new])
        rollup = self.counters.start_rollup()
        for event in new:
            rollup.count(event)
            if event.name in (CITED, ECHOED):
                self._credit(event, rollup)
        self.counters.add(rollup)

    def _unknown(self, events: Sequence[UsageEvent]) -> list[UsageEvent]:
        new = {event.id: event for event in events}
        # What is named after its own injection cannot have been counted before.
        ids = [event.id for event in new.values() if event.request_id is not None or event.injection_id is None]
        for start in range(0, len(ids), IDS_AT_ONCE):
            for row in _KNOWN.rows(self._scope.conn, self._scope.org, ids[start : start + IDS_AT_ONCE]):
                del new[row["event_id"]]
        return list(new.values())

    def _credit(self, event: UsageEvent, rollup: UsageRollup) -> None:
        """The showing that a citation or an echo belongs to is the latest one in its session, or else of its user."""
        showing = self._showing(event)
        if showing is None:
            return
        column = usage_events.c.cited_at if event.name == CITED else usage_events.c.echoed_at
        first = self._scope.conn.execute(
            sa.update(usage_events)
            .where(usage_events.c.org_id == self._scope.org, usage_events.c.event_id == showing.event_id)
            .where(column.is_(None))
            .values({column.name: event.at, "updated_at": self._scope.at})
        ).rowcount
        if first:
            rollup.credit(event, showing)

    def _showing(self, event: UsageEvent) -> Any:
        c = usage_events.c
        query = (
            sa.select(usage_events)
            .where(c.org_id == self._scope.org, c.user_id == event.user_id, c.entity_id == event.memory_id)
            .where(c.entity_type == event.kind, c.event_name == SHOWN, c.created_at <= event.at)
            .order_by(c.created_at.desc())
            .limit(1)
        )
        in_session = self._scope.first(query.where(c.session_id == event.session_id))
        lately = c.created_at >= event.at - ECHO_DAYS * DAY_MS
        return in_session or self._scope.first(query.where(c.session_id.is_(None), lately))

    # --- reading -------------------------------------------------------------------------------------------------

    def count(self, name: str, since: Millis) -> int:
        c = usage_events.c
        return self._scope.count(usage_events, c.event_name == name, c.created_at >= since)

    def find_latencies(self, limit: int) -> list[float]:
        """Milliseconds of the latest searches."""
        c = usage_events.c
        query = sa.select(c.duration_ms).where(c.org_id == self._scope.org, c.event_name == SEARCHED)
        rows = self._scope.all(query.order_by(c.created_at.desc()).limit(limit))
        return [row[0] for row in rows if row[0] is not None]

    def find_events(self, ref: MemoryRef, since: Millis, limit: int) -> list[UsageEvent]:
        """The memory's latest showings, echoes and citations, the last first."""
        c = usage_events.c
        query = sa.select(usage_events).where(
            c.org_id == self._scope.org,
            c.entity_type == str(ref.kind),
            c.entity_id == ref.id,
            c.created_at >= since,
        )
        return [_event(row) for row in self._scope.all(query.order_by(c.created_at.desc()).limit(limit))]

    def find_citations(self, user: str, session: str) -> list[UsageEvent]:
        """The citations of a session, the first first."""
        c = usage_events.c
        query = self._scope.select(usage_events).where(
            c.user_id == user, c.session_id == session, c.event_name == CITED
        )
        return [_event(row) for row in self._scope.all(query.order_by(c.created_at, c.event_id))]

    def find_sessions(self, kind: str, memory_id: str) -> set[str]:
        """The sessions in which a memory was put before an agent."""
        c = usage_events.c
        query = (
            sa.select(c.session_id)
            .distinct()
            .where(
                c.org_id == self._scope.org,
                c.entity_type == str(kind),
                c.entity_id == memory_id,
                c.event_name == SHOWN,
                c.session_id.is_not(None),
            )
        )
        return {row[0] for row in self._scope.all(query)}

    # --- since when ----------------------------------------------------------------------------------------------

    def get_metered_since(self) -> Millis | None:
        query = sa.select(orgs.c.metered_since).where(orgs.c.org_id == self._scope.org)
        at = self._scope.conn.execute(query).scalar()
        return None if at is None else Millis(at)

    def get_cited_since(self) -> Millis | None:
        """When an agent first cited a memory, of what is still counted; None: no agent has."""
        c = usage_events.c
        first = sa.select(sa.func.min(c.created_at)).where(c.org_id == self._scope.org, c.event_name == CITED)
        at = self._scope.conn.execute(first).scalar()
        return None if at is None else Millis(at)

    def begin_metering(self, at: Millis) -> None:
        """Remembers from when on counting is complete; the first call wins."""
        _BEGIN.run(self._scope.conn, [{"org": self._scope.org, "at": at}])

    def pause_metering(self) -> None:
        """Counting stopped: the next count does not cover the time before it."""
        stopped = {"metered_since": None, "updated_at": self._scope.at}
        self._scope.conn.execute(sa.update(orgs).where(orgs.c.org_id == self._scope.org).values(stopped))

    # --- forgetting ----------------------------------------------------------------------------------------------

    def find_retention_start(self, before: Millis, most_rows: int) -> Millis | None:
        """Deletes whole days: those that ended before a moment, and the oldest until about `most_rows` are left.

        None when there is nothing so old, and counting is said to be complete from no earlier on.
        """
        start = Millis(max(day_of(before), self._first_day_of_last(most_rows)) * DAY_MS)
        e, i = usage_events.c, injections.c
        events = self._scope.select(e.event_id).where(e.event_name.in_(EVENTS), e.created_at < start).limit(1)
        shown = self._scope.select(i.injection_id).where(i.created_at < start).limit(1)
        earlier = (self.get_metered_since() or start) < start
        return start if earlier or self._scope.first(events) or self._scope.first(shown) else None

    def expire(self, start: Millis) -> int:
        """What is older leaves, and counting is complete from there on."""
        gone = self._scope.delete(usage_events, usage_events.c.created_at < start)
        self._scope.delete(injections, injections.c.created_at < start)
        self.counters.expire(day_of(start))
        self._scope.conn.execute(
            sa.update(orgs)
            .where(orgs.c.org_id == self._scope.org, orgs.c.metered_since < start)
            .values(metered_since=start, updated_at=self._scope.at)
        )
        return gone

    def _first_day_of_last(self, rows: int) -> int:
        """The day on which the last `rows` events began; 0 when there are not more than that."""
        if self._scope.count(usage_events) <= rows:
            return 0
        day = usage_events.c.created_at // DAY_MS
        query = sa.select(day.label("day"), sa.func.count()).where(usage_events.c.org_id == self._scope.org)
        counted = 0
        for first_day, number in self._scope.all(query.group_by(day).order_by(day.desc())):
            counted += number
            if counted >= rows:
                return int(first_day)
        return 0

    def delete_user(self, user: str, request_ids: Sequence[str], session_ids: Sequence[str]) -> int:
        """Also what was counted for one of their requests or sessions without saying whose it is."""
        gone = 0
        touched: set[MemoryRef] = set()
        for where in self._of_user(usage_events, user, request_ids, session_ids):
            touched |= self._refs(*where)
            gone += self._scope.delete(usage_events, *where)
        for where in self._of_user(injections, user, request_ids, session_ids):
            self._scope.delete(injections, *where)
        self.counters.delete_user(user)
        self.counters.recount(touched, [""])
        return gone

    def _of_user(
        self, table: sa.Table, user: str, request_ids: Sequence[str], session_ids: Sequence[str]
    ) -> Iterable[tuple[sa.ColumnElement[bool], ...]]:
        yield (table.c.user_id == user,)
        for column, ids in ((table.c.request_id, request_ids), (table.c.session_id, session_ids)):
            for batch in in_batches(ids):
                yield table.c.user_id.is_(None), column.in_(batch)

    def _refs(self, *where: sa.ColumnElement[bool]) -> set[MemoryRef]:
        c = usage_events.c
        query = sa.select(c.entity_type, c.entity_id).where(c.org_id == self._scope.org, *where).distinct()
        rows = self._scope.all(query.where(c.entity_id.is_not(None)))
        return {MemoryRef(Kind(row.entity_type), row.entity_id) for row in rows}


_BEGIN = PlainStatement(
    sa.update(orgs)
    .where(orgs.c.org_id == sa.bindparam("org"), orgs.c.metered_since.is_(None))
    .values(metered_since=sa.bindparam("at"), updated_at=sa.bindparam("at"))
)
_SAME = {
    "pipeline": "search",
    "event_category": "retrieval",
    "completion_tokens": 0,
    "billing_input_tokens": 0,
    "platform_llm": False,
    "platform_storage": False,
}
_EVENT_COLUMNS = (
    *("event_id", "user_id", "request_id", "session_id", "injection_id", "entity_type", "entity_id", "event_name"),
    *("caller_type", "count_value", "prompt_tokens", "duration_ms", "metadata_json", "agent_version", "created_at"),
    *("org_id", "updated_at"),
    *_SAME,
)
_ADD_EVENTS = BulkInsert(sa.insert(usage_events).prefix_with("OR FAIL", dialect="sqlite"), _EVENT_COLUMNS)
_KNOWN = SelectByIds(usage_events.c.event_id, [usage_events.c.event_id])


def _event(row: Any) -> UsageEvent:
    return UsageEvent(
        id=row.event_id,
        name=row.event_name,
        at=Millis(row.created_at),
        user_id=row.user_id,
        request_id=row.request_id,
        session_id=row.session_id,
        injection_id=row.injection_id,
        kind=row.entity_type,
        memory_id=row.entity_id,
        caller_type=row.caller_type,
        count=row.count_value,
        tokens=row.prompt_tokens,
        duration_ms=row.duration_ms,
        agent_version=row.agent_version,
        detail=json.loads(row.metadata_json),
    )


def _event_values(event: UsageEvent) -> tuple[Any, ...]:
    """In the order of the columns."""
    return (
        event.id,
        event.user_id,
        event.request_id,
        event.session_id,
        event.injection_id,
        event.kind,
        event.memory_id,
        event.name,
        event.caller_type,
        event.count,
        event.tokens,
        event.duration_ms,
        json.dumps(event.detail) if event.detail else "{}",
        event.agent_version,
        event.at,
    )
