"""Accept what was done and how it ended."""

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
from acumen.model.operations.operation import Operation, OperationKind, Receipt, Stored
from acumen.model.operations.signature import Signature
from acumen.model.times import DAY_MS, HOUR_MS
from acumen.observe.clean import cleaned
from acumen.observe.grouping import group_of, signature
from acumen.observe.shapes import way_key
from acumen.storage.store import Tx

log = logging.getLogger(__name__)


class New(NamedTuple):
    """An operation as it was sent, with the fingerprint that its caller may have given it."""

    operation: Operation
    fingerprint: tuple[str, ...] = ()
    signature: Signature | None = None


async def record(sent: Sequence[New], deps: Deps) -> list[Receipt]:
    """Stored when this returns, each once: sent again it is the same success, another under its id is a conflict."""
    return await deps.store.write_grouped(store_all, [_prepared(new) for new in sent])


def _prepared(new: New) -> New:
    """Everything that can be thought before the transaction."""
    one = cleaned(new.operation)
    if one.arguments:
        one = one._replace(way_key=way_key(one.source, one.endpoint, one.arguments))
    if not one.failed:
        return new if one is new.operation else New(one)
    said = (one.source, one.endpoint, one.error_type, one.error_message, new.fingerprint)
    known = signature(*said) if len(one.error_message or "") > LONGEST_REMEMBERED else _known_signature(*said)
    return New(one, new.fingerprint, known)


# What fails mostly fails again in the same words.
_known_signature = lru_cache(2048)(signature)
LONGEST_REMEMBERED = 1_000


def store_all(tx: Tx, calls: Sequence[Sequence[New]]) -> list[list[Receipt]]:
    """What several callers sent, as if one had."""
    receipts = iter(store(tx, [new for sent in calls for new in sent]))
    return [[next(receipts) for _ in sent] for sent in calls]


def store(tx: Tx, sent: Sequence[New]) -> list[Receipt]:
    """In one transaction: the operations, their groups, all counts, and the jobs that they cause."""
    known = tx.operations.get_hashes([new.operation.id for new in sent])
    fresh: dict[str, New] = {}
    for new in sent:
        if new.operation.id not in known:
            fresh.setdefault(new.operation.id, new)
    groups = _groups(tx, fresh) if fresh else {}
    if fresh:
        stored = [_in_group(new, groups) for new in fresh.values()]
        tx.hourly_counts.add(stored, tx.operations.add(stored))
        _count_failures(tx, [one for one in stored if one.group_id is not None])
        _notice(tx, stored)
    return [Receipt(new.operation.id, _stored(new, fresh, known), groups.get(new.operation.id)) for new in sent]


def _in_group(new: New, groups: Mapping[str, str]) -> Operation:
    return new.operation if new.signature is None else new.operation._replace(group_id=groups[new.operation.id])


def _stored(new: New, fresh: Mapping[str, New], known: Mapping[str, str]) -> Stored:
    one = new.operation
    first = fresh.get(one.id)
    if first is new:
        return Stored.STORED
    body_hash = known[one.id] if first is None else first.operation.body_hash
    return Stored.KNOWN if body_hash == one.body_hash else Stored.CONFLICT


def _groups(tx: Tx, fresh: Mapping[str, New]) -> dict[str, str]:
    """The group of each failure, by the id of the operation."""
    failures = {op_id: new.signature for op_id, new in fresh.items() if new.signature is not None}
    if not failures:
        return {}
    tx.failure_group_index.look_up([one.key for one in failures.values()])
    return {op_id: group_of(one, tx.failure_group_index) for op_id, one in failures.items()}


def _count_failures(tx: Tx, failed: Sequence[Operation]) -> None:
    by_group: dict[str, list[Operation]] = {}
    for one in failed:
        by_group.setdefault(one.group_id or "", []).append(one)
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
            if changed and root != name:  # what happens to one of those that are merged happens to all
                tx.failures.update(
                    *(replace(one, state=group.state) for one in tx.failures.get_for_update([root]).values())
                )


def _after(tx: Tx, group: FailureGroup, failures: int, sessions: int, this_hour: int) -> FailureGroup:
    """The group with the failures counted, and in the state that they leave it in."""
    looked = may_escalate(group, tx.at) and worth_a_look(this_hour - failures, this_hour)
    week = tx.failures.get_week(group) if looked else ()
    return replace(
        group,
        count=group.count + failures,
        sessions=group.sessions + sessions,
        last_seen=tx.at,
        state=state_after(group, tx.at, this_hour if looked else 0, week),
    )


def _may_recover(one: Operation) -> bool:
    return bool(one.arguments) and one.session_id is not None and one.succeeded


def _notice(tx: Tx, stored: Sequence[Operation]) -> None:
    """What else the operations tell: recoveries, ways that work, tools that changed."""
    for one in stored:
        if one.session_id is not None and one.kind in _ENDINGS:
            tx.jobs.add(Ended(one.id))
    for call in tx.operations.find_failed_before([one for one in stored if _may_recover(one)]):
        tx.jobs.add(Recovered(*call))
    for key, before, after in tx.operations.count_ways(stored):
        if _worth_a_look(before, after):
            tx.jobs.add(Worked(key))
    for version in tx.operations.add_versions(stored):
        tx.proposals.flag(*version)


_ENDINGS = (OperationKind.OUTCOME, OperationKind.VERDICT)
# So many successes are worth a first look; after that each doubling.
FIRST_LOOK = 3


def _worth_a_look(before: int, after: int) -> bool:
    return after >= FIRST_LOOK and (after // FIRST_LOOK).bit_length() != (before // FIRST_LOOK).bit_length()


async def settle(_fact: Hour, deps: Deps) -> None:
    """Once an hour: new groups grow old, storms calm down."""

    def calm(tx: Tx) -> None:
        this = tx.at - tx.at % HOUR_MS
        groups = tx.failures.get_for_update([group.id for group in tx.failures.find_unsettled()])
        counted = tx.failures.get_hours(list(groups), Millis(this))
        for group in groups.values():
            this_hour = counted.get(group.id, {}).get(this, 0)
            state = settled(group, tx.at, this_hour, tx.failures.get_week(group))
            if state is not group.state:
                tx.failures.update(replace(group, state=state))

    await deps.store.write(calm)


# A group's hours are shown for a month.
KEEP_HOURS_MS = 32 * DAY_MS
# So many leave in one transaction; callers are let in between.
AT_ONCE = 5_000


async def expire(_fact: Hour, deps: Deps) -> None:
    """What is older than it is kept for leaves; what was counted of it stays, as one sum."""
    before = Millis(deps.now() - deps.settings.observe.keep_days * DAY_MS)
    while await deps.store.write(lambda tx: tx.operations.expire(before, AT_ONCE)) == AT_ONCE:
        await deps.stand_back()

    def counts(tx: Tx) -> None:
        tx.hourly_counts.expire(before)
        tx.failures.expire(before, Millis(tx.at - KEEP_HOURS_MS))

    await deps.store.write(counts)
    await _forget(deps)


async def _forget(deps: Deps) -> None:
    """What was drawn from operations stays longer than they do, and for good where a person or a lesson holds it."""
    days = max(deps.settings.observe.keep_days, deps.settings.observe.keep_history_days)
    before = Millis(deps.now() - days * DAY_MS)
    steps: dict[str, Callable[[Tx], int]] = {
        "groups of failures": lambda tx: tx.failures.delete_unseen(before),
        "conclusions": lambda tx: tx.proposals.expire(before),
        "findings": lambda tx: tx.verdicts.expire(before),
        "ways of calling": lambda tx: tx.operations.delete_unused_ways(before),
    }
    for what, forget in steps.items():
        if number := await deps.store.write(forget):
            log.info("%d %s were older than %d days and are removed", number, what, days)
