"""Shared lessons: read with what they were written from, and written, for aggregation and erasure alike.

A lesson and the fingerprint of what it was written from are stored together, so that nothing is written twice.
"""

import json
from collections.abc import Sequence
from typing import Any, TypeVar, cast

import numpy as np
from msgspec import Struct, convert
from msgspec.structs import asdict, replace

from acumen.deps import Deps
from acumen.index.documents import Document
from acumen.learn.share.anonymize import names_of
from acumen.learn.share.cluster import Floats
from acumen.learn.share.groups import SharedLesson, UserLesson, group_of, users_of
from acumen.model.ids import Kind, MemoryRef, PlaybookId, UserId
from acumen.model.memories.base import Status
from acumen.model.memories.cluster import Cluster
from acumen.model.memories.playbook import AgentPlaybook, UserPlaybook
from acumen.model.memories.search import Filter, SearchRow
from acumen.storage.memories.lineage import Because
from acumen.storage.store import Tx

# --- reading -------------------------------------------------------------------------------------------------------


def user_lessons(tx: Tx, ids: Sequence[PlaybookId], deps: Deps) -> list[UserLesson]:
    """Current ones, in the order of their ids."""
    playbooks = tx.user_playbooks.by_ids([str(lesson) for lesson in ids]).values()
    return with_vectors(tx, [book for book in playbooks if book.status is Status.CURRENT and book.user_id], deps)


def with_vectors(tx: Tx, playbooks: Sequence[UserPlaybook], deps: Deps) -> list[UserLesson]:
    rows = tx.search_rows.by_ids(Kind.USER_PLAYBOOK, [str(playbook.id) for playbook in playbooks])
    found = ((playbook, rows.get(str(playbook.id))) for playbook in playbooks)
    return list(group_of(UserLesson(playbook, _row_vector(row, deps), row) for playbook, row in found))


def sources(tx: Tx, ids: Sequence[PlaybookId]) -> list[UserPlaybook]:
    """With those that a newer version has deleted, as they were then: lessons may still be in their words."""
    names = [str(playbook_id) for playbook_id in ids]
    existing = tx.user_playbooks.by_ids(names)
    outdated = tx.lineage.outdated(Kind.USER_PLAYBOOK, ids=[name for name in names if name not in existing])
    return [*existing.values(), *(convert(state, UserPlaybook) for state in outdated.values())]


def shared_lessons(tx: Tx, version: str, name: str, deps: Deps) -> list[SharedLesson]:
    """Those that exist, and those that a person has rejected, archived or deleted."""
    clusters = tx.clusters.of(version, name)
    current = tx.agent_playbooks.find(Filter(agent_version=version, name=name))
    playbooks = {playbook.id: playbook for playbook in current if playbook.agent_version == version}
    by_cluster = tx.agent_playbooks.by_ids([str(cluster.lesson) for cluster in clusters])
    playbooks |= {playbook.id: playbook for playbook in by_cluster.values()}
    rows = tx.search_rows.by_ids(Kind.AGENT_PLAYBOOK, [str(playbook) for playbook in playbooks])
    vectors = {playbook: _row_vector(rows.get(str(playbook)), deps) for playbook in playbooks}
    members = sorted({member for cluster in clusters for member in cluster.members})
    users = tx.clusters.users_of(members)
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
    return [*written, *(SharedLesson(book, None, vector=vectors[book.id]) for book in playbooks.values())]


def names(tx: Tx, taught: Sequence[UserLesson]) -> frozenset[str]:
    """What the users who taught it may be called, so that it is left out."""
    profiles = tx.clusters.profiles_about_names(sorted(users_of(taught)))
    return frozenset(name for user in users_of(taught) for name in names_of(user, profiles.get(user, ())))


def _row_vector(row: SearchRow | None, deps: Deps) -> Floats | None:
    return None if row is None else vector_of(row.vector, row.model, deps)


def vector_of(stored: bytes | None, model: str, deps: Deps) -> Floats | None:
    """None also for one of another model: the two cannot be compared."""
    if stored is None or model != deps.local_models.name:
        return None
    vector = np.frombuffer(stored, np.float16).astype(np.float32)
    length = float(np.linalg.norm(vector))
    return vector / np.float32(length) if np.isfinite(length) and length > 0 else None


# --- writing -------------------------------------------------------------------------------------------------------


class LessonChange(Struct, frozen=True, kw_only=True):
    """A shared lesson as it was read, and as it is to be, written from what users taught."""

    before: AgentPlaybook | None  # None: it is new
    after: AgentPlaybook | None  # None: there is nothing to store of it
    taught: Sequence[UserLesson]
    cluster: Cluster | None
    row: SearchRow | None = None  # for new words


C = TypeVar("C", bound=LessonChange)


async def with_rows(changes: Sequence[C], deps: Deps) -> list[C]:
    """With a search row for new words; a lesson in the words of a source has the row of that source."""
    rows: list[SearchRow | None] = []
    unknown: dict[int, Document] = {}
    for place, change in enumerate(changes):
        words = change.after.lesson.searchable if change.after else None
        new = words is not None and (change.before is None or change.before.lesson.searchable != words)
        same = (lesson.row for lesson in change.taught if lesson.row and lesson.playbook.lesson.searchable == words)
        row = next(same, None) if new else None
        rows.append(replace(row, kind=Kind.AGENT_PLAYBOOK, entity_id="", user_id="") if row else None)
        if new and row is None:
            unknown[place] = Document(Kind.AGENT_PLAYBOOK, "", words or "")
    for place, row in zip(unknown, await deps.index.rows(list(unknown.values())) if unknown else (), strict=True):
        rows[place] = row
    return [replace(change, row=row) for change, row in zip(changes, rows, strict=True)]


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
        stored = cast("AgentPlaybook", tx.memories.change(ref, before, after, change.row, because))
        updated = {"updated": [{"before": snapshot(before), "after": snapshot(stored)}]}
        log = {"removed": [snapshot(before)]} if before.status is not after.status else updated
        if (before.status, before.lesson) == (after.status, after.lesson):
            return stored
    tx.aggregations.note(run_id, after.agent_version, after.name, **log)
    return stored


def retire(tx: Tx, run_id: str, lessons: Sequence[PlaybookId], reason: str, into: PlaybookId | None = None) -> int:
    """They leave search and stay in history; `into` is the lesson that says it now."""
    retired = tx.agent_playbooks.by_ids([str(lesson) for lesson in lessons]).values()
    for before in retired:
        after = replace(before, status=Status.MERGED if into else Status.ARCHIVED, merged_into=into)
        store(tx, run_id, LessonChange(before=before, after=after, taught=(), cluster=None), Because(reason))
    tx.clusters.end([playbook.id for playbook in retired])
    return len(retired)


def counted_in(taught: Sequence[UserLesson]) -> str:
    """How many teach a lesson, for its metadata."""
    return json.dumps({"users": len(users_of(taught)), "user_playbooks": len(taught)})


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
