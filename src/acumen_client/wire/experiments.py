"""Holdout experiments: some users are shown nothing, so that what memories are worth can be measured."""

from typing import Annotated

from pydantic import Field

from acumen_client.wire.sections import ExperimentId, RetrievalExperimentRecord
from acumen_client.wire.shapes import Answer, ExperimentArm, Request


class StartRetrievalExperimentRequest(Request):
    experiment_id: ExperimentId
    holdout_percentage: Annotated[float, Field(gt=0, lt=100)]


class StopRetrievalExperimentRequest(Request):
    experiment_id: ExperimentId


class RetrievalExperimentListResponse(Answer):
    """The latest first."""

    active_experiment: RetrievalExperimentRecord | None = None
    experiments: list[RetrievalExperimentRecord] = Field(default_factory=list)


class GetRetrievalExperimentResultsRequest(Request):
    experiment_id: ExperimentId


class RetrievalExperimentArmMetrics(Answer):
    """What became of the users of one arm. An average is null where no session tells."""

    arm: ExperimentArm
    assigned_user_count: int = 0
    published_session_count: int = 0
    evaluated_user_count: int = 0
    evaluated_session_count: int = 0
    success_rate: float | None = None
    average_corrections: float | None = None
    average_turns_to_resolution: float | None = None
    escalation_rate: float | None = None
    average_output_tokens: float | None = None
    output_token_session_count: int = 0


class RetrievalExperimentResultsResponse(Answer):
    """The lift is treatment less holdout. Its interval takes the sessions of one user for one thing, and is null with
    fewer than two evaluated users in an arm.
    """

    experiment: RetrievalExperimentRecord
    treatment: RetrievalExperimentArmMetrics
    holdout: RetrievalExperimentArmMetrics
    success_rate_lift_percentage_points: float | None = None
    relative_success_lift: float | None = None
    confidence_interval_95_percentage_points: tuple[float, float] | None = None
    evaluated_session_coverage: float | None = None
    unattributed_evaluated_session_count: int = 0
