"""Endpoints of operations."""

import hashlib
import json
from operator import itemgetter
from typing import Any

from pydantic import ValidationError

from acumen.api.call import Call, answers
from acumen.api.views import shaped
from acumen.errors import BadInput
from acumen.model.ids import Millis
from acumen.model.operations.operation import (
    Operation,
    OperationFilter,
    OperationKind,
    OperationStatus,
    Receipt,
    Stored,
    skew,
)
from acumen.observe import operations
from acumen.observe.operations import SentOperation
from acumen_client.calls import Calls
from acumen_client.errors import in_words
from acumen_client.wire import operations as wire

_KINDS = {str(kind): kind for kind in OperationKind}
_STATUSES = {str(status): status for status in OperationStatus}


# --- recording -----------------------------------------------------------------------------------------------------


@answers(Calls.record_operations)
async def record(request: wire.RecordOperationsRequest, call: Call) -> wire.RecordOperationsResponse:
    at = call.deps.now()
    sent = {
        index: new_operation(operation, at)
        for index, operation in enumerate(request.operations)
        if isinstance(operation, wire.NewOperation)
    }
    receipts = await operations.record(list(sent.values()), call.deps) if sent else []
    results_by_index = {
        index: _receipt(index, new, receipt) for (index, new), receipt in zip(sent.items(), receipts, strict=True)
    }
    results = [
        results_by_index.get(index) or _refusal(index, operation) for index, operation in enumerate(request.operations)
    ]
    accepted = sum(receipt["result"] in ("stored", "known") for receipt in results)
    # Shaped all at once: one by one they would take longer than to be stored.
    return wire.RecordOperationsResponse.model_validate(
        {"accepted": accepted, "rejected": len(results) - accepted, "results": results}
    )


def _refusal(index: int, operation: object) -> dict[str, Any]:
    """Validated once more, only to tell what is wrong with it."""
    named = operation.get("op_id") if isinstance(operation, dict) else None
    try:
        wire.NewOperation.model_validate(operation)
    except ValidationError as wrong:
        reason = in_words(wrong)
    else:  # pragma: no cover - the same shape refused it a moment ago
        reason = "it cannot be read"
    op_id = _printable(named[:255]) if isinstance(named, str) else None
    return {"index": index, "op_id": op_id, "result": "refused", "reason": _printable(reason)}


def _printable(text: str) -> str:
    """Even where it repeats a lone surrogate from the request."""
    return text.encode(errors="backslashreplace").decode()


def _receipt(index: int, new: SentOperation, receipt: Receipt) -> dict[str, Any]:
    receipt_fields = {"index": index, "op_id": receipt.id, "result": receipt.stored.value}
    if receipt.stored is Stored.CONFLICT:
        receipt_fields["reason"] = "op_id is used by another operation; send a new op_id"
    return {**receipt_fields, "group_id": receipt.group_id, "clock_skew_ms": new.operation.skew_ms}


def new_operation(operation: wire.NewOperation, at: Millis) -> SentOperation:
    fields = operation.__dict__
    started = None if operation.started_at is None else Millis(int(operation.started_at * 1000))
    schema = body_hash(json.dumps(operation.tool_schema, sort_keys=True))[:16] if operation.tool_schema else None
    values = {
        **fields,
        "id": operation.op_id,
        "kind": _KINDS[operation.kind],
        "status": _STATUSES[operation.status],
        "received_at": at,
        "body_hash": body_hash(repr(_SAID(fields))),
        "started_at": started,
        "skew_ms": skew(started, at),
        "schema_hash": schema,
        "group_id": None,
        "way_key": None,
    }
    return SentOperation(Operation._make(_IN_ORDER(values)), tuple(operation.fingerprint))


_IN_ORDER = itemgetter(*Operation._fields)
# All that can be said, whether a default was spelled out or not.
_SAID = itemgetter(*(name for name in wire.NewOperation.model_fields if name != "op_id"))


def body_hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


# --- reading -------------------------------------------------------------------------------------------------------


@answers(Calls.operations)
async def get_operations(request: wire.GetOperationsRequest, call: Call) -> wire.GetOperationsResponse:
    query = OperationFilter(
        source=request.source,
        kind=None if request.kind is None else OperationKind(request.kind),
        status=None if request.status is None else OperationStatus(request.status),
        endpoint=request.endpoint,
        session_id=request.session_id,
        user_id=request.user_id,
        group_ids=None if request.group_id is None else (request.group_id,),
    )
    if request.after is None:
        newest_first = await operations.find(query, request.limit, call.deps)
        return _listed(newest_first, newest=newest_first[0] if newest_first else None, cursor=None)
    at, op_id = _cursor(request.after)
    page = await operations.find_after(at, op_id, query, request.limit, call.deps)
    return _listed(page, newest=page[-1] if page else None, cursor=request.after)


@answers(Calls.export_outcomes)
async def export_outcomes(request: wire.ExportOutcomesRequest, call: Call) -> wire.GetOperationsResponse:
    at, op_id = _cursor(request.after) if request.after else (Millis(0), "")
    page = await operations.find_after(at, op_id, OperationFilter(outcomes=True), request.limit, call.deps)
    return _listed(page, newest=page[-1] if page else None, cursor=request.after)


def _listed(operations: list[Operation], newest: Operation | None, cursor: str | None) -> wire.GetOperationsResponse:
    next_cursor = cursor if newest is None else f"{newest.received_at}.{newest.id}"
    return wire.GetOperationsResponse(operations=[view(operation) for operation in operations], cursor=next_cursor)


def _cursor(text: str) -> tuple[Millis, str]:
    at, _, op_id = text.partition(".")
    if not (at.isascii() and at.isdigit() and len(at) < 19):
        raise BadInput("after must be a cursor from an earlier response.")
    return Millis(int(at)), op_id


def view(operation: Operation) -> wire.OperationView:
    return shaped(
        wire.OperationView,
        operation,
        op_id=operation.id,
        kind=operation.kind.value,
        status=operation.status.value,
        received_at=operation.received_at / 1000,
        started_at=None if operation.started_at is None else operation.started_at / 1000,
        clock_skew_ms=operation.skew_ms,
    )
