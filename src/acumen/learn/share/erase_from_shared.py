"""Erases users' words from shared lessons: a lesson that contains them is reworded or deleted, also in history.

Planned before the transaction that erases the user, because new words need vectors; applied inside it.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from acumen.deps import Deps
from acumen.errors import Conflict
from acumen.learn.share import shared, wording
from acumen.learn.share.plan import by_person, users_of
from acumen.learn.share.shared import LessonChange, with_rows, with_vectors
from acumen.learn.share.wording import Worded, confident, contains_erased_text
from acumen.model.ids import Kind, MemoryRef, PlaybookId, UserId, fresh_id
from acumen.model.memories.base import Status
from acumen.model.memories.cluster import Cluster
from acumen.model.memories.playbook import AgentPlaybook, Lesson
from acumen.model.memories.search import Filter
from acumen.storage.memories.aggregations import ERASED
from acumen.storage.memories.lineage import Because
from acumen.storage.store import Tx

BECAUSE = Because("the words of one of its sources were erased", actor="caller")
_NOTHING = Lesson(ERASED)


class _Erasure(LessonChange, frozen=True, kw_only=True):
    """`after` is None where the lesson does not change; without a cluster too few users are left to teach it."""

    before: AgentPlaybook
    sources: tuple[PlaybookId, ...]  # as they were read
    gone: tuple[Lesson, ...]  # of the erased users
    left: tuple[Lesson, ...]  # of everyone else who ever taught it

    @property
    def reworded(self) -> bool:
        return self.after is not None and self.after.lesson != self.before.lesson

    @property
    def emptied(self) -> bool:
        return self.cluster is None and self.after is not None

    def concerns(self, earlier: Lesson) -> bool:
        """Whether an earlier state of the lesson may contain words that only the erased users wrote.

        Earlier versions of their lessons may be lost, so words that no remaining source has are erased as well.
        """
        if earlier == _NOTHING or self.emptied:
            return earlier != _NOTHING
        remaining = [*self.left, *([] if self.reworded else [self.before.lesson])]
        return contains_erased_text(earlier, self.gone, remaining) or not wording.in_words_of(earlier, remaining)

    def concerns_history(self, tx: Tx) -> bool:
        events = tx.lineage.find(MemoryRef(Kind.AGENT_PLAYBOOK, str(self.before.id)))
        states = (event[side] for event in events for side in ("before", "after") if event[side])
        lessons = (_lesson(state["lesson"]) for state in states if "lesson" in state)
        return self.emptied or self.reworded or any(map(self.concerns, lessons))

    def apply(self, tx: Tx) -> None:
        if tx.agent_playbooks.get(str(self.before.id)) != self.before:
            raise Conflict("A shared lesson was changed meanwhile.")
        wordless = replace(self.before, lesson=_NOTHING, metadata="")
        change = replace(self, before=wordless) if self.reworded or self.emptied else self
        shared.store(tx, fresh_id("erasure"), change, BECAUSE)
        if self.cluster is None:
            tx.clusters.erase([self.before.id])
        else:
            tx.clusters.upsert(self.cluster)


class SharedErasure(Struct, frozen=True):
    gone: frozenset[PlaybookId] = frozenset()
    changes: tuple[_Erasure, ...] = ()

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
        tx.clusters.lock()
        by_id = {change.before.id: change for change in self.changes}
        if {lesson: list(change.sources) for lesson, change in by_id.items()} != tx.sources.find(list(by_id)):
            raise Conflict("The shared lessons were changed meanwhile.")
        tx.aggregations.erase_words(list(by_id), lambda then: by_id[then["agent_playbook_id"]].concerns(_lesson(then)))
        concerned = [str(lesson) for lesson, change in by_id.items() if change.concerns_history(tx)]
        tx.lineage.erase_words(Kind.AGENT_PLAYBOOK, concerned)
        tx.review_records.erase(Kind.AGENT_PLAYBOOK, dict.fromkeys(concerned))
        for change in self.changes:
            change.apply(tx)
        tx.sources.delete_members(self.gone)


def _lesson(state: Mapping[str, Any]) -> Lesson:
    """Words may have been erased from a snapshot before."""
    parts: dict[str, Any] = {name: state.get(name) for name in Lesson.__struct_fields__}
    return Lesson(**{**parts, "content": parts["content"] or ""})


async def erase_user_from_shared(user: UserId, deps: Deps) -> SharedErasure:
    """Also their lessons that a newer version has deleted."""

    def taught(tx: Tx) -> list[str]:
        existing = tx.user_playbooks.find_owners(Filter(user_id=user, statuses=None))
        return [*existing, *tx.lineage.find_outdated(Kind.USER_PLAYBOOK, user)]

    return await _planned(taught, deps)


async def erase_all_from_shared(deps: Deps) -> SharedErasure:
    """Every source of every shared lesson is erased."""
    return await _planned(lambda tx: chain(*tx.sources.find(tx.sources.find_all_lessons()).values()), deps)


async def erase_from_shared(gone: Collection[PlaybookId], deps: Deps) -> SharedErasure:
    """Erases these user playbooks and earlier versions of them."""

    def with_earlier(tx: Tx) -> list[str]:
        names = [str(playbook_id) for playbook_id in gone]
        existing = tx.user_playbooks.get_many(names).values()
        return [*names, *tx.lineage.find_earlier_versions(Kind.USER_PLAYBOOK, list(existing))]

    return await _planned(with_earlier, deps)


async def _planned(find: Callable[[Tx], Iterable[str | int]], deps: Deps) -> SharedErasure:
    def read(tx: Tx) -> tuple[frozenset[PlaybookId], list[_Erasure]]:
        gone = frozenset(PlaybookId(int(playbook_id)) for playbook_id in find(tx))
        touched = tx.sources.find_lessons_of(gone)
        taught_by, clusters = tx.sources.find(list(touched)), tx.clusters.find_by_lessons(list(touched))
        lessons = tx.agent_playbooks.get_many([str(lesson) for lesson in sorted(touched)]).values()
        changes = [_erasure(tx, book, taught_by[book.id], clusters.get(book.id), gone, deps) for book in lessons]
        return gone, changes

    gone, changes = await deps.store.read(read)
    return SharedErasure(gone, tuple(sorted(await with_rows(changes, deps), key=lambda change: change.before.id)))


def _erasure(
    tx: Tx,
    before: AgentPlaybook,
    source_ids: Sequence[PlaybookId],
    cluster: Cluster | None,
    gone: Collection[PlaybookId],
    deps: Deps,
) -> _Erasure:
    playbooks = shared.sources(tx, source_ids)
    members = set(cluster.members if cluster else ()) - set(gone)
    left = [playbook for playbook in playbooks if playbook.id in members and playbook.status is Status.CURRENT]
    taught = with_vectors(tx, left, deps)
    change = _Erasure(
        before=before,
        taught=taught,
        cluster=None,
        sources=tuple(source_ids),
        gone=tuple(playbook.lesson for playbook in playbooks if playbook.id in gone),
        left=tuple(playbook.lesson for playbook in playbooks if playbook.id not in gone),
    )
    remaining = [lesson.playbook.lesson for lesson in taught]
    # A lesson that a person added has no words of others.
    by_hand = cluster is not None and cluster.wording == ""
    erased = not by_hand and contains_erased_text(before.lesson, change.gone, remaining)
    if cluster is None or len(users_of(taught)) < deps.config.aggregation.least_users:
        stays = by_person(before, cluster) and not erased
        empty = replace(before, lesson=_NOTHING, status=Status.ARCHIVED, metadata="", tags=[])
        return change if stays else replace(change, after=empty)
    if erased:
        worded = wording.by_rules(taught, shared.names(tx, taught))
    else:
        origin = before.origin if by_person(before, cluster) else confident(before.origin, taught)
        worded = Worded(before.lesson, origin, before.notes)
    change = change.worded(before, cluster, worded)
    return replace(change, after=None) if change.after == before else change
