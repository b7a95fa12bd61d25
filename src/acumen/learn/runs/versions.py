"""Versions of what was learned: an upgrade makes a rerun's outcome current, a downgrade goes back. All or nothing."""

from collections.abc import Mapping

from msgspec import Struct

from acumen.deps import Deps
from acumen.errors import Conflict
from acumen.learn.runs.generation import Mode, Service
from acumen.model.ids import UserId
from acumen.model.jobs.run import ItemState
from acumen.model.memories.base import Status
from acumen.model.memories.search import Filter
from acumen.storage.memories.lineage import Because
from acumen.storage.memories.memories import StatusMove
from acumen.storage.store import Tx

UPGRADE = Because("an upgrade to the outcome of a rerun", actor="upgrade")
DOWNGRADE = Because("a downgrade to the version before", actor="downgrade")

Owners = Mapping[str, str | None]


class Which(Struct, frozen=True):
    """The memories that are meant; None means any."""

    user_id: UserId | None = None
    ids: tuple[str, ...] | None = None
    agent_version: str | None = None
    name: str | None = None
    only_affected_users: bool = False  # only users who have something to change to
    archive_current: bool = True  # False: what is promoted joins what is current

    def filter(self, status: Status) -> Filter:
        return Filter(
            statuses=(status,),
            user_id=self.user_id,
            ids=self.ids,
            agent_version=self.agent_version,
            name=self.name,
        )


class Upgraded(Struct, frozen=True):
    """How many became current, were archived, were deleted; and whose rerun did not end and so stayed as they were."""

    promoted: int = 0
    archived: int = 0
    deleted: int = 0
    left_alone: int = 0


class Downgraded(Struct, frozen=True):
    demoted: int = 0
    restored: int = 0


async def upgrade(service: Service, which: Which, deps: Deps) -> Upgraded:
    """Nothing moves where nothing is pending. Conflict while a rerun is still making what would be promoted."""
    return await deps.store.write(lambda tx: _upgrade(tx, service, which))


def _upgrade(tx: Tx, service: Service, which: Which) -> Upgraded:
    _fence(tx, service)
    rows, kind = tx.by_kind[service.kind], service.kind
    unfinished = set() if which.user_id else _unfinished(tx, service)
    pending = _without(unfinished, rows.find_owners(which.filter(Status.PENDING)))
    if not pending:
        return Upgraded(left_alone=len(unfinished))
    promotion = StatusMove(pending, Status.PENDING, Status.CURRENT)
    if not which.archive_current:
        return Upgraded(tx.memories.set_statuses(kind, [promotion], UPGRADE)[0], left_alone=len(unfinished))
    users = set(pending.values()) if which.only_affected_users else None
    old = _of(users, _without(unfinished, rows.find_owners(which.filter(Status.ARCHIVED))))
    current = _of(users, _without(unfinished, rows.find_owners(which.filter(Status.CURRENT))))
    deleted = tx.memories.delete_outdated(kind, list(old), UPGRADE)
    moves = [StatusMove(current, Status.CURRENT, Status.ARCHIVED), promotion]
    archived, promoted = tx.memories.set_statuses(kind, moves, UPGRADE)
    return Upgraded(promoted, archived, deleted, len(unfinished))


async def downgrade(service: Service, which: Which, deps: Deps) -> Downgraded:
    """Swaps what is current and what is archived. Nothing moves where nothing is archived."""
    return await deps.store.write(lambda tx: _downgrade(tx, service, which))


def _downgrade(tx: Tx, service: Service, which: Which) -> Downgraded:
    _fence(tx, service)
    rows = tx.by_kind[service.kind]
    archived = rows.find_owners(which.filter(Status.ARCHIVED))
    if not archived:
        return Downgraded()
    users = set(archived.values()) if which.only_affected_users else None
    current = _of(users, rows.find_owners(which.filter(Status.CURRENT)))
    # Both are known before either moves, and nobody sees the one without the other: no status in between is needed.
    moves = [
        StatusMove(archived, Status.ARCHIVED, Status.CURRENT),
        StatusMove(current, Status.CURRENT, Status.ARCHIVED),
    ]
    restored, demoted = tx.memories.set_statuses(service.kind, moves, DOWNGRADE)
    return Downgraded(demoted, restored)


def _fence(tx: Tx, service: Service) -> None:
    tx.runs.lock(service.name)
    for run in tx.runs.find_active(service.name):
        if run.request.get("mode") == Mode.RERUN:
            raise Conflict(f"A rerun is under way ({run.id}): wait for its end, or cancel it.")


def _unfinished(tx: Tx, service: Service) -> set[str | None]:
    """Users for whom the last rerun failed or never came to its end: what it made of them is not the whole."""
    run = tx.runs.find_latest(service.name, Mode.RERUN)
    return (
        set() if run is None else {item.item for item in tx.run_items.find(run.id) if item.state is not ItemState.DONE}
    )


def _of(users: set[str | None] | None, owners: Owners) -> Owners:
    return owners if users is None else {one: user for one, user in owners.items() if user in users}


def _without(users: set[str | None], owners: Owners) -> Owners:
    return {one: user for one, user in owners.items() if user not in users}
