"""Operations, over REST."""

import hashlib
import json
from operator import itemgetter
from typing import Any

from pydantic import ValidationError

from acumen.api.call import Call, answers
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
from acumen.observe.operations import New
from acumen_client.calls import Calls
from acumen_client.errors import in_words
from acumen_client.wire import operations as wire

# Fields that mean the same on the wire and inside.
_OTHERWISE = ("kind", "status", "started_at")
_SAME = tuple(name for name in Operation._fields if name in wire.NewOperation.model_fields and name not in _OTHERWISE)
_KINDS = {str(kind): kind for kind in OperationKind}
_STATUSES = {str(status): status for status in OperationStatus}


# --- recording -----------------------------------------------------------------------------------------------------


@answers(Calls.record_operations)
async def record(asked: wire.RecordOperationsRequest, call: Call) -> wire.RecordOperationsResponse:
    at = call.deps.now()
    sent = {
        index: new_operation(given, at)
        for index, given in enumerate(asked.operations)
        if isinstance(given, wire.NewOperation)
    }
    receipts = await operations.record(list(sent.values()), call.deps) if sent else []
    told = {index: _told(index, new, one) for (index, new), one in zip(sent.items(), receipts, strict=True)}
    results = [told.get(index) or _refusal(index, given) for index, given in enumerate(asked.operations)]
    accepted = sum(one["result"] in ("stored", "known") for one in results)
    # Shaped all at once: one by one they would take longer than to be stored.
    return wire.RecordOperationsResponse.model_validate(
        {"accepted": accepted, "rejected": len(results) - accepted, "results": results}
    )


def _refusal(index: int, given: object) -> dict[str, Any]:
    """Validated once more, only to tell what is wrong with it."""
    named = given.get("op_id") if isinstance(given, dict) else None
    try:
        wire.NewOperation.model_validate(given)
    except ValidationError as wrong:
        reason = in_words(wrong)
    else:  # pragma: no cover - the same shape refused it a moment ago
        reason = "it cannot be read"
    op_id = _printable(named[:255]) if isinstance(named, str) else None
    return {"index": index, "op_id": op_id, "result": "refused", "reason": _printable(reason)}


def _printable(text: str) -> str:
    """Even where it repeats half a surrogate pair that somebody sent."""
    return text.encode(errors="backslashreplace").decode()


def _told(index: int, new: New, receipt: Receipt) -> dict[str, Any]:
    told = {"index": index, "op_id": receipt.id, "result": receipt.stored.value}
    if receipt.stored is Stored.CONFLICT:
        told["reason"] = "its op_id belongs to another operation; send this one under a new id"
    return {**told, "group_id": receipt.group_id, "clock_skew_ms": new.operation.skew_ms}


def new_operation(given: wire.NewOperation, at: Millis) -> New:
    said = given.__dict__
    started = None if given.started_at is None else Millis(int(given.started_at * 1000))
    schema = body_hash(json.dumps(given.tool_schema, sort_keys=True))[:16] if given.tool_schema else None
    values = {
        **said,
        "id": given.op_id,
        "kind": _KINDS[given.kind],
        "status": _STATUSES[given.status],
        "received_at": at,
        "body_hash": body_hash(repr(_SAID(said))),
        "started_at": started,
        "skew_ms": skew(started, at),
        "schema_hash": schema,
        "group_id": None,
        "way_key": None,
    }
    return New(Operation._make(_IN_ORDER(values)), tuple(given.fingerprint))


_IN_ORDER = itemgetter(*Operation._fields)
# All that can be said, whether a default was spelled out or not.
_SAID = itemgetter(*(name for name in wire.NewOperation.model_fields if name != "op_id"))


def body_hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


# --- reading -------------------------------------------------------------------------------------------------------


@answers(Calls.operations)
async def get_operations(asked: wire.GetOperationsRequest, call: Call) -> wire.GetOperationsResponse:
    wanted = OperationFilter(
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


@answers(Calls.export_outcomes)
async def export_outcomes(asked: wire.ExportOutcomesRequest, call: Call) -> wire.GetOperationsResponse:
    at, op_id = _cursor(asked.after) if asked.after else (Millis(0), "")
    found = await call.deps.store.read(
        lambda tx: tx.operations.after(at, op_id, OperationFilter(outcomes=True), asked.limit)
    )
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
