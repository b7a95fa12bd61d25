"""How sessions end and what is learned, added up."""

from typing import Annotated, Literal, Optional

from pydantic import Field, model_validator
from typing_extensions import Self

from acumen_client.wire.evaluations import EvaluationResultView
from acumen_client.wire.shapes import AnswerModel, Days, Done, NonEmpty, NullsSent, RequestModel, Seconds, Source

# --- overview ------------------------------------------------------------------------------------------------------


class EvaluationSourceSetRequest(RequestModel):
    """A named set of sources."""

    label: NonEmpty
    sources: Annotated[list[Source], Field(min_length=1, max_length=100)]


class GetEvaluationOverviewRequest(RequestModel):
    """Sessions whose last request arrived from `from_ts` to `to_ts`, both included."""

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


class HeroBucket(AnswerModel):
    """Rates are from 0 to 1. A shadow has no success rate: no session ever ended with its answers."""

    ts: int
    regular_rate: float
    shadow_rate: Optional[float]
    regular_n: int
    shadow_n: int
    avg_corrections: float = 0.0
    escalation_rate: float = 0.0


class HeroBlock(AnswerModel):
    """`empty`: nothing was judged; `shadow_off`: nothing was compared; `early`: too little to go by; `full`."""

    state: Literal["full", "early", "shadow_off", "empty"]
    regular_success_rate_pp: float
    shadow_success_rate_pp: Optional[float]
    delta_pp: Optional[float]
    buckets: list[HeroBucket]


class NumberWithDelta(AnswerModel):
    current: float
    delta: float


class PercentWithDelta(AnswerModel):
    current: float
    delta_pp: float


class BehaviorSuccessMetric(AnswerModel):
    """Success without the sessions that failed because a system did."""

    current: Optional[float] = None
    delta_pp: Optional[float] = None
    eligible_sessions: int = 0
    excluded_system_errors: int = 0


class ContextTile(AnswerModel):
    """Against the time of the same length right before."""

    success: PercentWithDelta
    behavior_success: BehaviorSuccessMetric
    corrections: NumberWithDelta
    turns: NumberWithDelta
    escalation: PercentWithDelta


class RuleAttributionRow(AnswerModel):
    """How the sessions ended in which a memory was cited. `cited_session_ids` are the latest of them."""

    rule_id: str
    kind: Literal["playbook", "profile", "user_playbook", "agent_playbook"]
    title: str = ""
    successes_with: int
    failures_with: int
    net_sessions: int
    cited_session_ids: list[str] = Field(default_factory=list)


class ScoreDistribution(AnswerModel):
    """Sessions by their number of corrections, now and in the time before."""

    current_bins: list[int]
    baseline_bins: list[int]
    labels: list[str]


class BraintrustTileRow(AnswerModel):
    """Scores of another service; none are imported."""

    scorer_name: str
    current: float
    n: int
    delta: float


class ShadowWinRateTrendPoint(AnswerModel):
    date: str
    n: int
    wins: int
    losses: int
    ties: int


class ShadowWinRateTrendWindowTotal(AnswerModel):
    n: int = 0
    wins: int = 0
    losses: int = 0
    ties: int = 0
    win_rate: float = 0.0
    net_win: float = 0.0


class ShadowWinRateTrend(AnswerModel):
    """A win is the regular answer's."""

    daily: list[ShadowWinRateTrendPoint] = Field(default_factory=list)
    window_total: ShadowWinRateTrendWindowTotal = Field(default_factory=ShadowWinRateTrendWindowTotal)
    judge_prompt_version: str = ""


class SourceSetEvaluationMetrics(AnswerModel):
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


class EvaluationSessionKey(AnswerModel):
    user_id: str
    session_id: str


class SourceSessions(AnswerModel):
    """The latest sessions of a source."""

    source: str
    session_ids: list[str] = Field(default_factory=list)
    sessions: list[EvaluationSessionKey] = Field(default_factory=list)


class SourceSetComparison(AnswerModel):
    available_sources: list[str] = Field(default_factory=list)
    source_sessions: list[SourceSessions] = Field(default_factory=list)
    sets: list[SourceSetEvaluationMetrics] = Field(default_factory=list)
    unmatched_session_count: int = 0


class GetEvaluationOverviewResponse(NullsSent, AnswerModel):
    hero: HeroBlock
    context_tiles: ContextTile
    rule_attribution: list[RuleAttributionRow]
    score_distribution: ScoreDistribution
    braintrust_tiles: list[BraintrustTileRow] = Field(default_factory=list)
    shadow_win_rate_trend: ShadowWinRateTrend = Field(default_factory=ShadowWinRateTrend)
    recent_results: list[EvaluationResultView] = Field(default_factory=list)
    source_set_comparison: SourceSetComparison = Field(default_factory=SourceSetComparison)


# --- dashboard -----------------------------------------------------------------------------------------------------


class GetDashboardStatsRequest(RequestModel):
    days_back: Days = 30


class TimeSeriesDataPoint(AnswerModel):
    """One day (UTC), under the second at which it began. `count` is what `value` was made from.

    Of evaluations, `value` is the share of successes in whole percent: older clients take no fraction.
    """

    timestamp: int
    value: float
    count: Optional[int] = None


class PeriodStats(AnswerModel):
    """Memories created in the period that still exist. `success_rate` is in percent."""

    total_profiles: int
    total_interactions: int
    total_playbooks: int
    success_rate: float


class DashboardStats(AnswerModel):
    """The last days, today included, against as many before. Days on which there was nothing are 0."""

    current_period: PeriodStats
    previous_period: PeriodStats
    interactions_time_series: list[TimeSeriesDataPoint]
    profiles_time_series: list[TimeSeriesDataPoint]
    playbooks_time_series: list[TimeSeriesDataPoint]
    evaluations_time_series: list[TimeSeriesDataPoint]


class GetDashboardStatsResponse(Done):
    stats: Optional[DashboardStats] = None
    msg: Optional[str] = None
