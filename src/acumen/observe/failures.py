"""What a person does about a group of failures: merge, take a merge back, resolve, archive, reopen."""

from dataclasses import replace

from acumen.deps import Deps
from acumen.errors import BadInput, NotFound
from acumen.model.failure import FailureGroup, GroupState
from acumen.storage.store import Tx

_STATES = {"resolve": GroupState.RESOLVED, "archive": GroupState.ARCHIVED, "reopen": GroupState.ONGOING}


async def change(group_id: str, what: str, into: str | None, actor: str, deps: Deps) -> None:
    def store(tx: Tx) -> None:
        group = _existing(tx, group_id)
        if what == "merge":
            _merge(tx, group, _existing(tx, into or ""), actor)
        elif what == "unmerge":
            if not tx.failures.unalias(group.id):
                raise BadInput(f"Group {group.id!r} is not merged into another.")
        else:
            tx.failures.save(replace(group, state=_STATES[what]))

    await deps.store.write(store)


def _merge(tx: Tx, group: FailureGroup, into: FailureGroup, actor: str) -> None:
    """One level only: a group that others are merged into stays where it is, so that every merge can be taken back."""
    if group.id == into.id:
        raise BadInput("A group cannot be merged into itself.")
    if tx.failures.root_of(into.id) != into.id or len(tx.failures.members(group.id)) > 1:
        raise BadInput("Merge into the group that stands for the others, or take the earlier merge back first.")
    tx.failures.unalias(group.id)
    tx.failures.alias(group.id, into.id, actor)


def _existing(tx: Tx, group_id: str) -> FailureGroup:
    held = tx.failures.held([group_id])
    if group_id not in held:
        raise NotFound(f"There is no group of failures {group_id!r}.")
    return held[group_id]
