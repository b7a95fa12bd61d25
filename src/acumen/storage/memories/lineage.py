"""What came from what: every change to a memory, with its reason, append-only."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from msgspec import Struct, field, to_builtins

from acumen.model.ids import InteractionId, Kind, MemoryRef, Millis, SessionId
from acumen.model.memories.base import Cause, Status
from acumen.model.memories.change import ChangeFilter, ChangeKind
from acumen.storage.engine.compiled_statement import CompiledStatement
from acumen.storage.engine.scope import OrgScope, in_batches, org_of
from acumen.storage.tables import interactions, lineage, requests


class Because(Struct, frozen=True):
    """Why a memory changed, who changed it, and from what."""

    reason: str
    actor: str = "acumen"
    request_id: str = ""
    sources: Sequence[str] = field(default=())
    cause: Cause | None = None
    quote: str | None = None  # the user's words that caused it
    interaction_id: InteractionId | None = None  # the turn of the quote


# In place of a reason that may have quoted what is erased.
ERASED = "(erased)"
# The operation of an event that links a memory to one that it may disagree with; the memory itself stays as it is.
CONFLICT = "conflict"

# Operations that are one kind of change, for any cause.
_KIND_OF_OP = {
    "add": ChangeKind.LEARNED,
    CONFLICT: ChangeKind.CONFLICT,
    "delete": ChangeKind.DELETED,
    str(Status.SUPERSEDED): ChangeKind.SUPERSEDED,
    str(Status.FORGOTTEN): ChangeKind.FORGOTTEN,
    str(Status.EXPIRED): ChangeKind.EXPIRED,
    str(Status.MERGED): ChangeKind.MERGED,
    str(Status.ARCHIVED): ChangeKind.ARCHIVED,
    str(Status.ARCHIVE_IN_PROGRESS): ChangeKind.ARCHIVED,
    str(Status.CURRENT): ChangeKind.RESTORED,
}
# For the operation "change", the cause decides.
_KIND_OF_CAUSE = {
    Cause.RESTATED: ChangeKind.RESTATED,
    Cause.REFINED: ChangeKind.REFINED,
    Cause.MODEL: ChangeKind.REFINED,
    Cause.PERSON: ChangeKind.EDITED,
}


def _change_kind() -> sa.ColumnElement[str]:
    """Events of earlier versions have no cause: what learning changed without new words was said again."""
    c = lineage.c
    before, after = (
        sa.func.coalesce(side["content"].as_string(), side[("lesson", "content")].as_string())
        for side in (c.before, c.after)
    )
    return sa.case(
        *((c.op == op, sa.literal(str(kind))) for op, kind in _KIND_OF_OP.items()),
        *((c.cause == str(cause), sa.literal(str(kind))) for cause, kind in _KIND_OF_CAUSE.items()),
        (c.actor != Because("").actor, sa.literal(str(ChangeKind.EDITED))),
        (before != after, sa.literal(str(ChangeKind.REFINED))),
        else_=sa.literal(str(ChangeKind.RESTATED)),
    )


_CHANGE = _change_kind()


def _is_of(kinds: Collection[ChangeKind]) -> sa.ColumnElement[bool]:
    """Where the operation determines the kind, the snapshots need not be read."""
    op = lineage.c.op
    by_op = op.in_([name for name, kind in _KIND_OF_OP.items() if kind in kinds])
    others = [str(kind) for kind in kinds if kind not in _KIND_OF_OP.values()]
    return sa.or_(by_op, sa.and_(op.not_in(_KIND_OF_OP), _CHANGE.in_(others))) if others else by_op


_RECORD = CompiledStatement(sa.insert(lineage))


class Lineage:
    def __init__(self, scope: OrgScope) -> None:
        self._scope = scope

    def record(
        self, ref: MemoryRef, op: str, because: Because, *, before: Any = None, after: Any = None, user: str | None
    ) -> None:
        row = {**_row(ref, op, because, user), "before": _snapshot(before), "after": _snapshot(after)}
        _RECORD.run(self._scope.conn, [self._scope.stamp(row)])

    def find(self, ref: MemoryRef) -> list[dict[str, Any]]:
        """The memory's life, oldest event first, each with its kind of change as `change`."""
        c = lineage.c
        query = (
            self._scope.select(lineage)
            .add_columns(_CHANGE.label("change"))
            .where(c.kind == str(ref.kind), c.entity_id == ref.id)
        )
        return [dict(row) for row in self._scope.rows(query.order_by(c.event_id))]

    def get_as_of(self, kind: Kind, user: str | None, at: Millis) -> dict[str, dict[str, Any]]:
        """Every memory of a kind (of one user, or of all) as it was at a moment, by id; deleted ones left no words."""
        c = lineage.c
        query = self._scope.select(c.entity_id, c.op, c.after).where(c.kind == str(kind), c.created_at <= at)
        if user is not None:
            query = query.where(c.user_id == user)
        memories: dict[str, dict[str, Any]] = {}
        for row in self._scope.all(query.order_by(c.event_id)):
            if row.op == "delete":
                memories.pop(row.entity_id, None)
            elif row.after is not None:  # all of it, or of many that moved at once only their status
                memories[row.entity_id] = {**memories.get(row.entity_id, {}), **row.after}
        return {name: memory for name, memory in memories.items() if "origin" in memory}

    def count_caused_by(self, request_id: str) -> tuple[dict[str, int], dict[str, int]]:
        """What one request taught: profiles and playbooks, counted by what happened to them."""
        c = lineage.c
        query = self._scope.select(c.kind, c.op, sa.func.count()).where(c.request_id == request_id)
        counted: tuple[dict[str, int], dict[str, int]] = ({}, {})
        for kind, op, number in self._scope.all(query.group_by(c.kind, c.op)):
            counted[kind != Kind.PROFILE][op] = number
        return counted

    def record_moved(self, kind: Kind, owners: sa.Select[Any], move: tuple[Status, Status], because: Because) -> None:
        """Many memories went from one status to another; `owners` selects their ids and users.

        Of each only the status is recorded, for nothing else changed.
        """
        before, after = ({"status": str(status)} for status in move)
        event = {**_row(MemoryRef(kind, ""), str(move[1]), because, None), "before": before, "after": after}
        self._record_all(event, owners)

    def find_by_kind(self, kind: Kind, user: str | None, limit: int) -> list[dict[str, Any]]:
        """What happened to all memories of a kind, or to those of one user; the newest event first."""
        c = lineage.c
        # Without a user, events are read from the newest in the order of their ids; no index of the org's is of help.
        org = org_of(c.event_id) if user is None else c.org_id
        query = sa.select(lineage).where(org == self._scope.org, c.kind == str(kind))
        if user is not None:
            query = query.where(c.user_id == user)
        return [dict(row) for row in self._scope.rows(query.order_by(c.event_id.desc()).limit(limit))]

    def find_changes(self, criteria: ChangeFilter, limit: int, before: int | None = None) -> list[dict[str, Any]]:
        """Events newest first, each with its kind of change as `change`; only those older than the event `before`."""
        c = lineage.c
        org = org_of(c.event_id) if criteria.user is None else c.org_id  # as above
        conditions: tuple[tuple[bool, Callable[[], sa.ColumnElement[bool]]], ...] = (
            (before is not None, lambda: c.event_id < before),
            (criteria.user is not None, lambda: c.user_id == criteria.user),
            (criteria.since is not None, lambda: c.created_at >= criteria.since),
            (criteria.until is not None, lambda: c.created_at < criteria.until),
            (criteria.kinds is not None, lambda: _is_of(criteria.kinds or ())),
            (criteria.session is not None, lambda: self._in_session(criteria.session or SessionId(""))),
        )
        query = sa.select(lineage, _CHANGE.label("change")).where(org == self._scope.org)
        query = query.where(*(condition() for applies, condition in conditions if applies))
        return [dict(row) for row in self._scope.rows(query.order_by(c.event_id.desc()).limit(limit))]

    def get_change(self, event_id: int) -> dict[str, Any] | None:
        query = self._with_change().where(lineage.c.event_id == event_id)
        return next((dict(row) for row in self._scope.rows(query)), None)

    def _with_change(self) -> sa.Select[Any]:
        return self._scope.select(lineage).add_columns(_CHANGE.label("change"))

    def _in_session(self, session: SessionId) -> sa.ColumnElement[bool]:
        """By its users first: their events have an index."""
        users, named = (
            self._scope.select(column).where(requests.c.session_id == session)
            for column in (requests.c.user_id, requests.c.request_id)
        )
        turns = self._scope.select(interactions.c.interaction_id).where(interactions.c.request_id.in_(named))
        caused = sa.or_(lineage.c.request_id.in_(named), lineage.c.interaction_id.in_(turns))
        return sa.and_(lineage.c.org_id == self._scope.org, lineage.c.user_id.in_(users), caused)

    def record_deleted(self, kind: Kind, gone: Mapping[str, Any], because: Because) -> None:
        """Deleted means deleted: that they were there is kept, their words go, and those of their earlier versions."""
        self.erase_words(kind, [*gone, *self.find_earlier_versions(kind, list(gone.values()))])
        self._scope.insert(
            lineage, [_row(MemoryRef(kind, name), "delete", because, _owner(memory)) for name, memory in gone.items()]
        )

    def record_outdated(self, kind: Kind, gone: Mapping[str, Any], because: Because) -> None:
        """Deleted for a newer version: this was no request to forget them, so their text stays in the lineage."""
        rows = [
            {**_row(MemoryRef(kind, name), "delete", because, _owner(memory)), "before": _snapshot(memory)}
            for name, memory in gone.items()
        ]
        self._scope.insert(lineage, rows)

    def find_outdated(self, kind: Kind, user: str | None = None, ids: Sequence[str] | None = None) -> dict[str, Any]:
        """What those said that a newer version deleted, by id; of any user and id unless they are named."""
        c = lineage.c
        query = self._scope.select(c.entity_id, c.before).where(c.kind == str(kind), c.op == "delete")
        query = query.where(c.before.is_not(sa.null()))
        if user is not None:
            query = query.where(c.user_id == user)
        rows = self._scope.all(query) if ids is None else self._scope.all_in(query, c.entity_id, ids)
        return {row.entity_id: row.before for row in rows}

    def find_earlier_versions(self, kind: Kind, memories: Sequence[Any]) -> list[str]:
        """Memories that a newer version deleted, and that said what one of these says or rest on a turn of theirs."""
        ids = []
        for user in {owner for memory in memories if (owner := _owner(memory))}:
            snapshots = [to_builtins(memory) for memory in memories if _owner(memory) == user]
            words, turns = (
                {words_of(memory) for memory in snapshots},
                {turn for memory in snapshots for turn in _turns(memory)},
            )
            before = self.find_outdated(kind, user).items()
            ids += [
                name for name, memory in before if words_of(memory) in words or not turns.isdisjoint(_turns(memory))
            ]
        return ids

    def record_all_deleted(self, kind: Kind, owners: sa.Select[Any], because: Because) -> None:
        """The same for every memory of a kind; `owners` selects their ids and users."""
        self._forget_words(kind)
        self._record_all(_row(MemoryRef(kind, ""), "delete", because, None), owners)

    def _record_all(self, row: dict[str, Any], owners: sa.Select[Any]) -> None:
        stamped = self._scope.stamp(row)
        values = {name: stamped[name] for name in stamped if name not in ("entity_id", "user_id", "sources")}
        columns = [sa.literal(value, lineage.c[name].type) for name, value in values.items()]
        rows = owners.add_columns(*columns)
        self._scope.conn.execute(sa.insert(lineage).from_select(["entity_id", "user_id", *values], rows))

    def erase_words(self, kind: Kind, ids: Sequence[str]) -> None:
        """Keeps the record that these memories were changed; removes their text."""
        for batch in in_batches(ids):
            self._forget_words(kind, lineage.c.entity_id.in_(batch))

    def _forget_words(self, kind: Kind, *which: sa.ColumnElement[bool]) -> None:
        self._scope.update(
            lineage, lineage.c.kind == str(kind), *which, before=None, after=None, reason=ERASED, quote=None
        )

    def delete_user(self, user: str) -> int:
        return self._scope.delete(lineage, lineage.c.user_id == user)


def _row(ref: MemoryRef, op: str, because: Because, user: str | None) -> dict[str, Any]:
    return {
        "kind": str(ref.kind),
        "entity_id": ref.id,
        "user_id": user,
        "op": op,
        "actor": because.actor,
        "reason": because.reason,
        "request_id": because.request_id,
        "sources": list(because.sources) or None,
        "cause": None if because.cause is None else str(because.cause),
        "quote": because.quote,
        "interaction_id": because.interaction_id,
    }


def words_of(snapshot: Mapping[str, Any]) -> str:
    """The text of a memory, as recorded in its lineage."""
    return str(snapshot["lesson"]["content"] if "lesson" in snapshot else snapshot["content"])


def _turns(snapshot: Mapping[str, Any]) -> Sequence[int]:
    return snapshot.get("interaction_ids") or ()


def _owner(memory: Any) -> str | None:
    return getattr(memory, "user_id", None)


def _snapshot(memory: Any) -> dict[str, Any] | None:
    return None if memory is None else to_builtins(memory)
