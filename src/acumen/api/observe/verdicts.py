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
async def record_verdict(asked: wire.RecordVerdictRequest, call: Call) -> wire.RecordVerdictResponse:
    told = asked.model_dump_json(exclude={"op_id"}, exclude_defaults=True)
    verdict = Operation(
        id=OperationId(asked.op_id),
        source=asked.source,
        kind=OperationKind.VERDICT,
        endpoint=f"{asked.source}:verdict"[:255],
        status=OperationStatus.OK,
        received_at=call.deps.now(),
        body_hash=body_hash(told),
        duration_ms=asked.duration_ms,
        session_id=asked.session_id,
        user_id=asked.user_id,
        output_summary=asked.one_liner,
        attributes={**asked.attributes, "subject": asked.subject, "overall": asked.overall},
    )
    findings = [
        VerdictFinding(asked.op_id, asked.subject, asked.overall, one.severity, one.signature or "", one.message)
        for one in asked.findings
    ]
    stored, recurrence = await verdicts.record(verdict, findings, call.deps)
    return wire.RecordVerdictResponse(
        op_id=asked.op_id,
        result="stored" if stored is Stored.STORED else "known",
        recurrence=[_recurrence(one) for one in recurrence],
    )


@answers(Calls.verdict_history)
async def verdict_history(asked: wire.VerdictHistoryRequest, call: Call) -> wire.VerdictHistoryResponse:
    def read(tx: Tx) -> tuple[list[VerdictFinding], list[Recurrence]]:
        if asked.subject is not None:
            found = tx.verdicts.of_subject(asked.subject, asked.limit)
            return found, tx.verdicts.recurrence(sorted({one.signature for one in found}))
        return tx.verdicts.of_signature(asked.signature or "", asked.limit), tx.verdicts.recurrence(
            [asked.signature or ""]
        )

    found, recurrence = await call.deps.store.read(read)
    return wire.VerdictHistoryResponse(
        findings=[shaped(wire.FindingView, one) for one in found], recurrence=[_recurrence(one) for one in recurrence]
    )


def _recurrence(one: Recurrence) -> wire.RecurrenceView:
    rounded = round(one.confidence, 4)
    return shaped(wire.RecurrenceView, one, distinct_subjects=one.subjects, confidence=rounded)
