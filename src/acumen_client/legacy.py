"""What only clients of earlier products send and read: their events, and settings that nothing here looks at."""

from enum import IntEnum
from typing import Annotated, Literal, Optional, Union

from pydantic import ConfigDict, Field, model_validator
from typing_extensions import Self

from acumen_client.wire.operations import Count, ErrorText, Millis, Name, Short, Summary, small
from acumen_client.wire.operations import Moment as EventTime
from acumen_client.wire.shapes import (
    AnswerModel,
    Labels,
    MaybeId,
    NonEmpty,
    NotNegative,
    Positive,
    RequestModel,
    Share,
    Str,
    WireModel,
)

# --- events of the earlier observer, at /event and /stats ------------------------------------------------------------


class EventRequest(WireModel):
    """An event in the shape of the earlier observer; names that it does not know are kept as attributes."""

    model_config = ConfigDict(extra="allow", strict=True, json_schema_extra={"additionalProperties": True})

    op_id: MaybeId = None
    source: Name = "scenario"
    endpoint: Optional[Name] = None
    timestamp: Optional[EventTime] = None
    success: Optional[bool] = None
    ok: Optional[bool] = None
    duration_ms: Optional[Millis] = None
    audit_duration_ms: Optional[Millis] = None
    input_summary: Optional[Summary] = None
    output_summary: Optional[Summary] = None
    one_liner: Optional[Summary] = None
    error: Optional[ErrorText] = None
    session_id: MaybeId = None
    user_id: MaybeId = None
    staffer_id: Optional[Short] = None
    sig_hash: Optional[Short] = None
    event_kind: Optional[Short] = None
    role: Optional[Short] = None
    city: Optional[Short] = None
    state: Optional[Short] = None
    count: Optional[Count] = None
    rescue_attempted: Optional[bool] = None
    rescue_succeeded: Optional[bool] = None

    @model_validator(mode="after")
    def _says_how_it_ended(self) -> Self:
        if self.success is None and self.ok is None:
            raise ValueError("success (or ok) must be true or false")
        small(self.__pydantic_extra__ or {})
        return self


class EventResponse(AnswerModel):
    """`ring_size` counts all operations that are kept; nothing is in a ring that forgets."""

    accepted: bool = True
    ring_size: int
    op_id: str


class RecentOperation(AnswerModel):
    ts: float
    ok: Optional[bool] = None
    source: str = ""
    endpoint: str = ""
    staffer: Optional[str] = None
    kind: Optional[str] = None
    role: Optional[str] = None


class SourceStats(AnswerModel):
    total: int
    successes: int
    failures: int
    last_hour: int


class StatsResponse(AnswerModel):
    """`by_source` counts; `sources` has the details. A verdict that says no is no failure."""

    total: int
    successes: int
    failures: int
    by_source: dict[str, int] = Field(default_factory=dict)
    sources: dict[str, SourceStats] = Field(default_factory=dict)
    recent: list[RecentOperation] = Field(default_factory=list)
    recent_scenario_ops: list[RecentOperation] = Field(default_factory=list)


# --- settings that are checked, stored and returned, and change nothing ----------------------------------------------

Pause = Annotated[float, Field(ge=0.0, le=1e9)]
LongerPause = Annotated[float, Field(gt=0.0, le=1e9)]


class StorageConfigSQLite(RequestModel):
    storage_type: Literal["sqlite"] = Field(default="sqlite", alias="type")
    db_path: Optional[Str] = None


class StorageConfigSupabase(RequestModel):
    storage_type: Literal["supabase"] = Field(default="supabase", alias="type")
    url: NonEmpty
    key: NonEmpty
    db_url: NonEmpty
    schema_name: Optional[Str] = Field(default=None, alias="schema")
    read_url: Optional[NonEmpty] = None
    read_key: Optional[NonEmpty] = None


class StorageConfigPostgres(RequestModel):
    storage_type: Literal["postgres"] = Field(default="postgres", alias="type")
    db_url: NonEmpty
    schema_name: Optional[Str] = Field(default=None, alias="schema")
    pool_size: Positive = 10
    pool_acquire_timeout: LongerPause = 30.0
    read_db_url: Optional[NonEmpty] = None
    read_pool_size: Optional[Positive] = None
    read_pool_acquire_timeout: Optional[LongerPause] = None


class StorageConfigManaged(RequestModel):
    """Storage that the server's operator manages."""

    managed_by: Literal["platform"]
    schema_present: bool = True


StorageConfig = Union[StorageConfigSQLite, StorageConfigSupabase, StorageConfigPostgres, StorageConfigManaged]


class StorageConfigTest(IntEnum):
    UNKNOWN = 0
    INCOMPLETE = 1
    FAILED = 2
    SUCCEEDED = 3


class ToolUseConfig(RequestModel):
    tool_name: NonEmpty
    tool_description: NonEmpty


class DeduplicationConfig(RequestModel):
    strategy: Literal["legacy", "audited"] = "legacy"
    search_threshold: Share = 0.4
    search_top_k: Positive = 5
    max_unified_content_chars: Positive = 1_200


class RetrievalFloorConfig(RequestModel):
    """Drops hits whose reranker score is below a floor. Floors are numbers for clients up to 0.2.14."""

    enabled: bool = False
    pool_size: Positive = 30
    profile_floor: float = -3.0
    user_playbook_floor: float = -3.0
    agent_playbook_floor: float = -3.0


class PlaybookOptimizerConfig(RequestModel):
    enabled: bool = False
    optimize_agent_playbooks: bool = False
    optimize_user_playbooks: bool = False
    auto_update_pending_agent_playbooks: bool = True
    auto_update_user_playbooks: bool = False
    max_metric_calls: Positive = 20
    max_turns: Positive = 4
    early_stop_score: Share = 0.9
    reflection_minibatch_size: Positive = 2
    max_validation_windows: Positive = 2
    min_commit_windows: Positive = 2
    min_commit_score: Share = 0.75
    min_commit_likert: Annotated[int, Field(ge=1, le=5)] = 4
    use_merge: bool = True
    max_merge_invocations: NotNegative = 5
    reflection_model: Optional[Str] = None
    webhook_url: Optional[Str] = None
    webhook_auth_header: Optional[Str] = None
    webhook_timeout_seconds: Positive = 60
    webhook_max_retries: NotNegative = 3
    webhook_backoff_base_seconds: Pause = 1.0
    assistant_script_path: Optional[Str] = None
    assistant_script_args: Labels = Field(default_factory=list)
    scheduler_jitter_seconds: Pause = 1.0
    cooldown_after_aborts_seconds: NotNegative = 3_600
    abort_cooldown_threshold: Positive = 2

    @model_validator(mode="after")
    def _asks_one_assistant(self) -> Self:
        if self.webhook_url and self.assistant_script_path:
            raise ValueError("give webhook_url or assistant_script_path, not both")
        return self


class LineageGCConfig(RequestModel):
    """How long what was merged or superseded is kept for undo."""

    enabled: bool = True
    tombstone_grace_window_days: Positive = 90
    poll_interval_seconds: Positive = 86_400


class ExpiryReclamationConfig(RequestModel):
    enabled: bool = False


class GovernanceRetentionConfig(RequestModel):
    audit_events_retention_enabled: bool = False
    audit_events_retention_days: Positive = 365
    audit_events_delete_batch_limit: Positive = 500


class PendingToolCallToolOverrideConfig(RequestModel):
    max_pending_followups_per_scope: Optional[Positive] = None
    pending_ttl_seconds: Optional[Positive] = None
    dedup_cache_seconds: Optional[Positive] = None
    prior_answer_valid_seconds: Optional[Positive] = None
    similarity_threshold: Optional[Share] = None


class PendingToolCallConfig(RequestModel):
    enabled: bool = False
    max_pending_followups_per_scope: Positive = 10
    pending_ttl_seconds: Positive = 86_400
    dedup_cache_seconds: Positive = 300
    prior_answer_valid_seconds: Positive = 2_592_000
    similarity_threshold: Share = 0.0
    resume_poll_interval_seconds: LongerPause = 5.0
    resume_claim_ttl_seconds: Positive = 600
    max_resume_attempts: NotNegative = 3
    max_finalization_attempts: NotNegative = 3
    hmac_secrets: Labels = Field(default_factory=list)
    tool_overrides: dict[Str, PendingToolCallToolOverrideConfig] = Field(default_factory=dict)


class ReflectionConfig(RequestModel):
    """A step that clients up to 0.2.14 still configure. It is read and not kept."""

    enabled: bool = True
    model: Optional[Str] = None
    post_horizon_size: NotNegative = 3
    max_revisions_per_pass: Positive = 8


class PeerConfig(RequestModel):
    """The part of an org's configuration that only its clients read."""

    storage_config_test: StorageConfigTest = StorageConfigTest.UNKNOWN
    tool_can_use: Annotated[Optional[list[ToolUseConfig]], Field(max_length=1_000)] = None
    retrieval_floor: RetrievalFloorConfig = Field(default_factory=RetrievalFloorConfig)
    playbook_optimizer_config: PlaybookOptimizerConfig = Field(default_factory=PlaybookOptimizerConfig)
    lineage_gc: LineageGCConfig = Field(default_factory=LineageGCConfig)
    expiry_reclamation: ExpiryReclamationConfig = Field(default_factory=ExpiryReclamationConfig)
    governance_retention: GovernanceRetentionConfig = Field(default_factory=GovernanceRetentionConfig)
    pending_tool_call_config: PendingToolCallConfig = Field(default_factory=PendingToolCallConfig)
    enable_document_expansion: bool = False
    shadow_mode_enabled: bool = False
    eval_concurrency_limit: Positive = 10
    shadow_comparison_judge_prompt_version: NonEmpty = "v1.1.0"
    reflection_config: Optional[ReflectionConfig] = Field(default=None, exclude=True)
