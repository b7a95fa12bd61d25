"""Operations and verdicts, over REST."""

import hashlib
import json
from typing import Any

from pydantic import ValidationError

from acumen.api.call import Call, answers
from acumen.api.views import seconds
from acumen.errors import BadInput
from acumen.model.ids import Millis
from acumen.model.operation import Operation, OperationId, OperationKind, OperationStatus, Receipt, Stored, skew
from acumen.model.verdict import Finding, Recurrence
from acumen.observe import operations, verdicts
from acumen.observe.operations import New
from acumen.storage.operations import Wanted
from acumen.storage.store import Tx
from acumen_client import calls
from acumen_client.errors import in_words
from acumen_client.wire import operations as wire
from acumen_client.wire.shapes import Nothing

RECENT = 10
# Fields that mean the same on the wire and inside.
_SAME = (
    "source",
    "endpoint",
    "agent",
    "agent_version",
    "session_id",
    "user_id",
    "request_id",
    "trace_id",
    "span_id",
    "parent_span_id",
    "duration_ms",
    "error_type",
    "error_message",
    "input_summary",
    "output_summary",
    "arguments",
    "tokens_in",
    "tokens_out",
    "tokens_cached",
    "tokens_reasoning",
    "cost_usd",
    "model",
    "rescue_attempted",
    "rescue_succeeded",
    "attributes",
)


# --- recording -----------------------------------------------------------------------------------------------------


@answers(calls.record_operations)
async def record(asked: wire.RecordOperationsRequest, call: Call) -> wire.RecordOperationsResponse:
    at = call.deps.now()
    sent: dict[int, New] = {}
    refused: dict[int, wire.OperationResult] = {}
    for index, given in enumerate(asked.operations):
        if isinstance(given, wire.NewOperation):
            sent[index] = new_operation(given, at)
        else:
            refused[index] = _refusal(index, given)
    receipts = await operations.record(list(sent.values()), call.deps) if sent else []
    told = {index: _told(index, new, one) for (index, new), one in zip(sent.items(), receipts, strict=True)}
    call.app.wake_worker()
    results = [told.get(index) or refused[index] for index in range(len(asked.operations))]
    accepted = sum(one.result in ("stored", "known") for one in results)
    return wire.RecordOperationsResponse(accepted=accepted, rejected=len(results) - accepted, results=results)


def _refusal(index: int, given: object) -> wire.OperationResult:
    """Validated once more, only to tell what is wrong with it."""
    named = given.get("op_id") if isinstance(given, dict) else None
    try:
        wire.NewOperation.model_validate(given)
    except ValidationError as wrong:
        reason = in_words(wrong)
    else:  # pragma: no cover - the same shape refused it a moment ago
        reason = "it cannot be read"
    op_id = _printable(named[:255]) if isinstance(named, str) else None
    return wire.OperationResult(index=index, op_id=op_id, result="refused", reason=_printable(reason))


def _printable(text: str) -> str:
    """Even where it repeats half a surrogate pair that somebody sent."""
    return text.encode(errors="backslashreplace").decode()


def _told(index: int, new: New, receipt: Receipt) -> wire.OperationResult:
    conflict = receipt.stored is Stored.CONFLICT
    return wire.OperationResult(
        index=index,
        op_id=receipt.id,
        result=receipt.stored.value,
        group_id=receipt.group_id,
        clock_skew_ms=new.operation.skew_ms,
        reason="its op_id belongs to another operation; send this one under a new id" if conflict else None,
    )


def new_operation(given: wire.NewOperation, at: Millis) -> New:
    started = None if given.started_at is None else Millis(int(given.started_at * 1000))
    told = given.model_dump_json(exclude={"op_id"}, exclude_defaults=True)
    same = {name: getattr(given, name) for name in _SAME}
    operation = Operation(
        id=OperationId(given.op_id),
        kind=OperationKind(given.kind),
        status=OperationStatus(given.status),
        received_at=at,
        body_hash=_hash(told),
        started_at=started,
        skew_ms=skew(started, at),
        schema_hash=_hash(json.dumps(given.tool_schema, sort_keys=True))[:16] if given.tool_schema else None,
        **same,
    )
    return New(operation, tuple(given.fingerprint))


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


# --- the earlier shapes ----------------------------------------------------------------------------------------------

# What an event of a source is about, when it does not say.
ENDPOINTS = {"auditor": "auditor:verdict", "bot": "bot:cycle", "scenario": "scenario:fill"}


@answers(calls.event)
async def event(asked: wire.EventRequest, call: Call) -> wire.EventResponse:
    new = _event(asked, call.deps.now())
    (receipt,) = await operations.record([new], call.deps)
    if receipt.stored is Stored.CONFLICT:
        raise BadInput(f"op_id {receipt.id!r} belongs to another operation.")
    call.app.wake_worker()
    counts = await call.deps.store.read(lambda tx: tx.operations.by_source())
    return wire.EventResponse(ring_size=sum(one.total for one in counts), op_id=receipt.id)


def _event(asked: wire.EventRequest, at: Millis) -> New:
    went_well = asked.success if asked.success is not None else bool(asked.ok)
    verdict = asked.source == "auditor"
    told = asked.model_dump_json(exclude={"op_id"}, exclude_defaults=True)
    started = None if asked.timestamp is None else Millis(int(asked.timestamp * 1000))
    # The same words at the same moment are the same event; without a moment nobody can tell.
    op_id = asked.op_id or (f"evt_{_hash(told)[:32]}" if started is not None else wire.fresh_operation_id())
    operation = Operation(
        id=OperationId(op_id),
        source=asked.source,
        kind=OperationKind.VERDICT if verdict else OperationKind.OPERATION,
        endpoint=asked.endpoint or ENDPOINTS.get(asked.source, f"{asked.source}:event"),
        status=OperationStatus.OK if went_well or verdict else OperationStatus.ERROR,
        received_at=at,
        body_hash=_hash(told),
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


@answers(calls.stats)
async def stats(_asked: Nothing, call: Call) -> wire.StatsResponse:
    return await call.deps.store.read(_stats)


def _stats(tx: Tx) -> wire.StatsResponse:
    counts = tx.operations.by_source()
    recent = tx.operations.find(Wanted(), RECENT)
    scenario = tx.operations.find(Wanted(source="scenario"), RECENT)
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
        ok={OperationStatus.OK: True, OperationStatus.ERROR: False}.get(one.status),
        source=one.source,
        endpoint=one.endpoint,
        staffer=_text(said.get("staffer_id")),
        kind=_text(said.get("event_kind")),
        role=_text(said.get("role")),
    )


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


# --- reading -------------------------------------------------------------------------------------------------------


@answers(calls.get_operations)
async def get_operations(asked: wire.GetOperationsRequest, call: Call) -> wire.GetOperationsResponse:
    wanted = Wanted(
        source=asked.source,
        kind=None if asked.kind is None else OperationKind(asked.kind),
        status=None if asked.status is None else OperationStatus(asked.status),
        endpoint=asked.endpoint,
        session_id=asked.session_id,
        user_id=asked.user_id,
        group_ids=None if asked.group_id is None else (asked.group_id,),
    )
    if asked.after is None:
        found = await call.deps.store.read(lambda tx: tx.operations.find(wanted, asked.limit))
        return _listed(found, newest=found[0] if found else None, cursor=None)
    at, op_id = _cursor(asked.after)
    found = await call.deps.store.read(lambda tx: tx.operations.after(at, op_id, wanted, asked.limit))
    return _listed(found, newest=found[-1] if found else None, cursor=asked.after)


@answers(calls.export_outcomes)
async def export_outcomes(asked: wire.ExportOutcomesRequest, call: Call) -> wire.GetOperationsResponse:
    at, op_id = _cursor(asked.after) if asked.after else (Millis(0), "")
    found = await call.deps.store.read(lambda tx: tx.operations.outcomes_after(at, op_id, asked.limit))
    return _listed(found, newest=found[-1] if found else None, cursor=asked.after)


def _listed(found: list[Operation], newest: Operation | None, cursor: str | None) -> wire.GetOperationsResponse:
    told = cursor if newest is None else f"{newest.received_at}.{newest.id}"
    return wire.GetOperationsResponse(operations=[view(one) for one in found], cursor=told)


def _cursor(text: str) -> tuple[Millis, str]:
    at, _, op_id = text.partition(".")
    if not (at.isascii() and at.isdigit() and len(at) < 19):
        raise BadInput("after must be a cursor that an earlier answer gave.")
    return Millis(int(at)), op_id


def view(one: Operation) -> wire.OperationView:
    same = {name: getattr(one, name) for name in _SAME}
    return wire.OperationView(
        op_id=one.id,
        kind=one.kind.value,
        status=one.status.value,
        received_at=one.received_at / 1000,
        started_at=None if one.started_at is None else one.started_at / 1000,
        clock_skew_ms=one.skew_ms,
        group_id=one.group_id,
        **same,
    )


# --- verdicts ------------------------------------------------------------------------------------------------------


@answers(calls.record_verdict)
async def record_verdict(asked: wire.RecordVerdictRequest, call: Call) -> wire.RecordVerdictResponse:
    told = asked.model_dump_json(exclude={"op_id"}, exclude_defaults=True)
    verdict = Operation(
        id=OperationId(asked.op_id),
        source=asked.source,
        kind=OperationKind.VERDICT,
        endpoint=f"{asked.source}:verdict"[:255],
        status=OperationStatus.OK,
        received_at=call.deps.now(),
        body_hash=_hash(told),
        duration_ms=asked.duration_ms,
        session_id=asked.session_id,
        user_id=asked.user_id,
        output_summary=asked.one_liner,
        attributes={**asked.attributes, "subject": asked.subject, "overall": asked.overall},
    )
    findings = [
        Finding(asked.op_id, asked.subject, asked.overall, one.severity, one.signature or "", one.message)
        for one in asked.findings
    ]
    stored, recurrence = await verdicts.record(verdict, findings, call.deps)
    return wire.RecordVerdictResponse(
        op_id=asked.op_id,
        result="stored" if stored is Stored.STORED else "known",
        recurrence=[_recurrence(one) for one in recurrence],
    )


@answers(calls.verdict_history)
async def verdict_history(asked: wire.VerdictHistoryRequest, call: Call) -> wire.VerdictHistoryResponse:
    def read(tx: Tx) -> tuple[list[Finding], list[Recurrence]]:
        if asked.subject is not None:
            found = tx.verdicts.of_subject(asked.subject, asked.limit)
            return found, tx.verdicts.recurrence(sorted({one.signature for one in found}))
        return tx.verdicts.of_signature(asked.signature or "", asked.limit), tx.verdicts.recurrence(
            [asked.signature or ""]
        )

    found, recurrence = await call.deps.store.read(read)
    return wire.VerdictHistoryResponse(
        findings=[_finding(one) for one in found], recurrence=[_recurrence(one) for one in recurrence]
    )


def _finding(one: Finding) -> wire.FindingView:
    names = ("op_id", "subject", "overall", "severity", "signature", "message")
    return wire.FindingView(**{name: getattr(one, name) for name in names}, created_at=seconds(one.created_at))


def _recurrence(one: Recurrence) -> wire.RecurrenceView:
    return wire.RecurrenceView.model_validate(
        {
            "signature": one.signature,
            "count": one.count,
            "distinct_subjects": one.subjects,
            "confidence": round(one.confidence, 4),
            "level": one.level,
        }
    )
