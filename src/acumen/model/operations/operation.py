"""A recorded tool or gateway call and its result."""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Any, NamedTuple, NewType

from msgspec import Struct

from acumen.model.ids import Millis
from acumen.model.times import DAY_MS, MINUTE_MS

OperationId = NewType("OperationId", str)

# How far ahead of ours a clock may run before we say so; and how old news may be.
AHEAD_MS = MINUTE_MS
BEHIND_MS = 30 * DAY_MS


class OperationKind(StrEnum):
    OPERATION = "operation"  # a call of a tool, a model or a service
    OUTCOME = "outcome"  # how a piece of work ended, as seen by who asked for it
    VERDICT = "verdict"  # an auditor's word on a subject
    EVALUATION = "evaluation"  # a score


class OperationStatus(StrEnum):
    OK = "ok"
    ERROR = "error"
    CANCELLED = "cancelled"
    UNKNOWN = "unknown"


class Operation(NamedTuple):
    """As stored: secrets are removed, and a failure has its group. None means not reported.

    A tuple, since ten thousand come in a second and a frozen dataclass takes ten times as long to make.
    """

    id: OperationId
    source: str
    kind: OperationKind
    endpoint: str
    status: OperationStatus
    received_at: Millis
    body_hash: str
    agent: str | None = None
    agent_version: str | None = None
    user_id: str | None = None
    session_id: str | None = None
    request_id: str | None = None
    trace_id: str | None = None
    span_id: str | None = None
    parent_span_id: str | None = None
    started_at: Millis | None = None
    duration_ms: float | None = None
    skew_ms: int | None = None  # by how much its clock differs from ours, where that is too much to believe
    error_type: str | None = None
    error_message: str | None = None
    input_summary: str | None = None
    output_summary: str | None = None
    arguments: dict[str, Any] | None = None
    schema_hash: str | None = None  # of the tool as the agent knew it
    tokens_in: int | None = None
    tokens_out: int | None = None
    tokens_cached: int | None = None
    tokens_reasoning: int | None = None
    cost_usd: float | None = None
    model: str | None = None
    rescue_attempted: bool | None = None
    rescue_succeeded: bool | None = None
    attributes: Mapping[str, Any] = MappingProxyType({})
    group_id: str | None = None
    way_key: str | None = None  # one way of calling: source, endpoint and shape of the arguments

    @property
    def failed(self) -> bool:
        """A verdict that says no, and a cancelled call, are no failures of the system."""
        return self.kind is OperationKind.OPERATION and self.status is OperationStatus.ERROR

    @property
    def succeeded(self) -> bool:
        return self.kind is OperationKind.OPERATION and self.status is OperationStatus.OK


def skew(started_at: Millis | None, received_at: Millis) -> int | None:
    """None when the two clocks agree well enough, or nothing is known."""
    if started_at is None:
        return None
    ahead = started_at - received_at
    return ahead if ahead > AHEAD_MS or ahead < -BEHIND_MS else None


class Stored(StrEnum):
    """What happened to an operation that was sent."""

    STORED = "stored"
    KNOWN = "known"  # the very same was stored before
    CONFLICT = "conflict"  # its id belongs to another operation


class Receipt(NamedTuple):
    id: OperationId
    stored: Stored
    group_id: str | None = None


class SourceCounts(Struct, frozen=True):
    """Operations of one source, over all that is kept."""

    source: str
    total: int = 0
    successes: int = 0
    failures: int = 0
    last_hour: Millis | None = None  # the beginning of the last hour in which one came


class OperationFilter(Struct, frozen=True):
    """Which operations; None means any. `since` and `until` are the times of receipt, both included."""

    source: str | None = None
    kind: OperationKind | None = None
    outcomes: bool = False  # only what tells how something ended: outcomes, verdicts and evaluations
    status: OperationStatus | None = None
    endpoint: str | None = None
    agent: str | None = None
    session_id: str | None = None
    user_id: str | None = None
    group_ids: tuple[str, ...] | None = None
    way_key: str | None = None
    ids: tuple[str, ...] | None = None
    since: Millis | None = None
    until: Millis | None = None
