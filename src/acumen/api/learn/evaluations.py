"""Endpoints of outcomes and evaluations."""

import hashlib
from datetime import UTC, datetime
from typing import Any

from acumen.api.call import Call, answers
from acumen.api.views import before, millis, moments, seconds, shaped, user
from acumen.learn.evaluate import evaluate, regenerate
from acumen.learn.runs import runs
from acumen.learn.runs.runs import RunStatus
from acumen.model.ids import Millis, SessionId
from acumen.model.jobs.run import RunId, RunState
from acumen.model.metering.evaluation import (
    Evaluation,
    EvaluationFilter,
    Judgement,
    Outcome,
    OutcomeFilter,
    Preference,
    ShadowVerdict,
    Stated,
    key_of,
)
from acumen.model.plural import counted
from acumen.observe import outcomes
from acumen_client.calls import Calls
from acumen_client.wire import evaluations as wire

FAILURES_SHOWN = 100
FEWEST, MOST = 1, 100

# --- reported outcomes ---------------------------------------------------------------------------------------------


@answers(Calls.state_outcome)
async def state_outcome(request: wire.SetSessionOutcomeRequest, call: Call) -> wire.SetSessionOutcomeResponse:
    report = outcomes.OutcomeReport(
        session_id=SessionId(request.session_id),
        outcome=Outcome(request.outcome),
        occurred_at=Millis(request.occurred_at * 1000),
        user_id=user(request.user_id),
        label=request.label,
        value=request.value,
        metadata=request.metadata,
    )
    stated = await outcomes.state(report, call.deps)
    call.app.wake_worker()
    ignored = request.unknown_fields()
    message = "Session outcome recorded"
    if ignored:
        message += f"; unknown {'field' if len(ignored) == 1 else 'fields'} ignored: {', '.join(ignored)}"
    return shaped(wire.SetSessionOutcomeResponse, stated, **_identity(stated), recorded=True, message=message)


@answers(Calls.session_outcomes)
async def get_outcomes(request: wire.GetSessionOutcomesRequest, call: Call) -> wire.GetSessionOutcomesResponse:
    query = OutcomeFilter(
        sessions=None if request.session_ids is None else [SessionId(session) for session in request.session_ids],
        user_id=user(request.user_id),
        source=request.source,
        outcome=None if request.outcome is None else Outcome(request.outcome),
        label=request.label,
        since=millis(request.start_time),
        until=millis(request.end_time),
    )
    page = await outcomes.find(query, request.top_k, request.offset, call.deps)
    return wire.GetSessionOutcomesResponse(
        session_outcomes=[_outcome(stated) for stated in page], message=f"Found {counted(len(page), 'session outcome')}"
    )


def _identity(stated: Stated) -> dict[str, Any]:
    """The id is the same for every revision of a session's outcome."""
    session = hashlib.sha256(f"{stated.user_id}\0{stated.session_id}".encode()).hexdigest()
    return {
        "outcome_id": f"out_{session[:24]}",
        "outcome_revision": stated.revision,
        "outcome_contract_digest": stated.contract_digest,
        "finalized_trajectory_digest": stated.trajectory_digest,
    }


def _outcome(stated: Stated) -> wire.SessionOutcomeRecord:
    return shaped(
        wire.SessionOutcomeRecord,
        stated,
        **_identity(stated),
        created_at=seconds(stated.stated_at),
        trajectory_through_request_id=stated.through_request,
    )


# --- evaluations ---------------------------------------------------------------------------------------------------


@answers(Calls.evaluation_results)
async def get_results(
    request: wire.GetAgentSuccessEvaluationResultsRequest, call: Call
) -> wire.GetEvaluationResultsViewResponse:
    query = EvaluationFilter(
        user_id=user(request.user_id),
        session_id=SessionId(request.session_id) if request.session_id else None,
        agent_version=request.agent_version,
        since=millis(request.start_time),
        until=before(request.end_time),
    )
    evaluations = await evaluate.find(query, request.limit, request.offset, call.deps)
    return wire.GetEvaluationResultsViewResponse(
        agent_success_evaluation_results=[result(evaluation) for evaluation in evaluations],
        msg=f"Found {counted(len(evaluations), 'evaluation result')}",
    )


def result(evaluation: Evaluation) -> wire.EvaluationResultView:
    guess = evaluation.judged or Judgement(evaluation.is_success)
    return shaped(
        wire.EvaluationResultView,
        evaluation,
        result_id=evaluation.id,
        failure_type=None if evaluation.is_success else guess.failure_type,
        failure_reason=_why(evaluation),
        evaluation_name=evaluation.name,
        regular_vs_shadow=evaluation.shadow,
        number_of_correction_per_session=guess.corrections,
        user_turns_to_resolution=guess.turns_to_resolution if evaluation.is_success else None,
        is_escalated=guess.is_escalated,
        judged_success=None if evaluation.judged is None else guess.is_success,
        stated_outcome=evaluation.stated,
        confidence=None if evaluation.judged is None else guess.confidence,
        engine=evaluation.origin.engine,
        model=evaluation.origin.model or None,
        signals=guess.signals,
    )


def _why(evaluation: Evaluation) -> str | None:
    if evaluation.is_success:
        return None
    guessed = evaluation.judged.failure_reason if evaluation.judged and not evaluation.judged.is_success else None
    return guessed or ("The caller reported that it failed." if evaluation.stated is Outcome.FAILURE else None)


@answers(Calls.grade_on_demand)
async def grade(request: wire.GradeOnDemandRequest, call: Call) -> wire.GradeOnDemandResponse:
    session = SessionId(request.session_id)
    judged = await evaluate.grade(session, request.agent_version, user(request.user_id), call.deps)
    return wire.GradeOnDemandResponse(
        session_id=session, result_id=judged.id, cached=judged.cached, skipped_reason=judged.skipped
    )


# --- regeneration --------------------------------------------------------------------------------------------------

_STATUSES = {
    RunState.QUEUED: "running",
    RunState.RUNNING: "running",
    RunState.COMPLETED: "completed",
    RunState.PARTIAL: "completed",
    RunState.CANCELLED: "cancelled",
    RunState.FAILED: "error",
}


@answers(Calls.regenerate_evaluations)
async def start_regeneration(request: wire.RegenerateRequest, call: Call) -> wire.RegenerateStartResponse:
    run, total = await regenerate.start(*moments(request.from_ts, request.to_ts), request.evaluation_name, call.deps)
    call.app.wake_worker()
    return wire.RegenerateStartResponse(job_id=run.id, total=total)


@answers(Calls.evaluation_regeneration)
async def get_regeneration(request: wire.RegenerationRequest, call: Call) -> wire.RegenerateStatusResponse:
    return _regeneration(await runs.get(RunId(request.job_id), regenerate.SERVICE, call.deps, items=True))


@answers(Calls.cancel_evaluation_regeneration)
async def cancel_regeneration(request: wire.RegenerationRequest, call: Call) -> wire.CancelRegenerationResponse:
    run = await regenerate.cancel(RunId(request.job_id), call.deps)
    call.app.wake_worker()
    status = _STATUSES[run.state] if run.state.over else "cancelling"
    return wire.CancelRegenerationResponse(job_id=run.id, status=status)


def _regeneration(status: RunStatus) -> wire.RegenerateStatusResponse:
    run, progress = status.run, status.progress
    failures = [
        wire.RegenerateFailure(session_id=key_of(item.item)[1], reason=item.error or "")
        for item in status.failed[:FAILURES_SHOWN]
    ]
    return shaped(
        wire.RegenerateStatusResponse,
        progress,
        job_id=run.id,
        status=_STATUSES[run.state],
        completed=progress.done,
        failures=failures,
        started_at=(run.started_at or run.created_at) / 1000,
        finished_at=None if run.finished_at is None else run.finished_at / 1000,
        total_candidates=run.request.get("candidates", progress.total),
        sampled_count=progress.total,
        concurrency_limit=1,
    )


# --- shadow comparisons --------------------------------------------------------------------------------------------


@answers(Calls.recent_shadow_comparisons)
async def recent_comparisons(
    request: wire.RecentShadowComparisonsRequest, call: Call
) -> wire.GetRecentShadowComparisonsResponse:
    limit = max(FEWEST, min(MOST, request.limit))
    verdicts = await evaluate.shadow_verdicts(limit, call.deps)
    return wire.GetRecentShadowComparisonsResponse(verdicts=[_comparison(verdict) for verdict in verdicts])


_REGULAR = frozenset({Preference.REGULAR, Preference.REGULAR_SLIGHTLY})
_CLEAR = frozenset({Preference.REGULAR, Preference.SHADOW})


def _comparison(verdict: ShadowVerdict) -> wire.ShadowComparisonVerdict:
    first_won = (verdict.preference in _REGULAR) == verdict.regular_first
    output = {
        "better_request": "tie" if verdict.preference is Preference.TIED else "1" if first_won else "2",
        "is_significantly_better": verdict.preference in _CLEAR,
        "comparison_reason": verdict.reason,
    }
    return shaped(
        wire.ShadowComparisonVerdict,
        verdict,
        verdict_id=verdict.id,
        interaction_id=str(verdict.interaction_id),
        reflexio_is_request_1=verdict.regular_first,
        output=output,
        judge_prompt_version=verdict.origin.prompt_hash or verdict.origin.engine,
        created_at=datetime.fromtimestamp(verdict.created_at / 1000, UTC),
        regular_vs_shadow=verdict.preference,
        engine=verdict.origin.engine,
    )
