"""Accept what callers say of how a session ended. They know; whoever judges it guesses."""

import hashlib
import json
from collections.abc import Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from acumen.deps import Deps
from acumen.errors import BadInput, Conflict, NotFound
from acumen.model.conversation import Request
from acumen.model.ids import Millis, SessionId, UserId
from acumen.model.jobs.events import SessionQuiet
from acumen.model.metering.evaluation import EvaluatedSession, Outcome, Stated, as_stated, restated
from acumen.storage.store import Tx

# Clocks of two machines may differ by as much.
CLOCKS_DIFFER_MS = 300_000


class Said(Struct, frozen=True):
    """A caller's word. The user may be left out where only one has a session of that id."""

    session_id: SessionId
    outcome: Outcome
    occurred_at: Millis
    user_id: UserId | None = None
    label: str | None = None
    value: float | None = None
    metadata: dict[str, Any] | None = None


async def state(said: Said, deps: Deps) -> Stated:
    """Counts from now on. The very same word again changes nothing; another one is a new revision."""
    session = await deps.store.read(lambda tx: _session(tx, said))
    _check_time(said, session, deps.now())
    new = _stated(said, session, deps.now())

    def store(tx: Tx) -> Stated:
        tx.scope.lock_user(new.user_id)
        if not tx.sessions.exists(new.user_id, new.session_id):
            raise NotFound(f"There is no session {new.session_id!r}.")
        before = tx.sessions.get_outcome(new.user_id, new.session_id)
        if before is not None and _same(before, new):
            return before
        stated = new if before is None else replace(new, revision=before.revision + 1)
        tx.sessions.set_outcome(stated)
        _let_it_count(tx, stated, session)
        tx.jobs.add(SessionQuiet(stated.user_id, stated.session_id))
        return stated

    return await deps.store.write(store)


def _session(tx: Tx, said: Said) -> EvaluatedSession:
    users = [said.user_id] if said.user_id is not None else tx.sessions.find_users(said.session_id, 2)
    if len(users) > 1:
        raise Conflict(f"Several users have a session {said.session_id!r}: say whose it is with user_id.")
    requests, _ = tx.conversations.get_session(users[0], said.session_id, most=0) if users else ([], [])
    if not requests:
        raise NotFound(f"There is no session {said.session_id!r}.")
    return EvaluatedSession(users[0], said.session_id, requests, [], tx.sessions.get_extent(users[0], said.session_id))


def _check_time(said: Said, session: EvaluatedSession, now: Millis) -> None:
    began = min(session.extent.first_at, session.requests[0].created_at)
    if said.occurred_at // 1000 < began // 1000:
        raise BadInput("occurred_at lies before the session's first turn.")
    if said.occurred_at > now + CLOCKS_DIFFER_MS:
        raise BadInput("occurred_at lies in the future; it is epoch seconds.")


def _stated(said: Said, session: EvaluatedSession, now: Millis) -> Stated:
    contract = [said.outcome, said.occurred_at, said.label, said.value, said.metadata]
    return Stated(
        user_id=session.user_id,
        session_id=session.session_id,
        outcome=said.outcome,
        occurred_at=said.occurred_at,
        stated_at=now,
        source=session.source,
        label=said.label,
        value=said.value,
        metadata=said.metadata,
        contract_digest=_digest(contract),
        trajectory_digest=_trajectory(session.requests),
        through_request=session.last_request.id,
    )


def _trajectory(requests: Sequence[Request]) -> str:
    """Names the very words that the session had when it was stated how it ended."""
    return _digest([[request.id, request.body_hash] for request in requests])


def _digest(said: Any) -> str:
    return hashlib.sha256(json.dumps(said, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def _same(before: Stated, new: Stated) -> bool:
    return (before.contract_digest, before.trajectory_digest) == (new.contract_digest, new.trajectory_digest)


def _let_it_count(tx: Tx, stated: Stated, session: EvaluatedSession) -> None:
    """The verdict changes with the word, in the same transaction; the figures around it are judged right after."""
    known = tx.evaluations.get(stated.user_id, stated.session_id)
    counts = as_stated(stated, session) if known is None else restated(known, stated.outcome, stated.stated_at)
    if counts is not None:
        tx.evaluations.upsert(counts)
    elif known is not None:
        tx.evaluations.delete(stated.user_id, stated.session_id)
