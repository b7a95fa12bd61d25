"""Endpoints of holdout experiments."""

from collections.abc import Sequence

from acumen.api.call import Call, answers
from acumen.api.views import shaped
from acumen.model.metering.experiment import Experiment
from acumen.recall import experiments
from acumen.recall.experiments import Arm
from acumen_client.calls import Calls
from acumen_client.wire import experiments as wire
from acumen_client.wire.shapes import Nothing

POINTS = 100


@answers(Calls.retrieval_experiments)
async def list_retrieval_experiments(_request: Nothing, call: Call) -> wire.RetrievalExperimentListResponse:
    return _listed(await experiments.every(call.deps))


@answers(Calls.start_retrieval_experiment)
async def start_retrieval_experiment(
    request: wire.StartRetrievalExperimentRequest, call: Call
) -> wire.RetrievalExperimentListResponse:
    listed = await experiments.start(request.experiment_id, request.holdout_percentage, call.deps)
    call.app.forget_config(call.deps.org)
    return _listed(listed)


@answers(Calls.stop_retrieval_experiment)
async def stop_retrieval_experiment(
    request: wire.StopRetrievalExperimentRequest, call: Call
) -> wire.RetrievalExperimentListResponse:
    listed = await experiments.stop(request.experiment_id, call.deps)
    call.app.forget_config(call.deps.org)
    return _listed(listed)


@answers(Calls.retrieval_experiment_results)
async def get_retrieval_experiment_results(
    request: wire.GetRetrievalExperimentResultsRequest, call: Call
) -> wire.RetrievalExperimentResultsResponse:
    await call.app.flush_usage()
    results = await experiments.results(request.experiment_id, call.deps)
    base, interval = results.holdout.success_rate, results.interval
    return wire.RetrievalExperimentResultsResponse(
        experiment=record(results.experiment),
        treatment=_arm(results.treatment),
        holdout=_arm(results.holdout),
        success_rate_lift_percentage_points=None if results.lift is None else results.lift * POINTS,
        relative_success_lift=results.lift / base if results.lift is not None and base else None,
        confidence_interval_95_percentage_points=(
            None if interval is None else (interval.low * POINTS, interval.high * POINTS)
        ),
        evaluated_session_coverage=results.coverage,
    )


def _listed(listed: Sequence[Experiment]) -> wire.RetrievalExperimentListResponse:
    return wire.RetrievalExperimentListResponse(
        active_experiment=next((record(experiment) for experiment in listed if experiment.ended_at is None), None),
        experiments=[record(experiment) for experiment in listed],
    )


def record(experiment: Experiment) -> wire.RetrievalExperimentRecord:
    return shaped(wire.RetrievalExperimentRecord, experiment, experiment_id=experiment.id)


def _arm(arm: Arm) -> wire.RetrievalExperimentArmMetrics:
    return shaped(
        wire.RetrievalExperimentArmMetrics,
        arm,
        arm=arm.name,
        assigned_user_count=arm.assigned_users,
        published_session_count=arm.published_sessions,
        evaluated_user_count=len(arm.clusters),
        evaluated_session_count=arm.evaluated_sessions,
        average_corrections=arm.corrections,
        average_turns_to_resolution=arm.turns_to_resolution,
        average_output_tokens=arm.output_tokens,
        output_token_session_count=arm.output_sessions,
        escalation_rate=arm.escalations,
    )
