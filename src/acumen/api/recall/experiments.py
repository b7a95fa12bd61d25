"""Holdout experiments, over REST."""

from collections.abc import Sequence

from acumen.api.call import Call, answers
from acumen.api.views import shaped
from acumen.model.metering.experiment import Experiment
from acumen.recall import experiments
from acumen.recall.experiments import Arm
from acumen_client.calls import Calls
from acumen_client.wire import experiments as wire
from acumen_client.wire.sections import RetrievalExperimentRecord
from acumen_client.wire.shapes import ExperimentArm, Nothing

POINTS = 100


@answers(Calls.retrieval_experiments)
async def list_retrieval_experiments(_asked: Nothing, call: Call) -> wire.RetrievalExperimentListResponse:
    return _listed(await experiments.every(call.deps))


@answers(Calls.start_retrieval_experiment)
async def start_retrieval_experiment(
    asked: wire.StartRetrievalExperimentRequest, call: Call
) -> wire.RetrievalExperimentListResponse:
    found = await experiments.start(asked.experiment_id, asked.holdout_percentage, call.deps)
    call.app.forget_config(call.deps.org)
    return _listed(found)


@answers(Calls.stop_retrieval_experiment)
async def stop_retrieval_experiment(
    asked: wire.StopRetrievalExperimentRequest, call: Call
) -> wire.RetrievalExperimentListResponse:
    found = await experiments.stop(asked.experiment_id, call.deps)
    call.app.forget_config(call.deps.org)
    return _listed(found)


@answers(Calls.retrieval_experiment_results)
async def get_retrieval_experiment_results(
    asked: wire.GetRetrievalExperimentResultsRequest, call: Call
) -> wire.RetrievalExperimentResultsResponse:
    await call.app.counted()
    found = await experiments.results(asked.experiment_id, call.deps)
    base, interval = found.holdout.success_rate, found.interval
    return wire.RetrievalExperimentResultsResponse(
        experiment=record(found.experiment),
        treatment=_arm(found.treatment),
        holdout=_arm(found.holdout),
        success_rate_lift_percentage_points=None if found.lift is None else found.lift * POINTS,
        relative_success_lift=found.lift / base if found.lift is not None and base else None,
        confidence_interval_95_percentage_points=(
            None if interval is None else (interval.low * POINTS, interval.high * POINTS)
        ),
        evaluated_session_coverage=found.coverage,
    )


def _listed(found: Sequence[Experiment]) -> wire.RetrievalExperimentListResponse:
    return wire.RetrievalExperimentListResponse(
        active_experiment=next((record(one) for one in found if one.ended_at is None), None),
        experiments=[record(one) for one in found],
    )


def record(one: Experiment) -> RetrievalExperimentRecord:
    return shaped(RetrievalExperimentRecord, one, experiment_id=one.id)


def _arm(one: Arm) -> wire.RetrievalExperimentArmMetrics:
    return wire.RetrievalExperimentArmMetrics(
        arm=ExperimentArm(one.name),
        assigned_user_count=one.assigned_users,
        published_session_count=one.published_sessions,
        evaluated_user_count=len(one.clusters),
        evaluated_session_count=one.evaluated_sessions,
        success_rate=one.success_rate,
        average_corrections=one.corrections,
        average_turns_to_resolution=one.turns_to_resolution,
        average_output_tokens=one.output_tokens,
        output_token_session_count=one.output_sessions,
        escalation_rate=one.escalations,
    )
