"""What searches put before agents, as rows: each answer as it was given."""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from typing import Any

import sqlalchemy as sa

from acumen.model.echoes import RenderedMemory
from acumen.model.handles import turn_handle
from acumen.model.ids import InteractionId, Kind, MemoryRef, Millis
from acumen.model.metering.experiment import HOLDOUT
from acumen.model.metering.usage import PRODUCTION, Injection, Unanswered
from acumen.model.times import DAY_MS, MINUTE_MS
from acumen.storage.engine.compiled_statement import CompiledSelect, CompiledStatement, PlainStatement, SelectByIds
from acumen.storage.engine.database import Lock
from acumen.storage.engine.scope import OrgScope, in_batches, row_of, value_of
from acumen.storage.tables import injections, interactions, lineage, orgs, search_rows

# Text that comes back later than this was more likely said again than repeated.
ECHO_DAYS = 7
ECHO_INJECTIONS = 50
ERASED = "- (erased)"
# No transaction takes as long, and no two clocks are so far apart.
# Memories whose ids are looked for in the text of what was shown; of more, all is read.
FEW = 20

# Asked for every window that is learned from: built once.
_lately = (
    sa.select(injections.c.hits)
    .where(
        injections.c.org_id == sa.bindparam("org"),
        injections.c.user_id == sa.bindparam("user"),
        injections.c.created_at.between(sa.bindparam("since"), sa.bindparam("until")),
    )
    .order_by(injections.c.created_at.desc())
    .limit(ECHO_INJECTIONS)
)
_SHOWN = CompiledSelect(_lately)
_SHOWN_IN_SESSION = CompiledSelect(_lately.where(injections.c.session_id == sa.bindparam("session")))


class Injections:
    def __init__(self, scope: OrgScope) -> None:
        self._scope = scope

    def add(self, shown: Sequence[Injection]) -> None:
        """As they were given, without the text of memories that were deleted since the answer."""
        s = self._scope
        if not shown:
            return
        s.db.lock(s.conn, Lock(f"meter:{s.org}"))
        rows = [s.stamp(_row(injection)) for injection in shown]
        changed = _CHANGED.first(s.conn, org=s.org)
        if changed is None or changed[0] > min(injection.created_at for injection in shown) - MINUTE_MS:
            refs = {(hit["kind"], hit["id"]) for injection in shown for hit in injection.hits if hit["line"]}
            refs_json = json.dumps([{"kind": kind, "id": memory_id} for kind, memory_id in refs])
            if deleted := set(map(tuple, _deleted(s.db.json_rows).all(s.conn, org=s.org, refs=refs_json))):
                rows = [_without(deleted, row) for row in rows]
        _add(s.db.insert).run(s.conn, self._of_existing_turns(rows))

    def _of_existing_turns(self, rows: Sequence[dict[str, Any]]) -> Sequence[dict[str, Any]]:
        """Without the words of turns that were deleted between the answer and now."""
        quoted = {turn for row in rows for turn in (row["ask"] or {}).get("quoted", ())}
        if not quoted:
            return rows
        s = self._scope
        batches = in_batches(sorted(quoted))
        there = {row["interaction_id"] for batch in batches for row in _EXISTING.rows(s.conn, s.org, batch)}
        gone = quoted - there
        return [{**row, "rendered": _unquoted(row["ask"], row["rendered"], gone)} for row in rows] if gone else rows

    def get(self, injection_id: str) -> Injection | None:
        row = self._scope.first(self._scope.select(injections).where(injections.c.injection_id == injection_id))
        return _injection(row) if row else None

    def find_by_user(self, user: str, session: str | None, limit: int) -> list[Injection]:
        """A user's latest, the last first; of one session if it is named."""
        c = injections.c
        query = self._scope.select(injections).where(c.user_id == user)
        if session is not None:
            query = query.where(c.session_id == session)
        return [_injection(row) for row in self._scope.all(query.order_by(c.created_at.desc()).limit(limit))]

    def find_unanswered(self, since: Millis, limit: int) -> list[Unanswered]:
        """What production agents asked and were shown nothing for, the most often asked first."""
        c, times = injections.c, sa.func.count()
        query = (
            self._scope.select(c.query, times, sa.func.max(c.created_at))
            .where(c.created_at >= since, c.caller_type == PRODUCTION, c.tokens == 0)
            .where(c.query != "", sa.or_(c.experiment_arm.is_(None), c.experiment_arm != HOLDOUT))
            .group_by(c.query)
            .order_by(times.desc(), sa.func.max(c.created_at).desc())
        )
        return [Unanswered(*row) for row in self._scope.all(query.limit(limit))]

    def find_recent_memories(self, user: str, at: Millis, session: str | None = None) -> list[RenderedMemory]:
        """The memories injected for a user (or in one session) in the days up to `at`, as they were rendered."""
        injected = self.find_memories_between(user, Millis(at - ECHO_DAYS * DAY_MS), at, session)
        return list(dict.fromkeys(line for lines in injected for line in lines))

    def find_memories_between(
        self, user: str, since: Millis, until: Millis, session: str | None = None
    ) -> list[list[RenderedMemory]]:
        """The memories of each injection, the latest first; at most `ECHO_INJECTIONS` of them."""
        s = self._scope
        bound = {"org": s.org, "user": user, "since": since, "until": until}
        in_session = {} if session is None else {"session": session}
        rows = (_SHOWN_IN_SESSION if in_session else _SHOWN).rows(s.conn, **bound, **in_session)
        return [
            [
                RenderedMemory(MemoryRef(Kind(hit["kind"]), hit["id"]), hit["line"])
                for hit in row["hits"] or ()
                if hit["shown"]
            ]
            for row in rows
        ]

    def erase_words(self, kind: Kind, owners: Mapping[str, str | None] | None) -> None:
        """How these memories (ids, each with its owner; None: all of a kind) read when they were shown.

        That they were shown stays counted. What belongs to a user was shown only to that user's agents.
        """
        # No concurrent write stores what was shown a moment ago: `add` leaves out what it finds deleted.
        self._scope.db.lock(self._scope.conn, Lock(f"meter:{self._scope.org}"))
        if owners is None:
            self._scope.delete(injections)
        if not owners:
            return
        c = injections.c
        query = self._scope.select(c.injection_id, c.hits, c.rendered).where(_mentions(list(owners)))
        query = query.where(c.created_at >= self._first_known(kind, list(owners)))
        users = {user for user in owners.values() if user is not None}
        everyones = None in owners.values()
        for row in self._scope.all(query) if everyones else self._scope.all_in(query, c.user_id, users):
            lines = [hit["line"] for hit in row.hits if hit["kind"] == kind and hit["id"] in owners and hit["line"]]
            if lines:
                self._erase(row, lines)

    def erase_turns(self, owners: Mapping[str, Collection[InteractionId]]) -> None:
        """How these turns of some users were quoted to the users' agents."""
        self._scope.db.lock(self._scope.conn, Lock(f"meter:{self._scope.org}"))
        c = injections.c
        query = self._scope.select(c.injection_id, c.user_id, c.ask, c.rendered)
        for row in self._scope.all_in(query, c.user_id, list(owners)):
            rendered = _unquoted(row.ask, row.rendered, set(owners[row.user_id]))
            if rendered != row.rendered:
                self._scope.update(injections, c.injection_id == row.injection_id, rendered=rendered)

    def erase_all_turns(self) -> None:
        """What was quoted of any turn; an injection that quoted nothing stays as it is."""
        c = injections.c
        users = {row.user_id for row in self._scope.all(self._scope.select(c.user_id).distinct()) if row.user_id}
        for user in sorted(users):
            rows = self._scope.all(self._scope.select(c.ask).where(c.user_id == user))
            self.erase_turns({user: {turn for row in rows for turn in (row.ask or {}).get("quoted", ())}})

    def _first_known(self, kind: Kind, ids: Sequence[str]) -> Millis:
        """Before the first of these memories was written down, none of them can have been shown; 0: it is not known.

        A day earlier, as no two clocks agree.
        """
        e = lineage.c
        query = self._scope.select(e.entity_id, sa.func.min(e.created_at)).where(e.op == "add", e.kind == str(kind))
        first_times = self._scope.all_in(query.group_by(e.entity_id), e.entity_id, ids)
        return Millis(min(at for _, at in first_times) - DAY_MS if first_times and len(first_times) == len(ids) else 0)

    def _erase(self, row: Any, lines: Sequence[str]) -> None:
        hits, rendered = _erased(row.hits, row.rendered, lines)
        its = injections.c.injection_id == row.injection_id
        self._scope.update(injections, its, hits=hits, rendered=rendered)


_EXISTING = SelectByIds(interactions.c.interaction_id, [interactions.c.interaction_id])
# When a memory was last changed or deleted; stamped with the beginning of that transaction.
_CHANGED = PlainStatement(sa.select(orgs.c.updated_at).where(orgs.c.org_id == sa.bindparam("org")))
_REFS = sa.table("refs", sa.column("kind", sa.Text), sa.column("id", sa.Text))


@cache
def _deleted(json_rows: Callable[..., sa.Select[Any]]) -> PlainStatement:
    """Of some memories, those that do not exist any more."""
    refs, c = json_rows(sa.bindparam("refs", type_=sa.Text), _REFS).subquery("refs").c, search_rows.c
    mine = (c.org_id == sa.bindparam("org", type_=sa.Text), c.kind == refs.kind, c.entity_id == refs.id)
    there = sa.exists().where(*mine, sa.not_(c.gone))
    return PlainStatement(sa.select(refs.kind, refs.id).where(sa.not_(there)))


def _without(deleted: set[Any], row: dict[str, Any]) -> dict[str, Any]:
    lines = [hit["line"] for hit in row["hits"] if hit["line"] and (hit["kind"], hit["id"]) in deleted]
    if not lines:
        return row
    hits, rendered = _erased(row["hits"], row["rendered"], lines)
    return {**row, "hits": hits, "rendered": rendered}


def _erased(hits: Sequence[Any], rendered: str, lines: Sequence[str]) -> tuple[list[Any], str]:
    for line in lines:
        rendered = rendered.replace(line, ERASED)
    return [{**hit, "line": ""} if hit["line"] in lines else hit for hit in hits], rendered


def _unquoted(ask: Any, rendered: str, turns: set[InteractionId]) -> str:
    """An answer without the words of these turns: a quote is a line that begins with the handle of its turn."""
    for turn in turns & set((ask or {}).get("quoted", ())):
        start = f"[{turn_handle(turn)}] "
        rendered = "\n".join(ERASED if line.startswith(start) else line for line in rendered.split("\n"))
    return rendered


def _mentions(ids: Sequence[str]) -> sa.ColumnElement[bool]:
    """Of a few memories whether their ids stand there at all, which the database sees without reading the JSON."""
    if len(ids) > FEW:
        return sa.true()
    text = sa.cast(injections.c.hits, sa.Text)
    return sa.or_(*(text.contains(json.dumps(memory_id), autoescape=True) for memory_id in ids))


@cache
def _add(insert: Callable[[sa.Table], Any]) -> CompiledStatement:
    return CompiledStatement(insert(injections).on_conflict_do_nothing())


def _row(injection: Injection) -> dict[str, Any]:
    return row_of(injections, injection, injection_id=injection.id)


def _injection(row: Any) -> Injection:
    return value_of(Injection, row, id=row.injection_id, hits=row.hits or [])
