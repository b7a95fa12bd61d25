"""Writes planned shared lessons: new ones, and new words or sources for existing ones."""

import asyncio
from collections import Counter
from collections.abc import Sequence

from msgspec.structs import replace

from acumen.deps import Deps
from acumen.errors import Conflict, ModelUnavailable
from acumen.learn.runs.runs import Cancelled
from acumen.learn.share import shared, wording, wording_llm
from acumen.learn.share.plan import PlannedWrite, SharedLesson, UserLesson, by_person, users_of
from acumen.learn.share.shared import LessonChange, retire, taught_cluster, user_lessons, with_rows
from acumen.learn.share.wording import Names, Worded, confident
from acumen.model.ids import PlaybookId, fresh_id
from acumen.model.jobs.run import RunId
from acumen.model.memories.cluster import Cluster
from acumen.model.memories.playbook import AgentPlaybook, Approval
from acumen.storage.memories.lineage import Because
from acumen.storage.store import Tx

# The only item of an aggregation; it counts what is written as it is written.
ITEM = "lessons"


class _Write(LessonChange, frozen=True, kw_only=True):
    cluster: Cluster
    names: frozenset[str]
    merged: tuple[PlaybookId, ...] = ()

    def unchanged_words(self, before: AgentPlaybook) -> Worded | None:
        """Words that a person wrote, or that a person approved and a user still teaches; else None."""
        if by_person(before, self.cluster):
            return Worded(before.lesson, before.origin, before.notes)
        by_model = before.origin.engine == "model"
        if before.approval is Approval.APPROVED and (
            by_model or wording.supports(before.lesson, self.taught, self.names)
        ):
            return Worded(before.lesson, confident(before.origin, self.taught), before.notes)
        return None


async def write(run_id: RunId, version: str, name: str, planned: Sequence[PlannedWrite], deps: Deps) -> None:
    """Raises Conflict when the sources change meanwhile, and Cancelled when the run is to stop."""
    reads = await deps.store.read(lambda tx: [_read(tx, run_id, version, name, each, deps) for each in planned])
    changes = await with_rows([await _worded(change, deps) for change in reads if change is not None], deps)

    def store(tx: Tx) -> None:
        tx.clusters.lock()
        counts: Counter[str] = Counter()
        for change in changes:
            counts.update(_store(tx, run_id, change))
        tx.run_items.add_counts(run_id, ITEM, counts)

    await deps.store.write(store)


def _read(tx: Tx, run_id: RunId, version: str, name: str, planned: PlannedWrite, deps: Deps) -> _Write | None:
    """None when too few of the users who taught it are left, or a person withdrew the lesson."""
    run = tx.runs.get(run_id)
    if run is None or run.cancel_asked:
        raise Cancelled
    taught = user_lessons(tx, planned.members, deps)
    lesson = planned.lesson
    before = tx.agent_playbooks.get(str(lesson)) if lesson else None
    too_few = len(users_of(taught)) < deps.config.aggregation.least_users
    if too_few or (lesson and SharedLesson(before, None).withdrawn):
        return None
    cluster = tx.clusters.find_by_lessons([lesson]).get(lesson) if lesson else None
    return _Write(
        before=before,
        taught=taught,
        cluster=cluster or Cluster(fresh_id("clus"), version, name, "", (), PlaybookId(0), ""),
        names=shared.names(tx, taught),
        merged=planned.merged,
    )


async def _worded(change: _Write, deps: Deps) -> _Write:
    """`after` stays None where a model finds that it is not one lesson."""
    before, cluster, taught = change.before, change.cluster, change.taught
    worded = change.unchanged_words(before) if before else None
    worded = worded or await _word(taught, change.names, deps)
    if worded is None:
        return replace(change, cluster=taught_cluster(cluster, taught))
    at, tags = deps.now(), _tags(taught)
    new = AgentPlaybook(PlaybookId(0), worded.lesson, at, at, cluster.agent_version, name=cluster.name, tags=tags)
    return change.worded(before or new, cluster, worded)


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
    cluster = change.cluster
    if tx.clusters.exists(cluster.agent_version, cluster.name, cluster.fingerprint):
        return {}  # by another worker meanwhile
    _check_unchanged(tx, change)
    because = Because(f"{len(users_of(change.taught))} users teach it", sources=[str(id_) for id_ in cluster.members])
    stored = shared.store(tx, run_id, change, because)
    if stored is None:
        tx.clusters.upsert(replace(cluster, lesson=PlaybookId(0), wording=""))
        return {"not_one_lesson": 1}
    tx.clusters.upsert(replace(cluster, lesson=stored.id))
    merged = [lesson for lesson in change.merged if lesson != stored.id]
    retire(tx, run_id, merged, "another shared lesson says it too", into=stored.id)
    if change.before is None:
        return {"playbooks_generated": 1, "playbooks_removed": len(merged)}
    grown = change.before.lesson == stored.lesson
    return {"playbooks_grown" if grown else "playbooks_updated": 1, "playbooks_removed": len(merged)}


def _check_unchanged(tx: Tx, change: _Write) -> None:
    """Conflict when anything it was written from has changed since it was read."""
    then = {lesson.playbook.id: lesson.playbook for lesson in change.taught}
    now = tx.user_playbooks.get_many([str(playbook_id) for playbook_id in then]).values()
    same = [book for book in now if (book.version, book.status) == (then[book.id].version, then[book.id].status)]
    before = change.before
    if len(same) < len(then) or (before is not None and tx.agent_playbooks.get(str(before.id)) != before):
        raise Conflict("The sources of a shared lesson were changed meanwhile.")
