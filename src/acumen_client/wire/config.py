"""The configuration of an org: every field, its bounds, and the older names it is still known by."""

import re
from collections.abc import Sequence
from enum import IntEnum, StrEnum
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BeforeValidator, ConfigDict, Field, StringConstraints, model_validator

from acumen_client.wire.shapes import (
    Done,
    Label,
    NonEmpty,
    Request,
    Seconds,
    Shape,
    Share,
    Str,
    Text,
    WebUrl,
    modern,
    plain_json,
    storable,
)

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


class Section(Request):
    """A part of the configuration."""


# --- where it is stored --------------------------------------------------------------------------------------------


class StorageConfigSQLite(Section):
    storage_type: Literal["sqlite"] = Field(default="sqlite", alias="type")
    db_path: Str | None = None


class StorageConfigSupabase(Section):
    storage_type: Literal["supabase"] = Field(default="supabase", alias="type")
    url: NonEmpty
    key: NonEmpty
    db_url: NonEmpty
    schema_name: Str | None = Field(default=None, alias="schema")
    read_url: NonEmpty | None = None
    read_key: NonEmpty | None = None


class StorageConfigPostgres(Section):
    storage_type: Literal["postgres"] = Field(default="postgres", alias="type")
    db_url: NonEmpty
    schema_name: Str | None = Field(default=None, alias="schema")
    pool_size: Positive = 10
    pool_acquire_timeout: LongerMoment = 30.0
    read_db_url: NonEmpty | None = None
    read_pool_size: Positive | None = None
    read_pool_acquire_timeout: LongerMoment | None = None


class StorageConfigManaged(Section):
    """Storage that whoever runs the server looks after."""

    managed_by: Literal["platform"]
    schema_present: bool = True


StorageConfig = StorageConfigSQLite | StorageConfigSupabase | StorageConfigPostgres | StorageConfigManaged


class StorageConfigTest(IntEnum):
    UNKNOWN = 0
    INCOMPLETE = 1
    FAILED = 2
    SUCCEEDED = 3


# --- models and their keys -----------------------------------------------------------------------------------------


class AzureOpenAIConfig(Section):
    api_key: NonEmpty
    endpoint: WebUrl
    api_version: Str = "2024-02-15-preview"
    deployment_name: Str | None = None


class OpenAIConfig(Section):
    api_key: Str | None = None
    azure_config: AzureOpenAIConfig | None = None

    @model_validator(mode="after")
    def _has_a_way_in(self) -> Self:
        if not (self.api_key or "").strip() and self.azure_config is None:
            raise ValueError("give api_key or azure_config")
        return self


class KeyOnly(Section):
    """A provider that needs nothing but a key."""

    api_key: NonEmpty


class DashScopeConfig(KeyOnly):
    api_base: Str | None = None


class CustomEndpointConfig(KeyOnly):
    """Any server that speaks the OpenAI protocol; it goes before all other providers."""

    model: NonEmpty
    api_base: WebUrl


class APIKeyConfig(Section):
    custom_endpoint: CustomEndpointConfig | None = None
    openai: OpenAIConfig | None = None
    anthropic: KeyOnly | None = None
    openrouter: KeyOnly | None = None
    gemini: KeyOnly | None = None
    minimax: KeyOnly | None = None
    deepseek: KeyOnly | None = None
    dashscope: DashScopeConfig | None = None
    zai: KeyOnly | None = None
    moonshot: KeyOnly | None = None
    xai: KeyOnly | None = None


class LLMConfig(Section):
    """Which model does what, and what it may use in a day (UTC); null leaves the choice to the server."""

    should_run_model_name: Str | None = None
    generation_model_name: Str | None = None
    embedding_model_name: Str | None = None
    pre_retrieval_model_name: Str | None = None
    generation_timeout_seconds: Positive | None = None
    daily_token_budget: NotNegative | None = None


# --- what is learned -----------------------------------------------------------------------------------------------

_OLDER_OVERRIDES = {
    "batch_size_override": "window_size_override",
    "batch_interval_override": "stride_size_override",
    "extraction_window_size_override": "window_size_override",
    "extraction_window_stride_override": "stride_size_override",
    "metadata_definition_prompt": "tagging_definition_prompt",
}


class Extractor(Section):
    """What all extractors share: where they look, and how much at a time."""

    older_names: ClassVar[dict[str, str]] = _OLDER_OVERRIDES

    tagging_definition_prompt: Text | None = None
    request_sources_enabled: Texts | None = None
    window_size_override: Positive | None = None
    stride_size_override: Positive | None = None


class NamedExtractor(Extractor):
    """One of the extractors of its kind. Its name is what its memories carry and its bookmarks are kept under."""

    extractor_name: NonEmpty | None = None
    extraction_definition_prompt: Prompt
    context_prompt: Text | None = None
    # Reads only when somebody asks for it.
    manual_trigger: bool = False


class ProfileExtractorConfig(NamedExtractor):
    older_names: ClassVar[dict[str, str]] = {
        **_OLDER_OVERRIDES,
        "profile_content_definition_prompt": "extraction_definition_prompt",
    }

    should_extract_profile_prompt_override: Text | None = None


class PlaybookAggregatorConfig(Section):
    """When similar user playbooks become one for all. `clustering_similarity` is a cosine; higher is stricter."""

    older_names: ClassVar[dict[str, str]] = {
        "min_feedback_threshold": "min_cluster_size",
        "refresh_count": "reaggregation_trigger_count",
        "similarity_threshold": "clustering_similarity",
    }

    min_cluster_size: Positive = 2
    reaggregation_trigger_count: Positive = 2
    # A number rather than null: clients up to 0.2.14 cannot read a null here.
    clustering_similarity: Share = 0.3
    direction_overlap_threshold: Share = 0.6


class DeduplicationConfig(Section):
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
    deduplication_config: DeduplicationConfig | None = None


class AgentSuccessConfig(Extractor):
    """What counts as success, and which share of sessions is judged by it."""

    evaluation_name: NonEmpty | None = None
    success_definition_prompt: Prompt
    sampling_rate: Share = 0.05
    evaluation_only_sampling_rate: Share | None = None
    retrieved_learning_sampling_rate: Share | None = None


class ToolUseConfig(Section):
    tool_name: NonEmpty
    tool_description: NonEmpty


class ExtractionPreset(StrEnum):
    """A window and a stride that suit a way of talking."""

    QUICK_CHAT = "quick_chat"
    STANDARD = "standard"
    LONG_FORM = "long_form"
    HIGH_VOLUME = "high_volume"


_WINDOW_AND_STRIDE = {
    ExtractionPreset.QUICK_CHAT: (5, 3),
    ExtractionPreset.STANDARD: (10, 8),
    ExtractionPreset.LONG_FORM: (25, 10),
    ExtractionPreset.HIGH_VOLUME: (15, 8),
}


# --- upkeep --------------------------------------------------------------------------------------------------------


class RetrievalFloorConfig(Section):
    """Drops hits whose reranker score lies below a floor. Floors are numbers for the sake of clients up to 0.2.14."""

    enabled: bool = False
    pool_size: Positive = 30
    profile_floor: float = -3.0
    user_playbook_floor: float = -3.0
    agent_playbook_floor: float = -3.0


class PlaybookOptimizerConfig(Section):
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
    reflection_model: Str | None = None
    webhook_url: Str | None = None
    webhook_auth_header: Str | None = None
    webhook_timeout_seconds: Positive = 60
    webhook_max_retries: NotNegative = 3
    webhook_backoff_base_seconds: Moment = 1.0
    assistant_script_path: Str | None = None
    assistant_script_args: Texts = Field(default_factory=list)
    scheduler_jitter_seconds: Moment = 1.0
    cooldown_after_aborts_seconds: NotNegative = 3_600
    abort_cooldown_threshold: Positive = 2

    @model_validator(mode="after")
    def _asks_one_assistant(self) -> Self:
        if self.webhook_url and self.assistant_script_path:
            raise ValueError("give webhook_url or assistant_script_path, not both")
        return self


class LineageGCConfig(Section):
    """How long what was merged or superseded is kept for undo."""

    enabled: bool = True
    tombstone_grace_window_days: Positive = 90
    poll_interval_seconds: Positive = 86_400


class ExpiryReclamationConfig(Section):
    enabled: bool = False


class MemoryReviewConfig(Section):
    """From which numbers on a memory deserves a look; null leaves one to the server."""

    least_wasted_tokens: NotNegative | None = None
    grace_days: Annotated[int, Field(ge=0, le=3_650)] | None = None
    oversized_tokens: Positive | None = None
    similarity: Annotated[float, Field(gt=0, le=1)] | None = None


class GovernanceRetentionConfig(Section):
    audit_events_retention_enabled: bool = False
    audit_events_retention_days: Positive = 365
    audit_events_delete_batch_limit: Positive = 500


class PendingToolCallToolOverrideConfig(Section):
    max_pending_followups_per_scope: Positive | None = None
    pending_ttl_seconds: Positive | None = None
    dedup_cache_seconds: Positive | None = None
    prior_answer_valid_seconds: Positive | None = None
    similarity_threshold: Share | None = None


class PendingToolCallConfig(Section):
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


class ReflectionConfig(Section):
    """A step that clients up to 0.2.14 still configure. It is read and not kept."""

    enabled: bool = True
    model: Str | None = None
    post_horizon_size: NotNegative = 3
    max_revisions_per_pass: Positive = 8


ExperimentId = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=128), BeforeValidator(storable)
]


class RetrievalExperimentConfig(Section):
    experiment_id: ExperimentId
    holdout_percentage: Annotated[float, Field(gt=0, lt=100)]


class RetrievalExperimentRecord(RetrievalExperimentConfig):
    started_at: Seconds
    ended_at: Seconds | None = None

    @model_validator(mode="after")
    def _ends_after_it_starts(self) -> Self:
        if self.ended_at is not None and self.ended_at < self.started_at:
            raise ValueError("ended_at must not lie before started_at")
        return self


# --- the whole -----------------------------------------------------------------------------------------------------


def _default_profile_extractor() -> ProfileExtractorConfig:
    return ProfileExtractorConfig(
        extraction_definition_prompt=(
            "Note lasting facts about the user and the surroundings they work in: name, role, preferences, "
            "the data, metrics and tools they rely on, and the quirks of each. "
            "Leave out how the agent should behave; that belongs in a playbook."
        )
    )


def _default_playbook_extractor() -> UserPlaybookExtractorConfig:
    return UserPlaybookExtractorConfig(
        extraction_definition_prompt=(
            "Note how the agent should work for this user: what it was corrected on, what it did well and should "
            "repeat, what it must never do again, and in which situation each of these applies."
        )
    )


def _default_success() -> AgentSuccessConfig:
    return AgentSuccessConfig(
        evaluation_name="agent_success",
        success_definition_prompt=(
            "A session is a success when the agent understood what the user wanted and the user has it at the end: "
            "a right and useful answer, or the task done. It is a failure when the agent misunderstood, was wrong, "
            "left out something it could have done, ignored a limit it was given, or left the user unsatisfied."
        ),
    )


# Extractors can be set as one or as many; the one is the first of the many.
ONE_AND_MANY = {
    "profile_extractor_config": "profile_extractor_configs",
    "user_playbook_extractor_config": "user_playbook_extractor_configs",
}
_OLDER_NAMES = {
    "batch_size": "window_size",
    "batch_interval": "stride_size",
    "extraction_window_size": "window_size",
    "extraction_window_stride": "stride_size",
    "playbook_configs": "user_playbook_extractor_configs",
    "agent_feedback_configs": "user_playbook_extractor_configs",
    "agent_success_configs": "agent_success_config",
}


def modern_config(data: Any) -> Any:
    """A whole configuration, or some of its fields, under today's names."""
    return _in_their_place(modern(data, _OLDER_NAMES)) if isinstance(data, dict) else data


def _in_their_place(data: dict[str, Any]) -> dict[str, Any]:
    """A list given as the one is the many, one given as the many is a list of one; of success there is only one."""
    placed = dict(data)
    for one, many in ONE_AND_MANY.items():
        if isinstance(placed.get(one), list):
            placed.setdefault(many, placed.pop(one))
        if isinstance(placed.get(many), dict):
            placed[many] = [placed[many]]
        if placed.get(many) is None:
            placed.pop(many, None)  # says nothing
    success = placed.get("agent_success_config")
    if isinstance(success, list):
        placed["agent_success_config"] = success[0] if success else None
    return placed


def _unless_said() -> Any:
    """Left out where it is null: clients refuse a field they do not know."""
    return Field(default=None, exclude_if=lambda value: value is None)


class Config(Section):
    """Everything an org can set. A null extractor is switched off; other nulls mean the default."""

    storage_config: StorageConfig | None
    storage_config_test: StorageConfigTest = StorageConfigTest.UNKNOWN
    agent_context_prompt: Text | None = None
    tool_can_use: Annotated[list[ToolUseConfig] | None, Field(max_length=1_000)] = None
    profile_extractor_config: ProfileExtractorConfig | None = Field(default_factory=_default_profile_extractor)
    profile_extractor_configs: Annotated[list[ProfileExtractorConfig] | None, Field(max_length=100)] = _unless_said()
    user_playbook_extractor_config: UserPlaybookExtractorConfig | None = Field(
        default_factory=_default_playbook_extractor
    )
    user_playbook_extractor_configs: Annotated[list[UserPlaybookExtractorConfig] | None, Field(max_length=100)] = (
        _unless_said()
    )
    agent_success_config: AgentSuccessConfig | None = Field(default_factory=_default_success)
    extraction_preset: ExtractionPreset | None = None
    window_size: Positive = 10
    # Every new turn is read at once: a correction is worth most in the very next request.
    stride_size: Positive = 1
    extraction_idle_timeout_seconds: NotNegative = 21_600
    api_key_config: APIKeyConfig | None = None
    llm_config: LLMConfig | None = None
    retrieval_experiment_config: RetrievalExperimentConfig | None = None
    retrieval_experiment_history: list[RetrievalExperimentRecord] = Field(default_factory=list)
    retrieval_floor: RetrievalFloorConfig = Field(default_factory=RetrievalFloorConfig)
    playbook_optimizer_config: PlaybookOptimizerConfig = Field(default_factory=PlaybookOptimizerConfig)
    lineage_gc: LineageGCConfig = Field(default_factory=LineageGCConfig)
    expiry_reclamation: ExpiryReclamationConfig = Field(default_factory=ExpiryReclamationConfig)
    governance_retention: GovernanceRetentionConfig = Field(default_factory=GovernanceRetentionConfig)
    memory_review_config: MemoryReviewConfig | None = _unless_said()
    pending_tool_call_config: PendingToolCallConfig = Field(default_factory=PendingToolCallConfig)
    skip_should_run_check: bool = False
    enable_document_expansion: bool = False
    shadow_mode_enabled: bool = False
    eval_sample_n_per_stratum: Positive = 200
    eval_concurrency_limit: Positive = 10
    shadow_comparison_judge_prompt_version: NonEmpty = "v1.1.0"
    reflection_config: ReflectionConfig | None = Field(default=None, exclude=True)

    @model_validator(mode="before")
    @classmethod
    def _read_older_shape(cls, data: Any) -> Any:
        return modern_config(data)

    @model_validator(mode="after")
    def _one_is_the_first_of_many(self) -> Self:
        """Fills whichever was not said, and lets what was said stay known (`model_fields_set`)."""
        for one, many in ONE_AND_MANY.items():
            listed = getattr(self, many)
            if listed is None:
                only = getattr(self, one)
                self.__dict__[many] = [] if only is None else [only]
            elif one not in self.model_fields_set:
                self.__dict__[one] = listed[0] if listed else None
            _refuse_twins(many, getattr(self, many))
        return self

    @model_validator(mode="after")
    def _preset_fills_what_was_not_said(self) -> Self:
        if self.extraction_preset is not None:
            window, stride = _WINDOW_AND_STRIDE[self.extraction_preset]
            self.window_size = self.window_size if "window_size" in self.model_fields_set else window
            self.stride_size = self.stride_size if "stride_size" in self.model_fields_set else stride
        if self.stride_size > self.window_size:
            raise ValueError("stride_size must not exceed window_size")
        return self


def _refuse_twins(field: str, extractors: Sequence[NamedExtractor]) -> None:
    names = [extractor.extractor_name for extractor in extractors if extractor.extractor_name]
    twins = sorted({name for name in names if names.count(name) > 1})
    if twins:
        raise ValueError(f"{field}: two extractors are called {twins[0][:64]!r}; give each a name of its own")


def agreed(config: Config, stored: Config) -> Config:
    """One and many told alike, where a caller may have changed either.

    Who knows only the one changes the first and keeps the others. Who sends both has changed the one that differs from
    what is stored. Raises `ValueError` when both differ, and from each other.
    """
    told = config.model_dump()
    for one, many in ONE_AND_MANY.items():
        if many not in config.model_fields_set or told[many] is None:
            told[many] = _with_first(told[one], getattr(stored, many))
        elif one in config.model_fields_set:
            told[one], told[many] = _settled(one, many, told, stored.model_dump())
    return Config.model_validate(told)


def _with_first(first: Any, stored: Sequence[NamedExtractor]) -> list[Any]:
    return [] if first is None else [first, *(one.model_dump() for one in stored[1:])]


def _settled(one: str, many: str, told: dict[str, Any], stored: dict[str, Any]) -> tuple[Any, list[Any]]:
    only, listed = told[one], told[many]
    first = listed[0] if listed else None
    if only == first:
        return only, listed
    if listed == stored[many]:
        return only, [] if only is None else [only, *listed[1:]]
    if only == stored[one]:
        return first, listed
    raise ValueError(f"{one} and the first of {many} differ: send only one of the two")


class ConfigUpdate(Shape):
    """Some fields of the configuration; each replaces the stored one whole."""

    model_config = ConfigDict(extra="allow", json_schema_extra={"additionalProperties": True})

    @model_validator(mode="before")
    @classmethod
    def _read_older_shape(cls, data: Any) -> Any:
        return modern_config(data)

    @model_validator(mode="after")
    def _known_fields_only(self) -> Self:
        if unknown := sorted(self.changes.keys() - Config.model_fields.keys()):
            raise ValueError(f"unknown field(s): {', '.join(name[:64] for name in unknown[:5])}")
        for name, value in self.changes.items():
            try:
                plain_json({name: value})
            except ValueError as wrong:
                raise ValueError(f"{name} {wrong}") from None
        return self

    @property
    def changes(self) -> dict[str, Any]:
        return self.model_extra or {}

    def applied_to(self, config: Config) -> Config:
        """The configuration afterwards, checked as a whole. A new preset sets window and stride anew."""
        kept = config.model_dump()
        for one, many in ONE_AND_MANY.items():
            if many in self.changes and one not in self.changes:
                del kept[one]
            elif one in self.changes and many not in self.changes:
                kept[many] = _with_first(self.changes[one], getattr(config, many))
        if self.changes.get("extraction_preset") is not None:
            kept = {name: value for name, value in kept.items() if name not in {"window_size", "stride_size"}}
        return Config.model_validate({**kept, **self.changes})


class SetConfigResponse(Done):
    msg: str | None = None


# --- secrets -------------------------------------------------------------------------------------------------------

# What a reader sees in place of a secret, and may send back to leave the secret as it is.
MASK = "********"
_SECRET_FIELDS = frozenset(
    {"api_key", "key", "read_key", "db_url", "read_db_url", "webhook_auth_header", "hmac_secrets"}
)


def masked(config: Config) -> Config:
    """The configuration as anyone may see it."""
    return Config.model_validate(_hide(config.model_dump()))


def shown(config: Config) -> Config:
    """Masked, and with the many only where there is more than one: older clients know only one."""
    told = masked(config)
    return told.model_copy(update={many: None for many in ONE_AND_MANY.values() if len(getattr(told, many)) <= 1})


def _hide(value: Any, *, secret: bool = False) -> Any:
    if isinstance(value, dict):
        return {name: _hide(inner, secret=name in _SECRET_FIELDS) for name, inner in value.items()}
    if isinstance(value, list):
        return [_hide(inner, secret=secret) for inner in value]
    return MASK if secret and isinstance(value, str) and value else value


class KeyMoved(Exception):
    """A masked key beside another address than the one it was stored with."""


def unmasked(config: Config, stored: Config) -> Config:
    """The configuration with every mask replaced by the secret stored in the same place.

    A mask with no secret behind it stays, for there is nothing to put in its place. KeyMoved when the address that a
    secret is for has changed: whoever may not read a secret may not have it sent elsewhere either.
    """
    return Config.model_validate(_restore(config.model_dump(), stored.model_dump()))


_ADDRESSES = ("api_base", "endpoint", "url")


def _restore(value: Any, stored: Any) -> Any:
    if isinstance(value, dict):
        known = stored if isinstance(stored, dict) else {}
        if known and MASK in value.values() and any(value.get(name) != known.get(name) for name in _ADDRESSES):
            raise KeyMoved("The address has changed: give its key anew, not masked.")
        return {name: _restore(inner, known.get(name)) for name, inner in value.items()}
    if isinstance(value, list):
        known_items = stored if isinstance(stored, list) else []
        return [_restore(item, known_items[i] if i < len(known_items) else None) for i, item in enumerate(value)]
    return stored if value == MASK and isinstance(stored, str) else value
