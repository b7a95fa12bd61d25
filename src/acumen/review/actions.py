"""What a person does to memories: add, edit, approve, archive, delete, clear a user."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from acumen.deps import Deps
from acumen.errors import BadInput, Conflict, NotFound
from acumen.index.documents import Document
from acumen.jobs.retry import retry_on_conflict
from acumen.model.ids import InteractionId, Kind, MemoryRef, PlaybookId, RequestId, SessionId, UserId
from acumen.model.jobs.events import SessionQuiet
from acumen.model.memories.base import Cause
from acumen.model.memories.memory import Memory, owner, searchable
from acumen.model.memories.search import TURN, Filter
from acumen.model.metering.evaluation import SessionKey, items_of
from acumen.model.operations.operation import OperationFilter
from acumen.model.review.action import Action, ActionItem, ActionKind
from acumen.review.act import fresh_action, refuse_circle
from acumen.review.plan import changed
from acumen.review.purge import remove
from acumen.storage.memories.lineage import Because
from acumen.storage.memories.memory_rows import row_id
from acumen.storage.store import Tx

BY_HAND = Because("added by hand", actor="caller")
DELETED = Because("deleted by hand", actor="caller")


async def add(kind: Kind, memories: Sequence[Memory], deps: Deps) -> int:
    """All or none; returns how many."""
    rows = await deps.index.rows([Document(kind, owner(memory), searchable(memory)) for memory in memories])

    def store(tx: Tx) -> int:
        _refuse_taken(tx, kind, memories)
        for memory, row in zip(memories, rows, strict=True):
            tx.memories.add(kind, memory, row, BY_HAND)
        return len(memories)

    return await deps.store.write(store)


# More often than this a memory is not touched by chance while it is edited.
OVERTAKEN = 3


async def edit(
    ref: MemoryRef, changes: Mapping[str, Any], deps: Deps, user: UserId | None = None, actor: str = "caller"
) -> None:
    """Only the fields named in `changes` move; their words are searchable when this returns, and it can be undone."""
    # Learning may change the memory in between: the caller's changes are then applied on top of that.
    await retry_on_conflict(lambda: _edit(ref, changes, deps, user, actor), OVERTAKEN)


async def _edit(ref: MemoryRef, changes: Mapping[str, Any], deps: Deps, user: UserId | None, actor: str) -> None:
    before = await deps.store.read(lambda tx: _existing(tx, ref, user))
    after = changed(before, changes)
    reworded = searchable(after) != searchable(before)
    rows = await deps.index.rows([Document(ref.kind, owner(after), searchable(after))]) if reworded else [None]

    def store(tx: Tx) -> None:
        now = _existing(tx, ref, user)
        if now.version != before.version:
            raise Conflict("It was changed by someone else meanwhile; read it again and retry.")
        if after.superseded_by is not None:
            _check_successor(tx, ref, after)
        done = _edited(tx, ref, now, after, actor, changes)
        because = Because(_reason(changes), actor=actor, request_id=done.id, cause=Cause.PERSON)
        tx.memories.update(ref, now, after, rows[0], because)
        if after != now:
            tx.actions.add(done)

    await deps.store.write(store)


def _reason(changes: Mapping[str, Any]) -> str:
    """A decision about a shared lesson is no edit of it."""
    return f"{changes['approval']} by hand" if _named(changes) == ["approval"] else "edited by hand"


def _named(changes: Mapping[str, Any]) -> list[str]:
    return sorted(name for name, value in changes.items() if value is not None)


def _edited(tx: Tx, ref: MemoryRef, before: Any, after: Any, actor: str, changes: Mapping[str, Any]) -> Action:
    """For the log, so that whoever edits past the review leaves a trace there too."""
    rows: Any = tx.by_kind[ref.kind]
    sides = {"memory": rows.mapping.to_row(before)}, {"memory": rows.mapping.to_row(after)}
    item = ActionItem(ref, True, None, owner(after) or None, *sides)
    return Action(fresh_action(), ActionKind.EDIT, actor, tx.at, params={"fields": _named(changes)}, items=(item,))


def _check_successor(tx: Tx, ref: MemoryRef, after: Any) -> None:
    """A memory can only be superseded by another that exists, and never by one that it superseded itself."""
    found = tx.by_kind[ref.kind].get(str(after.superseded_by))
    if found is None:
        raise BadInput(f"superseded_by names {ref.kind} {after.superseded_by}, which does not exist.")
    refuse_circle(tx, ref.kind, found, {ref.id})


Also = Callable[[Tx], None]  # what else belongs into the transaction that deletes


async def delete(
    kind: Kind, ids: Sequence[str], deps: Deps, user: UserId | None = None, also: Also | None = None
) -> int:
    """Returns how many there were to delete."""

    def store(tx: Tx) -> int:
        owned = ids if user is None else _owned(tx, kind, ids, user)
        if also is not None:
            also(tx)
        if kind is Kind.AGENT_PLAYBOOK:
            tx.sources.delete_lessons([PlaybookId(number) for one in owned if (number := row_id(one))])
        return tx.memories.delete(kind, owned, DELETED)

    return await deps.store.write(store)


def _owned(tx: Tx, kind: Kind, ids: Sequence[str], user: UserId) -> list[str]:
    """Those of the user, with those of which only the lineage still tells."""
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
        return sum(tx.memories.delete_all(kind, DELETED) for kind in kinds)

    return await deps.store.write(store)


async def delete_turn(user: UserId, turn: InteractionId, deps: Deps) -> None:
    def store(tx: Tx) -> None:
        requests = [found.request_id for found in tx.conversations.get_many([turn]) if found.user_id == user]
        sessions = _held_sessions(tx, requests)
        if not tx.conversations.delete_turn(user, turn):
            raise NotFound(f"User {user!r} has no interaction {turn}.")
        tx.search_rows.mark_deleted(TURN, {str(turn): user})
        tx.injections.erase_turns({user: [turn]})
        _forget_verdicts(tx, sessions)

    await deps.store.write(store)


async def delete_request(request: RequestId, deps: Deps) -> None:
    if not await delete_requests([request], deps):
        raise NotFound(f"There is no request {request!r}.")


async def delete_requests(ids: Sequence[RequestId], deps: Deps) -> int:
    """Takes their turns with them."""
    return await deps.store.write(lambda tx: _delete_requests(tx, ids))


async def delete_session(session: SessionId, deps: Deps) -> int:
    """Returns how many requests it had."""

    def store(tx: Tx) -> int:
        ids = tx.conversations.find_request_ids(session)
        if not tx.sessions.delete(session) and not ids:
            raise NotFound(f"There is no session {session!r}.")
        return _delete_requests(tx, ids)

    return await deps.store.write(store)


async def delete_all_turns(deps: Deps) -> int:
    def store(tx: Tx) -> int:
        gone = tx.conversations.delete_all()
        tx.evaluations.delete_all()
        tx.injections.erase_all_turns()
        tx.search_rows.delete_kind(TURN)
        return gone

    return await deps.store.write(store)


def _delete_requests(tx: Tx, ids: Sequence[RequestId]) -> int:
    turns = tx.conversations.find_by_requests(ids)
    sessions = _held_sessions(tx, ids)
    tx.search_rows.mark_deleted(TURN, {str(turn.id): turn.user_id for turn in turns})
    gone = tx.conversations.delete_requests(ids)
    users = {turn.user_id for turn in turns}
    tx.injections.erase_turns({user: [turn.id for turn in turns if turn.user_id == user] for user in users})
    _forget_verdicts(tx, sessions)
    return gone


def _held_sessions(tx: Tx, requests: Sequence[RequestId]) -> list[SessionKey]:
    """The sessions of these requests. Nobody judges them until we are done."""
    sessions = tx.sessions.find_by_requests(requests)
    tx.scope.lock_users({user for user, _ in sessions})
    return sessions


def _forget_verdicts(tx: Tx, sessions: Sequence[SessionKey]) -> None:
    """A verdict may quote what was deleted. What is left of a session is judged anew; of an empty one nothing stays."""
    for user, session in sessions:
        tx.evaluations.delete(user, session)
        tx.jobs.add(SessionQuiet(user, session))
    tx.sessions.delete_empty(sessions)


class Erased(Struct, frozen=True):
    """How much of each kind went, and the ids."""

    counts: dict[str, int]
    ids: dict[str, list[str]]


async def clear_user(user: UserId, deps: Deps, also: Also | None = None) -> Erased:
    """Everything of this user: what was said, learned, shown and counted. Returns how much of each, and which."""

    def store(tx: Tx) -> Erased:
        tx.scope.lock_user(user)
        if also is not None:
            also(tx)
        request_ids, session_ids = tx.conversations.find_ids_of_user(user)
        ids = tx.erasure.find_ids(user, request_ids, session_ids)
        its = Filter(user_id=user, statuses=None)
        counts = {
            "session_outcomes": tx.sessions.count_outcomes(user),
            **tx.review_records.delete_user(user),
            "usage_events": tx.usage.delete_user(user, request_ids, session_ids),
            "profiles": tx.profiles.delete(list(tx.profiles.find_owners(its))),
            "user_playbooks": tx.user_playbooks.delete(list(tx.user_playbooks.find_owners(its))),
            **tx.conversations.delete_user(user),
            "operations": remove(tx, tx.operations.find(OperationFilter(user_id=user), None)).operations,
            "lineage": tx.lineage.delete_user(user),
            "conflicts": tx.conflicts.delete_user(user),
            **tx.evaluations.delete_user(user),
        }
        tx.jobs.delete_user(user)
        tx.runs.erase_user(user)
        tx.run_items.delete_user(user, items_of(user))
        tx.llm_calls.erase_user(user)
        tx.search_rows.delete_user(user)
        return Erased(counts, ids)

    erased = await deps.store.write(store)
    await deps.store.scrub()
    return erased


def _refuse_taken(tx: Tx, kind: Kind, memories: Sequence[Any]) -> None:
    ids = [str(memory.id) for memory in memories if memory.id]
    if len(set(ids)) != len(ids):
        raise BadInput("Two of the memories have the same id.")
    taken = sorted(tx.by_kind[kind].get_many(ids))
    if taken:
        raise Conflict(f"There is a {kind} {taken[0]} already; leave the id out to get a new one, or update that one.")


def _existing(tx: Tx, ref: MemoryRef, user: UserId | None) -> Any:
    found = tx.by_kind[ref.kind].get(ref.id)
    if found is None or (user is not None and getattr(found, "user_id", None) != user):
        whose = f" of user {user!r}" if user is not None else ""
        raise NotFound(f"There is no {ref.kind} {ref.id}{whose}.")
    return found
