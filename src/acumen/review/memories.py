"""Add, edit and delete memories by hand."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from acumen.deps import Deps
from acumen.errors import BadInput, Conflict, NotFound
from acumen.index.documents import Document
from acumen.jobs.retry_on_conflict import retry_on_conflict
from acumen.model.ids import Kind, MemoryRef, PlaybookId, UserId
from acumen.model.memories.memory import Memory, owner, searchable
from acumen.model.memories.search import Filter
from acumen.model.redaction import Redactor
from acumen.model.review.action import ActionKind, ActionRequest, Target
from acumen.review.actions import confirm
from acumen.review.operations import scrub
from acumen.storage.memories.lineage import Because
from acumen.storage.memories.memory_rows import row_id
from acumen.storage.store import Tx

ADDED = Because("added by hand", actor="caller")
DELETED = Because("deleted by hand", actor="caller")
# More often than this a memory is not changed by chance while it is edited.
EDIT_RETRIES = 3

Also = Callable[[Tx], None]  # runs in the transaction that deletes


async def add(kind: Kind, memories: Sequence[Memory], deps: Deps) -> str | None:
    """All or none, without secrets; returns what was redacted, in a sentence."""
    redactor = Redactor(keep_secrets=deps.settings.observe.keep_secrets)
    memories = [redactor.struct(memory) for memory in memories]
    rows = await deps.index.rows([Document(kind, owner(memory), searchable(memory)) for memory in memories])

    def store(tx: Tx) -> None:
        _refuse_taken(tx, kind, memories)
        for memory, row in zip(memories, rows, strict=True):
            tx.memories.add(kind, memory, row, ADDED)

    await deps.store.write(store)
    return redactor.warning("the memories")


def _refuse_taken(tx: Tx, kind: Kind, memories: Sequence[Any]) -> None:
    ids = [str(memory.id) for memory in memories if memory.id]
    if len(set(ids)) != len(ids):
        raise BadInput("Two of the memories have the same id.")
    taken = sorted(tx.by_kind[kind].get_many(ids))
    if taken:
        raise Conflict(f"{kind} {taken[0]} exists already; omit the id to get a new one, or update that memory.")


async def edit(
    ref: MemoryRef, changes: Mapping[str, Any], deps: Deps, user: UserId | None = None, actor: str = "caller"
) -> None:
    """Changes only the fields named in `changes`. The new text is searchable when this returns; undo is possible."""
    await deps.store.read(lambda tx: _check_exists(tx, ref, user))
    if any(value is not None for value in changes.values()):
        request = ActionRequest(ActionKind.EDIT, (Target(ref),), actor, changes=changes)
        # Learning may change the memory in between: the edit is then applied on top of that.
        await retry_on_conflict(lambda: confirm(request, {}, deps), EDIT_RETRIES)


def _check_exists(tx: Tx, ref: MemoryRef, user: UserId | None) -> None:
    memory = tx.by_kind[ref.kind].get(ref.id)
    if memory is None or (user is not None and getattr(memory, "user_id", None) != user):
        whose = f" of user {user!r}" if user is not None else ""
        raise NotFound(f"There is no {ref.kind} {ref.id}{whose}.")


async def delete(
    kind: Kind, ids: Sequence[str], deps: Deps, user: UserId | None = None, also: Also | None = None
) -> int:
    """Returns how many existed."""

    def store(tx: Tx) -> int:
        owned = ids if user is None else _owned(tx, kind, ids, user)
        if also is not None:
            also(tx)
        if kind is Kind.AGENT_PLAYBOOK:
            tx.sources.delete_lessons([PlaybookId(number) for memory_id in owned if (number := row_id(memory_id))])
        return _scrubbed(tx, tx.memories.delete(kind, owned, DELETED))

    return await deps.store.write_freeing(store)


def _scrubbed(tx: Tx, deleted: int) -> int:
    if deleted:
        scrub.schedule(tx)
    return deleted


def _owned(tx: Tx, kind: Kind, ids: Sequence[str], user: UserId) -> list[str]:
    """The user's memories, and the user's outdated ones of which only the lineage has a record."""
    rows = tx.by_kind[kind].find_owners(Filter(user_id=user, statuses=None, ids=tuple(ids)))
    return [*rows, *tx.lineage.find_outdated(kind, user, ids)]


async def delete_one(ref: MemoryRef, deps: Deps, user: UserId | None = None, also: Also | None = None) -> None:
    if not await delete(ref.kind, [ref.id], deps, user, also):
        raise NotFound(f"There is no {ref.kind} {ref.id}.")


async def delete_all(kinds: Sequence[Kind], deps: Deps, also: Also | None = None) -> int:
    def store(tx: Tx) -> int:
        if also is not None:
            also(tx)
        if Kind.AGENT_PLAYBOOK in kinds:
            tx.clusters.delete_all()
        return _scrubbed(tx, sum(tx.memories.delete_all(kind, DELETED) for kind in kinds))

    return await deps.store.write_freeing(store)
