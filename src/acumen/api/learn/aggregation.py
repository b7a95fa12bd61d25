"""Endpoints that aggregate lessons of users into shared ones."""

import asyncio
import time

from acumen.api.call import Call, answers
from acumen.api.views import maybe_seconds, shaped
from acumen.errors import Conflict, Unavailable
from acumen.learn.runs import runs
from acumen.learn.runs.runs import RunStatus
from acumen.learn.share import aggregate
from acumen.model.jobs.events import AggregationAsked
from acumen.model.jobs.job import JobState
from acumen.model.jobs.run import Run, RunId, RunState
from acumen.model.memories.cluster import AggregationChange
from acumen_client.calls import Calls
from acumen_client.wire import aggregation as wire

# Long enough for thousands of lessons; the aggregation goes on without the caller.
LONGEST_WAIT_SECONDS = 600.0


@answers(Calls.run_playbook_aggregation)
async def run_aggregation(
    request: wire.RunPlaybookAggregationRequest, call: Call
) -> wire.RunPlaybookAggregationResponse:
    give_up_at = time.monotonic() + LONGEST_WAIT_SECONDS
    with call.app.traffic.aside():
        run = await _begun(request, give_up_at, call)
        await _help(run, call)
        operation = await _ended(run, give_up_at, call)
    if operation.run.state is not RunState.COMPLETED:
        raise Unavailable(f"The aggregation did not succeed: {operation.error}")
    return wire.RunPlaybookAggregationResponse(
        message=_message(operation), operation_id=run.id, result=_result(operation)
    )


async def _begun(request: wire.RunPlaybookAggregationRequest, give_up_at: float, call: Call) -> Run:
    """Waits for a running aggregation of the same version to end first."""
    while True:
        try:
            run = await aggregate.ask(request.agent_version, request.playbook_name, call.deps, full=request.full)
        except Conflict:
            if time.monotonic() > give_up_at:
                raise
            await asyncio.sleep(runs.POLL_SECONDS)
        else:
            call.app.wake_worker()
            return run


async def _help(run: Run, call: Call) -> None:
    """Runs the job in this process, unless its jobs run in another one."""
    if call.app.settings.jobs.workers and not call.app.children:
        await call.app.worker.run_this(call.deps.org, AggregationAsked(run.id))


async def _ended(run: Run, give_up_at: float, call: Call) -> RunStatus:
    operation = await runs.wait(run.id, run.service, give_up_at - time.monotonic(), call.deps)
    if not operation.over:
        raise Unavailable(f"The aggregation is still running as operation {run.id}.")
    return operation


@answers(Calls.submit_playbook_aggregation)
async def submit(request: wire.SubmitPlaybookAggregationRequest, call: Call) -> wire.PlaybookAggregationOperation:
    run = await aggregate.ask(request.agent_version, None, call.deps, request_id=request.request_id, full=request.full)
    call.app.wake_worker()
    return _operation(await runs.get(run.id, aggregate.SERVICE, call.deps))


@answers(Calls.playbook_aggregation_operation)
async def poll(request: wire.GetPlaybookAggregationOperationRequest, call: Call) -> wire.PlaybookAggregationOperation:
    return _operation(await runs.get(RunId(request.operation_id), aggregate.SERVICE, call.deps))


@answers(Calls.playbook_aggregation_changes)
async def change_logs(
    request: wire.PlaybookAggregationChangeLogRequest, call: Call
) -> wire.PlaybookAggregationChangeLogResponse:
    changes = await aggregate.changes(request.agent_version, request.playbook_name, request.limit, call.deps)
    return wire.PlaybookAggregationChangeLogResponse(change_logs=[_change(change) for change in changes])


def _change(change: AggregationChange) -> wire.PlaybookAggregationChangeLog:
    snapshots = {f"{what}_agent_playbooks": getattr(change, what) for what in ("added", "removed", "updated")}
    named = {"playbook_name": change.name, "operation_id": change.run_id}
    return shaped(wire.PlaybookAggregationChangeLog, change, **named, **snapshots)


def _operation(operation: RunStatus) -> wire.PlaybookAggregationOperation:
    run = operation.run
    return shaped(
        wire.PlaybookAggregationOperation,
        run,
        operation.progress,
        operation,
        operation_id=run.id,
        request_id=run.request.get("request_id", ""),
        agent_version=run.request.get("agent_version", ""),
        status=_status(operation),
        completed_at=maybe_seconds(run.finished_at),
        next_attempt_at=maybe_seconds(operation.job.run_at) if _status(operation) == "retrying" else None,  # type: ignore[union-attr]
        result=_result(operation) if operation.over else None,
    )


def _status(operation: RunStatus) -> str:
    """Partly done is not done: the causes are in `error`, the counts are in `result`."""
    if operation.over:
        return "succeeded" if operation.run.state is RunState.COMPLETED else "failed"
    if operation.job is not None and operation.job.state is JobState.WAITING and operation.job.attempts:
        return "retrying"
    return "running" if operation.run.state is RunState.RUNNING else "queued"


def _result(operation: RunStatus) -> wire.PlaybookAggregationResult:
    counted = wire.PlaybookAggregationResult.model_validate(dict(operation.run.result))
    if counted.user_playbooks_processed == 0:
        return counted.model_copy(update={"skipped": "no current user playbooks of this version and name"})
    if counted.clusters_found == 0:
        return counted.model_copy(update={"skipped": "no lesson is shared by enough users"})
    return counted


def _message(operation: RunStatus) -> str:
    counted = _result(operation)
    if counted.skipped:
        return f"Nothing to aggregate: {counted.skipped}"
    return (
        f"{counted.user_playbooks_processed} user playbooks, {counted.clusters_found} clusters: "
        f"{counted.playbooks_generated} shared playbooks added, {counted.playbooks_updated} updated, "
        f"{counted.playbooks_removed} removed"
    )
