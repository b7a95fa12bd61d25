"""The parts of an org's configuration: their fields, their bounds, and the older names they are still known by."""

import re
from enum import IntEnum
from typing import Annotated, Any, ClassVar, Literal, Optional, Union

from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints, model_validator
from typing_extensions import Self

from acumen_client.compat import StrEnum
from acumen_client.wire.shapes import Label, NonEmpty, RequestModel, Seconds, Share, Str, Text, WebUrl, storable

Positive = Annotated[int, Field(gt=0, le=2**31 - 1)]
NotNegative = Annotated[int, Field(ge=0, le=2**31 - 1)]
Moment = Annotated[float, Field(ge=0.0, le=1e9)]
LongerMoment = Annotated[float, Field(gt=0.0, le=1e9)]
Texts = Annotated[list[Label], Field(max_length=1_000)]

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


def _without_control(value: Any) -> Any:
    return _CONTROL.sub("", value) if isinstance(value, str) else value


# Control characters have no place in a prompt; they are taken out rather than refused.
Prompt = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=1_000_000),
    BeforeValidator(storable),
    BeforeValidator(_without_control),
]


class ConfigSection(RequestModel):
    """A part of the configuration."""


# --- where it is stored --------------------------------------------------------------------------------------------


class StorageConfigSQLite(ConfigSection):
    storage_type: Literal["sqlite"] = Field(default="sqlite", alias="type")
    db_path: Optional[Str] = None


class StorageConfigSupabase(ConfigSection):
    storage_type: Literal["supabase"] = Field(default="supabase", alias="type")
    url: NonEmpty
    key: NonEmpty
    db_url: NonEmpty
    schema_name: Optional[Str] = Field(default=None, alias="schema")
    read_url: Optional[NonEmpty] = None
    read_key: Optional[NonEmpty] = None


class StorageConfigPostgres(ConfigSection):
    storage_type: Literal["postgres"] = Field(default="postgres", alias="type")
    db_url: NonEmpty
    schema_name: Optional[Str] = Field(default=None, alias="schema")
    pool_size: Positive = 10
    pool_acquire_timeout: LongerMoment = 30.0
    read_db_url: Optional[NonEmpty] = None
    read_pool_size: Optional[Positive] = None
    read_pool_acquire_timeout: Optional[LongerMoment] = None


class StorageConfigManaged(ConfigSection):
    """Storage that whoever runs the server looks after."""

    managed_by: Literal["platform"]
    schema_present: bool = True


StorageConfig = Union[StorageConfigSQLite, StorageConfigSupabase, StorageConfigPostgres, StorageConfigManaged]


class StorageConfigTest(IntEnum):
    UNKNOWN = 0
    INCOMPLETE = 1
    FAILED = 2
    SUCCEEDED = 3


# --- models and their keys -----------------------------------------------------------------------------------------


class AzureOpenAIConfig(ConfigSection):
    api_key: NonEmpty
    endpoint: WebUrl
    api_version: Str = "2024-02-15-preview"
    deployment_name: Optional[Str] = None


class OpenAIConfig(ConfigSection):
    api_key: Optional[Str] = None
    azure_config: Optional[AzureOpenAIConfig] = None

    @model_validator(mode="after")
    def _has_a_way_in(self) -> Self:
        if not (self.api_key or "").strip() and self.azure_config is None:
            raise ValueError("give api_key or azure_config")
        return self


class KeyOnly(ConfigSection):
    """A provider that needs nothing but a key."""

    api_key: NonEmpty


class DashScopeConfig(KeyOnly):
    api_base: Optional[WebUrl] = None


class CustomEndpointConfig(KeyOnly):
    """Any server that speaks the OpenAI protocol; it goes before all other providers."""

    model: NonEmpty
    api_base: WebUrl


class APIKeyConfig(ConfigSection):
    custom_endpoint: Optional[CustomEndpointConfig] = None
    openai: Optional[OpenAIConfig] = None
    anthropic: Optional[KeyOnly] = None
    openrouter: Optional[KeyOnly] = None
    gemini: Optional[KeyOnly] = None
    minimax: Optional[KeyOnly] = None
    deepseek: Optional[KeyOnly] = None
    dashscope: Optional[DashScopeConfig] = None
    zai: Optional[KeyOnly] = None
    moonshot: Optional[KeyOnly] = None
    xai: Optional[KeyOnly] = None


class LLMConfig(ConfigSection):
    """Models and budget; null leaves the choice to the server."""

    should_run_model_name: Optional[Str] = None
    generation_model_name: Optional[Str] = None
    embedding_model_name: Optional[Str] = None
    pre_retrieval_model_name: Optional[Str] = None
    generation_timeout_seconds: Optional[Positive] = None
    daily_token_budget: Optional[NotNegative] = None


# --- what is learned -----------------------------------------------------------------------------------------------

_OLDER_OVERRIDES = {
    "batch_size_override": "window_size_override",
    "batch_interval_override": "stride_size_override",
    "extraction_window_size_override": "window_size_override",
    "extraction_window_stride_override": "stride_size_override",
    "metadata_definition_prompt": "tagging_definition_prompt",
}


class ExtractorSection(ConfigSection):
    """Fields of all extractors."""

    older_names: ClassVar[dict[str, str]] = _OLDER_OVERRIDES

    tagging_definition_prompt: Optional[Text] = None
    request_sources_enabled: Optional[Texts] = None
    window_size_override: Optional[Positive] = None
    stride_size_override: Optional[Positive] = None


class NamedExtractor(ExtractorSection):
    """Memories carry the name of their extractor; each extractor has its own bookmarks."""

    extractor_name: Optional[NonEmpty] = None
    extraction_definition_prompt: Prompt
    context_prompt: Optional[Text] = None
    # Reads only when somebody asks for it.
    manual_trigger: bool = False
    # With a model: a correction, a rule or "remember …" is read at once, not with the next four user turns.
    read_corrections_at_once: Optional[bool] = Field(default=None, exclude_if=lambda value: value is None)


class ProfileExtractorConfig(NamedExtractor):
    older_names: ClassVar[dict[str, str]] = {
        **_OLDER_OVERRIDES,
        "profile_content_definition_prompt": "extraction_definition_prompt",
    }

    should_extract_profile_prompt_override: Optional[Text] = None


# The least cosine that was measured to be good, and what older clients say in its place when nobody has said anything.
MEASURED_SIMILARITY, UNSAID_SIMILARITY = 0.4, 0.3


def _measured(similarity: float) -> float:
    return MEASURED_SIMILARITY if similarity == UNSAID_SIMILARITY else similarity


class PlaybookAggregatorConfig(ConfigSection):
    """When similar user playbooks become a shared lesson."""

    older_names: ClassVar[dict[str, str]] = {
        "min_feedback_threshold": "min_cluster_size",
        "refresh_count": "reaggregation_trigger_count",
        "similarity_threshold": "clustering_similarity",
    }

    min_cluster_size: Positive = 2
    reaggregation_trigger_count: Positive = 2
    # A number rather than null: clients up to 0.2.14 cannot read a null here.
    clustering_similarity: Annotated[Share, AfterValidator(_measured)] = MEASURED_SIMILARITY
    direction_overlap_threshold: Share = 0.6


class DeduplicationConfig(ConfigSection):
    strategy: Literal["legacy", "audited"] = "legacy"
    search_threshold: Share = 0.4
    search_top_k: Positive = 5
    max_unified_content_chars: Positive = 1_200


class UserPlaybookExtractorConfig(NamedExtractor):
    older_names: ClassVar[dict[str, str]] = {
        **_OLDER_OVERRIDES,
        "feedback_definition_prompt": "extraction_definition_prompt",
        "playbook_definition_prompt": "extraction_definition_prompt",
        "feedback_aggregator_config": "aggregation_config",
        "playbook_aggregator_config": "aggregation_config",
        "feedback_name": "extractor_name",
        "playbook_name": "extractor_name",
    }

    aggregation_config: PlaybookAggregatorConfig = Field(default_factory=PlaybookAggregatorConfig)
    deduplication_config: Optional[DeduplicationConfig] = None


class AgentSuccessConfig(ExtractorSection):
    """What counts as success, and which share of sessions is evaluated."""

    evaluation_name: Optional[NonEmpty] = None
    success_definition_prompt: Prompt
    sampling_rate: Share = 0.05
    evaluation_only_sampling_rate: Optional[Share] = None
    retrieved_learning_sampling_rate: Optional[Share] = None


class ToolUseConfig(ConfigSection):
    tool_name: NonEmpty
    tool_description: NonEmpty


class ExtractionPreset(StrEnum):
    """A window and a stride that suit a way of talking."""

    QUICK_CHAT = "quick_chat"
    STANDARD = "standard"
    LONG_FORM = "long_form"
    HIGH_VOLUME = "high_volume"


WINDOW_AND_STRIDE = {
    ExtractionPreset.QUICK_CHAT: (5, 3),
    ExtractionPreset.STANDARD: (10, 8),
    ExtractionPreset.LONG_FORM: (25, 10),
    ExtractionPreset.HIGH_VOLUME: (15, 8),
}


# --- upkeep --------------------------------------------------------------------------------------------------------


class RetrievalFloorConfig(ConfigSection):
    """Drops hits whose reranker score lies below a floor. Floors are numbers for the sake of clients up to 0.2.14."""

    enabled: bool = False
    pool_size: Positive = 30
    profile_floor: float = -3.0
    user_playbook_floor: float = -3.0
    agent_playbook_floor: float = -3.0


class PlaybookOptimizerConfig(ConfigSection):
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
    webhook_backoff_base_seconds: Moment = 1.0
    assistant_script_path: Optional[Str] = None
    assistant_script_args: Texts = Field(default_factory=list)
    scheduler_jitter_seconds: Moment = 1.0
    cooldown_after_aborts_seconds: NotNegative = 3_600
    abort_cooldown_threshold: Positive = 2

    @model_validator(mode="after")
    def _asks_one_assistant(self) -> Self:
        if self.webhook_url and self.assistant_script_path:
            raise ValueError("give webhook_url or assistant_script_path, not both")
        return self


class LineageGCConfig(ConfigSection):
    """How long what was merged or superseded is kept for undo."""

    enabled: bool = True
    tombstone_grace_window_days: Positive = 90
    poll_interval_seconds: Positive = 86_400


class ExpiryReclamationConfig(ConfigSection):
    enabled: bool = False


class MemoryReviewConfig(ConfigSection):
    """Thresholds; null leaves the choice to the server."""

    least_wasted_tokens: Optional[NotNegative] = None
    grace_days: Optional[Annotated[int, Field(ge=0, le=3_650)]] = None
    oversized_tokens: Optional[Positive] = None
    similarity: Optional[Annotated[float, Field(gt=0, le=1)]] = None


class GovernanceRetentionConfig(ConfigSection):
    audit_events_retention_enabled: bool = False
    audit_events_retention_days: Positive = 365
    audit_events_delete_batch_limit: Positive = 500


class PendingToolCallToolOverrideConfig(ConfigSection):
    max_pending_followups_per_scope: Optional[Positive] = None
    pending_ttl_seconds: Optional[Positive] = None
    dedup_cache_seconds: Optional[Positive] = None
    prior_answer_valid_seconds: Optional[Positive] = None
    similarity_threshold: Optional[Share] = None


class PendingToolCallConfig(ConfigSection):
    enabled: bool = False
    max_pending_followups_per_scope: Positive = 10
    pending_ttl_seconds: Positive = 86_400
    dedup_cache_seconds: Positive = 300
    prior_answer_valid_seconds: Positive = 2_592_000
    similarity_threshold: Share = 0.0
    resume_poll_interval_seconds: LongerMoment = 5.0
    resume_claim_ttl_seconds: Positive = 600
    max_resume_attempts: NotNegative = 3
    max_finalization_attempts: NotNegative = 3
    hmac_secrets: Texts = Field(default_factory=list)
    tool_overrides: dict[Str, PendingToolCallToolOverrideConfig] = Field(default_factory=dict)


class ReflectionConfig(ConfigSection):
    """A step that clients up to 0.2.14 still configure. It is read and not kept."""

    enabled: bool = True
    model: Optional[Str] = None
    post_horizon_size: NotNegative = 3
    max_revisions_per_pass: Positive = 8


ExperimentId = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=128), BeforeValidator(storable)
]


class RetrievalExperimentConfig(ConfigSection):
    experiment_id: ExperimentId
    holdout_percentage: Annotated[float, Field(gt=0, lt=100)]


class RetrievalExperimentRecord(RetrievalExperimentConfig):
    started_at: Seconds
    ended_at: Optional[Seconds] = None

    @model_validator(mode="after")
    def _ends_after_it_starts(self) -> Self:
        if self.ended_at is not None and self.ended_at < self.started_at:
            raise ValueError("ended_at must not lie before started_at")
        return self
