"""Accept what was done and how it ended."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from acumen.deps import Deps
from acumen.errors import Conflict
from acumen.model.facts import Ended, Failed, Hour, Recovered, Worked
from acumen.model.failure import DAY_MS, HOUR_MS, doubled, due_at, settled, state_after, worth_analysing
from acumen.model.ids import Millis
from acumen.model.operation import Operation, OperationKind, Receipt, Stored
from acumen.observe.clean import cleaned
from acumen.observe.grouping import Signature, group_of, signature
from acumen.observe.shapes import way_key
from acumen.observe.shelf import StoredShelf
from acumen.storage.store import Tx

# Two who store the same operation at the same moment: one of them begins anew and finds it stored.
TRIES = 5


@dataclass(frozen=True, slots=True)
class New:
    """An operation as it was sent, with the fingerprint that its caller may have given it."""

    operation: Operation
    fingerprint: tuple[str, ...] = ()
    signature: Signature | None = field(default=None, compare=False)


async def record(sent: Sequence[New], deps: Deps) -> list[Receipt]:
    """Stored when this returns, each once: sent again it is the same success, another under its id is a conflict."""
    prepared = [_prepared(new) for new in sent]
    for _ in range(TRIES):
        try:
            return await deps.store.write(lambda tx: store(tx, prepared))
        except Conflict:
            continue
    return await deps.store.write(lambda tx: store(tx, prepared))


def _prepared(new: New) -> New:
    """Everything that can be thought before the transaction."""
    one = cleaned(new.operation)
    if one.arguments:
        one = replace(one, way_key=way_key(one.source, one.endpoint, one.arguments))
    if not one.failed:
        return New(one)
    known = signature(one.source, one.endpoint, one.error_type, one.error_message, new.fingerprint)
    return New(one, new.fingerprint, known)


def store(tx: Tx, sent: Sequence[New]) -> list[Receipt]:
    """In one transaction: the operations, their groups, all counts, and the jobs that they cause."""
    hashes = tx.operations.hashes([new.operation.id for new in sent])
    receipts: list[Receipt] = []
    fresh: dict[str, New] = {}
    for new in sent:
        one = new.operation
        known = hashes.get(one.id)
        if known is None:
            hashes[one.id] = one.body_hash
            fresh[one.id] = new
        receipts.append(Receipt(one.id, _stored(known, one.body_hash)))
    if not fresh:
        return receipts
    groups = _groups(tx, fresh)
    stored = [_grouped(new.operation, groups.get(op_id)) for op_id, new in fresh.items()]
    tx.operations.add(stored)
    _count_failures(tx, stored)
    _notice(tx, stored)
    return (
        [replace(one, group_id=groups[one.id]) if one.id in groups else one for one in receipts] if groups else receipts
    )


def _grouped(one: Operation, group_id: str | None) -> Operation:
    return one if group_id is None else replace(one, group_id=group_id)


def _stored(known: str | None, body_hash: str) -> Stored:
    if known is None:
        return Stored.STORED
    return Stored.KNOWN if known == body_hash else Stored.CONFLICT


def _groups(tx: Tx, fresh: Mapping[str, New]) -> dict[str, str]:
    """The group of each failure, by the id of the operation."""
    failures = {op_id: new.signature for op_id, new in fresh.items() if new.signature is not None}
    if not failures:
        return {}
    shelf = StoredShelf(tx.failures, [one.key for one in failures.values()])
    return {op_id: group_of(one, shelf) for op_id, one in failures.items()}


def _count_failures(tx: Tx, stored: Sequence[Operation]) -> None:
    by_group: dict[str, list[Operation]] = {}
    for one in stored:
        if one.group_id is not None:
            by_group.setdefault(one.group_id, []).append(one)
    if not by_group:
        return
    for group_id, group in tx.failures.held(sorted(by_group)).items():
        failures = by_group[group_id]
        after, this_hour = tx.failures.count(group, failures)
        looked = doubled(this_hour - len(failures), this_hour)
        week = tx.failures.week(group) if looked else ()
        after = replace(after, state=state_after(group, tx.at, this_hour if looked else 0, week))
        tx.failures.save(after)
        if worth_analysing(group, after) or after.state is not group.state:
            tx.jobs.add(Failed(tx.failures.root_of(group_id)), due_at(after, tx.at))


def _may_recover(one: Operation) -> bool:
    return one.succeeded and one.session_id is not None and bool(one.arguments)


def _notice(tx: Tx, stored: Sequence[Operation]) -> None:
    """What else the operations tell: recoveries, ways that work, tools that changed."""
    for one in stored:
        if one.session_id is not None and one.kind in _ENDINGS:
            tx.jobs.add(Ended(one.id))
        if _may_recover(one) and tx.operations.failed_in_session(one):
            tx.jobs.add(Recovered(one.session_id or "", one.source, one.endpoint))
    for key, before, after in tx.operations.count_ways(stored):
        if _worth_a_look(before, after):
            tx.jobs.add(Worked(key))
    for version in tx.operations.note_versions(stored):
        tx.lessons.flag(*version)


_ENDINGS = (OperationKind.OUTCOME, OperationKind.VERDICT)
# So many successes are worth a first look; after that each doubling.
FIRST_LOOK = 3


def _worth_a_look(before: int, after: int) -> bool:
    return after >= FIRST_LOOK and (after // FIRST_LOOK).bit_length() != (before // FIRST_LOOK).bit_length()


async def settle(_fact: Hour, deps: Deps) -> None:
    """Once an hour: new groups grow old, storms calm down."""

    def calm(tx: Tx) -> None:
        this = tx.at - tx.at % HOUR_MS
        for group in tx.failures.unsettled():
            state = settled(group, tx.at, tx.failures.in_hour(group.id, this), tx.failures.week(group))
            if state is not group.state:
                tx.failures.save(replace(group, state=state))

    await deps.store.write(calm)


# So many leave in one transaction; callers are let in between.
AT_ONCE = 5_000


async def expire(_fact: Hour, deps: Deps) -> None:
    """What is older than it is kept for leaves; what was counted of it stays."""
    before = Millis(deps.now() - deps.settings.observe.keep_days * DAY_MS)
    while await deps.store.write(lambda tx: tx.operations.expire(before, AT_ONCE)) == AT_ONCE:
        await deps.stand_back()
