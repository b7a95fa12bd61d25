"""Accept reported outcomes of sessions: an outcome that a caller reports counts more than one that is judged."""

import hashlib
import json
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from acumen.deps import Deps
from acumen.errors import BadInput, Conflict, NotFound
from acumen.model.conversation import Request
from acumen.model.ids import Millis, SessionId, UserId
from acumen.model.jobs.events import Ended, SessionQuiet
from acumen.model.metering.evaluation import EvaluatedSession, Outcome, OutcomeFilter, Stated, evaluated, restated
from acumen.model.operations.operation import Operation, OperationKind, OperationStatus
from acumen.storage.store import Tx

# The clocks of two machines may differ by this much.
CLOCKS_DIFFER_MS = 300_000


class OutcomeReport(Struct, frozen=True):
    """The user may be omitted when only one user has a session of that id."""

    session_id: SessionId
    outcome: Outcome
    occurred_at: Millis
    user_id: UserId | None = None
    label: str | None = None
    value: float | None = None
    metadata: dict[str, Any] | None = None


async def state(report: OutcomeReport, deps: Deps) -> Stated:
    """Counts at once. The same report again changes nothing; a different one is a new revision."""
    session = await deps.store.read(lambda tx: _session(tx, report))
    _check_time(report, session, deps.now())
    new = _stated(report, session, deps.now())

    def store(tx: Tx) -> Stated:
        if not tx.sessions.exists(new.user_id, new.session_id):
            raise NotFound(f"There is no session {new.session_id!r}.")
        before = tx.sessions.get_outcome(new.user_id, new.session_id)
        if before is not None and _same(before, new):
            return before
        stated = new if before is None else replace(new, revision=before.revision + 1)
        tx.sessions.set_outcome(stated)
        _update_evaluation(tx, stated, session)
        tx.jobs.add(SessionQuiet(stated.user_id, stated.session_id))
        return stated

    return await deps.store.write_for_user(new.user_id, store)


def _session(tx: Tx, report: OutcomeReport) -> EvaluatedSession:
    users = [report.user_id] if report.user_id is not None else tx.sessions.find_users(report.session_id, 2)
    if len(users) > 1:
        raise Conflict(f"Several users have a session {report.session_id!r}: name the user with user_id.")
    requests, _ = tx.conversations.get_session(users[0], report.session_id, most=0) if users else ([], [])
    if not requests:
        raise NotFound(f"There is no session {report.session_id!r}.")
    return EvaluatedSession(
        users[0], report.session_id, requests, [], tx.sessions.get_extent(users[0], report.session_id)
    )


def _check_time(report: OutcomeReport, session: EvaluatedSession, now: Millis) -> None:
    began = min(session.extent.first_at, session.requests[0].created_at)
    if report.occurred_at // 1000 < began // 1000:
        raise BadInput("occurred_at is before the session's first turn.")
    if report.occurred_at > now + CLOCKS_DIFFER_MS:
        raise BadInput("occurred_at is in the future; send epoch seconds.")


def _stated(report: OutcomeReport, session: EvaluatedSession, now: Millis) -> Stated:
    contract = [report.outcome, report.occurred_at, report.label, report.value, report.metadata]
    return Stated(
        user_id=session.user_id,
        session_id=session.session_id,
        outcome=report.outcome,
        occurred_at=report.occurred_at,
        stated_at=now,
        source=session.source,
        label=report.label,
        value=report.value,
        metadata=report.metadata,
        contract_digest=_digest(contract),
        trajectory_digest=_trajectory(session.requests),
        through_request=session.last_request.id,
    )


def _trajectory(requests: Sequence[Request]) -> str:
    """Identifies the content of the session at the time of the report."""
    return _digest([[request.id, request.body_hash] for request in requests])


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def _same(before: Stated, new: Stated) -> bool:
    return (before.contract_digest, before.trajectory_digest) == (new.contract_digest, new.trajectory_digest)


def _update_evaluation(tx: Tx, stated: Stated, session: EvaluatedSession) -> None:
    """Changes the verdict in the same transaction; the other figures are judged again right after."""
    before = tx.evaluations.get(stated.user_id, stated.session_id)
    outcome, at = stated.outcome, stated.stated_at
    evaluation = evaluated(session, None, outcome, at) if before is None else restated(before, outcome, at)
    if evaluation is not None:
        tx.evaluations.upsert(evaluation)
    elif before is not None:
        tx.evaluations.delete(stated.user_id, stated.session_id)


async def find(query: OutcomeFilter, limit: int, offset: int, deps: Deps) -> list[Stated]:
    return await deps.store.read(lambda tx: tx.sessions.find_outcomes(query, limit, offset))


# --- outcomes of recorded operations -------------------------------------------------------------------------------

_BY_STATUS = {OperationStatus.OK: Outcome.SUCCESS, OperationStatus.ERROR: Outcome.FAILURE}
_BY_VERDICT = {"approve": Outcome.SUCCESS, "request_changes": Outcome.FAILURE, "block": Outcome.FAILURE}


async def state_from_operation(event: Ended, deps: Deps) -> None:
    """A recorded outcome or verdict that names a session. Unknown sessions, or those of several users, are skipped."""
    operation = await deps.store.read(lambda tx: tx.operations.get(event.op_id))
    if operation is None or operation.session_id is None:
        return
    report = OutcomeReport(
        session_id=SessionId(operation.session_id),
        outcome=outcome_of(operation),
        occurred_at=operation.received_at,
        user_id=UserId(operation.user_id) if operation.user_id else None,
        label=operation.endpoint,
    )
    with suppress(NotFound, Conflict, BadInput):
        await state(report, deps)


def outcome_of(operation: Operation) -> Outcome:
    if operation.kind is OperationKind.VERDICT:
        return _BY_VERDICT.get(str(operation.attributes.get("overall")), Outcome.UNKNOWN)
    return _BY_STATUS.get(operation.status, Outcome.UNKNOWN)
