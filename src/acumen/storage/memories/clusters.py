"""Clusters of lessons that say the same, as rows."""

from collections.abc import Collection, Sequence
from typing import Any

from msgspec.structs import replace

from acumen.model.ids import PlaybookId, UserId
from acumen.model.memories.cluster import Cluster
from acumen.storage.engine.database import Lock
from acumen.storage.engine.scope import OrgScope, value_of
from acumen.storage.memories.lesson_sources import LessonSources
from acumen.storage.tables import agent_playbook_sources, aggregation_bookmarks, clusters, profiles, user_playbooks

_c = clusters.c


class Clusters:
    def __init__(self, scope: OrgScope) -> None:
        self._scope = scope
        self._sources = LessonSources(scope)

    def find(self, agent_version: str, name: str) -> list[Cluster]:
        query = self._scope.select(clusters).where(_c.agent_version == agent_version, _c.name == name)
        return [_cluster(row) for row in self._scope.all(query.order_by(_c.cluster_id))]

    def exists(self, agent_version: str, name: str, fingerprint: str) -> bool:
        """Whether these very lessons have been looked at as a cluster."""
        same = (_c.agent_version == agent_version, _c.name == name, _c.fingerprint == fingerprint)
        return self._scope.first(self._scope.select(_c.cluster_id).where(*same).limit(1)) is not None

    def lock(self) -> None:
        """Up to COMMIT no other transaction changes shared lessons or removes their sources."""
        s = self._scope
        s.db.lock(s.conn, Lock(f"clusters:{s.org}"))

    def find_by_lessons(self, lessons: Collection[PlaybookId]) -> dict[PlaybookId, Cluster]:
        query = self._scope.select(clusters).where(_c.agent_playbook_id.in_(lessons))
        clusters_of = map(_cluster, self._scope.all(query))
        return {cluster.lesson: cluster for cluster in clusters_of}

    def find_lessons_of(self, members: Collection[int]) -> dict[PlaybookId, set[PlaybookId]]:
        """The shared lessons that say what these user playbooks say, each with those of them."""
        taught = self._sources.find_lessons_of(members)
        now = self.find_by_lessons(list(taught)) if taught else {}
        return {lesson: taught[lesson] & set(cluster.members) for lesson, cluster in now.items()}

    def upsert(self, cluster: Cluster) -> None:
        """Its members are sources of its lesson from now on, also when they leave the cluster: what once went into a
        lesson may still be in its history.
        """
        key = {"cluster_id": cluster.id}
        fixed = {"agent_version": cluster.agent_version, "name": cluster.name}
        values = {"fingerprint": cluster.fingerprint, "members": list(cluster.members), "wording": cluster.wording}
        self._scope.upsert(clusters, key, {**fixed, **values, "agent_playbook_id": cluster.lesson or None})
        if cluster.lesson:
            self._sources.add(cluster.lesson, cluster.members)

    def extend(self, lesson: PlaybookId, members: Collection[PlaybookId]) -> None:
        """These teach the lesson as well; nothing happens if its cluster is gone by now."""
        for cluster in self.find_by_lessons([lesson]).values():
            self.upsert(replace(cluster, members=tuple(sorted({*cluster.members, *members}))))

    def delete(self, lessons: Collection[PlaybookId]) -> None:
        """Nothing is gathered for these lessons any more; from what they were written stays known."""
        self._scope.delete_in(_c.agent_playbook_id, lessons)

    def erase(self, lessons: Collection[PlaybookId]) -> None:
        """No word of them is left, so that it does not matter any more from what they were written."""
        self.delete(lessons)
        self._sources.delete_lessons(lessons)

    def delete_all(self) -> None:
        """Every lesson is deleted, and the next aggregation starts from scratch."""
        for table in (clusters, agent_playbook_sources, aggregation_bookmarks):
            self._scope.delete(table)

    def find_users(self, members: Sequence[PlaybookId]) -> dict[PlaybookId, UserId]:
        """The users of these user playbooks, of those that exist."""
        c = user_playbooks.c
        query = self._scope.select(c.playbook_id, c.user_id)
        return {row[0]: UserId(row[1] or "") for row in self._scope.all_in(query, c.playbook_id, members)}

    def find_name_profiles(self, users: Sequence[UserId]) -> dict[UserId, list[str]]:
        """What these users' profiles say about names."""
        c = profiles.c
        query = self._scope.select(c.user_id, c.content).where(self._scope.db.contains_text(c.content, "name"))
        profiles_of: dict[UserId, list[str]] = {}
        for user, content in self._scope.all_in(query, c.user_id, users):
            profiles_of.setdefault(UserId(user), []).append(content)
        return profiles_of


def _cluster(row: Any) -> Cluster:
    lesson, members = PlaybookId(row.agent_playbook_id or 0), tuple(row.members or ())
    return value_of(Cluster, row, id=row.cluster_id, lesson=lesson, members=members)
