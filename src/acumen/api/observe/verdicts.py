"""Endpoints of verdicts."""

from acumen.api.call import Call, answers
from acumen.api.observe.operations import body_hash
from acumen.api.views import shaped
from acumen.model.operations.operation import Operation, OperationId, OperationKind, OperationStatus, Stored
from acumen.model.operations.verdict import Recurrence, VerdictFinding
from acumen.observe import verdicts
from acumen_client.calls import Calls
from acumen_client.wire import verdicts as wire


@answers(Calls.record_verdict)
async def record_verdict(request: wire.RecordVerdictRequest, call: Call) -> wire.RecordVerdictResponse:
    body = request.model_dump_json(exclude={"op_id"}, exclude_defaults=True)
    verdict = Operation(
        id=OperationId(request.op_id),
        source=request.source,
        kind=OperationKind.VERDICT,
        endpoint=f"{request.source}:verdict"[:255],
        status=OperationStatus.OK,
        received_at=call.deps.now(),
        body_hash=body_hash(body),
        duration_ms=request.duration_ms,
        session_id=request.session_id,
        user_id=request.user_id,
        output_summary=request.one_liner,
        attributes={**request.attributes, "subject": request.subject, "overall": request.overall},
    )
    findings = [
        VerdictFinding(
            request.op_id, request.subject, request.overall, finding.severity, finding.signature or "", finding.message
        )
        for finding in request.findings
    ]
    stored, recurrence = await verdicts.record(verdict, findings, call.deps)
    return wire.RecordVerdictResponse(
        op_id=request.op_id,
        result="stored" if stored is Stored.STORED else "known",
        recurrence=[_recurrence(finding) for finding in recurrence],
    )


@answers(Calls.verdict_history)
async def verdict_history(request: wire.VerdictHistoryRequest, call: Call) -> wire.VerdictHistoryResponse:
    findings, recurrence = await verdicts.history(request.subject, request.signature, request.limit, call.deps)
    return wire.VerdictHistoryResponse(
        findings=[shaped(wire.FindingView, finding) for finding in findings],
        recurrence=[_recurrence(recurring) for recurring in recurrence],
    )


def _recurrence(recurrence: Recurrence) -> wire.RecurrenceView:
    rounded = round(recurrence.confidence, 4)
    return shaped(wire.RecurrenceView, recurrence, distinct_subjects=recurrence.subjects, confidence=rounded)
