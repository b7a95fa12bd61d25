"""The configuration of an org as a whole: what may be set, how one and many agree, and what is masked."""

from collections.abc import Sequence
from typing import Annotated, Any, Optional

from pydantic import ConfigDict, Field, model_validator
from typing_extensions import Self

from acumen_client.wire.sections import (
    WINDOW_AND_STRIDE,
    AgentSuccessConfig,
    APIKeyConfig,
    ConfigSection,
    ExpiryReclamationConfig,
    ExtractionPreset,
    GovernanceRetentionConfig,
    LineageGCConfig,
    LLMConfig,
    MemoryReviewConfig,
    NamedExtractor,
    NotNegative,
    PendingToolCallConfig,
    PlaybookOptimizerConfig,
    Positive,
    ProfileExtractorConfig,
    ReflectionConfig,
    RetrievalExperimentConfig,
    RetrievalExperimentRecord,
    RetrievalFloorConfig,
    StorageConfig,
    StorageConfigTest,
    ToolUseConfig,
    UserPlaybookExtractorConfig,
)
from acumen_client.wire.shapes import Done, NonEmpty, Text, WireModel, modern, plain_json


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


class Config(ConfigSection):
    """The configuration of an org. An extractor that is null is off; other nulls mean the default."""

    storage_config: Optional[StorageConfig]
    storage_config_test: StorageConfigTest = StorageConfigTest.UNKNOWN
    agent_context_prompt: Optional[Text] = None
    tool_can_use: Annotated[Optional[list[ToolUseConfig]], Field(max_length=1_000)] = None
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
    retrieval_floor: RetrievalFloorConfig = Field(default_factory=RetrievalFloorConfig)
    playbook_optimizer_config: PlaybookOptimizerConfig = Field(default_factory=PlaybookOptimizerConfig)
    lineage_gc: LineageGCConfig = Field(default_factory=LineageGCConfig)
    expiry_reclamation: ExpiryReclamationConfig = Field(default_factory=ExpiryReclamationConfig)
    governance_retention: GovernanceRetentionConfig = Field(default_factory=GovernanceRetentionConfig)
    memory_review_config: Optional[MemoryReviewConfig] = _unless_said()
    pending_tool_call_config: PendingToolCallConfig = Field(default_factory=PendingToolCallConfig)
    skip_should_run_check: bool = False
    enable_document_expansion: bool = False
    shadow_mode_enabled: bool = False
    eval_sample_n_per_stratum: Positive = 200
    eval_concurrency_limit: Positive = 10
    shadow_comparison_judge_prompt_version: NonEmpty = "v1.1.0"
    reflection_config: Optional[ReflectionConfig] = Field(default=None, exclude=True)

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
            window, stride = WINDOW_AND_STRIDE[self.extraction_preset]
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
    what is stored. Raises `ValueError` when both differ, and from each other, or when an extractor would wait for more
    than it reads at a time.
    """
    told = config.model_dump()
    for one, many in ONE_AND_MANY.items():
        if many not in config.model_fields_set or told[many] is None:
            told[many] = _with_first(told[one], getattr(stored, many))
        elif one in config.model_fields_set:
            told[one], told[many] = _settled(one, many, told, stored.model_dump())
    settled = Config.model_validate(told)
    for many in ONE_AND_MANY.values():
        _refuse_long_strides(many, settled)
    return settled


def _refuse_long_strides(field: str, config: Config) -> None:
    """Only what is newly set is refused: what was stored before can still be read."""
    for place, one in enumerate(getattr(config, field)):
        window, stride = one.window_size_override or config.window_size, one.stride_size_override
        if stride is not None and stride > window:
            name = repr(one.extractor_name[:64]) if one.extractor_name else f"number {place + 1}"
            raise ValueError(
                f"{field}: stride_size_override of extractor {name} must not exceed its window of {window}"
            )


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
    msg: Optional[str] = None


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
