"""Takes users out of shared lessons: what only they had said is reworded or goes, also from history.

Planned before the transaction that erases them, because new words need vectors; carried out inside it.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from acumen.deps import Deps, Findable
from acumen.errors import Conflict
from acumen.learn.share import wording_rules
from acumen.learn.share.groups import UserLesson, by_person, fingerprint, wording_hash
from acumen.learn.share.shared import counted_in, names, origin_of, snapshot, sources, with_vectors
from acumen.learn.share.wording import BY_RULES, sure
from acumen.model.cluster import Cluster
from acumen.model.ids import Kind, MemoryRef, PlaybookId, UserId, fresh_id
from acumen.model.memory import Status
from acumen.model.playbook import AgentPlaybook, Approval, Lesson
from acumen.model.search import Filter, SearchRow
from acumen.storage.aggregations import ERASED
from acumen.storage.lineage import Because
from acumen.storage.store import Tx

BECAUSE = Because("what one of its sources had said was erased", actor="caller")


class _Change(Struct, frozen=True):
    """A shared lesson and what becomes of it; `after` is None where nothing of it changes."""

    before: AgentPlaybook
    after: AgentPlaybook | None
    row: SearchRow | None
    sources: tuple[PlaybookId, ...]  # as they were read
    cluster: Cluster | None  # as it shall be; None: too few are left, and it is forgotten
    lost: tuple[Lesson, ...] = ()  # what those said who are gone
    left: tuple[Lesson, ...] = ()  # what all others said who ever taught it

    @property
    def reworded(self) -> bool:
        return self.after is not None and self.after.lesson != self.before.lesson

    @property
    def emptied(self) -> bool:
        return self.cluster is None and self.after is not None

    def owes(self, once: Lesson) -> bool:
        """Whether the lesson, as it once was, may say what only those who are gone had said.

        They may have said more than they are known to have said in the end: what nobody else said goes as well.
        """
        if once == Lesson(ERASED):
            return False
        if self.emptied:
            return True
        kept = [*self.left, *([] if self.reworded else [self.before.lesson])]
        return wording_rules.tells(once, self.lost, kept) or not wording_rules.in_words_of(once, kept)

    def ever_owed(self, tx: Tx) -> bool:
        events = tx.lineage.of(MemoryRef(Kind.AGENT_PLAYBOOK, str(self.before.id)))
        told = [event[side] for event in events for side in ("before", "after") if event[side]]
        return (
            self.emptied or self.reworded or any(self.owes(_lesson(one["lesson"])) for one in told if "lesson" in one)
        )


class Unshared(Struct, frozen=True):
    """What becomes of shared lessons when some of their sources go."""

    gone: frozenset[PlaybookId] = frozenset()
    changes: tuple[_Change, ...] = ()

    @property
    def retired(self) -> list[PlaybookId]:
        return [change.before.id for change in self.changes if change.emptied]

    @property
    def rewritten(self) -> list[PlaybookId]:
        return [change.before.id for change in self.changes if change.reworded and not change.emptied]

    def apply(self, tx: Tx) -> None:
        """Inside the transaction that erases the sources. Conflict when lessons were changed since it was planned."""
        if not self.changes:
            return
        tx.clusters.hold()
        touched = [change.before.id for change in self.changes]
        if {change.before.id: list(change.sources) for change in self.changes} != tx.sources.of(touched):
            raise Conflict("The shared lessons were changed meanwhile.")
        self._forget_words(tx)
        for change in self.changes:
            _apply(tx, change)
        tx.sources.forget(self.gone)

    def _forget_words(self, tx: Tx) -> None:
        """From what is told of the lessons' past, only what is owed to those who are gone."""
        by_id = {change.before.id: change for change in self.changes}
        tx.aggregations.forget_words(list(by_id), lambda then: by_id[then["agent_playbook_id"]].owes(_lesson(then)))
        owing = [str(lesson) for lesson, change in by_id.items() if change.ever_owed(tx)]
        tx.lineage.forget_words(Kind.AGENT_PLAYBOOK, owing)
        tx.reviewed.forget(Kind.AGENT_PLAYBOOK, dict.fromkeys(owing))


def _lesson(told: Mapping[str, Any]) -> Lesson:
    """The lesson in a snapshot, from which words may have been taken out before."""
    parts: dict[str, Any] = {name: told.get(name) for name in Lesson.__struct_fields__}
    return Lesson(**{**parts, "content": parts["content"] or ""})


def _apply(tx: Tx, change: _Change) -> None:
    now = tx.agent_playbooks.get(str(change.before.id))
    if now != change.before:
        raise Conflict("A shared lesson was changed meanwhile.")
    ref = MemoryRef(Kind.AGENT_PLAYBOOK, str(change.before.id))
    if change.after is not None and not (change.reworded or change.emptied):
        tx.memories.change(ref, change.before, change.after, None, BECAUSE)
    elif change.after is not None:
        wordless = replace(change.before, lesson=Lesson(ERASED), metadata="")
        stored = tx.memories.change(ref, wordless, change.after, change.row, BECAUSE)
        _tell(tx, change, wordless, stored)
    if change.cluster is None:
        tx.clusters.forget([change.before.id])
    else:
        tx.clusters.put(change.cluster)


def _tell(tx: Tx, change: _Change, wordless: AgentPlaybook, stored: AgentPlaybook) -> None:
    about = (fresh_id("erasure"), stored.agent_version, stored.name)
    if change.cluster is None:
        tx.aggregations.note(*about, removed=[snapshot(wordless)])
    else:
        tx.aggregations.note(*about, updated=[{"before": snapshot(wordless), "after": snapshot(stored)}])


async def without_user(user: UserId, deps: Deps) -> Unshared:
    """Nor what they once taught, be it that a newer version has deleted it."""

    def ever(tx: Tx) -> list[str]:
        there = tx.user_playbooks.owned(Filter(user_id=user, statuses=None))
        return [*there, *tx.lineage.outdated(Kind.USER_PLAYBOOK, user)]

    return await _without(_ids(await deps.store.read(ever)), deps)


async def without_all(deps: Deps) -> Unshared:
    """No source of any shared lesson is left."""
    lessons = await deps.store.read(lambda tx: tx.sources.all_taught())
    taught_by = await deps.store.read(lambda tx: tx.sources.of(lessons))
    return await _without([member for members in taught_by.values() for member in members], deps)


async def without(gone: Collection[PlaybookId], deps: Deps) -> Unshared:
    """What becomes of the shared lessons that these user playbooks, or earlier versions of them, are sources of."""

    def earlier(tx: Tx) -> list[str]:
        there = tx.user_playbooks.by_ids([str(one) for one in gone])
        return tx.lineage.earlier_versions(Kind.USER_PLAYBOOK, list(there.values()))

    return await _without([*gone, *_ids(await deps.store.read(earlier))], deps)


def _ids(names: Sequence[str]) -> list[PlaybookId]:
    return [PlaybookId(int(name)) for name in names]


async def _without(gone: Collection[PlaybookId], deps: Deps) -> Unshared:
    planned = await deps.store.read(lambda tx: _plan(tx, set(gone), deps))
    reworded = [change for change in planned if change.reworded or change.emptied]
    if not reworded:
        return Unshared(frozenset(gone), tuple(planned))
    texts = [change.after.lesson.searchable for change in reworded if change.after]
    rows = await deps.findable([Findable(Kind.AGENT_PLAYBOOK, "", text) for text in texts])
    with_rows = {change.before.id: replace(change, row=row) for change, row in zip(reworded, rows, strict=True)}
    return Unshared(frozenset(gone), tuple(with_rows.get(change.before.id, change) for change in planned))


def _plan(tx: Tx, gone: set[PlaybookId], deps: Deps) -> list[_Change]:
    touched = tx.sources.taught_by(gone)
    taught_by = tx.sources.of(list(touched))
    lessons = tx.agent_playbooks.by_ids([str(lesson) for lesson in touched])
    clusters = tx.clusters.of_lessons(list(touched))
    return [
        _change(tx, lessons[str(lesson)], taught_by[lesson], clusters.get(lesson), gone, deps)
        for lesson in sorted(touched)
        if str(lesson) in lessons
    ]


def _change(
    tx: Tx,
    before: AgentPlaybook,
    taught_by: Sequence[PlaybookId],
    cluster: Cluster | None,
    gone: set[PlaybookId],
    deps: Deps,
) -> _Change:
    playbooks = sources(tx, taught_by)
    lost = [one.lesson for one in playbooks if one.id in gone]
    others = [one.lesson for one in playbooks if one.id not in gone]
    members = set(cluster.members if cluster else ()) - gone
    left = [one for one in playbooks if one.id in members and one.status is Status.CURRENT]
    taught = sorted(with_vectors(tx, left, deps), key=lambda one: one.playbook.id)
    if cluster is None or len({one.user for one in taught}) < deps.config.aggregation.least_users:
        stays = by_person(before, cluster) and not _owes(before, cluster, lost, taught)
        after = None if stays else _emptied(before)
        return _Change(before, after, None, tuple(taught_by), None, tuple(lost), tuple(others))
    owes = _owes(before, cluster, lost, taught)
    kept_words = replace(before, origin=origin_of(before, cluster, taught))
    after = replace(_reworded(tx, before, taught) if owes else kept_words, metadata=counted_in(taught))
    wrote = wording_hash(after.lesson) if owes else cluster.wording
    ids = tuple(one.playbook.id for one in taught)
    kept = replace(cluster, fingerprint=fingerprint(taught), members=ids, wording=wrote)
    changed = None if after == before else after
    return _Change(before, changed, None, tuple(taught_by), kept, tuple(lost), tuple(others))


def _emptied(before: AgentPlaybook) -> AgentPlaybook:
    """Archived, and without a word: what is left of it was taught by too few to be anybody else's."""
    return replace(before, lesson=Lesson(ERASED), status=Status.ARCHIVED, metadata="", tags=[])


def _owes(before: AgentPlaybook, cluster: Cluster | None, lost: Sequence[Lesson], left: Sequence[UserLesson]) -> bool:
    """Whether the lesson says anything that only those who are gone had said. One added by hand owes nobody."""
    if cluster is not None and cluster.wording == "":
        return False
    return wording_rules.tells(before.lesson, lost, [one.playbook.lesson for one in left])


def _reworded(tx: Tx, before: AgentPlaybook, taught: Sequence[UserLesson]) -> AgentPlaybook:
    lesson = wording_rules.write(taught, names(tx, taught))
    other = wording_rules.materially_other(before.lesson, lesson)
    approval = Approval.PENDING if other and before.approval is Approval.APPROVED else before.approval
    return replace(before, lesson=lesson, approval=approval, notes=None, origin=sure(BY_RULES, taught))
