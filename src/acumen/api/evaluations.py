"""How sessions end, over REST."""

import hashlib
from datetime import UTC, datetime

from acumen.api.call import Call, answers
from acumen.api.views import before, millis, moments, seconds, shaped, user
from acumen.learn.evaluate import evaluate, regenerate
from acumen.model.ids import Millis, SessionId
from acumen.model.jobs.run import ItemState, Run, RunId, RunState
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
from acumen.observe import outcomes
from acumen.storage.store import Tx
from acumen_client.calls import Calls
from acumen_client.wire import evaluations as wire

FAILURES_SHOWN = 100
FEWEST, MOST = 1, 100

# --- how they ended, as stated -------------------------------------------------------------------------------------


@answers(Calls.state_outcome)
async def state_outcome(asked: wire.SetSessionOutcomeRequest, call: Call) -> wire.SetSessionOutcomeResponse:
    said = outcomes.Said(
        session_id=SessionId(asked.session_id),
        outcome=Outcome(asked.outcome),
        occurred_at=Millis(asked.occurred_at * 1000),
        user_id=user(asked.user_id),
        label=asked.label,
        value=asked.value,
        metadata=asked.metadata,
    )
    stated = await outcomes.state(said, call.deps)
    call.app.wake_worker()
    ignored = asked.unknown_fields()
    return wire.SetSessionOutcomeResponse(
        recorded=True,
        message="Session outcome recorded" + (f"; ignored unknown field(s) {', '.join(ignored)}" if ignored else ""),
        user_id=stated.user_id,
        source=stated.source,
        outcome_id=_outcome_id(stated),
        outcome_revision=stated.revision,
        outcome_contract_digest=stated.contract_digest,
        finalized_trajectory_digest=stated.trajectory_digest,
    )


@answers(Calls.session_outcomes)
async def get_outcomes(asked: wire.GetSessionOutcomesRequest, call: Call) -> wire.GetSessionOutcomesResponse:
    wanted = OutcomeFilter(
        sessions=None if asked.session_ids is None else [SessionId(one) for one in asked.session_ids],
        user_id=user(asked.user_id),
        source=asked.source,
        outcome=None if asked.outcome is None else Outcome(asked.outcome),
        label=asked.label,
        since=millis(asked.start_time),
        until=millis(asked.end_time),
    )
    found = await call.deps.store.read(lambda tx: tx.sessions.outcomes(wanted, asked.top_k, asked.offset))
    return wire.GetSessionOutcomesResponse(
        session_outcomes=[_outcome(one) for one in found], message=f"Found {len(found)} session outcome(s)"
    )


def _outcome_id(stated: Stated) -> str:
    """Belongs to the session: a later word on it has the same."""
    return "out_" + hashlib.sha256(f"{stated.user_id}\0{stated.session_id}".encode()).hexdigest()[:24]


def _outcome(stated: Stated) -> wire.SessionOutcomeRecord:
    return shaped(
        wire.SessionOutcomeRecord,
        stated,
        outcome_id=_outcome_id(stated),
        outcome_revision=stated.revision,
        outcome_contract_digest=stated.contract_digest,
        finalized_trajectory_digest=stated.trajectory_digest,
        created_at=seconds(stated.stated_at),
        trajectory_through_request_id=stated.through_request,
    )


# --- how they ended, as judged -------------------------------------------------------------------------------------


@answers(Calls.evaluation_results)
async def get_results(
    asked: wire.GetAgentSuccessEvaluationResultsRequest, call: Call
) -> wire.GetEvaluationResultsViewResponse:
    wanted = EvaluationFilter(
        user_id=user(asked.user_id),
        session_id=SessionId(asked.session_id) if asked.session_id else None,
        agent_version=asked.agent_version,
        since=millis(asked.start_time),
        until=before(asked.end_time),
    )
    found = await call.deps.store.read(lambda tx: tx.evaluations.find(wanted, asked.limit, asked.offset))
    return wire.GetEvaluationResultsViewResponse(
        agent_success_evaluation_results=[result(one) for one in found], msg=f"Found {len(found)} evaluation result(s)"
    )


def result(one: Evaluation) -> wire.EvaluationResultView:
    guess = one.judged or Judgement(one.is_success)
    return shaped(
        wire.EvaluationResultView,
        one,
        result_id=one.id,
        failure_type=None if one.is_success else guess.failure_type,
        failure_reason=_why(one),
        evaluation_name=one.name,
        regular_vs_shadow=one.shadow,
        number_of_correction_per_session=guess.corrections,
        user_turns_to_resolution=guess.turns_to_resolution if one.is_success else None,
        is_escalated=guess.is_escalated,
        judged_success=None if one.judged is None else guess.is_success,
        stated_outcome=one.stated,
        confidence=None if one.judged is None else guess.confidence,
        engine=one.origin.engine,
        model=one.origin.model or None,
        signals=guess.signals,
    )


def _why(one: Evaluation) -> str | None:
    if one.is_success:
        return None
    guessed = one.judged.failure_reason if one.judged and not one.judged.is_success else None
    return guessed or ("The caller stated that it failed." if one.stated is Outcome.FAILURE else None)


@answers(Calls.grade_on_demand)
async def grade(asked: wire.GradeOnDemandRequest, call: Call) -> wire.GradeOnDemandResponse:
    session = SessionId(asked.session_id)
    judged = await evaluate.grade(session, asked.agent_version, user(asked.user_id), call.deps)
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
async def start_regeneration(asked: wire.RegenerateRequest, call: Call) -> wire.RegenerateStartResponse:
    run, total = await regenerate.start(*moments(asked.from_ts, asked.to_ts), asked.evaluation_name, call.deps)
    call.app.wake_worker()
    return wire.RegenerateStartResponse(job_id=run.id, total=total)


@answers(Calls.evaluation_regeneration)
async def get_regeneration(asked: wire.RegenerationRequest, call: Call) -> wire.RegenerateStatusResponse:
    run = await regenerate.of(RunId(asked.job_id), call.deps)
    return await call.deps.store.read(lambda tx: _regeneration(tx, run))


@answers(Calls.cancel_evaluation_regeneration)
async def cancel_regeneration(asked: wire.RegenerationRequest, call: Call) -> wire.CancelRegenerationResponse:
    run = await regenerate.cancel(RunId(asked.job_id), call.deps)
    call.app.wake_worker()
    status = _STATUSES[run.state] if run.state.over else "cancelling"
    return wire.CancelRegenerationResponse(job_id=run.id, status=status)


def _regeneration(tx: Tx, run: Run) -> wire.RegenerateStatusResponse:
    progress = tx.run_items.progress(run.id)
    failed = tx.run_items.of(run.id, ItemState.FAILED, FAILURES_SHOWN)
    failures = [wire.RegenerateFailure(session_id=key_of(one.item)[1], reason=one.error or "") for one in failed]
    return wire.RegenerateStatusResponse.model_validate(
        {
            "job_id": run.id,
            "status": _STATUSES[run.state],
            "total": progress.total,
            "completed": progress.done,
            "failed": progress.failed,
            "failures": failures,
            "started_at": (run.started_at or run.created_at) / 1000,
            "finished_at": None if run.finished_at is None else run.finished_at / 1000,
            "total_candidates": run.request.get("candidates", progress.total),
            "sampled_count": progress.total,
            "concurrency_limit": 1,
        }
    )


# --- shadows -------------------------------------------------------------------------------------------------------


@answers(Calls.recent_shadow_comparisons)
async def recent_comparisons(
    asked: wire.RecentShadowComparisonsRequest, call: Call
) -> wire.GetRecentShadowComparisonsResponse:
    limit = max(FEWEST, min(MOST, asked.limit))
    found = await call.deps.store.read(lambda tx: tx.evaluations.verdicts(limit))
    return wire.GetRecentShadowComparisonsResponse(verdicts=[_comparison(one) for one in found])


_REGULAR = frozenset({Preference.REGULAR, Preference.REGULAR_SLIGHTLY})
_CLEAR = frozenset({Preference.REGULAR, Preference.SHADOW})


def _comparison(one: ShadowVerdict) -> wire.ShadowComparisonVerdict:
    first_won = (one.preference in _REGULAR) == one.regular_first
    output = {
        "better_request": "tie" if one.preference is Preference.TIED else "1" if first_won else "2",
        "is_significantly_better": one.preference in _CLEAR,
        "comparison_reason": one.reason,
    }
    return shaped(
        wire.ShadowComparisonVerdict,
        one,
        verdict_id=one.id,
        interaction_id=str(one.interaction_id),
        reflexio_is_request_1=one.regular_first,
        output=output,
        judge_prompt_version=one.origin.prompt_hash or one.origin.engine,
        created_at=datetime.fromtimestamp(one.created_at / 1000, UTC),
        regular_vs_shadow=one.preference,
        engine=one.origin.engine,
    )
