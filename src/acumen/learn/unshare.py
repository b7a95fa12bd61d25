"""Takes users out of shared lessons: what only they had said is reworded or goes, also from history.

Planned before the transaction that erases them, because new words need vectors; carried out inside it.
"""

from collections.abc import Collection, Sequence

from msgspec import Struct
from msgspec.structs import replace

from acumen.deps import Deps, Findable
from acumen.errors import Conflict
from acumen.learn import wording_rules
from acumen.learn.gather import Taught, by_person, fingerprint, wording
from acumen.learn.shared import names, snapshot, with_vectors
from acumen.learn.wording import BY_RULES
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
    """A shared lesson and what becomes of it; `after` is None where its words owe nothing to those who are gone."""

    before: AgentPlaybook
    after: AgentPlaybook | None
    row: SearchRow | None
    sources: tuple[PlaybookId, ...]  # as they were read
    cluster: Cluster | None  # as it shall be; None: too few are left, and it is forgotten


class Unshared(Struct, frozen=True):
    """What becomes of shared lessons when some of their sources go."""

    gone: frozenset[PlaybookId] = frozenset()
    changes: tuple[_Change, ...] = ()

    @property
    def retired(self) -> list[PlaybookId]:
        return [change.before.id for change in self.changes if change.cluster is None and change.after is not None]

    @property
    def rewritten(self) -> list[PlaybookId]:
        return [change.before.id for change in self.changes if change.cluster is not None and change.after is not None]

    def apply(self, tx: Tx) -> None:
        """Inside the transaction that erases the sources. Conflict when lessons were changed since it was planned."""
        if not self.changes:
            return
        tx.clusters.hold()
        touched = [change.before.id for change in self.changes]
        if {change.before.id: list(change.sources) for change in self.changes} != tx.sources.of(touched):
            raise Conflict("The shared lessons were changed meanwhile.")
        tx.lineage.forget_words(Kind.AGENT_PLAYBOOK, [str(lesson) for lesson in touched])
        tx.aggregations.forget_words(touched)
        tx.reviewed.forget(Kind.AGENT_PLAYBOOK, {str(lesson): None for lesson in touched})
        for change in self.changes:
            _apply(tx, change)
        tx.sources.forget(self.gone)


def _apply(tx: Tx, change: _Change) -> None:
    now = tx.agent_playbooks.get(str(change.before.id))
    if now != change.before:
        raise Conflict("A shared lesson was changed meanwhile.")
    if change.after is not None:
        ref = MemoryRef(Kind.AGENT_PLAYBOOK, str(change.before.id))
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
    ids = await deps.store.read(lambda tx: list(tx.user_playbooks.owned(Filter(user_id=user, statuses=None))))
    return await without([PlaybookId(int(one)) for one in ids], deps)


async def without_all(deps: Deps) -> Unshared:
    """No source of any shared lesson is left."""
    lessons = await deps.store.read(lambda tx: tx.sources.all_taught())
    sources = await deps.store.read(lambda tx: tx.sources.of(lessons))
    return await without([member for members in sources.values() for member in members], deps)


async def without(gone: Collection[PlaybookId], deps: Deps) -> Unshared:
    """What becomes of the shared lessons that these user playbooks are sources of."""
    planned = await deps.store.read(lambda tx: _plan(tx, set(gone), deps))
    reworded = [change for change in planned if change.after is not None]
    if not reworded:
        return Unshared(frozenset(gone), tuple(planned))
    texts = [change.after.lesson.searchable for change in reworded if change.after]
    rows = await deps.findable([Findable(Kind.AGENT_PLAYBOOK, "", text) for text in texts])
    with_rows = {change.before.id: replace(change, row=row) for change, row in zip(reworded, rows, strict=True)}
    return Unshared(frozenset(gone), tuple(with_rows.get(change.before.id, change) for change in planned))


def _plan(tx: Tx, gone: set[PlaybookId], deps: Deps) -> list[_Change]:
    touched = tx.sources.taught_by(gone)
    sources = tx.sources.of(list(touched))
    lessons = tx.agent_playbooks.by_ids([str(lesson) for lesson in touched])
    clusters = tx.clusters.of_lessons(list(touched))
    return [
        _change(tx, lessons[str(lesson)], sources[lesson], clusters.get(lesson), gone, deps)
        for lesson in sorted(touched)
        if str(lesson) in lessons
    ]


def _change(
    tx: Tx,
    before: AgentPlaybook,
    sources: Sequence[PlaybookId],
    cluster: Cluster | None,
    gone: set[PlaybookId],
    deps: Deps,
) -> _Change:
    playbooks = tx.user_playbooks.by_ids([str(member) for member in sources])
    lost = [one.lesson for one in playbooks.values() if one.id in gone]
    members = set(cluster.members if cluster else ()) - gone
    left = [one for one in playbooks.values() if one.id in members and one.status is Status.CURRENT]
    taught = sorted(with_vectors(tx, left, deps), key=lambda one: one.playbook.id)
    if cluster is None or len({one.user for one in taught}) < deps.config.aggregation.least_users:
        stays = by_person(before, cluster) and not _owes(before, cluster, lost, taught)
        return _Change(before, None if stays else _emptied(before), None, tuple(sources), None)
    after = _reworded(tx, before, taught) if _owes(before, cluster, lost, taught) else None
    written = (after or before).lesson
    wrote = cluster.wording if after is None else wording(written)
    ids = tuple(one.playbook.id for one in taught)
    kept = replace(cluster, fingerprint=fingerprint(taught), members=ids, wording=wrote)
    return _Change(before, after, None, tuple(sources), kept)


def _emptied(before: AgentPlaybook) -> AgentPlaybook:
    """Archived, and without a word: what is left of it was taught by too few to be anybody else's."""
    return replace(before, lesson=Lesson(ERASED), status=Status.ARCHIVED, metadata="", tags=[])


def _owes(before: AgentPlaybook, cluster: Cluster | None, lost: Sequence[Lesson], left: Sequence[Taught]) -> bool:
    """Whether the lesson says anything that only those who are gone had said. One added by hand owes nobody."""
    if cluster is not None and cluster.wording == "":
        return False
    return wording_rules.tells(before.lesson, lost, [one.playbook.lesson for one in left])


def _reworded(tx: Tx, before: AgentPlaybook, taught: Sequence[Taught]) -> AgentPlaybook:
    lesson = wording_rules.write(taught, names(tx, taught))
    other = wording_rules.materially_other(before.lesson, lesson)
    approval = Approval.PENDING if other and before.approval is Approval.APPROVED else before.approval
    return replace(before, lesson=lesson, approval=approval, origin=BY_RULES)
