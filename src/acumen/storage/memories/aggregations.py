"""How far aggregation has come, and what it changed when, as rows."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import sqlalchemy as sa
from msgspec.structs import replace

from acumen.model.ids import Kind, PlaybookId, UserId
from acumen.model.memories.base import Status
from acumen.model.memories.cluster import AggregationBookmark, AggregationChange, IndexedLesson
from acumen.storage.engine.compiled_statement import CompiledSelect, PlainStatement
from acumen.storage.engine.scope import OrgScope, value_of
from acumen.storage.tables import (
    aggregation_bookmarks,
    aggregation_changes,
    clusters,
    requests,
    search_rows,
    user_playbooks,
)

# A shared lesson as it was at some time, in the words of the wire.
Snapshot = Mapping[str, Any]
ERASED = "(erased)"
_Test = Callable[[Snapshot], bool]
# Fields of a snapshot that may hold personal text.
_WORDS = ("content", "trigger", "rationale", "pitfall", "blocking_issue", "playbook_metadata")
_LISTS = ("added", "updated", "removed")


_m = aggregation_bookmarks.c
_BOOKMARK = PlainStatement(
    sa.select(_m.last_id, _m.updated_at, _m.duration_ms, _m.seq, _m.basis).where(
        _m.org_id == sa.bindparam("org"), _m.agent_version == sa.bindparam("version")
    )
)


@cache
def _new_lessons(*, of_user: bool) -> PlainStatement:
    """Asked for every publish: built once."""
    u, m, r = user_playbooks.c, aggregation_bookmarks.c, requests.c
    last_read = sa.select(m.last_id).where(m.org_id == u.org_id, m.agent_version == u.agent_version).scalar_subquery()
    skipped = sa.exists().where(r.org_id == u.org_id, r.request_id == u.request_id, r.skip_aggregation)
    whose = u.user_id == sa.bindparam("user") if of_user else u.user_id.is_not(None)
    return PlainStatement(
        sa.select(u.agent_version, sa.func.count())
        .where(u.org_id == sa.bindparam("org"), u.status == str(Status.CURRENT), whose)
        .where(u.playbook_id > sa.func.coalesce(last_read, 0), sa.not_(skipped))
        .group_by(u.agent_version)
    )


@cache
def _lessons() -> CompiledSelect:
    """By the driver, not by SQLAlchemy: an aggregation reads all lessons of a version this way."""
    u, r = user_playbooks.c, search_rows.c
    embedded = sa.and_(r.model == sa.bindparam("model"), r.vector.is_not(None))
    vector = sa.case((embedded, r.vector)).label("vector")
    words = sa.case((embedded, sa.literal_column("''")), else_=r.terms).label("terms")
    return CompiledSelect(
        sa.select(u.playbook_id, u.user_id, vector, words, r.seq)
        .join(
            search_rows,
            (r.org_id == u.org_id)
            & (r.kind == str(Kind.USER_PLAYBOOK))
            & (r.entity_id == sa.cast(u.playbook_id, sa.Text)),
        )
        .where(u.org_id == sa.bindparam("org"), u.status == str(Status.CURRENT), sa.not_(r.gone))
        .where(u.agent_version == sa.bindparam("version"), u.name == sa.bindparam("name"))
        .where(u.user_id.is_not(None), u.user_id != "", sa.func.trim(u.content) != "")
        .where(u.playbook_id > sa.bindparam("after"))
        .order_by(u.playbook_id)
        .limit(sa.bindparam("most", type_=sa.Integer))
    )


class Aggregations:
    def __init__(self, scope: OrgScope) -> None:
        self._scope = scope

    # --- how far it has come --------------------------------------------------------------------------------------

    def get_bookmark(self, agent_version: str) -> AggregationBookmark:
        row = _BOOKMARK.first(self._scope.conn, org=self._scope.org, version=agent_version)
        return AggregationBookmark() if row is None else AggregationBookmark(*row)

    def move_bookmark(self, agent_version: str, bookmark: AggregationBookmark) -> None:
        values = {
            "last_id": bookmark.last,
            "duration_ms": bookmark.duration_ms,
            "seq": bookmark.seq,
            "basis": bookmark.basis,
        }
        self._scope.upsert(aggregation_bookmarks, {"agent_version": agent_version}, values)

    def lesson_pages(self, agent_version: str, name: str, model: str, size: int) -> Iterator[list[IndexedLesson]]:
        """Every current lesson that a user teaches, in the order of their ids, some at a time."""
        of_group = {"org": self._scope.org, "version": agent_version, "name": name, "model": model, "most": size}
        after = 0
        while rows := _lessons().rows(self._scope.conn, **of_group, after=after):
            yield [IndexedLesson(*row.values()) for row in rows]
            after = rows[-1]["playbook_id"]

    def count_new_lessons(self) -> dict[str, int]:
        """By agent version, how many lessons came since it was last aggregated and may make it due again."""
        rows = _new_lessons(of_user=False).all(self._scope.conn, org=self._scope.org)
        return {version: int(count) for version, count in rows}

    def has_new_lessons(self, user: UserId) -> bool:
        """Whether some of them are this user's: by an index, where counting reads all lessons of the org."""
        return _new_lessons(of_user=True).first(self._scope.conn, org=self._scope.org, user=user) is not None

    def find_groups(self, agent_versions: Sequence[str], names: Sequence[str] | None) -> list[tuple[str, str]]:
        """Agent versions with the playbook names that occur in them, in lessons of users or in shared ones."""
        groups: set[tuple[str, str]] = set()
        for c in (user_playbooks.c, clusters.c):
            query = self._scope.select(c.agent_version, c.name).where(c.agent_version.in_(agent_versions))
            if names is not None:
                query = query.where(c.name.in_(names))
            groups |= {(row[0], row[1]) for row in self._scope.all(query.distinct())}
        return sorted(groups)

    # --- what was changed -----------------------------------------------------------------------------------------

    def add_change(
        self,
        run_id: str,
        agent_version: str,
        name: str,
        *,
        added: Sequence[Mapping[str, Any]] = (),
        updated: Sequence[Mapping[str, Any]] = (),
        removed: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        row = {"run_id": run_id, "agent_version": agent_version, "name": name}
        lists = {"added": list(added), "updated": list(updated), "removed": list(removed)}
        self._scope.insert(aggregation_changes, [{**row, **lists}])

    def find_changes(
        self, agent_versions: Sequence[str], names: Sequence[str] | None, limit: int
    ) -> list[AggregationChange]:
        """One per aggregation that changed anything, the newest first."""
        c = aggregation_changes.c
        query = self._scope.select(aggregation_changes).where(c.agent_version.in_(agent_versions))
        if names is not None:
            query = query.where(c.name.in_(names))
        gathered: dict[tuple[str, str, str], AggregationChange] = {}
        for row in self._scope.all(query.order_by(c.change_id)):
            key = (row.run_id, row.agent_version, row.name)
            gathered[key] = _with(gathered.get(key), row)
        return sorted(gathered.values(), key=lambda change: -change.id)[:limit]

    def erase_words(self, lessons: Collection[PlaybookId], concerned: _Test = lambda _: True) -> None:
        """Takes the words of these lessons out of the log, where a snapshot is `concerned`; that they changed stays."""
        for row in self._scope.all(self._scope.select(aggregation_changes)):
            lists = {name: _without_words(getattr(row, name) or [], lessons, concerned) for name in _LISTS}
            if any(lists[name] != (getattr(row, name) or []) for name in lists):
                self._scope.update(aggregation_changes, aggregation_changes.c.change_id == row.change_id, **lists)


def _without_words(
    lists: list[dict[str, Any]], lessons: Collection[PlaybookId], concerned: _Test
) -> list[dict[str, Any]]:
    return [
        {side: _blanked(snapshot, lessons, concerned) for side, snapshot in entry.items()}
        if "before" in entry
        else _blanked(entry, lessons, concerned)
        for entry in lists
    ]


def _blanked(snapshot: dict[str, Any], lessons: Collection[PlaybookId], concerned: _Test) -> dict[str, Any]:
    if snapshot.get("agent_playbook_id") not in lessons or not concerned(snapshot):
        return snapshot
    wordless = {name: value for name, value in snapshot.items() if name not in _WORDS}
    return {**wordless, "content": ERASED}


def _with(change: AggregationChange | None, row: Any) -> AggregationChange:
    before = change or value_of(AggregationChange, row, id=row.change_id, added=(), updated=(), removed=())
    lists: dict[str, Any] = {name: [*getattr(before, name), *(getattr(row, name) or ())] for name in _LISTS}
    return replace(before, **lists)
