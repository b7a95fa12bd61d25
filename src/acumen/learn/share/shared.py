"""Shared lessons: written from what users taught, reworded when that changes, retired when it is gone.

A lesson and the fingerprint of what it was written from are stored together, so that nothing is written twice.
"""

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from msgspec import Struct, convert
from msgspec.structs import asdict, replace

from acumen.deps import Deps, Findable
from acumen.errors import Conflict
from acumen.learn.share import wording_rules
from acumen.learn.share.anonymize import names_of
from acumen.learn.share.cluster import Floats
from acumen.learn.share.groups import PlannedWrite, SharedLesson, UserLesson, by_person, fingerprint, wording_hash
from acumen.learn.share.wording import Worded, confident, word
from acumen.learn.share.wording_rules import Names
from acumen.model.cluster import Cluster
from acumen.model.ids import Kind, MemoryRef, Millis, PlaybookId, UserId, fresh_id
from acumen.model.memory import Origin, Status
from acumen.model.playbook import AgentPlaybook, Approval, UserPlaybook
from acumen.model.run import RunId
from acumen.model.search import Filter, SearchRow
from acumen.storage.lineage import Because
from acumen.storage.store import Tx


class Work(Struct, frozen=True):
    """Some work of a run on lessons of one version and one name. No words and no users: only ids."""

    version: str
    name: str
    writes: tuple[PlannedWrite, ...] = ()
    retired: tuple[PlaybookId, ...] = ()

    def text(self) -> str:
        writes = [[write.lesson, list(write.members), list(write.merged)] for write in self.writes]
        return json.dumps([self.version, self.name, writes, list(self.retired)])

    @classmethod
    def of(cls, text: str) -> "Work":
        version, name, writes, retired = json.loads(text)
        planned = tuple(PlannedWrite(tuple(members), lesson, tuple(merged)) for lesson, members, merged in writes)
        return cls(version, name, planned, tuple(retired))


# --- what users taught ---------------------------------------------------------------------------------------------


def user_lessons(tx: Tx, ids: Sequence[PlaybookId], deps: Deps) -> list[UserLesson]:
    """Current ones, in the order of their ids."""
    playbooks = tx.user_playbooks.by_ids([str(lesson) for lesson in ids]).values()
    return with_vectors(tx, [book for book in playbooks if book.status is Status.CURRENT and book.user_id], deps)


def with_vectors(tx: Tx, playbooks: Sequence[UserPlaybook], deps: Deps) -> list[UserLesson]:
    rows = tx.search_rows.by_ids(Kind.USER_PLAYBOOK, [str(playbook.id) for playbook in playbooks])
    ordered = [(playbook, rows.get(str(playbook.id))) for playbook in sorted(playbooks, key=lambda book: book.id)]
    return [UserLesson(playbook, _row_vector(row, deps), row) for playbook, row in ordered]


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


def _row_vector(row: SearchRow | None, deps: Deps) -> Floats | None:
    return None if row is None else vector_of(row.vector, row.model, deps)


def vector_of(stored: bytes | None, model: str, deps: Deps) -> Floats | None:
    """None also for one of another model: the two cannot be compared."""
    if stored is None or model != deps.meaning.name:
        return None
    vector = np.frombuffer(stored, np.float16).astype(np.float32)
    length = float(np.linalg.norm(vector))
    return vector / np.float32(length) if np.isfinite(length) and length > 0 else None


# --- writing -----------------------------------------------------------------------------------------------------


class _Read(Struct, frozen=True):
    """What a lesson is written from, as it was read."""

    planned: PlannedWrite
    taught: list[UserLesson]
    names: Names
    before: AgentPlaybook | None
    cluster: Cluster | None

    @property
    def written_by_person(self) -> bool:
        return self.before is not None and by_person(self.before, self.cluster)

    @property
    def keeps_words(self) -> bool:
        """A person wrote them, or approved them and somebody still says them."""
        if self.before is None or self.written_by_person or self.before.approval is not Approval.APPROVED:
            return self.written_by_person
        by_model = self.before.origin.engine == "model"
        return by_model or wording_rules.supports(self.before.lesson, self.taught, self.names)


async def write(run_id: RunId, item: Work, deps: Deps) -> dict[str, int]:
    reads = await deps.store.read(lambda tx: [_read(tx, planned, item, deps) for planned in item.writes])
    due = [read for read in reads if read is not None]
    written = [_written(read, await _worded(read, deps), item, deps.now()) for read in due]
    rows = await _search_rows(due, written, deps)

    def store(tx: Tx) -> dict[str, int]:
        tx.clusters.hold()
        counted: Counter[str] = Counter()
        for place, (read, after) in enumerate(zip(due, written, strict=True)):
            counted.update(_store(tx, run_id, item, read, after, rows.get(place)))
        retired = [lesson for lesson in item.retired if _too_few_users(tx, lesson, deps)]
        counted.update(playbooks_removed=retire(tx, run_id, retired, "too few users teach it any more"))
        return dict(counted)

    return await deps.store.write(store)


def _read(tx: Tx, planned: PlannedWrite, item: Work, deps: Deps) -> _Read | None:
    """None when it has been done, or when too few of the users who taught it are left."""
    taught = user_lessons(tx, planned.members, deps)
    too_few = len({lesson.user for lesson in taught}) < deps.config.aggregation.least_users
    if too_few or tx.clusters.written(item.version, item.name, fingerprint(taught)):
        return None
    before = tx.agent_playbooks.get(str(planned.lesson)) if planned.lesson else None
    if planned.lesson and SharedLesson(before, None).withdrawn:
        return None
    cluster = tx.clusters.of_lessons([planned.lesson]).get(planned.lesson) if planned.lesson else None
    return _Read(planned, taught, names(tx, taught), before, cluster)


def names(tx: Tx, taught: Sequence[UserLesson]) -> dict[UserId, set[str]]:
    """What the users who taught it may be called, so that it is left out."""
    users = sorted({lesson.user for lesson in taught})
    profiles = tx.clusters.profiles_about_names(users)
    return {user: names_of(user, profiles.get(user, ())) for user in users}


async def _worded(read: _Read, deps: Deps) -> Worded | None:
    if read.before is None or not read.keeps_words:
        return await word(read.taught, read.names, deps)
    return Worded(read.before.lesson, origin_of(read.before, read.cluster, read.taught), read.before.notes)


def origin_of(lesson: AgentPlaybook, cluster: Cluster | None, taught: Sequence[UserLesson]) -> Origin:
    """Of a lesson whose words stay: the users who teach it now decide its confidence, unless a person wrote it."""
    return lesson.origin if by_person(lesson, cluster) else confident(lesson.origin, taught)


def _written(read: _Read, worded: Worded | None, item: Work, at: Millis) -> AgentPlaybook | None:
    """The lesson as it is to be stored; None where a model found that it is not one lesson."""
    if worded is None:
        return None
    new = AgentPlaybook(PlaybookId(0), worded.lesson, at, at, item.version, name=item.name, tags=_tags(read.taught))
    before = read.before or new
    other = wording_rules.materially_other(before.lesson, worded.lesson)
    return replace(
        before,
        lesson=worded.lesson,
        approval=Approval.PENDING if other else before.approval,
        metadata=counted_in(read.taught),
        notes=worded.notes,
        origin=worded.origin,
    )


def counted_in(taught: Sequence[UserLesson]) -> str:
    """How many teach a lesson, for its metadata."""
    return json.dumps({"users": len({lesson.user for lesson in taught}), "user_playbooks": len(taught)})


def _tags(taught: Sequence[UserLesson]) -> list[str]:
    """Those that at least half of the lessons have."""
    counts = Counter(tag for lesson in taught for tag in set(lesson.playbook.tags))
    return sorted(tag for tag, count in counts.items() if count * 2 >= len(taught))


async def _search_rows(
    due: Sequence[_Read], written: Sequence[AgentPlaybook | None], deps: Deps
) -> dict[int, SearchRow]:
    """By place, for lessons with new words; one in the words of a source has the row of that source."""
    rows: dict[int, SearchRow] = {}
    unknown: dict[int, Findable] = {}
    for place, (read, after) in enumerate(zip(due, written, strict=True)):
        if after is None or (read.before is not None and read.before.lesson.searchable == after.lesson.searchable):
            continue
        words = after.lesson.searchable
        same = (lesson.row for lesson in read.taught if lesson.playbook.lesson.searchable == words and lesson.row)
        if row := next(same, None):
            rows[place] = replace(row, kind=Kind.AGENT_PLAYBOOK, entity_id="", user_id="")
        else:
            unknown[place] = Findable(Kind.AGENT_PLAYBOOK, "", words)
    embedded = await deps.findable(list(unknown.values())) if unknown else []
    return rows | dict(zip(unknown, embedded, strict=True))


def _store(
    tx: Tx, run_id: RunId, item: Work, read: _Read, after: AgentPlaybook | None, row: SearchRow | None
) -> dict[str, int]:
    _check_unchanged(tx, read)
    members = tuple(lesson.playbook.id for lesson in read.taught)
    cluster_id = read.cluster.id if read.cluster else fresh_id("clus")
    cluster = Cluster(cluster_id, item.version, item.name, fingerprint(read.taught), members, PlaybookId(0), "")
    if after is None:
        tx.clusters.put(cluster)
        return {"not_one_lesson": 1}
    users = len({lesson.user for lesson in read.taught})
    because = Because(f"{users} users teach it", sources=[str(member) for member in members])
    lesson, counted = _store_lesson(tx, run_id, read.before, after, row, because)
    wrote = wording_hash(after.lesson)
    if read.written_by_person:  # their words stay told apart from ours
        wrote = read.cluster.wording if read.cluster else ""
    tx.clusters.put(replace(cluster, lesson=lesson, wording=wrote))
    merged = [other for other in read.planned.merged if other != lesson]
    retire(tx, run_id, merged, "another shared lesson says it too", into=lesson)
    return {counted: 1, "playbooks_removed": len(merged)}


def _store_lesson(
    tx: Tx, run_id: RunId, before: AgentPlaybook | None, after: AgentPlaybook, row: SearchRow | None, because: Because
) -> tuple[PlaybookId, str]:
    """Its id, and under which name it is counted."""
    about = (run_id, after.agent_version, after.name)
    if before is None:
        ref = tx.memories.add(Kind.AGENT_PLAYBOOK, after, cast("SearchRow", row), because)  # a new lesson has new words
        stored = replace(after, id=PlaybookId(int(ref.id)))
        tx.aggregations.note(*about, added=[snapshot(stored)])
        return stored.id, "playbooks_generated"
    tx.memories.change(MemoryRef(Kind.AGENT_PLAYBOOK, str(before.id)), before, after, row, because)
    if before.lesson == after.lesson:
        return before.id, "playbooks_grown"
    tx.aggregations.note(*about, updated=[{"before": snapshot(before), "after": snapshot(after)}])
    return before.id, "playbooks_updated"


def _check_unchanged(tx: Tx, read: _Read) -> None:
    """Conflict when anything it was written from has changed since it was read."""
    now = tx.user_playbooks.by_ids([str(lesson.playbook.id) for lesson in read.taught])
    versions = {(str(book.id), book.version, book.status) for book in (lesson.playbook for lesson in read.taught)}
    same = {(name, playbook.version, playbook.status) for name, playbook in now.items()} == versions
    if not same or (read.before is not None and tx.agent_playbooks.get(str(read.before.id)) != read.before):
        raise Conflict("What a shared lesson is written from was changed meanwhile.")


# --- the end of a lesson -----------------------------------------------------------------------------------------


def _too_few_users(tx: Tx, lesson: PlaybookId, deps: Deps) -> bool:
    cluster = tx.clusters.of_lessons([lesson]).get(lesson)
    left = user_lessons(tx, cluster.members if cluster else (), deps)
    return len({taught.user for taught in left}) < deps.config.aggregation.least_users


def retire(tx: Tx, run_id: str, lessons: Sequence[PlaybookId], reason: str, into: PlaybookId | None = None) -> int:
    """They leave search and stay in history; `into` is the lesson that says it now."""
    retired = tx.agent_playbooks.by_ids([str(lesson) for lesson in lessons]).values()
    for before in retired:
        after = replace(before, status=Status.MERGED if into else Status.ARCHIVED, merged_into=into)
        tx.memories.change(MemoryRef(Kind.AGENT_PLAYBOOK, str(before.id)), before, after, None, Because(reason))
        tx.aggregations.note(run_id, before.agent_version, before.name, removed=[snapshot(before)])
    tx.clusters.end([playbook.id for playbook in retired])
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
