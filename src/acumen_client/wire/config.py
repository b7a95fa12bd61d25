"""The configuration of an org: what may be set, within which bounds, and the older names it is still known by."""

import re
from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Optional

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, StringConstraints, model_validator
from typing_extensions import Self

from acumen_client.compat import StrEnum
from acumen_client.legacy import DeduplicationConfig, PeerConfig, StorageConfig
from acumen_client.wire.experiments import RetrievalExperimentConfig, RetrievalExperimentRecord
from acumen_client.wire.shapes import (
    Done,
    Labels,
    NonEmpty,
    NotNegative,
    NullsSent,
    Positive,
    RequestModel,
    Share,
    Str,
    Text,
    WebUrl,
    WireModel,
    modern,
    plain_json,
    storable,
)

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


class AzureOpenAIConfig(RequestModel):
    api_key: NonEmpty
    endpoint: WebUrl
    api_version: Str = "2024-02-15-preview"
    deployment_name: Optional[Str] = None


class OpenAIConfig(RequestModel):
    api_key: Optional[Str] = None
    azure_config: Optional[AzureOpenAIConfig] = None

    @model_validator(mode="after")
    def _has_a_way_in(self) -> Self:
        if not (self.api_key or "").strip() and self.azure_config is None:
            raise ValueError("Give api_key or azure_config")
        return self


class KeyOnly(RequestModel):
    """A provider that needs nothing but a key."""

    api_key: NonEmpty


class DashScopeConfig(KeyOnly):
    api_base: Optional[WebUrl] = None


class CustomEndpointConfig(KeyOnly):
    """Any server with an OpenAI-compatible API; it has priority over all other providers."""

    model: NonEmpty
    api_base: WebUrl


class APIKeyConfig(RequestModel):
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


class LLMConfig(RequestModel):
    """Which model does what, and what it may use in a day (UTC); null leaves the choice to the server."""

    should_run_model_name: Optional[Str] = None
    generation_model_name: Optional[Str] = None
    embedding_model_name: Optional[Str] = None
    pre_retrieval_model_name: Optional[Str] = None
    generation_timeout_seconds: Optional[Positive] = None
    daily_token_budget: Optional[NotNegative] = None


_OLDER_OVERRIDES = {
    "batch_size_override": "window_size_override",
    "batch_interval_override": "stride_size_override",
    "extraction_window_size_override": "window_size_override",
    "extraction_window_stride_override": "stride_size_override",
    "metadata_definition_prompt": "tagging_definition_prompt",
}


class ExtractorSection(RequestModel):
    """What all extractors share: where they look, and how much at a time."""

    older_names: ClassVar[dict[str, str]] = _OLDER_OVERRIDES

    tagging_definition_prompt: Optional[Text] = None
    request_sources_enabled: Optional[Labels] = None
    window_size_override: Optional[Positive] = None
    stride_size_override: Optional[Positive] = None


class NamedExtractor(ExtractorSection):
    """One of the extractors of its kind. Its name is what its memories carry and its bookmarks are kept under."""

    extractor_name: Optional[NonEmpty] = None
    extraction_definition_prompt: Prompt
    context_prompt: Optional[Text] = None
    # Runs only on request.
    manual_trigger: bool = False
    # With a model: a correction, a rule or "remember …" is read at once, not with the next four user turns.
    read_corrections_at_once: Optional[bool] = Field(default=None, exclude_if=lambda value: value is None)


class ProfileExtractorConfig(NamedExtractor):
    older_names: ClassVar[dict[str, str]] = {
        **_OLDER_OVERRIDES,
        "profile_content_definition_prompt": "extraction_definition_prompt",
    }

    should_extract_profile_prompt_override: Optional[Text] = None


# The least cosine that was measured to be good, and what older clients send in its place when it is not set.
MEASURED_SIMILARITY, UNSAID_SIMILARITY = 0.4, 0.3


def _measured(similarity: float) -> float:
    return MEASURED_SIMILARITY if similarity == UNSAID_SIMILARITY else similarity


class PlaybookAggregatorConfig(RequestModel):
    """When similar user playbooks become one for all. `clustering_similarity` is a cosine; higher is stricter."""

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
    """What counts as success, and which share of sessions is judged by it."""

    evaluation_name: Optional[NonEmpty] = None
    success_definition_prompt: Prompt
    sampling_rate: Share = 0.05
    evaluation_only_sampling_rate: Optional[Share] = None
    retrieved_learning_sampling_rate: Optional[Share] = None


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


class MemoryReviewConfig(RequestModel):
    """Thresholds from which a memory needs review; null uses the server's."""

    least_wasted_tokens: Optional[NotNegative] = None
    grace_days: Optional[Annotated[int, Field(ge=0, le=3_650)]] = None
    oversized_tokens: Optional[Positive] = None
    similarity: Optional[Annotated[float, Field(gt=0, le=1)]] = None


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


class Config(NullsSent, PeerConfig):
    """The configuration of an org. An extractor that is null is off; other nulls mean the default."""

    storage_config: Optional[StorageConfig]
    agent_context_prompt: Optional[Text] = None
    profile_extractor_config: Optional[ProfileExtractorConfig] = Field(default_factory=_default_profile_extractor)
    profile_extractor_configs: Annotated[Optional[list[ProfileExtractorConfig]], Field(max_length=100)] = _unless_said()
    user_playbook_extractor_config: Optional[UserPlaybookExtractorConfig] = Field(
        default_factory=_default_playbook_extractor
    )
    user_playbook_extractor_configs: Annotated[Optional[list[UserPlaybookExtractorConfig]], Field(max_length=100)] = (
        _unless_said()
    )
    agent_success_config: Optional[AgentSuccessConfig] = Field(default_factory=_default_success)
    extraction_preset: Optional[ExtractionPreset] = None
    window_size: Positive = 10
    # Every new turn is read at once: a correction is worth most in the very next request.
    stride_size: Positive = 1
    extraction_idle_timeout_seconds: NotNegative = 21_600
    api_key_config: Optional[APIKeyConfig] = None
    llm_config: Optional[LLMConfig] = None
    retrieval_experiment_config: Optional[RetrievalExperimentConfig] = None
    retrieval_experiment_history: list[RetrievalExperimentRecord] = Field(default_factory=list)
    memory_review_config: Optional[MemoryReviewConfig] = _unless_said()
    skip_should_run_check: bool = False
    eval_sample_n_per_stratum: Positive = 200

    @model_validator(mode="before")
    @classmethod
    def _read_older_shape(cls, data: Any) -> Any:
        return modern_config(data)

    @model_validator(mode="after")
    def _one_is_the_first_of_many(self) -> Self:
        """Fills the field that was not set, and keeps `model_fields_set` as it was."""
        for one, many in ONE_AND_MANY.items():
            listed = getattr(self, many)
            if listed is None:
                only = getattr(self, one)
                self.__dict__[many] = [] if only is None else [only]
            elif one not in self.model_fields_set:
                self.__dict__[one] = listed[0] if listed else None
            _refuse_duplicates(many, getattr(self, many))
        return self

    @model_validator(mode="after")
    def _preset_fills_what_was_not_said(self) -> Self:
        if self.extraction_preset is not None:
            window, stride = WINDOW_AND_STRIDE[self.extraction_preset]
            self.window_size = self.window_size if "window_size" in self.model_fields_set else window
            self.stride_size = self.stride_size if "stride_size" in self.model_fields_set else stride
        if self.stride_size > self.window_size:
            raise ValueError("stride_size must not exceed window_size")
        return self


def _refuse_duplicates(field: str, extractors: Sequence[NamedExtractor]) -> None:
    names = [extractor.extractor_name for extractor in extractors if extractor.extractor_name]
    duplicates = sorted({name for name in names if names.count(name) > 1})
    if duplicates:
        raise ValueError(f"{field}: two extractors are called {duplicates[0][:64]!r}; give each a name of its own")


class ConfigUpdate(WireModel):
    """Any fields of the configuration; each replaces the stored value as a whole."""

    model_config = ConfigDict(extra="allow", json_schema_extra={"additionalProperties": True})

    @model_validator(mode="before")
    @classmethod
    def _read_older_shape(cls, data: Any) -> Any:
        return modern_config(data)

    @model_validator(mode="after")
    def _known_fields_only(self) -> Self:
        if unknown := sorted(self.changes.keys() - Config.model_fields.keys()):
            names = ", ".join(f"`{name[:64]}`" for name in unknown[:5])
            raise ValueError(f"Unknown field{'s' if len(unknown) > 1 else ''} {names}")
        for name, value in self.changes.items():
            try:
                plain_json({name: value})
            except ValueError as wrong:
                raise ValueError(f"{name} {wrong}") from None
        return self

    @property
    def changes(self) -> dict[str, Any]:
        return self.model_extra or {}


class SetConfigResponse(NullsSent, Done):
    msg: Optional[str] = None
