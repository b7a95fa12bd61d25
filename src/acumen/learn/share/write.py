"""Writes what an aggregation has planned: new lessons, other words for known ones, the end of outdated ones."""

import asyncio
from collections import Counter
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from acumen.deps import Deps
from acumen.errors import Conflict, ModelUnavailable
from acumen.learn.share import shared, wording, wording_llm
from acumen.learn.share.groups import (
    PlannedWrite,
    SharedLesson,
    UserLesson,
    by_person,
    fingerprint,
    users_of,
    wording_hash,
)
from acumen.learn.share.shared import LessonChange, counted_in, retire, user_lessons, with_rows
from acumen.learn.share.wording import Names, Worded, confident
from acumen.model.ids import PlaybookId, fresh_id
from acumen.model.jobs.run import RunId
from acumen.model.memories.cluster import Cluster
from acumen.model.memories.playbook import AgentPlaybook, Approval
from acumen.storage.memories.lineage import Because
from acumen.storage.store import Tx


class Work(Struct, frozen=True):
    """Some work of a run on lessons of one version and one name. No words and no users: only ids."""

    version: str
    name: str
    writes: tuple[PlannedWrite, ...] = ()
    retired: tuple[PlaybookId, ...] = ()


class _Write(LessonChange, frozen=True, kw_only=True):
    cluster: Cluster
    names: frozenset[str]
    merged: tuple[PlaybookId, ...] = ()

    @property
    def keeps_words(self) -> bool:
        """A person wrote them, or approved them and somebody still says them."""
        if self.before is None or by_person(self.before, self.cluster):
            return self.before is not None
        by_model = self.before.origin.engine == "model"
        said = by_model or wording.supports(self.before.lesson, self.taught, self.names)
        return self.before.approval is Approval.APPROVED and said


async def write(run_id: RunId, work: Work, deps: Deps) -> dict[str, int]:
    reads = await deps.store.read(lambda tx: [_read(tx, planned, work, deps) for planned in work.writes])
    written = [await _written(read, work, deps) for read in reads if read is not None]
    changes = await with_rows(written, deps)

    def store(tx: Tx) -> dict[str, int]:
        tx.clusters.hold()
        counted: Counter[str] = Counter()
        for change in changes:
            counted.update(_store(tx, run_id, change))
        retired = [lesson for lesson in work.retired if _too_few_users(tx, lesson, deps)]
        counted.update(playbooks_removed=retire(tx, run_id, retired, "too few users teach it any more"))
        return dict(counted)

    return await deps.store.write(store)


def _read(tx: Tx, planned: PlannedWrite, work: Work, deps: Deps) -> _Write | None:
    """None when it has been done, or when too few of the users who taught it are left."""
    taught = user_lessons(tx, planned.members, deps)
    too_few = len(users_of(taught)) < deps.config.aggregation.least_users
    if too_few or tx.clusters.written(work.version, work.name, fingerprint(taught)):
        return None
    lesson = planned.lesson
    before = tx.agent_playbooks.get(str(lesson)) if lesson else None
    if lesson and SharedLesson(before, None).withdrawn:
        return None
    known = tx.clusters.of_lessons([lesson]).get(lesson) if lesson else None
    new = Cluster(fresh_id("clus"), work.version, work.name, "", (), PlaybookId(0), "")
    names = shared.names(tx, taught)
    return _Write(before=before, after=None, taught=taught, cluster=known or new, names=names, merged=planned.merged)


async def _written(read: _Write, work: Work, deps: Deps) -> _Write:
    """`after` stays None where a model found that it is not one lesson."""
    before, cluster, taught = read.before, read.cluster, read.taught
    members = tuple(lesson.playbook.id for lesson in taught)
    of_person = before is not None and by_person(before, cluster)
    if before is not None and read.keeps_words:
        origin = before.origin if of_person else confident(before.origin, taught)
        worded: Worded | None = Worded(before.lesson, origin, before.notes)
    else:
        worded = await _word(taught, read.names, deps)
    if worded is None:
        return replace(read, cluster=replace(cluster, fingerprint=fingerprint(taught), members=members))
    at = deps.now()
    new = AgentPlaybook(PlaybookId(0), worded.lesson, at, at, work.version, name=work.name, tags=_tags(taught))
    known = before or new
    other = wording.materially_other(known.lesson, worded.lesson)
    after = replace(
        known,
        lesson=worded.lesson,
        approval=Approval.PENDING if other else known.approval,
        metadata=counted_in(taught),
        notes=worded.notes,
        origin=worded.origin,
    )
    wrote = cluster.wording if of_person else wording_hash(after.lesson)  # words of a person stay told apart from ours
    return replace(
        read, after=after, cluster=replace(cluster, fingerprint=fingerprint(taught), members=members, wording=wrote)
    )


async def _word(taught: Sequence[UserLesson], names: Names, deps: Deps) -> Worded | None:
    """By a model where there is one, else by rules; by rules too when the model fails."""
    notes = None
    if deps.llm is not None:
        try:
            return await wording_llm.write(taught, names, deps.llm)
        except ModelUnavailable as why:
            notes = f"Worded by rules: {why}"
    # Some milliseconds of pure Python: callers need the event loop meanwhile.
    return await asyncio.to_thread(wording.by_rules, taught, names, notes)


def _tags(taught: Sequence[UserLesson]) -> list[str]:
    """Those that at least half of the lessons have."""
    counts = Counter(tag for lesson in taught for tag in set(lesson.playbook.tags))
    return sorted(tag for tag, count in counts.items() if count * 2 >= len(taught))


def _store(tx: Tx, run_id: RunId, change: _Write) -> dict[str, int]:
    _check_unchanged(tx, change)
    members = change.cluster.members
    because = Because(f"{len(users_of(change.taught))} users teach it", sources=[str(member) for member in members])
    stored = shared.store(tx, run_id, change, because)
    if stored is None:
        tx.clusters.put(replace(change.cluster, lesson=PlaybookId(0), wording=""))
        return {"not_one_lesson": 1}
    tx.clusters.put(replace(change.cluster, lesson=stored.id))
    merged = [other for other in change.merged if other != stored.id]
    retire(tx, run_id, merged, "another shared lesson says it too", into=stored.id)
    if change.before is None:
        return {"playbooks_generated": 1, "playbooks_removed": len(merged)}
    grown = change.before.lesson == stored.lesson
    return {"playbooks_grown" if grown else "playbooks_updated": 1, "playbooks_removed": len(merged)}


def _check_unchanged(tx: Tx, read: _Write) -> None:
    """Conflict when anything it was written from has changed since it was read."""
    now = tx.user_playbooks.by_ids([str(lesson.playbook.id) for lesson in read.taught]).values()
    then = [lesson.playbook for lesson in read.taught]
    states = ({(book.id, book.version, book.status) for book in books} for books in (now, then))
    changed = len(set(map(frozenset, states))) > 1
    if changed or (read.before is not None and tx.agent_playbooks.get(str(read.before.id)) != read.before):
        raise Conflict("What a shared lesson is written from was changed meanwhile.")


def _too_few_users(tx: Tx, lesson: PlaybookId, deps: Deps) -> bool:
    cluster = tx.clusters.of_lessons([lesson]).get(lesson)
    left = user_lessons(tx, cluster.members if cluster else (), deps)
    return len(users_of(left)) < deps.config.aggregation.least_users
