"""Clusters of lessons that say the same, the shared lessons written from them, and what came of it when, as rows."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from acumen.model.cluster import AggregationChange, Cluster, Mark
from acumen.model.ids import Millis, PlaybookId, UserId
from acumen.model.memory import Status
from acumen.model.playbook import Approval
from acumen.storage.prepared import ByIds
from acumen.storage.scope import Scope, in_batches
from acumen.storage.tables import (
    agent_playbook_sources,
    agent_playbooks,
    aggregation_changes,
    aggregation_marks,
    clusters,
    profiles,
    requests,
    user_playbooks,
)

ERASED = "(erased)"
# Of a snapshot, what may hold somebody's words.
_WORDS = ("content", "trigger", "rationale", "pitfall", "blocking_issue", "playbook_metadata")
# Asked by every search that finds lessons of both kinds.
_BY_SOURCE = ByIds(
    agent_playbook_sources.c.user_playbook_id,
    [agent_playbook_sources.c.agent_playbook_id, agent_playbook_sources.c.user_playbook_id],
)


class Clusters:
    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    # --- clusters and the lessons written from them ---------------------------------------------------------------

    def of(self, agent_version: str, name: str) -> list[Cluster]:
        c = clusters.c
        query = sa.select(clusters).where(*self._mine(clusters), c.agent_version == agent_version, c.name == name)
        return [_cluster(row) for row in self._scope.all(query.order_by(c.cluster_id))]

    def written(self, agent_version: str, name: str, fingerprint: str) -> bool:
        """Whether these very lessons have been looked at as a cluster."""
        c = clusters.c
        same = (c.agent_version == agent_version, c.name == name, c.fingerprint == fingerprint)
        return self._scope.one(sa.select(c.cluster_id).where(*self._mine(clusters), *same).limit(1)) is not None

    def hold(self) -> None:
        """From here to COMMIT nobody else changes shared lessons or takes their sources away."""
        s = self._scope
        s.db.in_order(s.conn, f"clusters:{s.org}")

    def of_lessons(self, lessons: Collection[PlaybookId]) -> dict[PlaybookId, Cluster]:
        query = sa.select(clusters).where(*self._mine(clusters), clusters.c.agent_playbook_id.in_(lessons))
        found = [_cluster(row) for row in self._scope.all(query)]
        return {cluster.lesson: cluster for cluster in found}

    def put(self, cluster: Cluster) -> None:
        """Files it. Its members are sources of its lesson from now on, also when they leave the cluster: whatever
        once went into a lesson may still be found in its history.
        """
        s = self._scope
        row = {
            "cluster_id": cluster.id,
            "agent_version": cluster.agent_version,
            "name": cluster.name,
            "fingerprint": cluster.fingerprint,
            "members": list(cluster.members),
            "agent_playbook_id": cluster.lesson or None,
            "wording": cluster.wording,
        }
        new = s.db.insert(clusters)
        changed = {name: new.excluded[name] for name in ("fingerprint", "members", "agent_playbook_id", "wording")}
        upsert = new.on_conflict_do_update(
            index_elements=["org_id", "cluster_id"], set_={**changed, "updated_at": s.at}
        )
        s.conn.execute(upsert, s.stamp(row))
        if cluster.lesson and cluster.members:
            rows = [{"agent_playbook_id": cluster.lesson, "user_playbook_id": member} for member in cluster.members]
            s.conn.execute(s.db.insert(agent_playbook_sources).on_conflict_do_nothing(), [s.stamp(row) for row in rows])

    def end(self, lessons: Collection[PlaybookId]) -> None:
        """Nothing is gathered for these lessons any more; from what they were written stays known."""
        for some in in_batches(sorted(lessons)):
            self._scope.delete(clusters, clusters.c.agent_playbook_id.in_(some))

    def forget(self, lessons: Collection[PlaybookId]) -> None:
        """No word of them is left, so that it does not matter any more from what they were written."""
        self.end(lessons)
        for some in in_batches(sorted(lessons)):
            self._unlink(some)

    def forget_sources(self, members: Collection[PlaybookId]) -> None:
        """These user playbooks are gone, and no lesson owes them a word."""
        for some in in_batches(sorted(members)):
            self._scope.delete(agent_playbook_sources, agent_playbook_sources.c.user_playbook_id.in_(some))

    def lessons_deleted(self, lessons: Collection[PlaybookId]) -> None:
        """Their clusters stay known: what a person has deleted is not written again from the same evidence."""
        for some in in_batches(sorted(lessons)):
            self._unlink(some)

    def forget_all(self) -> None:
        """Every lesson is gone, and whoever aggregates next begins anew."""
        for table in (clusters, agent_playbook_sources, aggregation_marks):
            self._scope.delete(table)

    def _unlink(self, lessons: Sequence[int]) -> None:
        self._scope.delete(agent_playbook_sources, agent_playbook_sources.c.agent_playbook_id.in_(lessons))

    # --- who taught what ------------------------------------------------------------------------------------------

    def taught_by(self, members: Collection[int]) -> dict[PlaybookId, set[PlaybookId]]:
        """The shared lessons that these user playbooks once went into, each with those of them that did."""
        found: dict[PlaybookId, set[PlaybookId]] = {}
        for some in in_batches(sorted(members)):
            for row in _BY_SOURCE.rows(self._scope.conn, self._scope.org, some):
                found.setdefault(row["agent_playbook_id"], set()).add(row["user_playbook_id"])
        return found

    def stand_for(self, members: Collection[int]) -> dict[PlaybookId, set[PlaybookId]]:
        """The shared lessons that say what these user playbooks say, each with those of them."""
        taught = self.taught_by(members)
        now = self.of_lessons(list(taught)) if taught else {}
        return {lesson: taught[lesson] & set(cluster.members) for lesson, cluster in now.items()}

    def all_taught(self) -> set[PlaybookId]:
        """Every shared lesson that has sources."""
        c = agent_playbook_sources.c
        query = sa.select(c.agent_playbook_id).where(*self._mine(agent_playbook_sources)).distinct()
        return {PlaybookId(row[0]) for row in self._scope.all(query)}

    def sources(self, lessons: Collection[PlaybookId]) -> dict[PlaybookId, list[PlaybookId]]:
        c = agent_playbook_sources.c
        found: dict[PlaybookId, list[PlaybookId]] = {lesson: [] for lesson in lessons}
        for some in in_batches(sorted(lessons)):
            query = sa.select(c.agent_playbook_id, c.user_playbook_id).where(
                *self._mine(agent_playbook_sources), c.agent_playbook_id.in_(some)
            )
            for lesson, member in self._scope.all(query.order_by(c.user_playbook_id)):
                found[PlaybookId(lesson)].append(PlaybookId(member))
        return found

    def told_names(self, users: Sequence[UserId]) -> dict[UserId, list[str]]:
        """What these users' profiles say about names."""
        c = profiles.c
        found: dict[UserId, list[str]] = {}
        for some in in_batches(users):
            query = sa.select(c.user_id, c.content).where(
                *self._mine(profiles), c.user_id.in_(some), self._scope.db.holds(c.content, "name")
            )
            for user, content in self._scope.all(query):
                found.setdefault(UserId(user), []).append(content)
        return found

    def withheld(self) -> set[str]:
        """User playbooks whose sharing a person has rejected, and that no other shared lesson stands for."""
        c, lesson = agent_playbook_sources.c, agent_playbooks.c
        rejected = sa.case((lesson.approval == str(Approval.REJECTED), 0), else_=1)
        query = (
            sa.select(c.user_playbook_id)
            .join(agent_playbooks, (lesson.playbook_id == c.agent_playbook_id) & (lesson.org_id == c.org_id))
            .where(*self._mine(agent_playbook_sources), lesson.status == str(Status.CURRENT))
            .group_by(c.user_playbook_id)
            .having(sa.func.max(rejected) == 0)
        )
        return {str(row[0]) for row in self._scope.all(query)}

    # --- how far it has come --------------------------------------------------------------------------------------

    def mark(self, agent_version: str) -> Mark:
        c = aggregation_marks.c
        query = sa.select(aggregation_marks).where(*self._mine(aggregation_marks), c.agent_version == agent_version)
        row = self._scope.one(query)
        return Mark() if row is None else Mark(PlaybookId(row.last_id), Millis(row.updated_at), row.duration_ms)

    def set_mark(self, agent_version: str, last: PlaybookId, duration_ms: float) -> None:
        s = self._scope
        row = {"agent_version": agent_version, "last_id": last, "duration_ms": duration_ms}
        upsert = s.db.insert(aggregation_marks).on_conflict_do_update(
            index_elements=["org_id", "agent_version"],
            set_={"last_id": last, "duration_ms": duration_ms, "updated_at": s.at},
        )
        s.conn.execute(upsert, s.stamp(row))

    def new_lessons(self) -> dict[str, int]:
        """By agent version, how many lessons came since it was last aggregated and may make it due again."""
        u, m, r = user_playbooks.c, aggregation_marks.c, requests.c
        seen = sa.select(m.last_id).where(m.org_id == u.org_id, m.agent_version == u.agent_version).scalar_subquery()
        skipped = sa.exists().where(r.org_id == u.org_id, r.request_id == u.request_id, r.skip_aggregation)
        query = (
            sa.select(u.agent_version, sa.func.count())
            .where(*self._mine(user_playbooks), u.status == str(Status.CURRENT), u.user_id.is_not(None))
            .where(u.playbook_id > sa.func.coalesce(seen, 0), sa.not_(skipped))
            .group_by(u.agent_version)
        )
        return {row[0]: int(row[1]) for row in self._scope.all(query)}

    def groups(self, agent_versions: Sequence[str], names: Sequence[str] | None) -> list[tuple[str, str]]:
        """Agent versions with the playbook names that occur in them, in lessons of users or in shared ones."""
        found: set[tuple[str, str]] = set()
        for table in (user_playbooks, clusters):
            c = table.c
            query = sa.select(c.agent_version, c.name).where(*self._mine(table), c.agent_version.in_(agent_versions))
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

    def changes(self, agent_versions: Sequence[str], names: Sequence[str], limit: int) -> list[AggregationChange]:
        """One per aggregation that changed anything, the newest first."""
        c = aggregation_changes.c
        query = (
            sa.select(aggregation_changes)
            .where(*self._mine(aggregation_changes), c.agent_version.in_(agent_versions), c.name.in_(names))
            .order_by(c.change_id)
        )
        gathered: dict[tuple[str, str, str], AggregationChange] = {}
        for row in self._scope.all(query):
            key = (row.run_id, row.agent_version, row.name)
            gathered[key] = _with(gathered.get(key), row)
        return sorted(gathered.values(), key=lambda change: -change.id)[:limit]

    def forget_words(self, lessons: Collection[PlaybookId]) -> None:
        """That these lessons were changed stays told; what they said is taken out."""
        c = aggregation_changes.c
        for row in self._scope.all(sa.select(aggregation_changes).where(*self._mine(aggregation_changes))):
            told = {name: _without_words(getattr(row, name) or [], lessons) for name in ("added", "updated", "removed")}
            if any(told[name] != (getattr(row, name) or []) for name in told):
                where = (*self._mine(aggregation_changes), c.change_id == row.change_id)
                values = {**told, "updated_at": self._scope.at}
                self._scope.conn.execute(sa.update(aggregation_changes).where(*where).values(values))

    def _mine(self, table: sa.Table) -> tuple[sa.ColumnElement[bool], ...]:
        return (table.c.org_id == self._scope.org,)


def _without_words(told: list[dict[str, Any]], lessons: Collection[PlaybookId]) -> list[dict[str, Any]]:
    return [
        {side: _blanked(snapshot, lessons) for side, snapshot in one.items()}
        if "before" in one
        else _blanked(one, lessons)
        for one in told
    ]


def _blanked(snapshot: dict[str, Any], lessons: Collection[PlaybookId]) -> dict[str, Any]:
    if snapshot.get("agent_playbook_id") not in lessons:
        return snapshot
    kept = {name: value for name, value in snapshot.items() if name not in _WORDS}
    return {**kept, "content": ERASED}


def _with(change: AggregationChange | None, row: Any) -> AggregationChange:
    before = change or AggregationChange(0, row.run_id, row.agent_version, row.name, Millis(row.created_at))
    return AggregationChange(
        id=before.id or row.change_id,
        run_id=before.run_id,
        agent_version=before.agent_version,
        name=before.name,
        created_at=before.created_at,
        added=[*before.added, *(row.added or ())],
        updated=[*before.updated, *(row.updated or ())],
        removed=[*before.removed, *(row.removed or ())],
    )


def _cluster(row: Any) -> Cluster:
    return Cluster(
        id=row.cluster_id,
        agent_version=row.agent_version,
        name=row.name,
        fingerprint=row.fingerprint,
        members=tuple(PlaybookId(member) for member in row.members or ()),
        lesson=PlaybookId(row.agent_playbook_id or 0),
        wording=row.wording,
    )
