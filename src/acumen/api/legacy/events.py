"""Endpoints of the earlier observer: /event and /stats."""

from typing import Any

from acumen.api.call import Call, answers
from acumen.api.observe.operations import body_hash
from acumen.api.views import seconds, shaped
from acumen.errors import Conflict
from acumen.model.ids import Millis
from acumen.model.operations.operation import (
    Operation,
    OperationFilter,
    OperationId,
    OperationKind,
    OperationStatus,
    Stored,
    skew,
)
from acumen.observe import operations
from acumen.observe.operations import SentOperation
from acumen_client import legacy as wire
from acumen_client.calls import Calls
from acumen_client.wire.operations import fresh_operation_id
from acumen_client.wire.shapes import Nothing

RECENT = 10
# What an event of a source is about, when it does not say.
ENDPOINTS = {"auditor": "auditor:verdict", "bot": "bot:cycle", "scenario": "scenario:fill"}


@answers(Calls.event)
async def event(request: wire.EventRequest, call: Call) -> wire.EventResponse:
    new = _event(request, call.deps.now())
    (receipt,) = await operations.record([new], call.deps)
    if receipt.stored is Stored.CONFLICT:
        raise Conflict(f"op_id {receipt.id!r} is used by another operation; send a new op_id.")
    return wire.EventResponse(ring_size=await operations.count(call.deps), op_id=receipt.id)


def _event(request: wire.EventRequest, at: Millis) -> SentOperation:
    went_well = request.success if request.success is not None else bool(request.ok)
    verdict = request.source == "auditor"
    body = request.model_dump_json(exclude={"op_id"}, exclude_defaults=True)
    started = None if request.timestamp is None else Millis(int(request.timestamp * 1000))
    # The same words at the same moment are the same event; without a moment they count as different events.
    op_id = request.op_id or (f"evt_{body_hash(body)[:32]}" if started is not None else fresh_operation_id())
    operation = Operation(
        id=OperationId(op_id),
        source=request.source,
        kind=OperationKind.VERDICT if verdict else OperationKind.OPERATION,
        endpoint=request.endpoint or ENDPOINTS.get(request.source, f"{request.source}:event"),
        status=OperationStatus.OK if went_well or verdict else OperationStatus.ERROR,
        received_at=at,
        body_hash=body_hash(body),
        started_at=started,
        skew_ms=skew(started, at),
        duration_ms=request.audit_duration_ms if request.duration_ms is None else request.duration_ms,
        session_id=request.session_id,
        user_id=request.user_id,
        error_message=None if went_well else request.error,
        input_summary=request.input_summary or _summary(request),
        output_summary=request.output_summary or request.one_liner,
        rescue_attempted=request.rescue_attempted,
        rescue_succeeded=request.rescue_succeeded,
        attributes=_event_attributes(request, went_well=went_well),
    )
    return SentOperation(operation, (request.sig_hash,) if request.sig_hash and not went_well else ())


def _summary(request: wire.EventRequest) -> str | None:
    """In the words of the earlier observer: "{event_kind} {role}x{count} in {city}, {state}"."""
    if not any((request.event_kind, request.role, request.city, request.state, request.count)):
        return None
    count = "" if request.count is None else f"x{request.count}"
    where = ", ".join(part for part in (request.city, request.state) if part)
    what = " ".join(part for part in (request.event_kind, f"{request.role or ''}{count}") if part)
    return f"{what} in {where}" if where else what


def _event_attributes(request: wire.EventRequest, *, went_well: bool) -> dict[str, Any]:
    names = ("staffer_id", "sig_hash", "event_kind", "role", "city", "state", "count")
    fields = {name: value for name in names if (value := getattr(request, name)) is not None}
    more = request.__pydantic_extra__ or {}
    verdict = {} if request.source != "auditor" else {"overall": "approve" if went_well else "request_changes"}
    return {**verdict, **more, **fields}


@answers(Calls.stats)
async def stats(_request: Nothing, call: Call) -> wire.StatsResponse:
    counts = await operations.counts_by_source(call.deps)
    recent = await operations.find(OperationFilter(), RECENT, call.deps)
    scenario = await operations.find(OperationFilter(source="scenario"), RECENT, call.deps)
    return wire.StatsResponse(
        total=sum(count.total for count in counts),
        successes=sum(count.successes for count in counts),
        failures=sum(count.failures for count in counts),
        by_source={count.source: count.total for count in counts},
        sources={
            count.source: shaped(wire.SourceStats, count, last_hour=seconds(count.last_hour or Millis(0)))
            for count in counts
        },
        recent=[_recent(operation) for operation in recent],
        recent_scenario_ops=[_recent(operation) for operation in scenario],
    )


def _recent(operation: Operation) -> wire.RecentOperation:
    attributes = operation.attributes
    return wire.RecentOperation(
        ts=(operation.started_at or operation.received_at) / 1000,
        ok=_went_well(operation),
        source=operation.source,
        endpoint=operation.endpoint,
        staffer=_text(attributes.get("staffer_id")),
        kind=_text(attributes.get("event_kind")),
        role=_text(attributes.get("role")),
    )


def _went_well(operation: Operation) -> bool | None:
    """As reported: a verdict that says no is no failure, but it is no `ok` either."""
    if operation.kind is OperationKind.VERDICT and "overall" in operation.attributes:
        return bool(operation.attributes["overall"] == "approve")
    return {OperationStatus.OK: True, OperationStatus.ERROR: False}.get(operation.status)


def _text(value: Any) -> str | None:
    return None if value is None else str(value)
