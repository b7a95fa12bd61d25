"""An outcome or a verdict that names a session says how the session ended."""

from acumen.deps import Deps
from acumen.errors import BadInput, Conflict, NotFound
from acumen.model.ids import SessionId, UserId
from acumen.model.jobs.events import Ended
from acumen.model.metering.evaluation import Outcome
from acumen.model.operations.operation import Operation, OperationKind, OperationStatus
from acumen.observe import outcomes
from acumen.observe.outcomes import Said

_BY_STATUS = {OperationStatus.OK: Outcome.SUCCESS, OperationStatus.ERROR: Outcome.FAILURE}
_BY_WORD = {"approve": Outcome.SUCCESS, "request_changes": Outcome.FAILURE, "block": Outcome.FAILURE}


async def state(event: Ended, deps: Deps) -> None:
    """As if its caller had stated it. Sessions that nobody talked in, or that several users have, stay unjudged."""
    told = await deps.store.read(lambda tx: tx.operations.get(event.op_id))
    if told is None or told.session_id is None:
        return
    said = Said(
        session_id=SessionId(told.session_id),
        outcome=outcome_of(told),
        occurred_at=told.received_at,
        user_id=UserId(told.user_id) if told.user_id else None,
        label=told.endpoint,
    )
    try:
        await outcomes.state(said, deps)
    except (NotFound, Conflict, BadInput):
        return


def outcome_of(told: Operation) -> Outcome:
    """A verdict goes by its word, an outcome by its status."""
    if told.kind is OperationKind.VERDICT:
        return _BY_WORD.get(str(told.attributes.get("overall")), Outcome.UNKNOWN)
    return _BY_STATUS.get(told.status, Outcome.UNKNOWN)
