"""Operations in the shapes of the earlier observer, over REST."""

from typing import Any

from acumen.api.call import Call, answers
from acumen.api.operations import body_hash
from acumen.api.views import seconds
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
from acumen.observe.operations import New
from acumen.storage.store import Tx
from acumen_client.calls import Calls
from acumen_client.wire import operations as wire
from acumen_client.wire.shapes import Nothing

RECENT = 10
# What an event of a source is about, when it does not say.
ENDPOINTS = {"auditor": "auditor:verdict", "bot": "bot:cycle", "scenario": "scenario:fill"}


@answers(Calls.event)
async def event(asked: wire.EventRequest, call: Call) -> wire.EventResponse:
    new = _event(asked, call.deps.now())
    (receipt,) = await operations.record([new], call.deps)
    if receipt.stored is Stored.CONFLICT:
        raise Conflict(f"op_id {receipt.id!r} belongs to another operation; send this one under a new id.")
    kept = await call.deps.store.read(lambda tx: tx.hourly_counts.total())
    return wire.EventResponse(ring_size=kept, op_id=receipt.id)


def _event(asked: wire.EventRequest, at: Millis) -> New:
    went_well = asked.success if asked.success is not None else bool(asked.ok)
    verdict = asked.source == "auditor"
    told = asked.model_dump_json(exclude={"op_id"}, exclude_defaults=True)
    started = None if asked.timestamp is None else Millis(int(asked.timestamp * 1000))
    # The same words at the same moment are the same event; without a moment nobody can tell.
    op_id = asked.op_id or (f"evt_{body_hash(told)[:32]}" if started is not None else wire.fresh_operation_id())
    operation = Operation(
        id=OperationId(op_id),
        source=asked.source,
        kind=OperationKind.VERDICT if verdict else OperationKind.OPERATION,
        endpoint=asked.endpoint or ENDPOINTS.get(asked.source, f"{asked.source}:event"),
        status=OperationStatus.OK if went_well or verdict else OperationStatus.ERROR,
        received_at=at,
        body_hash=body_hash(told),
        started_at=started,
        skew_ms=skew(started, at),
        duration_ms=asked.audit_duration_ms if asked.duration_ms is None else asked.duration_ms,
        session_id=asked.session_id,
        user_id=asked.user_id,
        error_message=None if went_well else asked.error,
        input_summary=asked.input_summary or _summary(asked),
        output_summary=asked.output_summary or asked.one_liner,
        rescue_attempted=asked.rescue_attempted,
        rescue_succeeded=asked.rescue_succeeded,
        attributes=_event_attributes(asked, went_well=went_well),
    )
    return New(operation, (asked.sig_hash,) if asked.sig_hash and not went_well else ())


def _summary(asked: wire.EventRequest) -> str | None:
    """In the words of the earlier observer: "{event_kind} {role}x{count} in {city}, {state}"."""
    if not any((asked.event_kind, asked.role, asked.city, asked.state, asked.count)):
        return None
    count = "" if asked.count is None else f"x{asked.count}"
    where = ", ".join(part for part in (asked.city, asked.state) if part)
    what = " ".join(part for part in (asked.event_kind, f"{asked.role or ''}{count}") if part)
    return f"{what} in {where}" if where else what


def _event_attributes(asked: wire.EventRequest, *, went_well: bool) -> dict[str, Any]:
    names = ("staffer_id", "sig_hash", "event_kind", "role", "city", "state", "count")
    said = {name: value for name in names if (value := getattr(asked, name)) is not None}
    more = asked.__pydantic_extra__ or {}
    verdict = {} if asked.source != "auditor" else {"overall": "approve" if went_well else "request_changes"}
    return {**verdict, **more, **said}


@answers(Calls.stats)
async def stats(_asked: Nothing, call: Call) -> wire.StatsResponse:
    return await call.deps.store.read(_stats)


def _stats(tx: Tx) -> wire.StatsResponse:
    counts = tx.hourly_counts.by_source()
    recent = tx.operations.find(OperationFilter(), RECENT)
    scenario = tx.operations.find(OperationFilter(source="scenario"), RECENT)
    return wire.StatsResponse(
        total=sum(one.total for one in counts),
        successes=sum(one.successes for one in counts),
        failures=sum(one.failures for one in counts),
        by_source={one.source: one.total for one in counts},
        sources={
            one.source: wire.SourceStats(
                total=one.total,
                successes=one.successes,
                failures=one.failures,
                last_hour=seconds(one.last_hour or Millis(0)),
            )
            for one in counts
        },
        recent=[_recent(one) for one in recent],
        recent_scenario_ops=[_recent(one) for one in scenario],
    )


def _recent(one: Operation) -> wire.RecentOperation:
    said = one.attributes
    return wire.RecentOperation(
        ts=(one.started_at or one.received_at) / 1000,
        ok=_went_well(one),
        source=one.source,
        endpoint=one.endpoint,
        staffer=_text(said.get("staffer_id")),
        kind=_text(said.get("event_kind")),
        role=_text(said.get("role")),
    )


def _went_well(one: Operation) -> bool | None:
    """As its sender told it: a verdict that says no is no failure, but it is no `ok` either."""
    if one.kind is OperationKind.VERDICT and "overall" in one.attributes:
        return bool(one.attributes["overall"] == "approve")
    return {OperationStatus.OK: True, OperationStatus.ERROR: False}.get(one.status)


def _text(value: Any) -> str | None:
    return None if value is None else str(value)
