"""A run: long work on request, done item by item so that it can be watched, cancelled and resumed."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, NewType

from msgspec import Struct, field

from acumen.model.ids import Millis

RunId = NewType("RunId", str)


class RunState(StrEnum):
    QUEUED = "queued"
    RUNNING = "running"
    COMPLETED = "completed"
    PARTIAL = "partial"  # over, but some items failed
    FAILED = "failed"  # over, without a result
    CANCELLED = "cancelled"

    @property
    def over(self) -> bool:
        return self not in {RunState.QUEUED, RunState.RUNNING}


class ItemState(StrEnum):
    WAITING = "waiting"
    DONE = "done"
    FAILED = "failed"


class RunItem(Struct, frozen=True):
    """`detail` is the result, in counts that can be summed."""

    place: int
    item: str
    state: ItemState = ItemState.WAITING
    detail: Mapping[str, Any] = field(default_factory=dict)
    error: str | None = None


class Run(Struct, frozen=True):
    id: RunId
    service: str
    state: RunState
    request: Mapping[str, Any]
    created_at: Millis
    updated_at: Millis
    result: Mapping[str, Any] = field(default_factory=dict)
    cause: str | None = None
    cancel_asked: bool = False
    started_at: Millis | None = None
    finished_at: Millis | None = None


class RunProgress(Struct, frozen=True):
    """How far a run is, in items."""

    total: int = 0
    done: int = 0
    failed: int = 0

    @property
    def waiting(self) -> int:
        return self.total - self.done - self.failed
