"""Evaluations: how sessions ended, as judged and as stated, one by one and added up."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from acumen_client.wire.shapes import (
    Answer,
    Days,
    Done,
    HowMany,
    Id,
    JsonObject,
    Label,
    MaybeId,
    NonEmpty,
    Offset,
    Request,
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
    """What the caller knows of how a session ended; it goes before any judge's guess.

    `occurred_at` is when it ended, in epoch seconds. `user_id` is needed only where several users have a session of
    that id.
    """

    _harmless_extras = frozenset()

    session_id: Id
    outcome: SessionOutcomeKind
    occurred_at: Seconds
    user_id: MaybeId = None
    label: Annotated[Label, Field(max_length=128)] | None = None
    value: Annotated[float, Field(allow_inf_nan=False)] | None = None
    metadata: JsonObject | None = None


class SetSessionOutcomeResponse(Done):
    """`outcome_revision` counts the words said of this session; the same word again is no new one."""

    recorded: bool = False
    message: str = ""
    user_id: str | None = None
    source: str | None = None
    outcome_id: str | None = None
    outcome_revision: int | None = None
    outcome_contract_digest: str | None = None
    finalized_trajectory_digest: str | None = None


class GetSessionOutcomesRequest(Request):
    """`start_time` and `end_time` are epoch seconds and look at when the sessions ended."""

    session_ids: Annotated[list[Id], Field(max_length=100)] | None = None
    user_id: MaybeId = None
    source: Source | None = None
    outcome: SessionOutcomeKind | None = None
    label: Label | None = None
    start_time: Seconds | None = None
    end_time: Seconds | None = None
    top_k: Annotated[int, Field(ge=1, le=1_000)] = 100
    offset: Offset = 0


class SessionOutcomeRecord(Answer):
    """As the caller stated it; `created_at` is when. `outcome_contract_digest` names the statement, and
    `finalized_trajectory_digest` the very words that the session had then.
    """

    outcome_id: str | None = None
    outcome_revision: int | None = None
    user_id: str
    session_id: str
    outcome: SessionOutcomeKind
    occurred_at: int
    source: str
    label: str | None = None
    value: float | None = None
    metadata: dict[str, Any] | None = None
    outcome_contract_digest: str | None = None
    finalized_trajectory_digest: str | None = None
    created_at: int
    is_inferred: bool = False
    trajectory_through_request_id: str | None = None


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
    """Times look at when a session was first judged."""

    limit: HowMany = 100
    offset: Offset = 0
    agent_version: Label | None = None
    user_id: MaybeId = None
    session_id: MaybeId = None


class EvaluationResultView(Answer):
    """`is_success` is what counts. `judged_success` is what was guessed, and `stated_outcome` what the caller said.

    `engine` is `rules`, `model`, or `caller` where nobody judged; `signals` are its grounds in words.
    """

    result_id: int = 0
    user_id: str = ""
    agent_version: str
    session_id: str
    is_success: bool
    failure_type: str | None = None
    failure_reason: str | None = None
    evaluation_name: str | None = None
    created_at: int
    regular_vs_shadow: RegularVsShadow | None = None
    number_of_correction_per_session: int = 0
    user_turns_to_resolution: int | None = None
    is_escalated: bool = False
    tags: list[str] | None = None
    judged_success: bool | None = None
    stated_outcome: SessionOutcomeKind | None = None
    confidence: float | None = None
    engine: str = ""
    model: str | None = None
    signals: list[str] = Field(default_factory=list)
    source: str = ""
    ended_at: int | None = None
    updated_at: int | None = None


class GetEvaluationResultsViewResponse(Done):
    """Newest first."""

    agent_success_evaluation_results: list[EvaluationResultView] = Field(default_factory=list)
    msg: str | None = None


class GradeOnDemandRequest(Request):
    """Without `agent_version` any will do. `evaluation_name` is taken for the sake of older clients."""

    session_id: Id
    agent_version: Label = ""
    user_id: MaybeId = None
    evaluation_name: NonEmpty | None = None


class GradeOnDemandResponse(Answer):
    """`cached`: judged within a day, and nothing was said since. `skipped_reason` says why there is no result."""

    session_id: str
    result_id: int | None = None
    cached: bool = False
    skipped_reason: str | None = None
    retrieved_learning_status: str | None = None


# --- regeneration --------------------------------------------------------------------------------------------------


class RegenerateRequest(Request):
    """Sessions whose last request came from `from_ts` to `to_ts`, both included, in epoch seconds."""

    evaluation_name: NonEmpty | None = None
    from_ts: Seconds
    to_ts: Seconds

    @model_validator(mode="after")
    def _ends_after_it_starts(self) -> Self:
        if self.from_ts >= self.to_ts:
            raise ValueError("from_ts must be before to_ts")
        return self


class RegenerateStartResponse(Answer):
    job_id: str
    total: int


class RegenerationRequest(Request):
    job_id: Id


class RegenerateFailure(Answer):
    session_id: str
    reason: str


class RegenerateStatusResponse(Answer):
    """`completed` counts sessions; of those, `failed` are not part. `finished_at` is null while it runs."""

    job_id: str
    status: Literal["running", "completed", "cancelled", "error"]
    total: int
    completed: int
    failed: int
    failures: list[RegenerateFailure]
    started_at: float
    finished_at: float | None
    total_candidates: int = 0
    sampled_count: int = 0
    concurrency_limit: int = 0


class CancelRegenerationResponse(Answer):
    """`cancelling`: it stops before its next session. Otherwise how it had ended before."""

    job_id: str
    status: str


# --- shadows -------------------------------------------------------------------------------------------------------


class RecentShadowComparisonsRequest(Request):
    """Any number is taken; from 1 to 100 are shown."""

    limit: Annotated[int, Field(ge=-(2**31), le=2**31)] = 10


class ShadowComparisonOutput(Answer):
    better_request: Literal["1", "2", "tie"]
    is_significantly_better: bool
    comparison_reason: str | None = None


class ShadowComparisonVerdict(Answer):
    """`reflexio_is_request_1`: the answer that was given stood in the first place."""

    verdict_id: int
    interaction_id: str
    session_id: str
    agent_version: str
    reflexio_is_request_1: bool
    output: ShadowComparisonOutput
    judge_prompt_version: str
    created_at: datetime
    regular_vs_shadow: RegularVsShadow | None = None
    engine: str = ""


class GetRecentShadowComparisonsResponse(Answer):
    """Newest first."""

    verdicts: list[ShadowComparisonVerdict] = Field(default_factory=list)


# --- overview ------------------------------------------------------------------------------------------------------


class EvaluationSourceSetRequest(Request):
    label: NonEmpty
    sources: Annotated[list[Source], Field(min_length=1, max_length=100)]


class GetEvaluationOverviewRequest(Request):
    """Sessions whose last request came from `from_ts` to `to_ts`, both included, in epoch seconds."""

    from_ts: Seconds
    to_ts: Seconds
    bucket: Literal["day", "week"] = "week"
    include_shadow: bool = True
    source_sets: Annotated[list[EvaluationSourceSetRequest], Field(max_length=20)] = Field(default_factory=list)

    @model_validator(mode="after")
    def _makes_sense(self) -> Self:
        if self.from_ts > self.to_ts:
            raise ValueError("from_ts must not be after to_ts")
        labels = [one.label for one in self.source_sets]
        if len(set(labels)) != len(labels):
            raise ValueError("source_sets must have different labels")
        return self


class HeroBucket(Answer):
    """Rates are from 0 to 1. A shadow has no rate of success: nobody ever ended a session with its answers."""

    ts: int
    regular_rate: float
    shadow_rate: float | None
    regular_n: int
    shadow_n: int
    avg_corrections: float = 0.0
    escalation_rate: float = 0.0


class HeroBlock(Answer):
    """`empty`: nothing was judged; `shadow_off`: nothing was compared; `early`: too little to go by; `full`."""

    state: Literal["full", "early", "shadow_off", "empty"]
    regular_success_rate_pp: float
    shadow_success_rate_pp: float | None
    delta_pp: float | None
    buckets: list[HeroBucket]


class NumberWithDelta(Answer):
    current: float
    delta: float


class PercentWithDelta(Answer):
    current: float
    delta_pp: float


class BehaviorSuccessMetric(Answer):
    """Success without the sessions that failed because a system did."""

    current: float | None = None
    delta_pp: float | None = None
    eligible_sessions: int = 0
    excluded_system_errors: int = 0


class ContextTile(Answer):
    """Against the time of the same length right before."""

    success: PercentWithDelta
    behavior_success: BehaviorSuccessMetric
    corrections: NumberWithDelta
    turns: NumberWithDelta
    escalation: PercentWithDelta


class RuleAttributionRow(Answer):
    """How the sessions ended in which a memory was cited. `cited_session_ids` are the latest of them."""

    rule_id: str
    kind: Literal["playbook", "profile", "user_playbook", "agent_playbook"]
    title: str = ""
    successes_with: int
    failures_with: int
    net_sessions: int
    cited_session_ids: list[str] = Field(default_factory=list)


class ScoreDistribution(Answer):
    """Sessions by their number of corrections, now and in the time before."""

    current_bins: list[int]
    baseline_bins: list[int]
    labels: list[str]


class BraintrustTileRow(Answer):
    """Scores of another service; none are imported."""

    scorer_name: str
    current: float
    n: int
    delta: float


class ShadowWinRateTrendPoint(Answer):
    date: str
    n: int
    wins: int
    losses: int
    ties: int


class ShadowWinRateTrendWindowTotal(Answer):
    n: int = 0
    wins: int = 0
    losses: int = 0
    ties: int = 0
    win_rate: float = 0.0
    net_win: float = 0.0


class ShadowWinRateTrend(Answer):
    """A win is the regular answer's."""

    daily: list[ShadowWinRateTrendPoint] = Field(default_factory=list)
    window_total: ShadowWinRateTrendWindowTotal = Field(default_factory=ShadowWinRateTrendWindowTotal)
    judge_prompt_version: str = ""


class SourceSetEvaluationMetrics(Answer):
    label: str
    sources: list[str]
    session_count: int
    session_ids: list[str] = Field(default_factory=list)
    success_rate_pp: float
    buckets: list[HeroBucket]
    context_tiles: ContextTile
    score_distribution: ScoreDistribution
    rule_attribution: list[RuleAttributionRow]
    braintrust_tiles: list[BraintrustTileRow] = Field(default_factory=list)


class EvaluationSessionKey(Answer):
    user_id: str
    session_id: str


class SourceSessions(Answer):
    """The latest sessions of a source."""

    source: str
    session_ids: list[str] = Field(default_factory=list)
    sessions: list[EvaluationSessionKey] = Field(default_factory=list)


class SourceSetComparison(Answer):
    available_sources: list[str] = Field(default_factory=list)
    source_sessions: list[SourceSessions] = Field(default_factory=list)
    sets: list[SourceSetEvaluationMetrics] = Field(default_factory=list)
    unmatched_session_count: int = 0


class GetEvaluationOverviewResponse(Answer):
    hero: HeroBlock
    context_tiles: ContextTile
    rule_attribution: list[RuleAttributionRow]
    score_distribution: ScoreDistribution
    braintrust_tiles: list[BraintrustTileRow] = Field(default_factory=list)
    shadow_win_rate_trend: ShadowWinRateTrend = Field(default_factory=ShadowWinRateTrend)
    recent_results: list[EvaluationResultView] = Field(default_factory=list)
    source_set_comparison: SourceSetComparison = Field(default_factory=SourceSetComparison)


# --- dashboard -----------------------------------------------------------------------------------------------------


class GetDashboardStatsRequest(Request):
    days_back: Days = 30


class TimeSeriesDataPoint(Answer):
    """One day (UTC), under the second at which it began. `count` is what `value` was made from.

    Of evaluations, `value` is the share of successes in whole percent: older clients take no fraction.
    """

    timestamp: int
    value: float
    count: int | None = None


class PeriodStats(Answer):
    """What came to be in the period and still stands. `success_rate` is in percent."""

    total_profiles: int
    total_interactions: int
    total_playbooks: int
    success_rate: float


class DashboardStats(Answer):
    """The last days, today included, against as many before. Days on which there was nothing are 0."""

    current_period: PeriodStats
    previous_period: PeriodStats
    interactions_time_series: list[TimeSeriesDataPoint]
    profiles_time_series: list[TimeSeriesDataPoint]
    playbooks_time_series: list[TimeSeriesDataPoint]
    evaluations_time_series: list[TimeSeriesDataPoint]


class GetDashboardStatsResponse(Done):
    stats: DashboardStats | None = None
    msg: str | None = None
