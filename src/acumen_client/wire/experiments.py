"""Holdout experiments: some users are shown nothing, so that what memories are worth can be measured."""

from typing import Annotated, Optional

from pydantic import BeforeValidator, Field, StringConstraints, model_validator
from typing_extensions import Self

from acumen_client.wire.shapes import AnswerModel, ExperimentArm, NullsSent, RequestModel, Seconds, storable

ExperimentId = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=128), BeforeValidator(storable)
]


class RetrievalExperimentConfig(RequestModel):
    experiment_id: ExperimentId
    holdout_percentage: Annotated[float, Field(gt=0, lt=100)]


class RetrievalExperimentRecord(RetrievalExperimentConfig):
    started_at: Seconds
    ended_at: Optional[Seconds] = None

    @model_validator(mode="after")
    def _ends_after_it_starts(self) -> Self:
        if self.ended_at is not None and self.ended_at < self.started_at:
            raise ValueError("ended_at must not be before started_at")
        return self


class StartRetrievalExperimentRequest(RetrievalExperimentConfig):
    pass


class StopRetrievalExperimentRequest(RequestModel):
    experiment_id: ExperimentId


class RetrievalExperimentListResponse(NullsSent, AnswerModel):
    """Latest first."""

    active_experiment: Optional[RetrievalExperimentRecord] = None
    experiments: list[RetrievalExperimentRecord] = Field(default_factory=list)


class GetRetrievalExperimentResultsRequest(RequestModel):
    experiment_id: ExperimentId


class RetrievalExperimentArmMetrics(AnswerModel):
    """Users of one arm. An average is null if no session has the figure."""

    arm: ExperimentArm
    assigned_user_count: int = 0
    published_session_count: int = 0
    evaluated_user_count: int = 0
    evaluated_session_count: int = 0
    success_rate: Optional[float] = None
    average_corrections: Optional[float] = None
    average_turns_to_resolution: Optional[float] = None
    escalation_rate: Optional[float] = None
    average_output_tokens: Optional[float] = None
    output_token_session_count: int = 0


class RetrievalExperimentResultsResponse(NullsSent, AnswerModel):
    """The lift is treatment minus holdout. Its interval treats a user's sessions as one observation, and is null with
    fewer than two evaluated users in an arm.
    """

    experiment: RetrievalExperimentRecord
    treatment: RetrievalExperimentArmMetrics
    holdout: RetrievalExperimentArmMetrics
    success_rate_lift_percentage_points: Optional[float] = None
    relative_success_lift: Optional[float] = None
    confidence_interval_95_percentage_points: Optional[tuple[float, float]] = None
    evaluated_session_coverage: Optional[float] = None
    unattributed_evaluated_session_count: int = 0
