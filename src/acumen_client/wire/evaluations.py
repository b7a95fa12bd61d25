"""Evaluations: how sessions ended, as judged and as stated, one by one and added up."""

from datetime import datetime
from typing import Annotated, Any, Literal, Optional

from pydantic import Field, model_validator
from typing_extensions import Self

from acumen_client.compat import StrEnum
from acumen_client.wire.shapes import (
    AnswerModel,
    Done,
    HowMany,
    Id,
    JsonObject,
    Label,
    MaybeId,
    NonEmpty,
    NullsSent,
    Offset,
    RequestModel,
    Seconds,
    Source,
    TimeRange,
    Tolerant,
)

# --- how sessions ended, as their callers state it -----------------------------------------------------------------


class SessionOutcomeKind(StrEnum):
    SUCCESS = "success"
    FAILURE = "failure"
    UNKNOWN = "unknown"


class SetSessionOutcomeRequest(Tolerant):
    """The outcome as the caller knows it. It takes precedence over evaluation.

    `user_id` is needed only if several users have a session with this id.
    """

    _harmless_extras = frozenset()

    session_id: Id
    outcome: SessionOutcomeKind
    occurred_at: Seconds
    user_id: MaybeId = None
    label: Optional[Annotated[Label, Field(max_length=128)]] = None
    value: Optional[Annotated[float, Field(allow_inf_nan=False)]] = None
    metadata: Optional[JsonObject] = None


class SetSessionOutcomeResponse(Done):
    """`outcome_revision` counts different outcomes of the session; repeating one adds none."""

    recorded: bool = False
    message: str = ""
    user_id: Optional[str] = None
    source: Optional[str] = None
    outcome_id: Optional[str] = None
    outcome_revision: Optional[int] = None
    outcome_contract_digest: Optional[str] = None
    finalized_trajectory_digest: Optional[str] = None


class GetSessionOutcomesRequest(RequestModel):
    """`start_time` and `end_time` are epoch seconds and refer to the end of the session."""

    session_ids: Optional[Annotated[list[Id], Field(max_length=100)]] = None
    user_id: MaybeId = None
    source: Optional[Source] = None
    outcome: Optional[SessionOutcomeKind] = None
    label: Optional[Label] = None
    start_time: Optional[Seconds] = None
    end_time: Optional[Seconds] = None
    top_k: Annotated[int, Field(ge=1, le=1_000)] = 100
    offset: Offset = 0


class SessionOutcomeRecord(AnswerModel):
    """A reported outcome; `created_at` is the time of the report. `outcome_contract_digest` identifies the report and
    `finalized_trajectory_digest` the turns that the session had then.
    """

    outcome_id: Optional[str] = None
    outcome_revision: Optional[int] = None
    user_id: str
    session_id: str
    outcome: SessionOutcomeKind
    occurred_at: int
    source: str
    label: Optional[str] = None
    value: Optional[float] = None
    metadata: Optional[dict[str, Any]] = None
    outcome_contract_digest: Optional[str] = None
    finalized_trajectory_digest: Optional[str] = None
    created_at: int
    is_inferred: bool = False
    trajectory_through_request_id: Optional[str] = None


class GetSessionOutcomesResponse(Done):
    session_outcomes: list[SessionOutcomeRecord] = Field(default_factory=list)
    message: str = ""


# --- evaluations ---------------------------------------------------------------------------------------------------


class RegularVsShadow(StrEnum):
    REGULAR_IS_BETTER = "regular_is_better"
    REGULAR_IS_SLIGHTLY_BETTER = "regular_is_slightly_better"
    SHADOW_IS_BETTER = "shadow_is_better"
    SHADOW_IS_SLIGHTLY_BETTER = "shadow_is_slightly_better"
    TIED = "tied"


class GetAgentSuccessEvaluationResultsRequest(TimeRange):
    """Times refer to the first evaluation of a session."""

    limit: HowMany = 100
    offset: Offset = 0
    agent_version: Optional[Label] = None
    user_id: MaybeId = None
    session_id: MaybeId = None


class EvaluationResultView(AnswerModel):
    """`is_success` is the result that counts, `judged_success` the evaluation and `stated_outcome` what the caller
    reported.

    `engine` is `rules`, `model`, or `caller` if nothing was evaluated; `signals` give the evidence in words.
    """

    result_id: int = 0
    user_id: str = ""
    agent_version: str
    session_id: str
    is_success: bool
    failure_type: Optional[str] = None
    failure_reason: Optional[str] = None
    evaluation_name: Optional[str] = None
    created_at: int
    regular_vs_shadow: Optional[RegularVsShadow] = None
    number_of_correction_per_session: int = 0
    user_turns_to_resolution: Optional[int] = None
    is_escalated: bool = False
    tags: Optional[list[str]] = None
    judged_success: Optional[bool] = None
    stated_outcome: Optional[SessionOutcomeKind] = None
    confidence: Optional[float] = None
    engine: str = ""
    model: Optional[str] = None
    signals: list[str] = Field(default_factory=list)
    source: str = ""
    ended_at: Optional[int] = None
    updated_at: Optional[int] = None


class GetEvaluationResultsViewResponse(Done):
    """Newest first."""

    agent_success_evaluation_results: list[EvaluationResultView] = Field(default_factory=list)
    msg: Optional[str] = None


class GradeOnDemandRequest(RequestModel):
    """Without `agent_version`, any version."""

    session_id: Id
    agent_version: Label = ""
    user_id: MaybeId = None
    evaluation_name: Optional[NonEmpty] = None


class GradeOnDemandResponse(NullsSent, AnswerModel):
    """`cached`: evaluated within the last day, and no turn was added since. `skipped_reason` says why there is no
    result.
    """

    session_id: str
    result_id: Optional[int] = None
    cached: bool = False
    skipped_reason: Optional[str] = None
    retrieved_learning_status: Optional[str] = None


# --- regeneration --------------------------------------------------------------------------------------------------


class RegenerateRequest(RequestModel):
    """Sessions whose last request arrived from `from_ts` to `to_ts`, both included."""

    evaluation_name: Optional[NonEmpty] = None
    from_ts: Seconds
    to_ts: Seconds

    @model_validator(mode="after")
    def _ends_after_it_starts(self) -> Self:
        if self.from_ts >= self.to_ts:
            raise ValueError("from_ts must be before to_ts")
        return self


class RegenerateStartResponse(AnswerModel):
    job_id: str
    total: int


class RegenerationRequest(RequestModel):
    job_id: Id


class RegenerateFailure(AnswerModel):
    session_id: str
    reason: str


class RegenerateStatusResponse(NullsSent, AnswerModel):
    """`completed` counts sessions without the `failed` ones. `finished_at` is null while it runs."""

    job_id: str
    status: Literal["running", "completed", "cancelled", "error"]
    total: int
    completed: int
    failed: int
    failures: list[RegenerateFailure]
    started_at: float
    finished_at: Optional[float]
    total_candidates: int = 0
    sampled_count: int = 0
    concurrency_limit: int = 0


class CancelRegenerationResponse(AnswerModel):
    """`cancelling`: it stops before its next session. Otherwise the final status; a queued run ends at once."""

    job_id: str
    status: str


# --- shadows -------------------------------------------------------------------------------------------------------


class RecentShadowComparisonsRequest(RequestModel):
    """At most 100 are returned."""

    limit: Annotated[int, Field(ge=-(2**31), le=2**31)] = 10


class ShadowComparisonOutput(AnswerModel):
    better_request: Literal["1", "2", "tie"]
    is_significantly_better: bool
    comparison_reason: Optional[str] = None


class ShadowComparisonVerdict(AnswerModel):
    """`reflexio_is_request_1`: the judge saw the regular answer first."""

    verdict_id: int
    interaction_id: str
    session_id: str
    agent_version: str
    reflexio_is_request_1: bool
    output: ShadowComparisonOutput
    judge_prompt_version: str
    created_at: datetime
    regular_vs_shadow: Optional[RegularVsShadow] = None
    engine: str = ""


class GetRecentShadowComparisonsResponse(NullsSent, AnswerModel):
    """Newest first."""

    verdicts: list[ShadowComparisonVerdict] = Field(default_factory=list)
