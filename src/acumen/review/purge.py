"""Takes back everything that came of an operation, a session or a source."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from acumen.deps import Deps
from acumen.model.ids import Kind
from acumen.model.jobs.events import Event, Failed, Recovered, Worked
from acumen.model.operations.failure import LEAST_SESSIONS, WORTH_ANALYSING
from acumen.model.operations.operation import Operation, OperationFilter
from acumen.model.operations.proposal import About, Proposal
from acumen.model.verbatim import repeats_verbatim
from acumen.storage.memories.lineage import Because
from acumen.storage.store import Tx

PURGED = Because("what it rested on was purged", actor="caller")
WORDLESS = "(its words were purged)"
# So many leave in one transaction; callers are let in between.
AT_ONCE = 2_000
# Operations that stay are asked for their words; so many speak for all.
ASKED = 50


class Purged(Struct, frozen=True):
    """Lessons by their keys: those that went, and those that stay since others teach them as well."""

    operations: int = 0
    groups: int = 0
    dropped: frozenset[str] = frozenset()
    kept: frozenset[str] = frozenset()

    def __add__(self, other: "Purged") -> "Purged":
        dropped = self.dropped | other.dropped
        kept = (self.kept | other.kept) - dropped
        return Purged(self.operations + other.operations, self.groups + other.groups, dropped, kept)


async def purge(wanted: OperationFilter, deps: Deps) -> Purged:
    """Operations, their counts, the groups that only they made, and whatever conclusions and lessons need them."""
    total = Purged()
    while True:
        some = await deps.store.write(lambda tx: remove(tx, tx.operations.find(wanted, AT_ONCE)))
        total += some
        if some.operations < AT_ONCE:
            return total
        await deps.stand_back()


def remove(tx: Tx, gone: Sequence[Operation]) -> Purged:
    if not gone:
        return Purged()
    by_group: dict[str, list[Operation]] = {}
    for one in gone:
        if one.group_id is not None:
            by_group.setdefault(one.group_id, []).append(one)
    roots = {name: tx.failures.get_root(name) for name in by_group}
    tx.operations.delete(gone)
    tx.hourly_counts.subtract(gone)
    empty = tx.failures.recount(by_group)
    for name in by_group.keys() - set(empty):
        _reword(tx, name, by_group[name])
    return Purged(len(gone), len(empty)) + _unteach(tx, gone, roots, empty)


def _reword(tx: Tx, group_id: str, gone: Sequence[Operation]) -> None:
    """A group that stays is not known by words that only those said who are gone."""
    group = tx.failures.get_for_update([group_id])[group_id]
    left = tx.operations.find(OperationFilter(group_ids=(group_id,)), ASKED)
    if repeats_verbatim(group.template, _words(gone), _words(left)):
        tx.failures.set_template(group_id, WORDLESS)


# --- lessons -------------------------------------------------------------------------------------------------------


def _unteach(tx: Tx, gone: Sequence[Operation], roots: Mapping[str, str], empty: Sequence[str]) -> Purged:
    """A lesson stays with what is left of its evidence, as long as that is enough to propose it."""
    ids = [one.id for one in gone]
    ways = {one.way_key for one in gone if one.way_key is not None}
    fewer = tx.proposals.delete_analyses(ids, empty)
    resting = tx.proposals.find_resting_on(ids, sorted({*roots.values(), *ways, *fewer}))
    kept = set()
    for before in resting:
        its = [one for one in gone if _rests(before, one, roots)]
        after = _without(tx, before, its, fewer[before.key])
        enough = len(after.scopes) >= LEAST_SESSIONS and after.count >= _least(before)
        if enough and after.evidence and not _says_what_is_gone(tx, after, its):
            tx.proposals.upsert(after)
            kept.add(before.key)
        else:
            _drop(tx, before, after if enough else None)
    return Purged(dropped=frozenset(one.key for one in resting) - kept, kept=frozenset(kept))


def _rests(lesson: Proposal, one: Operation, roots: Mapping[str, str]) -> bool:
    """What is told as evidence are the latest; the others are known by what they have in common."""
    if one.id in lesson.evidence or lesson.key in (one.way_key, roots.get(one.group_id or "")):
        return True
    call = (one.source, one.endpoint) == (lesson.source, lesson.endpoint)
    return lesson.about is About.RECOVERY and call and one.session_id in lesson.scopes


def _least(lesson: Proposal) -> int:
    """So many it took to propose it: recoveries are counted by twos of operations."""
    return LEAST_SESSIONS if lesson.about is About.RECOVERY else WORTH_ANALYSING


def _without(tx: Tx, lesson: Proposal, its: Sequence[Operation], conclusions: int) -> Proposal:
    """What the lesson rests on without these operations."""
    ids = {one.id for one in its}
    evidence = tuple(one for one in lesson.evidence if one not in ids)
    sessions = {one.session_id for one in its if one.session_id}
    lost = sorted(sessions - tx.operations.filter_sessions(sessions, _all_behind(tx, lesson, evidence)))
    tx.proposals.erase_sessions(lesson.key, lost)
    fewer = conclusions if lesson.about is About.RECOVERY else len(its)
    scopes = tuple(scope for scope in lesson.scopes if scope not in lost)
    return replace(lesson, evidence=evidence, scopes=scopes, count=max(lesson.count - fewer, 0))


def _all_behind(tx: Tx, lesson: Proposal, evidence: tuple[str, ...]) -> OperationFilter:
    if lesson.about is About.FAILURE:
        return OperationFilter(group_ids=tuple(one.id for one in tx.failures.find_members(lesson.key)))
    return OperationFilter(way_key=lesson.key) if lesson.about is About.SUCCESS else OperationFilter(ids=evidence)


def _says_what_is_gone(tx: Tx, lesson: Proposal, its: Sequence[Operation]) -> bool:
    playbook = tx.agent_playbooks.get(str(lesson.playbook_id))
    if playbook is None:
        return False
    left = tx.operations.find(OperationFilter(ids=lesson.evidence), ASKED)
    said = playbook.lesson
    text = "\n".join(part for part in (said.content, said.trigger, said.rationale, said.pitfall) if part)
    names = (lesson.endpoint, lesson.source)
    return repeats_verbatim(text, _words(its), (*_words(left), *names))


def _drop(tx: Tx, lesson: Proposal, left: Proposal | None) -> None:
    """What is left of its evidence, where that is enough, is read anew: nobody has approved what comes of it."""
    tx.proposals.delete(lesson.key)
    tx.memories.delete(Kind.AGENT_PLAYBOOK, [str(lesson.playbook_id)], PURGED)
    if left is None:
        return
    tx.proposals.delete_analyses([], [lesson.key])
    tx.failures.update(
        *(replace(one, analysed_count=0, analysed_at=None) for one in tx.failures.find_members(lesson.key))
    )
    for event in _causes(left):
        tx.jobs.add(event)


def _causes(lesson: Proposal) -> list[Event]:
    if lesson.about is About.RECOVERY:
        return [Recovered(session, lesson.source, lesson.endpoint) for session in lesson.scopes]
    return [Failed(lesson.key) if lesson.about is About.FAILURE else Worked(lesson.key)]


# --- words ---------------------------------------------------------------------------------------------------------


def _words(some: Sequence[Operation]) -> list[str]:
    return [text for one in some for text in _said(one)]


def _said(one: Operation) -> Iterator[str]:
    yield from filter(None, (one.error_type, one.error_message, one.input_summary, one.output_summary, one.agent))
    yield from _texts(one.arguments)
    yield from _texts(one.attributes)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from (text for inner in value.values() for text in _texts(inner))
    elif isinstance(value, list):
        yield from (text for inner in value for text in _texts(inner))
