"""Takes users out of shared lessons: what only they had said is reworded or deleted, also from history.

Planned before the transaction that erases them, because new words need vectors; applied inside it.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from acumen.deps import Deps, Findable
from acumen.errors import Conflict
from acumen.learn.share import wording_rules
from acumen.learn.share.groups import UserLesson, by_person, fingerprint, wording_hash
from acumen.learn.share.shared import counted_in, names, origin_of, snapshot, sources, with_vectors
from acumen.learn.share.wording import BY_RULES, confident
from acumen.learn.share.wording_rules import contains_erased_text
from acumen.model.cluster import Cluster
from acumen.model.ids import Kind, MemoryRef, PlaybookId, UserId, fresh_id
from acumen.model.memory import Status
from acumen.model.playbook import AgentPlaybook, Approval, Lesson
from acumen.model.search import Filter, SearchRow
from acumen.storage.aggregations import ERASED
from acumen.storage.lineage import Because
from acumen.storage.store import Tx

BECAUSE = Because("what one of its sources had said was erased", actor="caller")
_NOTHING = Lesson(ERASED)


class _Change(Struct, frozen=True):
    """A shared lesson and what becomes of it; `after` is None where nothing of it changes."""

    before: AgentPlaybook
    after: AgentPlaybook | None
    sources: tuple[PlaybookId, ...]  # as they were read
    cluster: Cluster | None  # as it is to be; None: too few users are left, and it is deleted
    gone: tuple[Lesson, ...]  # what the erased users said
    left: tuple[Lesson, ...]  # what all others said who ever taught it
    row: SearchRow | None = None

    @property
    def reworded(self) -> bool:
        return self.after is not None and self.after.lesson != self.before.lesson

    @property
    def emptied(self) -> bool:
        return self.cluster is None and self.after is not None

    def concerns(self, earlier: Lesson) -> bool:
        """Whether the lesson, as it was earlier, may say what only the erased users had said.

        They may have said more than is known of them in the end: what nobody else said is erased as well.
        """
        if earlier == _NOTHING or self.emptied:
            return earlier != _NOTHING
        kept = [*self.left, *([] if self.reworded else [self.before.lesson])]
        return contains_erased_text(earlier, self.gone, kept) or not wording_rules.in_words_of(earlier, kept)

    def concerns_history(self, tx: Tx) -> bool:
        events = tx.lineage.of(MemoryRef(Kind.AGENT_PLAYBOOK, str(self.before.id)))
        states = (event[side] for event in events for side in ("before", "after") if event[side])
        lessons = (_lesson(state["lesson"]) for state in states if "lesson" in state)
        return self.emptied or self.reworded or any(map(self.concerns, lessons))


class SharedErasure(Struct, frozen=True):
    """What becomes of shared lessons when some of their sources are erased."""

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
        by_id = {change.before.id: change for change in self.changes}
        if {lesson: list(change.sources) for lesson, change in by_id.items()} != tx.sources.of(list(by_id)):
            raise Conflict("The shared lessons were changed meanwhile.")
        tx.aggregations.forget_words(list(by_id), lambda then: by_id[then["agent_playbook_id"]].concerns(_lesson(then)))
        concerned = [str(lesson) for lesson, change in by_id.items() if change.concerns_history(tx)]
        tx.lineage.forget_words(Kind.AGENT_PLAYBOOK, concerned)
        tx.reviewed.forget(Kind.AGENT_PLAYBOOK, dict.fromkeys(concerned))
        for change in self.changes:
            _apply(tx, change)
        tx.sources.forget(self.gone)


def _lesson(state: Mapping[str, Any]) -> Lesson:
    """The lesson in a snapshot, from which words may have been erased before."""
    parts: dict[str, Any] = {name: state.get(name) for name in Lesson.__struct_fields__}
    return Lesson(**{**parts, "content": parts["content"] or ""})


def _apply(tx: Tx, change: _Change) -> None:
    before, after = change.before, change.after
    ref = MemoryRef(Kind.AGENT_PLAYBOOK, str(before.id))
    if tx.agent_playbooks.get(ref.id) != before:
        raise Conflict("A shared lesson was changed meanwhile.")
    if after is not None and (change.reworded or change.emptied):
        wordless = replace(before, lesson=_NOTHING, metadata="")
        now = snapshot(tx.memories.change(ref, wordless, after, change.row, BECAUSE))
        then = snapshot(wordless)
        log = {"removed": [then]} if change.cluster is None else {"updated": [{"before": then, "after": now}]}
        tx.aggregations.note(fresh_id("erasure"), after.agent_version, after.name, **log)
    elif after is not None:
        tx.memories.change(ref, before, after, None, BECAUSE)
    if change.cluster is None:
        tx.clusters.forget([before.id])
    else:
        tx.clusters.put(change.cluster)


async def erase_user_from_shared(user: UserId, deps: Deps) -> SharedErasure:
    """Also what they once taught and a newer version has deleted."""

    def read(tx: Tx) -> list[str]:
        existing = tx.user_playbooks.owned(Filter(user_id=user, statuses=None))
        return [*existing, *tx.lineage.outdated(Kind.USER_PLAYBOOK, user)]

    return await _planned(map(int, await deps.store.read(read)), deps)


async def erase_all_from_shared(deps: Deps) -> SharedErasure:
    """No source of any shared lesson is left."""
    taught_by = await deps.store.read(lambda tx: tx.sources.of(tx.sources.all_taught()))
    return await _planned((member for members in taught_by.values() for member in members), deps)


async def erase_from_shared(gone: Collection[PlaybookId], deps: Deps) -> SharedErasure:
    """Of the shared lessons that these user playbooks, or earlier versions of them, are sources of."""

    def earlier(tx: Tx) -> list[str]:
        existing = tx.user_playbooks.by_ids([str(playbook_id) for playbook_id in gone])
        return tx.lineage.earlier_versions(Kind.USER_PLAYBOOK, list(existing.values()))

    return await _planned([*gone, *map(int, await deps.store.read(earlier))], deps)


async def _planned(playbooks: Iterable[int], deps: Deps) -> SharedErasure:
    gone = frozenset(map(PlaybookId, playbooks))

    def read(tx: Tx) -> list[_Change]:
        touched = tx.sources.taught_by(gone)
        taught_by, clusters = tx.sources.of(list(touched)), tx.clusters.of_lessons(list(touched))
        lessons = tx.agent_playbooks.by_ids([str(lesson) for lesson in sorted(touched)])
        return [_change(tx, book, taught_by[book.id], clusters.get(book.id), gone, deps) for book in lessons.values()]

    changes = {change.before.id: change for change in await deps.store.read(read)}
    new = {lesson: change.after for lesson, change in changes.items() if change.reworded or change.emptied}
    texts = [Findable(Kind.AGENT_PLAYBOOK, "", after.lesson.searchable) for after in new.values() if after]
    for lesson, row in zip(new, await deps.findable(texts) if texts else (), strict=True):
        changes[lesson] = replace(changes[lesson], row=row)
    return SharedErasure(gone, tuple(changes[lesson] for lesson in sorted(changes)))


def _change(
    tx: Tx,
    before: AgentPlaybook,
    taught_by: Sequence[PlaybookId],
    cluster: Cluster | None,
    gone: Collection[PlaybookId],
    deps: Deps,
) -> _Change:
    playbooks = sources(tx, taught_by)
    lost = tuple(playbook.lesson for playbook in playbooks if playbook.id in gone)
    others = tuple(playbook.lesson for playbook in playbooks if playbook.id not in gone)
    members = set(cluster.members if cluster else ()) - set(gone)
    left = [playbook for playbook in playbooks if playbook.id in members and playbook.status is Status.CURRENT]
    taught = with_vectors(tx, left, deps)
    # A lesson that was added by hand has no words of others.
    by_hand = cluster is not None and cluster.wording == ""
    erased = not by_hand and contains_erased_text(before.lesson, lost, [lesson.playbook.lesson for lesson in taught])
    if cluster is None or len({lesson.user for lesson in taught}) < deps.config.aggregation.least_users:
        stays = by_person(before, cluster) and not erased
        empty = replace(before, lesson=_NOTHING, status=Status.ARCHIVED, metadata="", tags=[])
        return _Change(before, None if stays else empty, tuple(taught_by), None, lost, others)
    same = replace(before, origin=origin_of(before, cluster, taught))
    after = replace(_reworded(tx, before, taught) if erased else same, metadata=counted_in(taught))
    wrote = wording_hash(after.lesson) if erased else cluster.wording
    ids = tuple(lesson.playbook.id for lesson in taught)
    kept = replace(cluster, fingerprint=fingerprint(taught), members=ids, wording=wrote)
    return _Change(before, None if after == before else after, tuple(taught_by), kept, lost, others)


def _reworded(tx: Tx, before: AgentPlaybook, taught: Sequence[UserLesson]) -> AgentPlaybook:
    lesson = wording_rules.write(taught, names(tx, taught))
    other = wording_rules.materially_other(before.lesson, lesson)
    approval = Approval.PENDING if other and before.approval is Approval.APPROVED else before.approval
    return replace(before, lesson=lesson, approval=approval, notes=None, origin=confident(BY_RULES, taught))
