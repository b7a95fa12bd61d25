"""Verdicts, over REST."""

from acumen.api.call import Call, answers
from acumen.api.observe.operations import body_hash
from acumen.api.views import shaped
from acumen.model.operations.operation import Operation, OperationId, OperationKind, OperationStatus, Stored
from acumen.model.operations.verdict import Recurrence, VerdictFinding
from acumen.observe import verdicts
from acumen.storage.store import Tx
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
    def read(tx: Tx) -> tuple[list[VerdictFinding], list[Recurrence]]:
        if request.subject is not None:
            found = tx.verdicts.find_by_subject(request.subject, request.limit)
            return found, tx.verdicts.count_recurrence(sorted({one.signature for one in found}))
        return tx.verdicts.find_by_signature(request.signature or "", request.limit), tx.verdicts.count_recurrence(
            [request.signature or ""]
        )

    found, recurrence = await call.deps.store.read(read)
    return wire.VerdictHistoryResponse(
        findings=[shaped(wire.FindingView, one) for one in found], recurrence=[_recurrence(one) for one in recurrence]
    )


def _recurrence(recurrence: Recurrence) -> wire.RecurrenceView:
    rounded = round(recurrence.confidence, 4)
    return shaped(wire.RecurrenceView, recurrence, distinct_subjects=recurrence.subjects, confidence=rounded)
