"""Memories and sessions as a person leafs through them: filtered, counted, a page at a time."""

from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from acumen.model.ids import Kind, MemoryRef, Millis
from acumen.model.memories.base import Status
from acumen.model.memories.listing import MemoryEntry, MemoryFilter, SessionEntry
from acumen.model.metering.usage import CITED, ECHOED
from acumen.storage.engine.scope import OrgScope, value_of
from acumen.storage.memories.memory_tables import MEMORY_TABLES
from acumen.storage.tables import (
    agent_playbook_sources,
    injections,
    interactions,
    memory_totals,
    requests,
    usage_events,
)

_LESSON_COLUMNS = ("name", "trigger", "agent_version")


class MemoryBrowser:
    def __init__(self, scope: OrgScope) -> None:
        self._scope = scope

    # --- memories --------------------------------------------------------------------------------------------------

    def page_memories(self, criteria: MemoryFilter, limit: int, offset: int) -> tuple[list[MemoryEntry], int]:
        """The latest changed first, and how many there are in all."""
        parts = [
            self._of_kind(mapping, criteria)
            for mapping in MEMORY_TABLES.values()
            if criteria.kind in (None, mapping.kind)
        ]
        every = sa.union_all(*parts).subquery("every")
        order = (every.c.updated_at.desc(), every.c.kind, every.c.id)
        page, total = self._scope.page(sa.select(every).order_by(*order), limit, offset)
        return [_entry(row) for row in page], total

    def _of_kind(self, mapping: Any, criteria: MemoryFilter) -> sa.Select[Any]:
        c = mapping.table.c
        lesson = {name: c[name] if name in c else sa.literal("") for name in _LESSON_COLUMNS}
        query = sa.select(
            sa.literal(str(mapping.kind)).label("kind"),
            mapping.text_id.label("id"),
            mapping.owner.label("user_id"),
            lesson["name"].label("name"),
            c.content,
            c.status,
            lesson["agent_version"].label("agent_version"),
            c.version,
            c.created_at,
            c.updated_at,
        ).where(c.org_id == self._scope.org)
        return query.where(*self._conditions(mapping, criteria, lesson))

    def _conditions(self, mapping: Any, criteria: MemoryFilter, lesson: Mapping[str, Any]) -> list[Any]:
        c = mapping.table.c
        conditions = [] if criteria.statuses is None else [c.status.in_([str(status) for status in criteria.statuses])]
        for column, value in ((mapping.owner, criteria.user_id), (lesson["agent_version"], criteria.agent_version)):
            conditions += [] if value is None else [column == value]
        if criteria.tag is not None:
            conditions.append(self._scope.db.json_contains(c.tags, criteria.tag))
        if criteria.length is not None:
            least, below = criteria.length
            conditions.append(sa.func.length(c.content) >= least)
            conditions += [] if below is None else [sa.func.length(c.content) < below]
        if criteria.refs is not None:
            ids = [mapping.parse_id(ref.id) for ref in criteria.refs if ref.kind is mapping.kind]
            conditions.append(c[mapping.id_column].in_(ids))
        if criteria.text:
            texts = [c.content, *(c[name] for name in ("trigger", "name") if name in c)]
            conditions.append(sa.or_(*(self._scope.db.contains_text(text, criteria.text) for text in texts)))
        return conditions

    def count_by_age(self, edges: Sequence[Millis]) -> dict[tuple[int, int], int]:
        """Current memories by when they were made and when they were last shown.

        A bucket is the number of edges after a time, with edges from the latest to the earliest; memories that were
        never shown are in one more, after the last.
        """
        counts: dict[tuple[int, int], int] = {}
        for mapping in MEMORY_TABLES.values():
            c, t = mapping.table.c, memory_totals.c
            its = sa.and_(t.org_id == c.org_id, t.kind == str(mapping.kind), t.entity_id == mapping.text_id)
            born, used = (
                _bucket(c.created_at, edges),
                sa.case((t.last_at.is_(None), len(edges) + 1), else_=_bucket(t.last_at, edges)),
            )
            query = sa.select(born, used, sa.func.count()).select_from(mapping.table.outerjoin(memory_totals, its))
            query = query.where(c.org_id == self._scope.org, c.status == str(Status.CURRENT)).group_by(born, used)
            for made, last, count in self._scope.all(query):
                counts[made, last] = counts.get((made, last), 0) + count
        return counts

    def find_agent_versions(self, limit: int) -> list[str]:
        """Users that have playbooks."""
        parts = [
            sa.select(mapping.table.c.agent_version).where(mapping.table.c.org_id == self._scope.org)
            for mapping in (MEMORY_TABLES[Kind.USER_PLAYBOOK], MEMORY_TABLES[Kind.AGENT_PLAYBOOK])
        ]
        every = sa.union(*parts).subquery("every")
        query = sa.select(every).where(every.c.agent_version != "").order_by(every.c.agent_version.desc())
        return [row[0] for row in self._scope.all(query.limit(limit))]

    def find_links_to(self, ref: MemoryRef) -> list[tuple[MemoryRef, str]]:
        """Memories that gave way to this one, and for a shared lesson those it was written from; at most fifty."""
        mapping = MEMORY_TABLES[ref.kind]
        c, own_id = mapping.table.c, mapping.parse_id(ref.id)
        links = [
            (MemoryRef(ref.kind, str(row[0])), relation)
            for column, relation in ((c.superseded_by, "supersedes"), (c.merged_into, "merged from"))
            for row in self._scope.all(self._scope.select(c[mapping.id_column]).where(column == own_id).limit(25))
        ]
        return links + self._folded(ref)

    def _folded(self, ref: MemoryRef) -> list[tuple[MemoryRef, str]]:
        s = agent_playbook_sources.c
        if ref.kind is Kind.AGENT_PLAYBOOK:
            column, linked, kind, relation = s.agent_playbook_id, s.user_playbook_id, Kind.USER_PLAYBOOK, "written from"
        elif ref.kind is Kind.USER_PLAYBOOK:
            column, linked, kind, relation = s.user_playbook_id, s.agent_playbook_id, Kind.AGENT_PLAYBOOK, "folded into"
        else:
            return []
        query = self._scope.select(linked).where(column == int(ref.id)).limit(25)
        return [(MemoryRef(kind, str(row[0])), relation) for row in self._scope.all(query)]

    # --- sessions --------------------------------------------------------------------------------------------------

    def page_sessions(
        self, user: str | None, session: str | None, limit: int, offset: int
    ) -> tuple[list[SessionEntry], int]:
        """The latest first, and how many there are in all."""
        c = requests.c
        query = self._scope.select(
            c.user_id,
            c.session_id,
            sa.func.max(c.agent_version).label("agent_version"),
            sa.func.max(c.source).label("source"),
            sa.func.count().label("requests"),
            sa.func.min(c.created_at).label("started_at"),
            sa.func.max(c.created_at).label("last_at"),
        )
        if user is not None:
            query = query.where(c.user_id == user)
        if session is not None:
            query = query.where(c.session_id == session)
        grouped = query.group_by(c.user_id, c.session_id)
        total = self._scope.conn.execute(sa.select(sa.func.count()).select_from(grouped.subquery())).scalar_one()
        order = (sa.func.max(c.created_at).desc(), c.user_id, c.session_id)
        page = self._scope.all(grouped.order_by(*order).limit(limit).offset(offset))
        return self._counted([dict(row._mapping) for row in page]), int(total)  # noqa: SLF001 - public

    def _counted(self, page: Sequence[dict[str, Any]]) -> list[SessionEntry]:
        keys = [(row["user_id"], row["session_id"]) for row in page]
        turns = self._per_session(interactions, keys, sa.func.count())
        shown = self._per_session(injections, keys, sa.func.count(), sa.func.sum(injections.c.tokens))
        events = {
            name: self._per_session(usage_events, keys, sa.func.count(), where=usage_events.c.event_name == name)
            for name in (CITED, ECHOED)
        }
        return [
            SessionEntry(
                **row,
                turns=turns.get(key, (0,))[0],
                injections=shown.get(key, (0, 0))[0],
                tokens=shown.get(key, (0, 0))[1],
                cited=events[CITED].get(key, (0,))[0],
                echoed=events[ECHOED].get(key, (0,))[0],
            )
            for key, row in zip(keys, page, strict=True)
        ]

    def _per_session(
        self, table: sa.Table, keys: Sequence[tuple[str, str]], *sums: Any, where: Any = None
    ) -> dict[tuple[str, str], tuple[int, ...]]:
        c = table.c
        query = (
            sa.select(c.user_id, c.session_id, *sums)
            .where(c.org_id == self._scope.org, c.user_id.in_({user for user, _ in keys}))
            .where(c.session_id.in_({session for _, session in keys}))
            .group_by(c.user_id, c.session_id)
        )
        rows = self._scope.all(query if where is None else query.where(where)) if keys else []
        return {(row[0], row[1]): tuple(int(value or 0) for value in row[2:]) for row in rows}


def _bucket(time: Any, edges: Sequence[Millis]) -> Any:
    return sa.case(
        *((time >= edge, sa.literal_column(str(place))) for place, edge in enumerate(edges)),
        else_=sa.literal_column(str(len(edges))),
    )


def _entry(row: Any) -> MemoryEntry:
    fields = {"ref": MemoryRef(Kind(row.kind), row.id), "status": Status(row.status)}
    return value_of(MemoryEntry, row, **fields, name=row.name or "", agent_version=row.agent_version or "")
