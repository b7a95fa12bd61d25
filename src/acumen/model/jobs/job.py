"""A job: an event on its way to the steps it triggers."""

from enum import StrEnum
from typing import Any

from msgspec import Struct

from acumen.model.ids import Millis, OrgId


class JobState(StrEnum):
    WAITING = "waiting"  # to be run at `run_at` or soon after
    RUNNING = "running"  # a worker holds the lease
    DEAD = "dead"  # tried too often; `last_error` says why


class Job(Struct, frozen=True):
    id: int
    org_id: OrgId
    event: str
    scope: str
    payload: dict[str, Any]
    state: JobState
    attempts: int
    run_at: Millis
    last_error: str | None = None
    turns: int = 0  # published with it
