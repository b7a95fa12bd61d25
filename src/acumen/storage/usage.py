"""What was shown, echoed and cited, as rows."""

import json
from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from acumen.model.echoes import Shown
from acumen.model.ids import Kind, MemoryRef, Millis
from acumen.model.profile import DAY_MS
from acumen.model.usage import Injection, InjectionStat, UsageEvent
from acumen.storage.scope import Scope, in_batches
from acumen.storage.tables import injections, orgs, usage_events

# Text that comes back later than this was more likely said anew than repeated.
ECHO_DAYS = 7
ECHO_INJECTIONS = 50


class Usage:
    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    def add(self, shown: Sequence[Injection], events: Sequence[UsageEvent]) -> None:
        """Events carry ids made from what they count, so the same fact counted twice is one row."""
        s = self._scope
        if shown:
            rows = [s.stamp(_injection_row(injection)) for injection in shown]
            s.conn.execute(s.db.insert(injections).on_conflict_do_nothing(), rows)
        if events:
            rows = [s.stamp(_event_row(event)) for event in events]
            s.conn.execute(s.db.insert(usage_events).on_conflict_do_nothing(), rows)

    def stats(self, since: Millis, limit: int | None, offset: int) -> tuple[list[InjectionStat], int]:
        """Per memory, the most shown first; and how many memories were shown at all."""
        c = usage_events.c
        shown = sa.func.sum(c.count_value)
        last = sa.func.max(c.created_at)
        query = (
            sa.select(
                c.entity_type,
                c.entity_id,
                shown.label("surfaced"),
                sa.func.count(c.session_id.distinct()).label("sessions"),
                sa.func.sum(c.prompt_tokens).label("tokens"),
                sa.func.min(c.created_at).label("first_at"),
                last.label("last_at"),
            )
            .where(c.org_id == self._scope.org, c.event_name == "learning_injection", c.created_at >= since)
            .where(c.entity_id.is_not(None))
            .group_by(c.entity_type, c.entity_id)
        )
        total = self._scope.conn.execute(sa.select(sa.func.count()).select_from(query.subquery())).scalar_one()
        page = self._scope.all(query.order_by(shown.desc(), last.desc(), c.entity_id).limit(limit).offset(offset))
        return [self._stat(row) for row in page], int(total)

    def last_shown(self, kind: str, since: Millis) -> dict[str, tuple[int, int, int]]:
        """Per memory of a kind: times shown, tokens spent, last time shown."""
        return self._per_entity(kind, "learning_injection", since)

    def last_cited(self, kind: str, since: Millis) -> dict[str, tuple[int, int, int]]:
        return self._per_entity(kind, "learning_citation", since)

    def shown_lately(self, user: str, at: Millis) -> list[Shown]:
        """The memories put before this user's agents in the days up to `at`, as they were rendered."""
        c = injections.c
        lately = c.created_at.between(at - ECHO_DAYS * DAY_MS, at)
        query = sa.select(c.hits).where(c.org_id == self._scope.org, c.user_id == user, lately)
        rows = self._scope.all(query.order_by(c.created_at.desc()).limit(ECHO_INJECTIONS))
        hits = [hit for row in rows for hit in row.hits or () if hit["shown"]]
        return list({Shown(MemoryRef(Kind(hit["kind"]), hit["id"]), hit["line"]): None for hit in hits})

    def injection(self, injection_id: str) -> Injection | None:
        query = sa.select(injections).where(
            injections.c.org_id == self._scope.org, injections.c.injection_id == injection_id
        )
        row = self._scope.one(query)
        return _injection(row) if row else None

    def metered_since(self) -> Millis | None:
        query = sa.select(orgs.c.metered_since).where(orgs.c.org_id == self._scope.org)
        found = self._scope.conn.execute(query).scalar()
        return None if found is None else Millis(found)

    def begin_metering(self, at: Millis) -> None:
        """Remembers from when on counting is complete; the first call wins."""
        self._scope.conn.execute(
            sa.update(orgs)
            .where(orgs.c.org_id == self._scope.org, orgs.c.metered_since.is_(None))
            .values(metered_since=at, updated_at=at)
        )

    def pause_metering(self) -> None:
        """Counting stopped: whatever starts next cannot speak for the time before it."""
        stopped = {"metered_since": None, "updated_at": self._scope.at}
        self._scope.conn.execute(sa.update(orgs).where(orgs.c.org_id == self._scope.org).values(stopped))

    def expire(self, before: Millis) -> int:
        gone = self._scope.delete(usage_events, usage_events.c.created_at < before)
        self._scope.delete(injections, injections.c.created_at < before)
        return gone

    def delete_user(self, user: str, request_ids: Sequence[str], session_ids: Sequence[str]) -> int:
        self._delete_of_user(injections, user, request_ids, session_ids)
        return self._delete_of_user(usage_events, user, request_ids, session_ids)

    def forget_lines(self, kind: Kind, ids: Sequence[str]) -> None:
        """That these memories were shown stays counted; how they read then is taken out of what was rendered."""
        c, gone = injections.c, set(ids)
        mentioned = self._scope.db.holds(sa.cast(c.hits, sa.Text), f'"{kind}"')
        query = sa.select(c.injection_id, c.hits, c.rendered).where(c.org_id == self._scope.org, mentioned)
        for row in self._scope.all(query):
            lines = [hit["line"] for hit in row.hits if hit["kind"] == kind and hit["id"] in gone and hit["line"]]
            if lines:
                hits = [{**hit, "line": ""} if hit["line"] in lines else hit for hit in row.hits]
                values = {"hits": hits, "rendered": _without(row.rendered, lines), "updated_at": self._scope.at}
                where = (c.org_id == self._scope.org, c.injection_id == row.injection_id)
                self._scope.conn.execute(sa.update(injections).where(*where).values(values))

    def _delete_of_user(
        self, table: sa.Table, user: str, request_ids: Sequence[str], session_ids: Sequence[str]
    ) -> int:
        """Also what was counted for one of their requests or sessions without saying whose it is."""
        gone = self._scope.delete(table, table.c.user_id == user)
        for column, ids in ((table.c.request_id, request_ids), (table.c.session_id, session_ids)):
            gone += sum(
                self._scope.delete(table, table.c.user_id.is_(None), column.in_(some)) for some in in_batches(ids)
            )
        return gone

    def _per_entity(self, kind: str, event: str, since: Millis) -> dict[str, tuple[int, int, int]]:
        c = usage_events.c
        query = (
            sa.select(c.entity_id, sa.func.sum(c.count_value), sa.func.sum(c.prompt_tokens), sa.func.max(c.created_at))
            .where(c.org_id == self._scope.org, c.event_name == event, c.entity_type == kind, c.created_at >= since)
            .group_by(c.entity_id)
        )
        return {row[0]: (int(row[1]), int(row[2]), int(row[3])) for row in self._scope.all(query)}

    def _stat(self, row: Any) -> InjectionStat:
        c = usage_events.c
        last_session = self._scope.conn.execute(
            sa.select(c.session_id)
            .where(c.org_id == self._scope.org, c.entity_type == row.entity_type, c.entity_id == row.entity_id)
            .where(c.event_name == "learning_injection", c.created_at == row.last_at)
            .limit(1)
        ).scalar()
        return InjectionStat(
            kind=row.entity_type,
            id=row.entity_id,
            shown=int(row.surfaced),
            sessions=int(row.sessions),
            tokens=int(row.tokens),
            first_at=Millis(row.first_at),
            last_at=Millis(row.last_at),
            last_session=last_session or "",
        )


def _without(rendered: str, lines: Sequence[str]) -> str:
    for line in lines:
        rendered = rendered.replace(line, "- (erased)")
    return rendered


def _injection_row(injection: Injection) -> dict[str, Any]:
    row = {name: getattr(injection, name) for name in Injection.__dataclass_fields__}
    row["injection_id"] = row.pop("id")
    return row


def _injection(row: Any) -> Injection:
    values = {name: getattr(row, name) for name in Injection.__dataclass_fields__ if name not in ("id", "hits")}
    return Injection(id=row.injection_id, hits=row.hits or [], **values)


def _event_row(event: UsageEvent) -> dict[str, Any]:
    return {
        "event_id": event.id,
        "user_id": event.user_id,
        "request_id": event.request_id,
        "session_id": event.session_id,
        "injection_id": event.injection_id,
        "pipeline": "search",
        "entity_type": event.kind,
        "entity_id": event.memory_id,
        "event_name": event.name,
        "event_category": "retrieval",
        "caller_type": event.caller_type,
        "count_value": event.count,
        "prompt_tokens": event.tokens,
        "completion_tokens": 0,
        "billing_input_tokens": 0,
        "platform_llm": False,
        "platform_storage": False,
        "duration_ms": event.duration_ms,
        "error_kind": None,
        "metadata_json": json.dumps(event.detail),
        "created_at": event.at,
    }
