"""Operations: the tool calls of agents and their outcome."""

import re
import time
from datetime import datetime
from random import getrandbits
from typing import Annotated, Any, Literal, Optional, Union

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetPydanticSchema,
    StringConstraints,
    model_validator,
)
from pydantic_core import CoreSchema
from pydantic_core.core_schema import json_or_python_schema
from typing_extensions import Self

from acumen_client.wire.shapes import (
    LATEST_SECOND,
    AnswerModel,
    Done,
    Id,
    JsonObject,
    Label,
    MaybeId,
    RequestModel,
    WireModel,
    plain_json,
    storable,
)

MOST_AT_ONCE = 1_000

OperationKind = Literal["operation", "outcome", "verdict", "evaluation"]
OperationStatus = Literal["ok", "error", "cancelled", "unknown"]


def moment(value: Any) -> Any:
    """Epoch seconds, or ISO 8601 with a zone: a time that could be read in two ways is refused."""
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.timestamp()
    if not isinstance(value, str):
        return value
    try:
        read = datetime.fromisoformat(re.sub("[Zz]$", "+00:00", value))  # Python 3.9 does not know Z
    except ValueError:
        raise ValueError("must be epoch seconds or ISO 8601 with a zone") from None
    if read.tzinfo is None:
        raise ValueError("must name its zone, as in 2026-01-31T12:00:00Z")
    return read.timestamp()


def fresh_operation_id() -> str:
    """Sorts by the time it was made, as the server's own ids do."""
    return f"op_{time.time_ns() // 1000:014x}{getrandbits(48):012x}"


Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=255), BeforeValidator(storable)]
Short = Annotated[str, Field(max_length=255), BeforeValidator(storable)]
Summary = Annotated[str, Field(max_length=10_000), BeforeValidator(storable)]
ErrorText = Annotated[str, Field(max_length=200_000), BeforeValidator(storable)]
Moment = Annotated[float, Field(ge=0, le=LATEST_SECOND), BeforeValidator(moment)]
Millis = Annotated[float, Field(ge=0, le=1e12)]
Count = Annotated[int, Field(ge=0, le=2**53)]


def small(value: dict[str, Any]) -> dict[str, Any]:
    """Free attributes may say a lot, but not everything."""
    if len(value) > 200:
        raise ValueError("must not have more than 200 names")
    return plain_json(value)


SmallObject = Annotated[dict[str, Any], AfterValidator(small)]


class NewOperation(WireModel):
    """One tool or gateway call. Types are strict: `true` is not "true", and a missing value is unknown."""

    model_config = ConfigDict(extra="forbid", strict=True)

    op_id: Id = Field(default_factory=fresh_operation_id)
    source: Name
    endpoint: Name  # or the name of a tool
    kind: OperationKind = "operation"
    status: OperationStatus
    agent: Optional[Short] = None
    agent_version: Optional[Short] = None
    session_id: MaybeId = None
    user_id: MaybeId = None
    request_id: MaybeId = None
    trace_id: MaybeId = None
    span_id: MaybeId = None
    parent_span_id: MaybeId = None
    started_at: Optional[Moment] = None
    duration_ms: Optional[Millis] = None
    error_type: Optional[Short] = None
    error_message: Optional[ErrorText] = None
    fingerprint: Annotated[list[Name], Field(max_length=20)] = Field(default_factory=list)
    input_summary: Optional[Summary] = None
    output_summary: Optional[Summary] = None
    arguments: Optional[SmallObject] = None
    tool_schema: Optional[JsonObject] = None
    tokens_in: Optional[Count] = None
    tokens_out: Optional[Count] = None
    tokens_cached: Optional[Count] = None
    tokens_reasoning: Optional[Count] = None
    cost_usd: Optional[Annotated[float, Field(ge=0, le=1e9)]] = None
    model: Optional[Short] = None
    rescue_attempted: Optional[bool] = None
    rescue_succeeded: Optional[bool] = None
    attributes: SmallObject = Field(default_factory=dict)


def _in_one_go(shape: Any, build: GetCoreSchemaHandler) -> CoreSchema:
    """The same shape without our own functions: a value that one of them would change or refuse is not taken.

    Ten thousand operations a second leave no time to come back to Python for each of their texts.
    """
    whole = build(shape)
    return json_or_python_schema(whole, _without_functions(build.resolve_ref_schema(whole)))


def _without_functions(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_without_functions(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    if schema.get("type") == "function-before":
        inner = _without_functions(schema["schema"])
        return {**inner, "pattern": NO_NUL} if inner.get("type") == "str" else inner
    return {name: _without_functions(part) for name, part in schema.items() if name != "ref"}


NO_NUL = r"^[^\x00]*$"
Plain = Annotated[NewOperation, GetPydanticSchema(_in_one_go)]


class RecordOperationsRequest(RequestModel):
    """Up to 1,000 operations. An invalid one is refused; the others are stored."""

    operations: Annotated[
        list[Annotated[Union[Plain, NewOperation, Any], Field(union_mode="left_to_right")]],
        Field(min_length=1, max_length=MOST_AT_ONCE),
    ]


class OperationResult(AnswerModel):
    """`known`: the operation was stored before; `conflict`: the id belongs to another operation."""

    index: int
    op_id: Optional[str] = None
    result: Literal["stored", "known", "conflict", "refused"]
    group_id: Optional[str] = None
    clock_skew_ms: Optional[int] = None
    reason: Optional[str] = None


class RecordOperationsResponse(Done):
    """Results in the order of the operations. `stored` and `known` ones are on disk."""

    accepted: int
    rejected: int
    results: list[OperationResult]


# --- reading -------------------------------------------------------------------------------------------------------


class OperationView(AnswerModel):
    """Times are epoch seconds with a fraction. Fields that were not reported are left out."""

    op_id: str
    source: str
    endpoint: str
    kind: OperationKind
    status: OperationStatus
    received_at: float
    started_at: Optional[float] = None
    duration_ms: Optional[float] = None
    clock_skew_ms: Optional[int] = None
    agent: Optional[str] = None
    agent_version: Optional[str] = None
    session_id: Optional[str] = None
    user_id: Optional[str] = None
    request_id: Optional[str] = None
    trace_id: Optional[str] = None
    span_id: Optional[str] = None
    parent_span_id: Optional[str] = None
    error_type: Optional[str] = None
    error_message: Optional[str] = None
    input_summary: Optional[str] = None
    output_summary: Optional[str] = None
    arguments: Optional[dict[str, Any]] = None
    tokens_in: Optional[int] = None
    tokens_out: Optional[int] = None
    tokens_cached: Optional[int] = None
    tokens_reasoning: Optional[int] = None
    cost_usd: Optional[float] = None
    model: Optional[str] = None
    rescue_attempted: Optional[bool] = None
    rescue_succeeded: Optional[bool] = None
    group_id: Optional[str] = None
    attributes: dict[str, Any] = Field(default_factory=dict)


class GetOperationsRequest(RequestModel):
    """Latest first. With `after`, operations stored after that cursor, oldest first: repeat it to follow them live."""

    source: Optional[Name] = None
    endpoint: Optional[Name] = None
    kind: Optional[OperationKind] = None
    status: Optional[OperationStatus] = None
    session_id: MaybeId = None
    user_id: MaybeId = None
    group_id: MaybeId = None
    after: Optional[Label] = None
    limit: Annotated[int, Field(gt=0, le=MOST_AT_ONCE)] = 100


class GetOperationsResponse(Done):
    """`cursor` names the newest operation, for the next `after`."""

    operations: list[OperationView] = Field(default_factory=list)
    cursor: Optional[str] = None


class ExportOutcomesRequest(RequestModel):
    """Oldest first. Pass the `cursor` of a page as `after` to get the next one.

    These are recorded operations. Outcomes reported of sessions are listed by `get_session_outcomes`, graded sessions
    by `get_agent_success_evaluation_results`.
    """

    after: Optional[Label] = None
    limit: Annotated[int, Field(gt=0, le=MOST_AT_ONCE)] = MOST_AT_ONCE


# --- purge ---------------------------------------------------------------------------------------------------------


class PurgeOperationsRequest(RequestModel):
    """Give exactly one of `op_id`, `session_id` and `source`. `dry_run` counts the operations and deletes nothing."""

    op_id: MaybeId = None
    session_id: MaybeId = None
    source: Optional[Name] = None
    dry_run: bool = False

    @model_validator(mode="after")
    def _names_one(self) -> Self:
        if sum(one is not None for one in (self.op_id, self.session_id, self.source)) != 1:
            raise ValueError("Give exactly one of op_id, session_id and source")
        return self


class PurgeOperationsResponse(Done):
    """Numbers of deleted operations, failure groups and proposals. `proposals_kept` have enough other evidence.

    A dry run counts operations only.
    """

    operations: int
    groups: int
    proposals: int
    proposals_kept: int = 0
