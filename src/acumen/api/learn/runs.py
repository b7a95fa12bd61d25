"""Endpoints of generation runs, versions and provenance."""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import asdict

from acumen.api.call import Call, answers
from acumen.api.views import before, maybe_seconds, millis, profile, seconds, shaped, turn, user, user_playbook
from acumen.learn.evaluate import regenerate
from acumen.learn.runs import generation, runs, versions
from acumen.learn.runs.generation import PLAYBOOKS, PROFILES, GenerationRequest, Mode, Service
from acumen.learn.runs.runs import RunStatus
from acumen.learn.runs.versions import Downgraded, Upgraded, VersionFilter
from acumen.learn.share import aggregate
from acumen.model.ids import Kind, MemoryRef
from acumen.model.jobs.run import Run, RunState
from acumen.model.memories.playbook import UserPlaybook
from acumen.model.plural import counted
from acumen.review import history
from acumen.review.history import ProfileChange, Provenance
from acumen_client.calls import Calls
from acumen_client.wire import learn as wire

# A caller waits this long at most; the run goes on without them.
LONGEST_WAIT_SECONDS = 60.0
SERVICES = (PROFILES.name, PLAYBOOKS.name, aggregate.SERVICE, regenerate.SERVICE)

# --- rebuilding memories --------------------------------------------------------------------------------------------


@answers(Calls.rerun_profiles)
async def rerun_profiles(
    request: wire.RerunProfileGenerationRequest, call: Call
) -> wire.RerunProfileGenerationResponse:
    run, made = await _begun(PROFILES, Mode.RERUN, request, request.extractor_names, call)
    return wire.RerunProfileGenerationResponse(profiles_generated=made, **_started("Profile", run))


@answers(Calls.rerun_playbooks)
async def rerun_playbooks(
    request: wire.RerunPlaybookGenerationRequest, call: Call
) -> wire.RerunPlaybookGenerationResponse:
    run, made = await _begun(PLAYBOOKS, Mode.RERUN, request, [request.playbook_name], call)
    return wire.RerunPlaybookGenerationResponse(playbooks_generated=made, **_started("Playbook", run))


@answers(Calls.generate_profiles)
async def generate_profiles(
    request: wire.ManualProfileGenerationRequest, call: Call
) -> wire.ManualProfileGenerationResponse:
    run, made = await _begun(PROFILES, Mode.MANUAL, request, request.extractor_names, call)
    return wire.ManualProfileGenerationResponse(profiles_generated=made, **_started("Profile", run))


@answers(Calls.generate_playbooks)
async def generate_playbooks(
    request: wire.ManualPlaybookGenerationRequest, call: Call
) -> wire.ManualPlaybookGenerationResponse:
    run, made = await _begun(PLAYBOOKS, Mode.MANUAL, request, [request.playbook_name], call)
    return wire.ManualPlaybookGenerationResponse(playbooks_generated=made, **_started("Playbook", run))


async def _begun(
    service: Service, mode: Mode, request: Any, extractors: Sequence[str | None] | None, call: Call
) -> tuple[Run, int | None]:
    """The run, and how many memories it created if the caller waits and it ends in time."""
    wish = GenerationRequest(
        mode,
        user_id=request.user_id,
        source=request.source or None,
        # Facts about users know no version, and by hand only what was said last is read.
        agent_version=getattr(request, "agent_version", None),
        since=millis(getattr(request, "start_time", None)),
        until=before(getattr(request, "end_time", None)),
        extractors=tuple(name for name in extractors or () if name) or None,
    )
    run = await generation.start(service, wish, call.deps)
    call.app.wake_worker()
    if request.wait_for_response:
        with call.app.traffic.aside():
            run = (await runs.wait(run.id, run.service, LONGEST_WAIT_SECONDS, call.deps)).run
    return run, run.result.get("generated", 0) if run.state.over else None


def _started(what: str, run: Run) -> dict[str, Any]:
    return {"msg": f"{what} generation {run.state if run.state.over else 'started'}", "run_id": run.id}


# --- versions ------------------------------------------------------------------------------------------------------


@answers(Calls.upgrade_profiles)
async def upgrade_profiles(request: wire.UpgradeProfilesRequest, call: Call) -> wire.UpgradeProfilesResponse:
    done = await versions.upgrade(PROFILES, _profiles(request), call.deps)
    return wire.UpgradeProfilesResponse.model_validate(_counts("profiles", done, _upgraded(done)))


@answers(Calls.downgrade_profiles)
async def downgrade_profiles(request: wire.DowngradeProfilesRequest, call: Call) -> wire.DowngradeProfilesResponse:
    done = await versions.downgrade(PROFILES, _profiles(request), call.deps)
    return wire.DowngradeProfilesResponse.model_validate(_counts("profiles", done, _downgraded(done)))


@answers(Calls.upgrade_user_playbooks)
async def upgrade_playbooks(request: wire.UpgradeUserPlaybooksRequest, call: Call) -> wire.UpgradeUserPlaybooksResponse:
    done = await versions.upgrade(PLAYBOOKS, _playbooks(request), call.deps)
    return wire.UpgradeUserPlaybooksResponse.model_validate(_counts("user_playbooks", done, _upgraded(done)))


@answers(Calls.downgrade_user_playbooks)
async def downgrade_playbooks(
    request: wire.DowngradeUserPlaybooksRequest, call: Call
) -> wire.DowngradeUserPlaybooksResponse:
    done = await versions.downgrade(PLAYBOOKS, _playbooks(request), call.deps)
    return wire.DowngradeUserPlaybooksResponse.model_validate(_counts("user_playbooks", done, _downgraded(done)))


def _counts(kind: str, done: Upgraded | Downgraded, message: str) -> dict[str, Any]:
    """`profiles_promoted` and the like."""
    return {**{f"{kind}_{what}": count for what, count in asdict(done).items()}, "message": message}


def _profiles(request: wire.UpgradeProfilesRequest) -> VersionFilter:
    ids = None if request.profile_ids is None else tuple(request.profile_ids)
    return VersionFilter(user_id=user(request.user_id), ids=ids, only_affected_users=request.only_affected_users)


def _playbooks(request: wire.DowngradeUserPlaybooksRequest) -> VersionFilter:
    return VersionFilter(
        user_id=user(request.user_id),
        agent_version=request.agent_version,
        name=request.playbook_name,
        only_affected_users=request.only_affected_users,
        archive_current=getattr(request, "archive_current", True),
    )


def _upgraded(done: Upgraded) -> str:
    deleted = counted(done.deleted, "old version")
    counts = f"Promoted {done.promoted}, archived {done.archived}, deleted {deleted}"
    unchanged = counted(done.left_alone, "user")
    return f"{counts}; {unchanged} with an unfinished rerun unchanged" if done.left_alone else counts


def _downgraded(done: Downgraded) -> str:
    return f"Archived {done.demoted}, restored {done.restored}"


# --- operations ----------------------------------------------------------------------------------------------------


@answers(Calls.operation_status)
async def operation_status(request: wire.GetOperationStatusRequest, call: Call) -> wire.GetOperationStatusResponse:
    run_status = await runs.latest(request.service_name, call.deps)
    if run_status is None:
        services = ", ".join(SERVICES)
        return wire.GetOperationStatusResponse(msg=f"No run of service {request.service_name!r}. Services: {services}")
    return wire.GetOperationStatusResponse(operation_status=_operation(run_status))


@answers(Calls.cancel_operation)
async def cancel_operation(request: wire.CancelOperationRequest, call: Call) -> wire.CancelOperationResponse:
    services = await runs.cancel(request.service_name, call.deps)
    call.app.wake_worker()
    message = f"Cancelling {', '.join(services)}" if services else "Nothing is running"
    return wire.CancelOperationResponse(cancelled_services=services, msg=message)


# What the wire has words for; a run of which some users failed is not called completed.
_STATUS = {
    RunState.QUEUED: wire.OperationStatus.IN_PROGRESS,
    RunState.RUNNING: wire.OperationStatus.IN_PROGRESS,
    RunState.COMPLETED: wire.OperationStatus.COMPLETED,
    RunState.PARTIAL: wire.OperationStatus.FAILED,
    RunState.FAILED: wire.OperationStatus.FAILED,
    RunState.CANCELLED: wire.OperationStatus.CANCELLED,
}


def _operation(run_status: RunStatus) -> wire.OperationStatusInfo:
    run, progress = run_status.run, run_status.progress
    ended = progress.done + progress.failed
    state = RunState.FAILED if run_status.lost else run.state
    return wire.OperationStatusInfo(
        service_name=run.service,
        status=_STATUS[state],
        state=state,
        run_id=run.id,
        mode=run.request.get("mode"),
        started_at=seconds(run.started_at or run.created_at),
        completed_at=maybe_seconds(run.finished_at),
        total_users=progress.total,
        processed_users=progress.done,
        failed_users=progress.failed,
        current_user_id=run_status.current,
        processed_user_ids=[item.item for item in run_status.done],
        failed_user_ids=[wire.FailedUser(user_id=item.item, error=item.error or "") for item in run_status.failed],
        request_params=dict(run.request),
        stats=dict(run_status.counts),
        error_message=_error(run_status),
        cancel_asked=run.cancel_asked,
        progress_percentage=100 * ended / progress.total if progress.total else 100.0 * run.state.over,
    )


def _error(run_status: RunStatus) -> str | None:
    if run_status.lost:
        return f"The run was lost: {run_status.lost}"
    if not run_status.progress.failed:
        return run_status.run.cause
    first, progress = run_status.failed[0], run_status.progress
    return f"{progress.failed} of {counted(progress.total, 'user')} failed; the first ({first.item}): {first.error}"


# --- where memories came from --------------------------------------------------------------------------------------


@answers(Calls.provenance)
@answers(Calls.provenance_by_address)
async def provenance(request: wire.GetLearningProvenanceRequest, call: Call) -> wire.LearningProvenanceViewResponse:
    ref = MemoryRef(Kind(request.kind), request.id)
    return _provenance(ref, await history.provenance(ref, call.deps))


def _provenance(ref: MemoryRef, provenance: Provenance) -> wire.LearningProvenanceViewResponse:
    origin = provenance.memory.origin
    return shaped(
        wire.LearningProvenanceViewResponse,
        origin,
        target_kind=ref.kind,
        target_id=ref.id,
        provenance_status=provenance.status,
        trigger_request_id=getattr(provenance.memory, "request_id", None) or None,
        interactions=[turn(interaction) for interaction in provenance.turns],
        source_user_playbooks=[_source(source) for source in provenance.sources],
        evidence=[_evidence(span) for span in provenance.spans],
        lineage=[_event(event) for event in provenance.lineage],
        model=origin.model or None,
        prompt_hash=origin.prompt_hash or None,
        msg=f"Learned from {counted(len(provenance.turns), 'interaction')}",
    )


def _source(provenance: Provenance) -> dict[str, Any]:
    assert isinstance(provenance.memory, UserPlaybook)  # noqa: S101 - shared lessons are written from users' lessons only
    return {
        "user_playbook": user_playbook(provenance.memory),
        "interactions": [turn(interaction) for interaction in provenance.turns],
        "source_interaction_ids": provenance.memory.interaction_ids,
    }


def _evidence(span: history.SourceSpan) -> dict[str, Any]:
    end = None if span.start is None else span.start + len(span.text or "")
    return {"interaction_id": span.turn, "start": span.start, "end": end, "text": span.text}


def _event(event: Mapping[str, Any]) -> dict[str, Any]:
    fields = {name: event[name] for name in ("op", "actor", "reason", "request_id")}
    return {**fields, "at": seconds(event["created_at"]), "sources": event["sources"] or []}


@answers(Calls.profile_change_log)
async def profile_change_log(request: wire.ProfileChangeLogRequest, call: Call) -> wire.ProfileChangeLogViewResponse:
    changes = await history.profile_changes(user(request.user_id), request.limit, call.deps)
    return wire.ProfileChangeLogViewResponse(profile_change_logs=[_change(change) for change in changes])


def _change(change: ProfileChange) -> wire.ProfileChangeLogView:
    lists = {
        f"{what}_profiles": [profile(memory) for memory in getattr(change, what)]
        for what in ("added", "removed", "mentioned")
    }
    return shaped(wire.ProfileChangeLogView, change, created_at=seconds(change.at), **lists)
