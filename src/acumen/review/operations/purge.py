"""Purge operations, and everything that was derived from them."""

from collections.abc import Collection, Iterator, Mapping, Sequence
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
from acumen.review.operations import scrub
from acumen.storage.memories.lineage import Because
from acumen.storage.store import Tx

PURGED = Because("its evidence was purged", actor="caller")
PURGED_TEXT = "(text was purged)"
# Per transaction, so that other writers need not wait long.
AT_ONCE = 2_000
# Remaining operations whose text is compared with purged text.
COMPARED = 50


class Purged(Struct, frozen=True):
    """Keys of deleted lessons, and of lessons that stay because enough evidence is left."""

    operations: int = 0
    groups: int = 0
    dropped: frozenset[str] = frozenset()
    remaining: frozenset[str] = frozenset()

    def __add__(self, more: "Purged") -> "Purged":
        dropped = self.dropped | more.dropped
        remaining = (self.remaining | more.remaining) - dropped
        return Purged(self.operations + more.operations, self.groups + more.groups, dropped, remaining)


async def purge(query: OperationFilter, deps: Deps) -> Purged:
    """Operations, their counts, groups without other members, and analyses and lessons without other evidence."""
    total = Purged()

    def remove_batch(tx: Tx) -> Purged:
        batch = remove(tx, tx.operations.find(query, AT_ONCE))
        if batch.operations:
            scrub.schedule(tx)
        return batch

    while True:
        batch = await deps.store.write_freeing(remove_batch)
        total += batch
        if batch.operations < AT_ONCE:
            return total
        await deps.stand_back()


def remove(tx: Tx, gone: Sequence[Operation]) -> Purged:
    if not gone:
        return Purged()
    by_group: dict[str, list[Operation]] = {}
    for operation in gone:
        if operation.group_id is not None:
            by_group.setdefault(operation.group_id, []).append(operation)
    roots = {name: tx.failures.get_root(name) for name in by_group}
    tx.operations.delete(gone)
    tx.hourly_counts.subtract(gone)
    empty = tx.failures.recount(by_group)
    tx.alerts.reword(empty, PURGED_TEXT)
    for name in by_group.keys() - set(empty):
        _reword(tx, name, by_group[name])
    return Purged(len(gone), len(empty)) + _purge_lessons(tx, gone, roots, empty)


def remove_of_sessions(tx: Tx, gone: Sequence[Operation], sessions: Collection[str]) -> Purged:
    """These operations, and the ids of the sessions that are left without any."""
    purged = remove(tx, gone)
    over = set(sessions) - tx.operations.filter_sessions(sessions, OperationFilter())
    tx.failures.erase_sessions(over)
    tx.proposals.erase_scopes(over)
    tx.jobs.delete_sessions(over)
    return purged


def _reword(tx: Tx, group_id: str, gone: Sequence[Operation]) -> None:
    """The name of a remaining group must not contain text that only purged operations had."""
    group = tx.failures.get_for_update([group_id])[group_id]
    left = tx.operations.find(OperationFilter(group_ids=(group_id,)), COMPARED)
    if repeats_verbatim(group.template, _words(gone), _words(left)):
        tx.failures.set_template(group_id, PURGED_TEXT)
        tx.alerts.reword([group_id], PURGED_TEXT)


# --- lessons -------------------------------------------------------------------------------------------------------


def _purge_lessons(tx: Tx, gone: Sequence[Operation], roots: Mapping[str, str], empty: Sequence[str]) -> Purged:
    """A lesson stays while its remaining evidence is enough to propose it."""
    ids = [operation.id for operation in gone]
    ways = {operation.way_key for operation in gone if operation.way_key is not None}
    fewer = tx.proposals.delete_analyses(ids, empty)
    resting = tx.proposals.find_resting_on(ids, sorted({*roots.values(), *ways, *fewer}))
    remaining = set()
    for before in resting:
        evidence = [operation for operation in gone if _rests(before, operation, roots)]
        after = _without(tx, before, evidence, fewer[before.key])
        enough = len(after.scopes) >= LEAST_SESSIONS and after.count >= _least(before)
        if enough and after.evidence and not _quotes_purged(tx, after, evidence):
            tx.proposals.upsert(after)
            remaining.add(before.key)
        else:
            _drop(tx, before, after if enough else None)
    dropped = frozenset(lesson.key for lesson in resting) - remaining
    return Purged(dropped=dropped, remaining=frozenset(remaining))


def _rests(lesson: Proposal, operation: Operation, roots: Mapping[str, str]) -> bool:
    """A lesson lists only its latest evidence; earlier operations are recognised by group, endpoint and session."""
    if operation.id in lesson.evidence or lesson.key in (operation.way_key, roots.get(operation.group_id or "")):
        return True
    same_call = (operation.source, operation.endpoint) == (lesson.source, lesson.endpoint)
    return lesson.about is About.RECOVERY and same_call and operation.session_id in lesson.scopes


def _least(lesson: Proposal) -> int:
    """The evidence needed to propose it; a recovery is a pair of operations."""
    return LEAST_SESSIONS if lesson.about is About.RECOVERY else WORTH_ANALYSING


def _without(tx: Tx, lesson: Proposal, gone: Sequence[Operation], conclusions: int) -> Proposal:
    """The lesson without these operations as evidence."""
    ids = {operation.id for operation in gone}
    evidence = tuple(operation_id for operation_id in lesson.evidence if operation_id not in ids)
    sessions = {operation.session_id for operation in gone if operation.session_id}
    lost = sorted(sessions - tx.operations.filter_sessions(sessions, _all_behind(tx, lesson, evidence)))
    tx.proposals.erase_sessions(lesson.key, lost)
    fewer = conclusions if lesson.about is About.RECOVERY else len(gone)
    scopes = tuple(scope for scope in lesson.scopes if scope not in lost)
    return replace(lesson, evidence=evidence, scopes=scopes, count=max(lesson.count - fewer, 0))


def _all_behind(tx: Tx, lesson: Proposal, evidence: tuple[str, ...]) -> OperationFilter:
    if lesson.about is About.FAILURE:
        return OperationFilter(group_ids=tuple(group.id for group in tx.failures.find_members(lesson.key)))
    return OperationFilter(way_key=lesson.key) if lesson.about is About.SUCCESS else OperationFilter(ids=evidence)


def _quotes_purged(tx: Tx, lesson: Proposal, gone: Sequence[Operation]) -> bool:
    playbook = tx.agent_playbooks.get(str(lesson.playbook_id))
    if playbook is None:
        return False
    left = tx.operations.find(OperationFilter(ids=lesson.evidence), COMPARED)
    stored = playbook.lesson
    text = "\n".join(part for part in (stored.content, stored.trigger, stored.rationale, stored.pitfall) if part)
    names = (lesson.endpoint, lesson.source)
    return repeats_verbatim(text, _words(gone), (*_words(left), *names))


def _drop(tx: Tx, lesson: Proposal, left: Proposal | None) -> None:
    """Enough remaining evidence is analysed again; the result is not approved yet."""
    tx.proposals.delete(lesson.key)
    tx.memories.delete(Kind.AGENT_PLAYBOOK, [str(lesson.playbook_id)], PURGED)
    if left is None:
        return
    tx.proposals.delete_analyses([], [lesson.key])
    groups = tx.failures.find_members(lesson.key)
    tx.failures.update(*(replace(group, analysed_count=0, analysed_at=None) for group in groups))
    for event in _causes(left):
        tx.jobs.add(event)


def _causes(lesson: Proposal) -> list[Event]:
    if lesson.about is About.RECOVERY:
        return [Recovered(session, lesson.source, lesson.endpoint) for session in lesson.scopes]
    return [Failed(lesson.key) if lesson.about is About.FAILURE else Worked(lesson.key)]


# --- words ---------------------------------------------------------------------------------------------------------


def _words(operations: Sequence[Operation]) -> list[str]:
    return [text for operation in operations for text in _texts_of(operation)]


def _texts_of(op: Operation) -> Iterator[str]:
    yield from filter(None, (op.error_type, op.error_message, op.input_summary, op.output_summary, op.agent))
    yield from _texts(op.arguments)
    yield from _texts(op.attributes)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from (text for inner in value.values() for text in _texts(inner))
    elif isinstance(value, list):
        yield from (text for inner in value for text in _texts(inner))
