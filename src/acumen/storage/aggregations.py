"""How far aggregation has come, and what it changed when, as rows."""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from typing import Any

import sqlalchemy as sa
from msgspec.structs import replace

from acumen.model.cluster import AggregationChange, Mark
from acumen.model.ids import PlaybookId
from acumen.model.memory import Status
from acumen.storage.prepared import Statement
from acumen.storage.scope import Scope, value_of
from acumen.storage.tables import aggregation_changes, aggregation_marks, clusters, requests, user_playbooks

# A shared lesson as it was at some time, in the words of the wire.
Snapshot = Mapping[str, Any]
ERASED = "(erased)"
# Of a snapshot, what may hold somebody's words.
_WORDS = ("content", "trigger", "rationale", "pitfall", "blocking_issue", "playbook_metadata")
_TOLD = ("added", "updated", "removed")


_MARK = Statement(
    sa.select(aggregation_marks.c.last_id, aggregation_marks.c.updated_at, aggregation_marks.c.duration_ms).where(
        aggregation_marks.c.org_id == sa.bindparam("org"), aggregation_marks.c.agent_version == sa.bindparam("version")
    )
)


@cache
def _new_lessons() -> Statement:
    """Asked for every publish: built once."""
    u, m, r = user_playbooks.c, aggregation_marks.c, requests.c
    seen = sa.select(m.last_id).where(m.org_id == u.org_id, m.agent_version == u.agent_version).scalar_subquery()
    skipped = sa.exists().where(r.org_id == u.org_id, r.request_id == u.request_id, r.skip_aggregation)
    return Statement(
        sa.select(u.agent_version, sa.func.count())
        .where(u.org_id == sa.bindparam("org"), u.status == str(Status.CURRENT), u.user_id.is_not(None))
        .where(u.playbook_id > sa.func.coalesce(seen, 0), sa.not_(skipped))
        .group_by(u.agent_version)
    )


class Aggregations:
    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    # --- how far it has come --------------------------------------------------------------------------------------

    def mark(self, agent_version: str) -> Mark:
        row = _MARK.one(self._scope.conn, org=self._scope.org, version=agent_version)
        return Mark() if row is None else Mark(*row)

    def set_mark(self, agent_version: str, last: PlaybookId, duration_ms: float) -> None:
        values = {"last_id": last, "duration_ms": duration_ms}
        self._scope.put(aggregation_marks, {"agent_version": agent_version}, values)

    def new_lessons(self) -> dict[str, int]:
        """By agent version, how many lessons came since it was last aggregated and may make it due again."""
        found = _new_lessons().all(self._scope.conn, org=self._scope.org)
        return {version: int(count) for version, count in found}

    def groups(self, agent_versions: Sequence[str], names: Sequence[str] | None) -> list[tuple[str, str]]:
        """Agent versions with the playbook names that occur in them, in lessons of users or in shared ones."""
        found: set[tuple[str, str]] = set()
        for c in (user_playbooks.c, clusters.c):
            query = self._scope.mine(c.agent_version, c.name).where(c.agent_version.in_(agent_versions))
            if names is not None:
                query = query.where(c.name.in_(names))
            found |= {(row[0], row[1]) for row in self._scope.all(query.distinct())}
        return sorted(found)

    # --- what was changed -----------------------------------------------------------------------------------------

    def note(
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
        told = {"added": list(added), "updated": list(updated), "removed": list(removed)}
        self._scope.add(aggregation_changes, [{**row, **told}])

    def changes(
        self, agent_versions: Sequence[str], names: Sequence[str] | None, limit: int
    ) -> list[AggregationChange]:
        """One per aggregation that changed anything, the newest first."""
        c = aggregation_changes.c
        query = self._scope.mine(aggregation_changes).where(c.agent_version.in_(agent_versions))
        if names is not None:
            query = query.where(c.name.in_(names))
        gathered: dict[tuple[str, str, str], AggregationChange] = {}
        for row in self._scope.all(query.order_by(c.change_id)):
            key = (row.run_id, row.agent_version, row.name)
            gathered[key] = _with(gathered.get(key), row)
        return sorted(gathered.values(), key=lambda change: -change.id)[:limit]

    def forget_words(self, lessons: Collection[PlaybookId], owes: Callable[[Snapshot], bool] = lambda _: True) -> None:
        """That these lessons were changed stays told; what they said is taken out, where it `owes` its words."""
        for row in self._scope.all(self._scope.mine(aggregation_changes)):
            told = {name: _without_words(getattr(row, name) or [], lessons, owes) for name in _TOLD}
            if any(told[name] != (getattr(row, name) or []) for name in told):
                self._scope.update(aggregation_changes, aggregation_changes.c.change_id == row.change_id, **told)


def _without_words(
    told: list[dict[str, Any]], lessons: Collection[PlaybookId], owes: Callable[[Snapshot], bool]
) -> list[dict[str, Any]]:
    return [
        {side: _blanked(snapshot, lessons, owes) for side, snapshot in one.items()}
        if "before" in one
        else _blanked(one, lessons, owes)
        for one in told
    ]


def _blanked(
    snapshot: dict[str, Any], lessons: Collection[PlaybookId], owes: Callable[[Snapshot], bool]
) -> dict[str, Any]:
    if snapshot.get("agent_playbook_id") not in lessons or not owes(snapshot):
        return snapshot
    kept = {name: value for name, value in snapshot.items() if name not in _WORDS}
    return {**kept, "content": ERASED}


def _with(change: AggregationChange | None, row: Any) -> AggregationChange:
    before = change or value_of(AggregationChange, row, id=row.change_id, added=(), updated=(), removed=())
    told: dict[str, Any] = {name: [*getattr(before, name), *(getattr(row, name) or ())] for name in _TOLD}
    return replace(before, **told)
