"""Shared lessons: written from what users taught, reworded when that changes, retired when it is gone.

A lesson and the fingerprint of what it was written from are stored together, so that nothing is written twice.
"""

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from msgspec import Struct, convert
from msgspec.structs import replace

from acumen.deps import Deps, Findable
from acumen.errors import Conflict
from acumen.learn.share import wording_rules
from acumen.learn.share.anonymize import names_of
from acumen.learn.share.cluster import Floats
from acumen.learn.share.groups import PlannedWrite, SharedLesson, UserLesson, by_person, fingerprint, wording_hash
from acumen.learn.share.wording import Worded, sure, word
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
    return with_vectors(tx, [one for one in playbooks if one.status is Status.CURRENT and one.user_id], deps)


def with_vectors(tx: Tx, playbooks: Sequence[UserPlaybook], deps: Deps) -> list[UserLesson]:
    rows = tx.search_rows.by_ids(Kind.USER_PLAYBOOK, [str(playbook.id) for playbook in playbooks])
    ordered = [(playbook, rows.get(str(playbook.id))) for playbook in sorted(playbooks, key=lambda one: one.id)]
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
    users |= {one.id: UserId(one.user_id or "") for one in (sources(tx, gone) if gone else ())}
    written = [
        SharedLesson(
            playbooks.pop(cluster.lesson, None),
            cluster,
            frozenset(users[member] for member in cluster.members if member in users),
            vectors.get(cluster.lesson),
        )
        for cluster in clusters
    ]
    return [*written, *(SharedLesson(one, None, vector=vectors[one.id]) for one in playbooks.values())]


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


class _Ready(Struct, frozen=True):
    """A lesson that only needs to be stored. `after` is None where a model found that it is no one lesson."""

    read: _Read
    after: AgentPlaybook | None
    row: SearchRow | None  # None: its words stay the same


async def write(run_id: RunId, item: Work, deps: Deps) -> dict[str, int]:
    reads = await deps.store.read(lambda tx: [_read(tx, planned, item, deps) for planned in item.writes])
    open_ones = [read for read in reads if read is not None]
    worded = [await _worded(read, deps) for read in open_ones]
    ready = await _ready(list(zip(open_ones, worded, strict=True)), item, deps)

    def store(tx: Tx) -> dict[str, int]:
        tx.clusters.hold()
        counted: Counter[str] = Counter()
        for one in ready:
            counted.update(_store(tx, run_id, item, one))
        retired = [lesson for lesson in item.retired if _too_few_users(tx, lesson, deps)]
        counted.update(playbooks_removed=retire(tx, run_id, retired, "too few users teach it any more"))
        return dict(counted)

    return await deps.store.write(store)


def _read(tx: Tx, planned: PlannedWrite, item: Work, deps: Deps) -> _Read | None:
    """None when it has been done, or when too few of the users who taught it are left."""
    taught = user_lessons(tx, planned.members, deps)
    if len({lesson.user for lesson in taught}) < deps.config.aggregation.least_users:
        return None
    if tx.clusters.written(item.version, item.name, fingerprint(taught)):
        return None
    before = tx.agent_playbooks.get(str(planned.lesson)) if planned.lesson else None
    if planned.lesson and SharedLesson(before, None).withdrawn:
        return None
    cluster = tx.clusters.of_lessons([planned.lesson]).get(planned.lesson) if planned.lesson else None
    return _Read(planned, taught, names(tx, taught), before, cluster)


def names(tx: Tx, taught: Sequence[UserLesson]) -> dict[UserId, set[str]]:
    """What those who taught it may be called, so that it is left out."""
    users = sorted({one.user for one in taught})
    profiles = tx.clusters.profiles_about_names(users)
    return {user: names_of(user, profiles.get(user, ())) for user in users}


async def _worded(read: _Read, deps: Deps) -> Worded | None:
    """The lesson stays as it is while a person's word stands behind it and those who taught it still do."""
    before = read.before
    if before is not None and _stays(read, before):
        return Worded(before.lesson, origin_of(before, read.cluster, read.taught), before.notes)
    return await word(read.taught, read.names, deps)


def origin_of(lesson: AgentPlaybook, cluster: Cluster | None, taught: Sequence[UserLesson]) -> Origin:
    """Of a lesson whose words stay: as sure as those who teach it now make it, unless a person wrote it."""
    return lesson.origin if by_person(lesson, cluster) else sure(lesson.origin, taught)


def _stays(read: _Read, before: AgentPlaybook) -> bool:
    if by_person(before, read.cluster):
        return True
    if before.approval is not Approval.APPROVED:
        return False
    return before.origin.engine == "model" or wording_rules.supports(before.lesson, read.taught, read.names)


async def _ready(worded: Sequence[tuple[_Read, Worded | None]], item: Work, deps: Deps) -> list[_Ready]:
    after = [None if said is None else _after(read, said, item, deps.now()) for read, said in worded]
    ready = [_Ready(read, one, _row_of(read, one)) for (read, _), one in zip(worded, after, strict=True)]
    new = [place for place, one in enumerate(ready) if one.row is None and one.after and _reworded(one.read, one.after)]
    texts = [cast("AgentPlaybook", ready[place].after).lesson.searchable for place in new]
    rows = await deps.findable([Findable(Kind.AGENT_PLAYBOOK, "", text) for text in texts]) if texts else []
    for place, row in zip(new, rows, strict=True):
        ready[place] = replace(ready[place], row=row)
    return ready


def _row_of(read: _Read, after: AgentPlaybook | None) -> SearchRow | None:
    """A lesson in the very words of one of its sources is found by what that one is found by."""
    if after is None or not _reworded(read, after):
        return None
    words = after.lesson.searchable
    same = (one.row for one in read.taught if one.row is not None and one.playbook.lesson.searchable == words)
    found = next(same, None)
    return None if found is None else replace(found, kind=Kind.AGENT_PLAYBOOK, entity_id="", user_id="")


def _reworded(read: _Read, after: AgentPlaybook) -> bool:
    return read.before is None or read.before.lesson.searchable != after.lesson.searchable


def _after(read: _Read, said: Worded, item: Work, at: Millis) -> AgentPlaybook:
    about = counted_in(read.taught)
    if read.before is None:
        return AgentPlaybook(
            id=PlaybookId(0),
            lesson=said.lesson,
            created_at=at,
            updated_at=at,
            agent_version=item.version,
            name=item.name,
            metadata=about,
            tags=_tags(read.taught),
            notes=said.notes,
            origin=said.origin,
        )
    other = wording_rules.materially_other(read.before.lesson, said.lesson)
    approval = Approval.PENDING if other else read.before.approval
    told = {"metadata": about, "notes": said.notes, "origin": said.origin}
    return replace(read.before, lesson=said.lesson, approval=approval, **told)


def counted_in(taught: Sequence[UserLesson]) -> str:
    """How many teach a lesson, for its metadata."""
    return json.dumps({"users": len({one.user for one in taught}), "user_playbooks": len(taught)})


def _tags(taught: Sequence[UserLesson]) -> list[str]:
    """Those that at least half of the lessons have."""
    counted = Counter(tag for one in taught for tag in set(one.playbook.tags))
    return sorted(tag for tag, count in counted.items() if count * 2 >= len(taught))


def _store(tx: Tx, run_id: RunId, item: Work, ready: _Ready) -> dict[str, int]:
    read, after = ready.read, ready.after
    _check_unchanged(tx, read)
    members = tuple(one.playbook.id for one in read.taught)
    print_now = fingerprint(read.taught)
    cluster_id = read.cluster.id if read.cluster else fresh_id("clus")
    cluster = Cluster(cluster_id, item.version, item.name, print_now, members, PlaybookId(0), "")
    if after is None:
        tx.clusters.put(cluster)
        return {"not_one_lesson": 1}
    because = Because(f"{len({one.user for one in read.taught})} users teach it", sources=[str(one) for one in members])
    lesson, counted = _store_lesson(tx, run_id, ready, after, because)
    tx.clusters.put(replace(cluster, lesson=lesson, wording=_wrote(read, after)))
    merged = [one for one in read.planned.merged if one != lesson]
    retire(tx, run_id, merged, "another shared lesson says it too", into=lesson)
    return {**counted, "playbooks_removed": len(merged)}


def _wrote(read: _Read, after: AgentPlaybook) -> str:
    """What a person wrote stays told apart from what we did."""
    if read.before is not None and by_person(read.before, read.cluster):
        return read.cluster.wording if read.cluster else ""
    return wording_hash(after.lesson)


def _store_lesson(
    tx: Tx, run_id: RunId, ready: _Ready, after: AgentPlaybook, because: Because
) -> tuple[PlaybookId, dict[str, int]]:
    before, row = ready.read.before, ready.row
    if before is None:
        ref = tx.memories.add(Kind.AGENT_PLAYBOOK, after, cast("SearchRow", row), because)  # what is new has words
        stored = replace(after, id=PlaybookId(int(ref.id)))
        tx.aggregations.note(run_id, after.agent_version, after.name, added=[snapshot(stored)])
        return stored.id, {"playbooks_generated": 1}
    tx.memories.change(MemoryRef(Kind.AGENT_PLAYBOOK, str(before.id)), before, after, row, because)
    if before.lesson == after.lesson:
        return before.id, {"playbooks_grown": 1}
    told = {"before": snapshot(before), "after": snapshot(after)}
    tx.aggregations.note(run_id, after.agent_version, after.name, updated=[told])
    return before.id, {"playbooks_updated": 1}


def _check_unchanged(tx: Tx, read: _Read) -> None:
    """Conflict when anything it was written from is other than it was read."""
    now = tx.user_playbooks.by_ids([str(one.playbook.id) for one in read.taught])
    lesson = tx.agent_playbooks.get(str(read.before.id)) if read.before else None
    same = all(_same(one.playbook, now.get(str(one.playbook.id))) for one in read.taught)
    if not same or lesson != read.before:
        raise Conflict("What a shared lesson is written from was changed meanwhile.")


def _same(read: UserPlaybook, now: UserPlaybook | None) -> bool:
    return now is not None and (now.version, now.status) == (read.version, read.status)


# --- the end of a lesson -----------------------------------------------------------------------------------------


def _too_few_users(tx: Tx, lesson: PlaybookId, deps: Deps) -> bool:
    cluster = tx.clusters.of_lessons([lesson]).get(lesson)
    left = user_lessons(tx, cluster.members if cluster else (), deps)
    return len({taught.user for taught in left}) < deps.config.aggregation.least_users


def retire(tx: Tx, run_id: str, lessons: Sequence[PlaybookId], reason: str, into: PlaybookId | None = None) -> int:
    """They leave search and stay in history; `into` is the lesson that says it now."""
    found = tx.agent_playbooks.by_ids([str(lesson) for lesson in lessons]).values()
    for before in found:
        status = Status.MERGED if into else Status.ARCHIVED
        after = replace(before, status=status, merged_into=into)
        tx.memories.change(MemoryRef(Kind.AGENT_PLAYBOOK, str(before.id)), before, after, None, Because(reason))
        tx.aggregations.note(run_id, before.agent_version, before.name, removed=[snapshot(before)])
    tx.clusters.end([one.id for one in found])
    return len(found)


def snapshot(lesson: AgentPlaybook) -> dict[str, Any]:
    """The lesson as it is now, in the words of the wire."""
    said = lesson.lesson
    return {
        "agent_playbook_id": lesson.id,
        "playbook_name": lesson.name,
        "agent_version": lesson.agent_version,
        "content": said.content,
        "trigger": said.trigger,
        "rationale": said.rationale,
        "pitfall": said.pitfall,
        "blocking_issue": said.blocking_issue,
        "playbook_status": str(lesson.approval),
        "playbook_metadata": lesson.metadata,
    }
