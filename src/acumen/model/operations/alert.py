"""Something is wrong with what we observe, and a person should hear of it. Pure."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from itertools import pairwise
from typing import Any

from msgspec import Struct, field

from acumen.model.ids import Millis
from acumen.model.jobs.job import Job, JobState
from acumen.model.jobs.lag import LearningLag
from acumen.model.metering.llm_call import CallOutcome, LlmCall, ModelRole
from acumen.model.operations.failure import FailureGroup, GroupState
from acumen.model.plural import counted
from acumen.model.times import HOUR_MS, MINUTE_MS

# A source that reported in fewer hours of a week has no rhythm that it could break.
HABIT_HOURS = 6
# Silent for this many times its longest pause of the week, it has broken its habit.
SILENT_BY = 1.5
# A step that failed so often has not just had bad luck.
FAILING_FROM = 2
# A model counts as failing after this many unanswered questions in a row.
UNANSWERED_FROM = 3
# Work that is due for this long has no worker.
LATE_MS = HOUR_MS
QUOTED = 200


class AlertKind(StrEnum):
    SILENT = "source_silent"
    ESCALATING = "group_escalating"
    ANALYSIS = "analysis_failing"
    LEARNING = "learning_late"
    BACKUP = "backup_failing"


class Problem(Struct, frozen=True):
    """What is wrong now. Kind and subject say whether it is the same as before."""

    kind: AlertKind
    subject: str
    said: str
    detail: Mapping[str, Any] = field(default_factory=dict)


class Alert(Struct, frozen=True):
    """A problem from the look that found it to the look that no longer did."""

    id: str
    problem: Problem
    opened_at: Millis
    closed_at: Millis | None = None


class DeliveryState(StrEnum):
    WAITING = "waiting"
    SENT = "sent"
    FAILED = "failed"  # tried too often


class Delivery(Struct, frozen=True):
    """One message to the webhook: its text, and its delivery status."""

    id: str
    alert_id: str
    event: str  # alert.opened or alert.closed
    body: str
    state: DeliveryState = DeliveryState.WAITING
    attempts: int = 0
    status_code: int | None = None
    last_error: str | None = None
    created_at: Millis = Millis(0)
    updated_at: Millis = Millis(0)


def silent(source: str, hours: Sequence[int], last: Millis, at: Millis, least_ms: int) -> Problem | None:
    """`hours` are those of the last week in which the source reported, `last` is when it reported last."""
    if len(hours) < HABIT_HOURS:
        return None
    pause = max((later - earlier for earlier, later in pairwise(hours)), default=HOUR_MS)
    quiet = at - last
    if quiet <= max(least_ms, SILENT_BY * pause):
        return None
    message = f"{source[:QUOTED]} has been silent for {_span(quiet)}; its longest pause of the week was {_span(pause)}"
    return Problem(AlertKind.SILENT, source, message, {"last_seen": last, "longest_pause_ms": pause})


def escalating(group: FailureGroup) -> Problem | None:
    if group.state is not GroupState.ESCALATING:
        return None
    message = f"{group.endpoint[:QUOTED]} fails more and more: {group.template[:QUOTED]}"
    return Problem(AlertKind.ESCALATING, group.id, message, {"source": group.source, "count": group.count})


def analysis_failing(event: str, jobs: Sequence[Job], at: Millis) -> Problem | None:
    """Of the jobs of one type: those that were given up, fail repeatedly, or wait without a worker."""
    stuck = [job for job in jobs if _is_stuck(job, at)]
    if not stuck:
        return None
    cause = next((job.last_error for job in stuck if job.last_error), "no worker runs it")
    message = f"{len(stuck)} analysis job(s) of kind {event} fail: {cause[:QUOTED]}"
    return Problem(AlertKind.ANALYSIS, event, message, {"jobs": len(stuck)})


def backup_failing(jobs: Sequence[Job], at: Millis) -> Problem | None:
    """Of the jobs that make backups."""
    stuck = [job for job in jobs if _is_stuck(job, at)]
    if not stuck:
        return None
    cause = next((job.last_error for job in stuck if job.last_error), "no worker makes them")
    return Problem(AlertKind.BACKUP, "backup", f"scheduled backups fail: {cause[:QUOTED]}")


def model_failing(role: ModelRole, calls: Sequence[LlmCall]) -> Problem | None:
    """Of the latest calls for one role, the latest first: a model that never answers goes unseen, for rules step in."""
    ended = [call for call in calls if call.role is role and call.outcome is not CallOutcome.STOPPED][:UNANSWERED_FROM]
    if len(ended) < UNANSWERED_FROM or any(call.outcome is CallOutcome.ANSWERED for call in ended):
        return None
    last = ended[0]
    cause = (last.error or str(last.outcome))[:QUOTED]
    message = f"{last.model or 'the model'} did not answer the last questions ({role}), so rules stepped in: {cause}"
    return Problem(AlertKind.ANALYSIS, f"model:{role}", message, {"outcomes": [str(call.outcome) for call in ended]})


def learning_late(lag: LearningLag, at: Millis, most_ms: int) -> Problem | None:
    age = lag.age_ms(at)
    if age <= most_ms:
        return None
    seconds = lag.seconds_left
    left = "no turn was learned lately" if seconds is None else f"about {_span(1000 * seconds)} are left"
    message = f"Learning is late: {counted(lag.turns_waiting, 'turn')} wait, the oldest for {_span(age)}; {left}"
    return Problem(AlertKind.LEARNING, "", message, {"turns_waiting": lag.turns_waiting, "oldest_at": lag.oldest_at})


def _is_stuck(job: Job, at: Millis) -> bool:
    failing = job.attempts >= FAILING_FROM and job.last_error is not None
    late = job.state is JobState.WAITING and at - job.run_at > LATE_MS
    return job.state is JobState.DEAD or failing or late


def _span(ms: float) -> str:
    minutes = ms / MINUTE_MS
    return f"{minutes:.0f} min" if minutes < 120 else f"{minutes / 60:.0f} h"
