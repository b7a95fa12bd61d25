"""Erase conversations, and everything about a user."""

from collections.abc import Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from acumen.deps import Deps
from acumen.errors import NotFound
from acumen.model.ids import InteractionId, RequestId, SessionId, UserId
from acumen.model.jobs.events import SessionQuiet
from acumen.model.memories.search import TURN, Filter
from acumen.model.metering.evaluation import SessionKey, items_of
from acumen.model.operations.operation import Operation, OperationFilter
from acumen.review.operations import scrub
from acumen.review.operations.purge import remove_of_sessions
from acumen.storage.store import Tx


async def delete_turn(user: UserId, turn: InteractionId, deps: Deps) -> None:
    def store(tx: Tx) -> None:
        requests = [row.request_id for row in tx.conversations.get_many([turn]) if row.user_id == user]
        sessions = _held_sessions(tx, requests)
        if not tx.conversations.delete_turn(user, turn):
            raise NotFound(f"User {user!r} has no interaction {turn}.")
        tx.search_rows.mark_deleted(TURN, {str(turn): user})
        tx.injections.erase_turns({user: [turn]})
        scrub.schedule(tx)
        _forget_evaluations(tx, sessions)

    await deps.store.write_freeing(store)


async def delete_request(request: RequestId, deps: Deps) -> None:
    if not await delete_requests([request], deps):
        raise NotFound(f"There is no request {request!r}.")


async def delete_requests(ids: Sequence[RequestId], deps: Deps) -> int:
    """With their turns."""
    return await deps.store.write_freeing(lambda tx: _delete_requests(tx, ids))


async def delete_session(session: SessionId, deps: Deps) -> int:
    """Returns how many requests it had."""

    def store(tx: Tx) -> int:
        ids = tx.conversations.find_request_ids(session)
        if not tx.sessions.delete(session) and not ids:
            raise NotFound(f"There is no session {session!r}.")
        remove_of_sessions(tx, tx.operations.find(OperationFilter(session_id=session), None), [session])
        return _delete_requests(tx, ids)

    return await deps.store.write_freeing(store)


async def delete_all_turns(deps: Deps) -> int:
    def store(tx: Tx) -> int:
        scrub.schedule(tx)
        gone = tx.conversations.delete_all()
        tx.evaluations.delete_all()
        tx.injections.erase_all_turns()
        tx.search_rows.delete_kind(TURN)
        return gone

    return await deps.store.write_freeing(store)


def _delete_requests(tx: Tx, ids: Sequence[RequestId]) -> int:
    turns = tx.conversations.find_by_requests(ids)
    sessions = _held_sessions(tx, ids)
    tx.search_rows.mark_deleted(TURN, {str(turn.id): turn.user_id for turn in turns})
    gone = tx.conversations.delete_requests(ids)
    if gone:
        scrub.schedule(tx)
    users = {turn.user_id for turn in turns}
    tx.injections.erase_turns({user: [turn.id for turn in turns if turn.user_id == user] for user in users})
    _forget_evaluations(tx, sessions)
    return gone


def _held_sessions(tx: Tx, requests: Sequence[RequestId]) -> list[SessionKey]:
    """The sessions of these requests, locked against evaluation until the transaction ends."""
    sessions = tx.sessions.find_by_requests(requests)
    tx.scope.lock_users({user for user, _ in sessions})
    return sessions


def _forget_evaluations(tx: Tx, sessions: Sequence[SessionKey]) -> None:
    """An evaluation may quote deleted text: a session with turns left is evaluated again, an empty one is deleted."""
    for user, session in sessions:
        tx.evaluations.delete(user, session)
        tx.jobs.add(SessionQuiet(user, session))
    tx.sessions.delete_empty(sessions)


class Erased(Struct, frozen=True):
    """How many rows of each kind were deleted, and their ids."""

    counts: dict[str, int]
    ids: dict[str, list[str]]
    scrub_pending: bool = False  # a reader still needs their bytes; a job removes them


async def clear_user(user: UserId, deps: Deps, also: Callable[[Tx], None] | None = None) -> Erased:
    """Deletes the user's conversations, memories, injections and counts. `also` runs in the transaction."""

    def store(tx: Tx) -> Erased:
        tx.scope.lock_user(user)
        if also is not None:
            also(tx)
        request_ids, session_ids = tx.conversations.find_ids_of_user(user)
        operations = _operations(tx, user, request_ids, session_ids)
        ids = tx.erasure.find_ids(user, request_ids, session_ids)
        if operations:
            ids["operations"] = sorted(operation.id for operation in operations)
        scrub.schedule(tx, scrub.AGAIN_MS)
        owned = Filter(user_id=user, statuses=None)
        counts = {
            "session_outcomes": tx.sessions.count_outcomes(user),
            **tx.review_records.delete_user(user),
            "usage_events": tx.usage.delete_user(user, request_ids, session_ids),
            "profiles": tx.profiles.delete(list(tx.profiles.find_owners(owned))),
            "user_playbooks": tx.user_playbooks.delete(list(tx.user_playbooks.find_owners(owned))),
            **tx.conversations.delete_user(user),
            "operations": remove_of_sessions(tx, operations, {*session_ids, *_sessions(operations)}).operations,
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

    erased = await deps.store.write_freeing(store)
    return replace(erased, scrub_pending=not await scrub.scrub_now(deps))


def _operations(tx: Tx, user: UserId, request_ids: Sequence[str], session_ids: Sequence[str]) -> list[Operation]:
    """The user's, and those of their sessions and requests that do not say whose they are."""
    theirs = tx.operations.find(OperationFilter(user_id=user), None)
    return [*theirs, *tx.operations.find_anonymous({*session_ids, *_sessions(theirs)}, request_ids)]


def _sessions(operations: Sequence[Operation]) -> set[str]:
    return {operation.session_id for operation in operations if operation.session_id}
