"""Accept recorded operations: store them, group failures, count, and trigger analyses."""

import logging
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from msgspec.structs import replace

from acumen.deps import Deps
from acumen.model.ids import Millis
from acumen.model.jobs.events import Ended, Failed, Hour, Recovered, Worked
from acumen.model.operations.failure import (
    FailureGroup,
    due_at,
    may_escalate,
    settled,
    state_after,
    worth_a_look,
    worth_analysing,
)
from acumen.model.operations.operation import Operation, OperationFilter, OperationKind, Receipt, SourceCounts, Stored
from acumen.model.operations.signature import Signature
from acumen.model.times import DAY_MS, HOUR_MS
from acumen.observe.clean import cleaned
from acumen.observe.grouping import group_of, signature
from acumen.observe.shapes import way_key
from acumen.storage.engine.scope import OrgLock
from acumen.storage.store import Tx

log = logging.getLogger(__name__)


class SentOperation(NamedTuple):
    """An operation as sent, with the caller's fingerprint, if any."""

    operation: Operation
    fingerprint: tuple[str, ...] = ()
    signature: Signature | None = None


async def record(sent: Sequence[SentOperation], deps: Deps) -> list[Receipt]:
    """Committed when this returns. Idempotent: sent again it is KNOWN, a different one of the same id is a CONFLICT."""
    return await deps.store.write_batched(store_all, [_prepared(new) for new in sent], OrgLock.SHARED)


def _prepared(new: SentOperation) -> SentOperation:
    """All that can be computed before the transaction."""
    operation = cleaned(new.operation)
    if operation.arguments:
        operation = operation._replace(way_key=way_key(operation.source, operation.endpoint, operation.arguments))
    if not operation.failed:
        return new if operation is new.operation else SentOperation(operation)
    failure = (operation.source, operation.endpoint, operation.error_type, operation.error_message, new.fingerprint)
    is_long = len(operation.error_message or "") > LONGEST_CACHED
    return SentOperation(operation, new.fingerprint, (signature if is_long else _cached_signature)(*failure))


# Failures mostly repeat with the same message.
_cached_signature = lru_cache(2048)(signature)
LONGEST_CACHED = 1_000


def store_all(tx: Tx, calls: Sequence[Sequence[SentOperation]]) -> list[list[Receipt]]:
    """Batches of several callers in one transaction."""
    receipts = iter(store(tx, [new for sent in calls for new in sent]))
    return [[next(receipts) for _ in sent] for sent in calls]


def store(tx: Tx, sent: Sequence[SentOperation]) -> list[Receipt]:
    """Operations, their failure groups, counts, and the jobs they trigger."""
    hashes = tx.operations.get_hashes([new.operation.id for new in sent])
    fresh: dict[str, SentOperation] = {}
    for new in sent:
        if new.operation.id not in hashes:
            fresh.setdefault(new.operation.id, new)
    groups = _groups(tx, fresh) if fresh else {}
    if fresh:
        stored = [_in_group(new, groups) for new in fresh.values()]
        tx.hourly_counts.add(stored, tx.operations.add(stored))
        _count_failures(tx, [operation for operation in stored if operation.group_id is not None])
        _notice(tx, stored)
    return [Receipt(new.operation.id, _stored(new, fresh, hashes), groups.get(new.operation.id)) for new in sent]


def _in_group(new: SentOperation, groups: Mapping[str, str]) -> Operation:
    return new.operation if new.signature is None else new.operation._replace(group_id=groups[new.operation.id])


def _stored(new: SentOperation, fresh: Mapping[str, SentOperation], hashes: Mapping[str, str]) -> Stored:
    operation = new.operation
    first = fresh.get(operation.id)
    if first is new:
        return Stored.STORED
    body_hash = hashes[operation.id] if first is None else first.operation.body_hash
    return Stored.KNOWN if body_hash == operation.body_hash else Stored.CONFLICT


def _groups(tx: Tx, fresh: Mapping[str, SentOperation]) -> dict[str, str]:
    """The group of each failure, by the id of the operation."""
    failures = {op_id: new.signature for op_id, new in fresh.items() if new.signature is not None}
    if not failures:
        return {}
    tx.failure_group_index.look_up([failure.key for failure in failures.values()])
    return {op_id: group_of(failure, tx.failure_group_index) for op_id, failure in failures.items()}


def _count_failures(tx: Tx, failed: Sequence[Operation]) -> None:
    by_group: dict[str, list[Operation]] = {}
    for operation in failed:
        by_group.setdefault(operation.group_id or "", []).append(operation)
    if not by_group:
        return
    groups = tx.failures.get_for_update(sorted(by_group))
    counted = tx.failures.count({name: by_group[name] for name in groups})
    after = {name: _after(tx, groups[name], len(by_group[name]), *counted[name]) for name in groups}
    tx.failures.update(*after.values())
    for name, group in after.items():
        changed = group.state is not groups[name].state
        if changed or worth_analysing(groups[name], group):
            root = tx.failures.get_root(name)
            tx.jobs.add(Failed(root), due_at(group, tx.at))
            if changed and root != name:  # merged groups share their state
                tx.failures.update(
                    *(replace(merged, state=group.state) for merged in tx.failures.get_for_update([root]).values())
                )


def _after(tx: Tx, group: FailureGroup, failures: int, sessions: int, this_hour: int) -> FailureGroup:
    """The group with these failures counted, in its new state."""
    looked = may_escalate(group, tx.at) and worth_a_look(this_hour - failures, this_hour)
    week = tx.failures.get_week(group) if looked else ()
    return replace(
        group,
        count=group.count + failures,
        sessions=group.sessions + sessions,
        last_seen=tx.at,
        state=state_after(group, tx.at, this_hour if looked else 0, week),
    )


def _may_recover(operation: Operation) -> bool:
    return bool(operation.arguments) and operation.session_id is not None and operation.succeeded


def _notice(tx: Tx, stored: Sequence[Operation]) -> None:
    """Triggers for outcomes, recoveries, calls that work repeatedly, and tools that changed."""
    for operation in stored:
        if operation.session_id is not None and operation.kind in _ENDINGS:
            tx.jobs.add(Ended(operation.id))
    for call in tx.operations.find_failed_before([operation for operation in stored if _may_recover(operation)]):
        tx.jobs.add(Recovered(*call))
    for key, before, after in tx.operations.count_ways(stored):
        if _is_analysed(before, after):
            tx.jobs.add(Worked(key))
    for version in tx.operations.add_versions(stored):
        tx.proposals.flag(*version)


_ENDINGS = (OperationKind.OUTCOME, OperationKind.VERDICT)
# A call is analysed after this many successes, then at each doubling.
FIRST_ANALYSIS = 3


def _is_analysed(before: int, after: int) -> bool:
    return after >= FIRST_ANALYSIS and (after // FIRST_ANALYSIS).bit_length() != (before // FIRST_ANALYSIS).bit_length()


async def find(query: OperationFilter, limit: int, deps: Deps) -> list[Operation]:
    """Newest first."""
    return await deps.store.read(lambda tx: tx.operations.find(query, limit))


async def find_after(
    received_at: Millis, op_id: str, query: OperationFilter, limit: int, deps: Deps
) -> list[Operation]:
    """Those received after the operation at this cursor, oldest first."""
    return await deps.store.read(lambda tx: tx.operations.find_after(received_at, op_id, query, limit))


async def tail(
    query: OperationFilter, limit: int, among: int, deps: Deps
) -> tuple[list[Operation], dict[str, list[tuple[str, int]]]]:
    """The latest operations that match, and the values to filter by with their counts; both of the last `among`."""
    return await deps.store.read(
        lambda tx: (tx.operations.find_latest(query, limit, among), tx.operations.count_facets(among))
    )


async def count(deps: Deps) -> int:
    """All that were ever recorded, expired ones included."""
    return await deps.store.read(lambda tx: tx.hourly_counts.count_all())


async def counts_by_source(deps: Deps) -> list[SourceCounts]:
    return await deps.store.read(lambda tx: tx.hourly_counts.count_by_source())


# --- retention -----------------------------------------------------------------------------------------------------


async def settle(_event: Hour, deps: Deps) -> None:
    """New groups become ongoing, escalating ones calm down."""

    def update(tx: Tx) -> None:
        this = tx.at - tx.at % HOUR_MS
        groups = tx.failures.get_for_update([group.id for group in tx.failures.find_unsettled()])
        counted = tx.failures.get_hours(list(groups), Millis(this))
        for group in groups.values():
            this_hour = counted.get(group.id, {}).get(this, 0)
            state = settled(group, tx.at, this_hour, tx.failures.get_week(group))
            if state is not group.state:
                tx.failures.update(replace(group, state=state))

    await deps.store.write(update)


# The trend of a group covers a month.
KEEP_HOURS_MS = 32 * DAY_MS
# Rows per transaction; other writers run in between.
AT_ONCE = 5_000


async def expire(_event: Hour, deps: Deps) -> None:
    """Retention: operations past `keep_days` are deleted; their counts remain as one sum."""
    before = Millis(deps.now() - deps.settings.observe.keep_days * DAY_MS)
    while await deps.store.write(lambda tx: tx.operations.expire(before, AT_ONCE)) == AT_ONCE:
        await deps.stand_back()

    def counts(tx: Tx) -> None:
        tx.hourly_counts.expire(before)
        tx.failures.expire(before, Millis(tx.at - KEEP_HOURS_MS))

    await deps.store.write(counts)
    await _forget(deps)


async def _forget(deps: Deps) -> None:
    """What was derived from operations is kept longer, and for good where a person or a lesson refers to it."""
    days = max(deps.settings.observe.keep_days, deps.settings.observe.keep_history_days)
    before = Millis(deps.now() - days * DAY_MS)
    steps: dict[str, Callable[[Tx], int]] = {
        "failure groups": lambda tx: tx.failures.delete_unseen(before),
        "analyses": lambda tx: tx.proposals.expire(before),
        "findings": lambda tx: tx.verdicts.expire(before),
        "call patterns": lambda tx: tx.operations.delete_unused_ways(before),
    }
    for what, forget in steps.items():
        if number := await deps.store.write(forget):
            log.info("deleted %d %s older than %d days", number, what, days)
