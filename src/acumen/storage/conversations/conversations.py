"""Requests, their interactions, their sessions, and how far each extractor has read."""

from collections.abc import Callable, Sequence
from functools import cache
from types import SimpleNamespace
from typing import Any

import sqlalchemy as sa

from acumen.errors import Conflict
from acumen.model.conversation import Interaction, Request
from acumen.model.ids import InteractionId, Millis, RequestId, SessionId, UserId
from acumen.storage.engine.bulk_insert import BulkInsert
from acumen.storage.engine.compiled_statement import CompiledSelect, CompiledStatement, Row, SelectByIds
from acumen.storage.engine.scope import OrgScope, in_batches
from acumen.storage.tables import bookmarks, interactions, requests, sessions

_JSON_FIELDS = ("tools_used", "citations", "retrieved_learnings")
# The fields that are columns of the same name.
_TURN = [name for name in Interaction.__struct_fields__ if name != "id"]
_REQUEST = [name for name in Request.__struct_fields__ if name != "id"]


_PICTURE = "image_encoding"
_WITHOUT_PICTURES = sa.select(
    *(column for column in interactions.c if column.name != _PICTURE), sa.literal("").label(_PICTURE)
)
# Run for every window that is learned from: built once. A picture may be megabytes, and nothing is learned from it.
_OF_USER = _WITHOUT_PICTURES.where(
    interactions.c.org_id == sa.bindparam("org"), interactions.c.user_id == sa.bindparam("user")
)
_turn_id = interactions.c.interaction_id
# Requests of one millisecond in the order in which they came.
_LAST_TURN = (
    sa.select(sa.func.max(_turn_id))
    .where(interactions.c.org_id == requests.c.org_id, interactions.c.request_id == requests.c.request_id)
    .correlate(requests)
    .scalar_subquery()
)
_after = _OF_USER.where(_turn_id > sa.bindparam("bookmark")).order_by(_turn_id)
_AFTER, _SOME_AFTER = CompiledSelect(_after), CompiledSelect(_after.limit(sa.bindparam("most", type_=sa.Integer)))
_BEFORE = CompiledSelect(
    _OF_USER.where(_turn_id <= sa.bindparam("bookmark"))
    .order_by(_turn_id.desc())
    .limit(sa.bindparam("most", type_=sa.Integer))
)


class Conversations:
    """What was said, as rows."""

    def __init__(self, scope: OrgScope) -> None:
        self._scope = scope

    def add(self, request: Request, turns: Sequence[Interaction]) -> bool:
        """False when the very same request is stored already; Conflict when its id is taken by another."""
        return self.add_all([(request, turns)])[0]

    def add_all(self, published: Sequence[tuple[Request, Sequence[Interaction]]]) -> list[bool]:
        """The same for several, of which one that cannot be stored keeps the others from it."""
        s = self._scope
        # Learning reads a user's turns in the order of their ids and never looks back.
        s.lock_turns({request.user_id for request, _ in published})
        first: dict[RequestId, Request] = {}
        for request, _ in published:
            first.setdefault(request.id, request)
        written = self._insert_new(list(first.values()))
        stored = {name: first[name] for name in written}
        stored |= self.get_requests([name for name in first if name not in written])
        if len(stored) < len(first):  # whoever had taken an id was erased at this very moment
            raise Conflict("A request_id was taken by another request; send this one again.")
        added = []
        for request, _ in published:
            _require_idempotent_retry(request, stored[request.id])
            added.append(request.id in written and first[request.id] is request)
        pairs = zip(published, added, strict=True)
        rows = [s.stamp(_turn_row(turn)) for (_, turns), is_new in pairs if is_new for turn in turns]
        if rows:
            _ADD_TURNS.run(s.conn, rows)
        return added

    def _insert_new(self, named: Sequence[Request]) -> set[RequestId]:
        """The ids that were not taken; to look first would cost every publish a statement."""
        s = self._scope
        by_id = sorted(named, key=lambda request: request.id)
        rows = [(s.org, s.at, request.id, *(getattr(request, name) for name in _REQUEST)) for request in by_id]
        return {RequestId(row[0]) for row in _add_once(s.db.insert).returning(s.conn, rows)}

    def get_request(self, request_id: RequestId) -> Request | None:
        return self.get_requests([request_id]).get(request_id)

    def select_requests(
        self,
        *,
        user: UserId | None = None,
        session: SessionId | None = None,
        request: RequestId | None = None,
        source: str | None = None,
        since: Millis | None = None,
        until: Millis | None = None,
    ) -> sa.Select[Any]:
        """The query behind both pages of sessions and their content."""
        query = self._scope.select(requests)
        for column, value in (("user_id", user), ("session_id", session), ("request_id", request), ("source", source)):
            if value is not None:
                query = query.where(requests.c[column] == value)
        return _between(query, requests.c.created_at, since, until)

    def page_sessions(self, query: sa.Select[Any], limit: int, offset: int) -> tuple[list[list[Request]], bool]:
        """Requests gathered by session, the newest session first, and whether more follow."""
        inner = query.subquery()
        newest = sa.func.max(inner.c.created_at)
        page = self._scope.all(
            sa.select(inner.c.user_id, inner.c.session_id)
            .group_by(inner.c.user_id, inner.c.session_id)
            .order_by(newest.desc(), inner.c.session_id)
            .limit(limit + 1)
            .offset(offset)
        )
        keys = [(row.user_id, row.session_id) for row in page[:limit]]
        grouped: dict[tuple[str, str], list[Request]] = {key: [] for key in keys}
        for batch in in_batches(sorted({session for _, session in keys})):
            in_batch = query.where(requests.c.session_id.in_(batch))
            for row in self._scope.all(in_batch.order_by(requests.c.created_at, _LAST_TURN)):
                if (row.user_id, row.session_id) in grouped:
                    grouped[row.user_id, row.session_id].append(_request(row))
        return list(grouped.values()), len(page) > limit

    def find_by_requests(self, ids: Sequence[RequestId]) -> list[Interaction]:
        query = self._scope.select(interactions).where(interactions.c.request_id.in_(ids))
        return [_turn(row) for row in self._scope.rows(query.order_by(_turn_id))]

    def get_session(self, user: UserId, session: SessionId, most: int) -> tuple[list[Request], list[Interaction]]:
        """Its requests and the newest of their turns, oldest first, without the pictures, which may be megabytes."""
        i, r = interactions.c, requests.c
        query = self.select_requests(user=user, session=session).order_by(r.created_at, _LAST_TURN)
        turns = (
            _WITHOUT_PICTURES.join(requests, sa.and_(r.org_id == i.org_id, r.request_id == i.request_id))
            .where(r.org_id == self._scope.org, r.session_id == session, r.user_id == user)
            .order_by(i.interaction_id.desc())
            .limit(most)
        )
        of_session = [_request(row) for row in self._scope.all(query)]
        return of_session, [_turn(row) for row in reversed(self._scope.rows(turns))]

    def get_many(self, ids: Sequence[InteractionId]) -> list[Interaction]:
        """In the order of their ids."""
        rows = [row for batch in in_batches(ids) for row in _BY_IDS.rows(self._scope.conn, self._scope.org, batch)]
        return sorted((_turn(row) for row in rows), key=lambda turn: turn.id)

    def find_newest(
        self,
        user: UserId | None,
        limit: int | None,
        since: Millis | None = None,
        until: Millis | None = None,
        request: str | None = None,
    ) -> list[Interaction]:
        """The latest turns of a user or of all, oldest first."""
        query = self._scope.select(interactions)
        if user is not None:
            query = query.where(interactions.c.user_id == user)
        if request is not None:
            query = query.where(interactions.c.request_id == request)
        query = _between(query, interactions.c.created_at, since, until)
        rows = self._scope.rows(query.order_by(_turn_id.desc()).limit(limit))
        return [_turn(row) for row in reversed(rows)]

    def find_after(self, user: UserId, bookmark: InteractionId, limit: int | None = None) -> list[Interaction]:
        """Turns of a user that came after the bookmark, oldest first."""
        bound = {"org": self._scope.org, "user": user, "bookmark": bookmark}
        conn = self._scope.conn
        rows = _AFTER.rows(conn, **bound) if limit is None else _SOME_AFTER.rows(conn, **bound, most=limit)
        return [_turn(row) for row in rows]

    def find_before(self, user: UserId, bookmark: InteractionId, limit: int) -> list[Interaction]:
        """The last turns up to and with the bookmark, oldest first."""
        rows = _BEFORE.rows(self._scope.conn, org=self._scope.org, user=user, bookmark=bookmark, most=limit)
        return [_turn(row) for row in reversed(rows)]

    def get_last_id(self, request_id: RequestId) -> InteractionId | None:
        query = self._scope.select(_turn_id).where(interactions.c.request_id == request_id)
        row = self._scope.first(query.order_by(_turn_id.desc()).limit(1))
        return None if row is None else InteractionId(row[0])

    def get_requests(self, ids: Sequence[RequestId]) -> dict[RequestId, Request]:
        rows = _REQUESTS.rows(self._scope.conn, self._scope.org, ids)
        return {RequestId(row["request_id"]): _request(SimpleNamespace(**row)) for row in rows}

    # --- deletion ------------------------------------------------------------------------------------------------

    def delete_turn(self, user: UserId, turn: InteractionId) -> int:
        return self._scope.delete(interactions, interactions.c.user_id == user, _turn_id == turn)

    def delete_requests(self, ids: Sequence[RequestId]) -> int:
        """Takes the requests' turns with them."""
        self._scope.delete(interactions, interactions.c.request_id.in_(ids))
        return self._scope.delete(requests, requests.c.request_id.in_(ids))

    def find_request_ids(self, session: SessionId) -> list[RequestId]:
        query = self._scope.select(requests.c.request_id).where(requests.c.session_id == session)
        return [RequestId(row.request_id) for row in self._scope.all(query)]

    def delete_all(self) -> int:
        """Every request and turn; how many turns there were."""
        gone = self._scope.delete(interactions)
        for table in (requests, sessions):
            self._scope.delete(table)
        return gone

    def find_ids_of_user(self, user: UserId) -> tuple[list[str], list[str]]:
        """Of requests, and of sessions."""
        query = self._scope.select(requests.c.request_id, requests.c.session_id)
        rows = self._scope.all(query.where(requests.c.user_id == user))
        return [row.request_id for row in rows], sorted({row.session_id for row in rows})

    def delete_user(self, user: UserId) -> dict[str, int]:
        return {
            table.name: self._scope.delete(table, table.c.user_id == user)
            for table in (interactions, requests, sessions, bookmarks)
        }

    def count_turns(self) -> int:
        return self._scope.count(interactions)


def _require_idempotent_retry(request: Request, stored: Request) -> None:
    """A request that is sent again with the same content is the same success."""
    if stored.body_hash != request.body_hash:
        raise Conflict(f"request_id {request.id!r} was already used with a different body. Use a new request_id.")


@cache
def _add_once(insert: Callable[[sa.Table], Any]) -> BulkInsert:
    once = insert(requests).prefix_with("OR IGNORE", dialect="sqlite").on_conflict_do_nothing()
    return BulkInsert(once.returning(requests.c.request_id), ("org_id", "updated_at", "request_id", *_REQUEST))


_ADD_TURNS = CompiledStatement(sa.insert(interactions))
_BY_IDS = SelectByIds(interactions.c.interaction_id)
_REQUESTS = SelectByIds(requests.c.request_id)


def _between(
    query: sa.Select[Any], column: sa.ColumnElement[int], since: Millis | None, until: Millis | None
) -> sa.Select[Any]:
    if since is not None:
        query = query.where(column >= since)
    if until is not None:
        query = query.where(column <= until)
    return query


def _turn_row(turn: Interaction) -> dict[str, Any]:
    row = {name: getattr(turn, name) for name in _TURN}
    return row | {name: row[name] or None for name in _JSON_FIELDS}


def _turn(row: Row | sa.RowMapping) -> Interaction:
    values = {name: row[name] for name in _TURN}
    for name in _JSON_FIELDS:
        values[name] = values[name] or []
    return Interaction(id=row["interaction_id"], **values)


def _request(row: Any) -> Request:
    return Request(id=RequestId(row.request_id), **{name: getattr(row, name) for name in _REQUEST})
