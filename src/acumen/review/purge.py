"""Takes back everything that came of an operation, a session or a source."""

from collections.abc import Sequence

from msgspec import Struct

from acumen.deps import Deps
from acumen.model.ids import Kind
from acumen.model.operation import Operation
from acumen.storage.lineage import Because
from acumen.storage.operations import Wanted
from acumen.storage.store import Tx

PURGED = Because("what it rested on was purged", actor="caller")
# So many leave in one transaction; callers are let in between.
AT_ONCE = 2_000


class Purged(Struct, frozen=True):
    operations: int = 0
    groups: int = 0
    proposals: int = 0

    def __add__(self, other: "Purged") -> "Purged":
        return Purged(self.operations + other.operations, self.groups + other.groups, self.proposals + other.proposals)


async def purge(wanted: Wanted, deps: Deps) -> Purged:
    """Operations, their counts, the groups that only they made, and every conclusion and lesson that rests on them."""
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
    tx.operations.remove(gone)
    tx.hours.uncount(gone)
    by_group: dict[str, list[Operation]] = {}
    for one in gone:
        if one.group_id is not None:
            by_group.setdefault(one.group_id, []).append(one)
    empty = tx.failures.recount(by_group)
    dropped = tx.lessons.drop_resting_on([one.id for one in gone], empty)
    tx.memories.delete(Kind.AGENT_PLAYBOOK, [str(one.playbook_id) for one in dropped], PURGED)
    return Purged(len(gone), len(empty), len(dropped))
