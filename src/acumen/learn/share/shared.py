"""Shared lessons with their sources, as aggregation and erasure read and write them.

A lesson and the fingerprint of its sources are stored together, so that nothing is written twice.
"""

import json
from collections.abc import Sequence
from typing import Any, Self, TypeVar, cast

import numpy as np
from msgspec import Struct, convert
from msgspec.structs import asdict, replace

from acumen.deps import Deps
from acumen.index.documents import Document
from acumen.learn.share.anonymize import names_of
from acumen.learn.share.plan import SharedLesson, UserLesson, fingerprint, group_of, ids_of, users_of, wording_hash
from acumen.learn.share.stance import Vector
from acumen.learn.share.wording import Worded, materially_different
from acumen.model.ids import Kind, MemoryRef, PlaybookId, UserId
from acumen.model.memories.base import Status
from acumen.model.memories.cluster import Cluster
from acumen.model.memories.playbook import AgentPlaybook, Approval, UserPlaybook
from acumen.model.memories.search import Filter, SearchRow
from acumen.storage.memories.lineage import Because
from acumen.storage.store import Tx

# --- reading -------------------------------------------------------------------------------------------------------


def user_lessons(tx: Tx, ids: Sequence[PlaybookId], deps: Deps) -> list[UserLesson]:
    """Current ones, in the order of their ids."""
    playbooks = tx.user_playbooks.get_many([str(lesson) for lesson in ids]).values()
    return with_vectors(tx, [book for book in playbooks if book.status is Status.CURRENT and book.user_id], deps)


def with_vectors(tx: Tx, playbooks: Sequence[UserPlaybook], deps: Deps) -> list[UserLesson]:
    vectors = _vectors(tx, Kind.USER_PLAYBOOK, [playbook.id for playbook in playbooks], deps)
    return list(group_of(UserLesson(playbook, vectors.get(playbook.id)) for playbook in playbooks))


def sources(tx: Tx, ids: Sequence[PlaybookId]) -> list[UserPlaybook]:
    """Includes those that a newer version has deleted, as they were then: lessons may still be in their words."""
    names = [str(playbook_id) for playbook_id in ids]
    existing = tx.user_playbooks.get_many(names)
    outdated = tx.lineage.find_outdated(Kind.USER_PLAYBOOK, ids=[name for name in names if name not in existing])
    return [*existing.values(), *(convert(state, UserPlaybook) for state in outdated.values())]


def shared_lessons(tx: Tx, version: str, name: str, deps: Deps) -> list[SharedLesson]:
    """Existing ones, and those that a person has rejected, archived or deleted."""
    clusters = tx.clusters.find(version, name)
    current = tx.agent_playbooks.find(Filter(agent_version=version, name=name))
    playbooks = {playbook.id: playbook for playbook in current if playbook.agent_version == version}
    by_cluster = tx.agent_playbooks.get_many([str(cluster.lesson) for cluster in clusters])
    playbooks |= {playbook.id: playbook for playbook in by_cluster.values()}
    vectors = _vectors(tx, Kind.AGENT_PLAYBOOK, list(playbooks), deps)
    members = sorted({member for cluster in clusters for member in cluster.members})
    users = tx.clusters.find_users(members)
    gone = [member for member in members if member not in users]
    users |= {book.id: UserId(book.user_id or "") for book in (sources(tx, gone) if gone else ())}
    written = [
        SharedLesson(
            playbooks.pop(cluster.lesson, None),
            cluster,
            frozenset(users[member] for member in cluster.members if member in users),
            vectors.get(cluster.lesson),
        )
        for cluster in clusters
    ]
    return [*written, *(SharedLesson(book, None, vector=vectors.get(book.id)) for book in playbooks.values())]


def names(tx: Tx, taught: Sequence[UserLesson]) -> frozenset[str]:
    """Names of the users who taught it, which are left out of it."""
    profiles = tx.clusters.find_name_profiles(sorted(users_of(taught)))
    return frozenset(name for user in users_of(taught) for name in names_of(user, profiles.get(user, ())))


def _vectors(tx: Tx, kind: Kind, ids: Sequence[PlaybookId], deps: Deps) -> dict[PlaybookId, Vector]:
    rows = tx.search_rows.get_many(kind, [str(playbook_id) for playbook_id in ids])
    vectors = {PlaybookId(int(name)): vector_of(row.vector, row.model, deps) for name, row in rows.items()}
    return {playbook_id: vector for playbook_id, vector in vectors.items() if vector is not None}


def vector_of(stored: bytes | None, model: str, deps: Deps) -> Vector | None:
    """None also for one of another model: the two cannot be compared."""
    if stored is None or model != deps.local_models.name:
        return None
    vector = np.frombuffer(stored, np.float16).astype(np.float32)
    length = float(np.linalg.norm(vector))
    return vector / np.float32(length) if np.isfinite(length) and length > 0 else None


# --- writing -------------------------------------------------------------------------------------------------------

C = TypeVar("C", bound="LessonChange")


class LessonChange(Struct, frozen=True, kw_only=True):
    """A shared lesson as it was read, and as it will be, written from lessons of users."""

    before: AgentPlaybook | None  # None: it is new
    after: AgentPlaybook | None = None  # None: nothing of it is stored
    taught: Sequence[UserLesson]
    cluster: Cluster | None
    row: SearchRow | None = None  # for new words

    def worded(self, base: AgentPlaybook, cluster: Cluster, worded: Worded) -> Self:
        """In these words. An approved lesson that comes to say something else is pending again."""
        other = base.approval is Approval.APPROVED and materially_different(base.lesson, worded.lesson)
        after = replace(
            base,
            lesson=worded.lesson,
            approval=Approval.PENDING if other else base.approval,
            metadata=json.dumps({"users": len(users_of(self.taught)), "user_playbooks": len(self.taught)}),
            notes=worded.notes,
            origin=worded.origin,
        )
        same = self.before is not None and self.before.lesson == worded.lesson
        wording = cluster.wording if same else wording_hash(worded.lesson)  # words of a person stay distinguishable
        return replace(self, after=after, cluster=replace(taught_cluster(cluster, self.taught), wording=wording))


def taught_cluster(cluster: Cluster, taught: Sequence[UserLesson]) -> Cluster:
    return replace(cluster, fingerprint=fingerprint(taught), members=ids_of(taught))


async def with_rows(changes: Sequence[C], deps: Deps) -> list[C]:
    """With a search row for new words."""
    words = [change.after.lesson.searchable if change.after else None for change in changes]
    new = {
        place: Document(Kind.AGENT_PLAYBOOK, "", text)
        for place, (change, text) in enumerate(zip(changes, words, strict=True))
        if text is not None and (change.before is None or change.before.lesson.searchable != text)
    }
    rows = dict(zip(new, await deps.index.rows(list(new.values())) if new else (), strict=True))
    return [replace(change, row=rows.get(place)) for place, change in enumerate(changes)]


def store(tx: Tx, run_id: str, change: LessonChange, because: Because) -> AgentPlaybook | None:
    """The lesson, and a line of the log where its words or its status change."""
    before, after = change.before, change.after
    if after is None:
        return None
    if before is None:
        ref = tx.memories.add(Kind.AGENT_PLAYBOOK, after, cast("SearchRow", change.row), because)
        stored = replace(after, id=PlaybookId(int(ref.id)))
        log = {"added": [snapshot(stored)]}
    else:
        ref = MemoryRef(Kind.AGENT_PLAYBOOK, str(before.id))
        stored = cast("AgentPlaybook", tx.memories.update(ref, before, after, change.row, because))
        updated = {"updated": [{"before": snapshot(before), "after": snapshot(stored)}]}
        log = {"removed": [snapshot(before)]} if before.status is not after.status else updated
        if (before.status, before.lesson) == (after.status, after.lesson):
            return stored
    tx.aggregations.add_change(run_id, after.agent_version, after.name, **log)
    return stored


def retire(tx: Tx, run_id: str, lessons: Sequence[PlaybookId], reason: str, into: PlaybookId | None = None) -> int:
    """They leave search and stay in history; `into` is the lesson that replaces them."""
    retired = tx.agent_playbooks.get_many([str(lesson) for lesson in lessons]).values()
    for before in retired:
        after = replace(before, status=Status.MERGED if into else Status.ARCHIVED, merged_into=into)
        store(tx, run_id, LessonChange(before=before, after=after, taught=(), cluster=None), Because(reason))
    tx.clusters.delete([playbook.id for playbook in retired])
    return len(retired)


def snapshot(playbook: AgentPlaybook) -> dict[str, Any]:
    """The lesson as it is now, in the words of the wire."""
    return {
        "agent_playbook_id": playbook.id,
        "playbook_name": playbook.name,
        "agent_version": playbook.agent_version,
        **asdict(playbook.lesson),
        "playbook_status": str(playbook.approval),
        "playbook_metadata": playbook.metadata,
    }
