"""Versions of memories: an upgrade makes a rerun's outcome current, a downgrade undoes it. All or nothing."""

from collections.abc import Set as AbstractSet

from msgspec import Struct
from msgspec.structs import replace

from acumen.deps import Deps
from acumen.errors import Conflict
from acumen.learn.runs.generation import Mode, Service
from acumen.model.jobs.run import ItemState
from acumen.model.memories.base import Status
from acumen.model.memories.search import Filter
from acumen.storage.memories.lineage import Because
from acumen.storage.memories.memories import StatusMove
from acumen.storage.store import Tx

UPGRADE = Because("an upgrade to the outcome of a rerun", actor="upgrade")
DOWNGRADE = Because("a downgrade to the version before", actor="downgrade")

Users = AbstractSet[str | None]


class VersionFilter(Filter, frozen=True):
    """Which memories to move, in any status."""

    only_affected_users: bool = False  # only users who have something to change to
    archive_current: bool = True  # False: what is promoted joins what is current


class Upgraded(Struct, frozen=True):
    promoted: int = 0
    archived: int = 0
    deleted: int = 0
    left_alone: int = 0  # users whose rerun did not end


class Downgraded(Struct, frozen=True):
    demoted: int = 0
    restored: int = 0


async def upgrade(service: Service, which: VersionFilter, deps: Deps) -> Upgraded:
    """Nothing moves where nothing is pending. Conflict while a rerun is still making what would be promoted."""
    return await deps.store.write(lambda tx: _upgrade(tx, service, which))


def _upgrade(tx: Tx, service: Service, which: VersionFilter) -> Upgraded:
    _check_no_rerun(tx, service)
    unfinished = set() if which.user_id else _unfinished(tx, service)
    pending = _owned(tx, service, which, Status.PENDING, None, unfinished)
    if not pending:
        return Upgraded(left_alone=len(unfinished))
    promotion = StatusMove(pending, Status.PENDING, Status.CURRENT)
    if not which.archive_current:
        promoted = tx.memories.set_statuses(service.kind, [promotion], UPGRADE)[0]
        return Upgraded(promoted, left_alone=len(unfinished))
    users = set(pending.values()) if which.only_affected_users else None
    old, current = (
        _owned(tx, service, which, status, users, unfinished) for status in (Status.ARCHIVED, Status.CURRENT)
    )
    deleted = tx.memories.delete_outdated(service.kind, list(old), UPGRADE)
    moves = [StatusMove(current, Status.CURRENT, Status.ARCHIVED), promotion]
    archived, promoted = tx.memories.set_statuses(service.kind, moves, UPGRADE)
    return Upgraded(promoted, archived, deleted, len(unfinished))


async def downgrade(service: Service, which: VersionFilter, deps: Deps) -> Downgraded:
    """Swaps what is current and what is archived. Nothing moves where nothing is archived."""
    return await deps.store.write(lambda tx: _downgrade(tx, service, which))


def _downgrade(tx: Tx, service: Service, which: VersionFilter) -> Downgraded:
    _check_no_rerun(tx, service)
    archived = _owned(tx, service, which, Status.ARCHIVED, None)
    if not archived:
        return Downgraded()
    users = set(archived.values()) if which.only_affected_users else None
    current = _owned(tx, service, which, Status.CURRENT, users)
    # Both are read before either moves, in one transaction: no status in between is needed.
    moves = [
        StatusMove(archived, Status.ARCHIVED, Status.CURRENT),
        StatusMove(current, Status.CURRENT, Status.ARCHIVED),
    ]
    restored, demoted = tx.memories.set_statuses(service.kind, moves, DOWNGRADE)
    return Downgraded(demoted, restored)


def _check_no_rerun(tx: Tx, service: Service) -> None:
    tx.runs.lock(service.name)
    for run in tx.runs.find_active(service.name):
        if run.request.get("mode") == Mode.RERUN:
            raise Conflict(f"A rerun is active ({run.id}): wait for its end, or cancel it.")


def _unfinished(tx: Tx, service: Service) -> Users:
    """Users for whom the last rerun failed or did not end: its memories of them are incomplete."""
    run = tx.runs.find_latest(service.name, Mode.RERUN)
    items = tx.run_items.find(run.id) if run else ()
    return {item.item for item in items if item.state is not ItemState.DONE}


def _owned(
    tx: Tx, service: Service, which: VersionFilter, status: Status, users: Users | None, without: Users = frozenset()
) -> dict[str, str | None]:
    """Ids of memories of this status with their users: of these users, or of all, without some."""
    owners = tx.by_kind[service.kind].find_owners(replace(which, statuses=(status,)))
    return {memory: user for memory, user in owners.items() if user not in without and (users is None or user in users)}
