"""How one org wants to be learned from: the part of its configuration that steps read."""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct, field
from msgspec.structs import force_setattr

from acumen.model.memories import aggregation
from acumen.model.memories.aggregation import Aggregation
from acumen.model.metering import judging, llm_choice
from acumen.model.metering.experiment import Experiment
from acumen.model.metering.judging import Judging
from acumen.model.metering.llm_choice import LlmChoice

# Every new turn is read at once: a correction is worth most in the very next request.
DEFAULT_STRIDE = 1
DEFAULT_WINDOW = 10
SIX_HOURS = 21_600
REVIEW = "memory_review_config"

# What extractors look for where the org has not said otherwise; the wire's defaults are the same words.
FACTS = (
    "Note lasting facts about the user and the surroundings they work in: name, role, preferences, "
    "the data, metrics and tools they rely on, and the quirks of each. "
    "Leave out how the agent should behave; that belongs in a playbook."
)
LESSONS = (
    "Note how the agent should work for this user: what it was corrected on, what it did well and should "
    "repeat, what it must never do again, and in which situation each of these applies."
)


class Extractor(Struct, frozen=True):
    """One reader of conversations, with a bookmark of its own."""

    name: str
    window: int = DEFAULT_WINDOW  # turns read at a time, the ones before the new ones being context
    stride: int = DEFAULT_STRIDE  # new turns that make a window due
    stride_is_set: bool = False  # by the org; else a model reads several user turns at a time
    urgent_at_once: bool = True  # corrections, rules and "remember" make a window due at once
    sources: tuple[str, ...] | None = None  # None: reads requests of any source
    manual: bool = False  # runs only on request
    definition: str = ""  # what to look for, in words for a model
    context: str = ""  # what a model should know about the surroundings
    tagging: str = ""  # how a model should tag what it found
    gate: str = ""  # when a window is worth reading at all, in words for a model
    bookmark: str = ""  # what its bookmarks are kept under; by default its name

    def __post_init__(self) -> None:
        if not self.bookmark:
            force_setattr(self, "bookmark", self.name)

    def reads(self, source: str) -> bool:
        """Whether requests of this source are any of its business."""
        return self.sources is None or source in self.sources


PROFILES = Extractor("profiles", definition=FACTS)
PLAYBOOKS = Extractor("playbooks", definition=LESSONS)


class OrgConfig(Struct, frozen=True):
    profile_extractors: tuple[Extractor, ...] = (PROFILES,)
    playbook_extractors: tuple[Extractor, ...] = (PLAYBOOKS,)
    idle_seconds: int = SIX_HOURS
    experiment: Experiment | None = None  # the holdout that runs
    skip_gate: bool = False  # extract from every window, without the gate
    agent_context: str = ""  # what the org's agents do, for the extraction prompt
    llm: LlmChoice = field(default_factory=LlmChoice)
    judging: Judging = field(default_factory=Judging)
    aggregation: Aggregation = field(default_factory=Aggregation)
    review: Mapping[str, float] = field(default_factory=dict)  # thresholds that the org has set, by their names

    @property
    def extractors(self) -> tuple[Extractor, ...]:
        """Extractors that run automatically."""
        extractors = (*self.profile_extractors, *self.playbook_extractors)
        return tuple(extractor for extractor in extractors if not extractor.manual)


def from_stored(stored: Mapping[str, Any] | None) -> OrgConfig:
    """None is an org without a configuration."""
    config = stored or {}
    return OrgConfig(
        profile_extractors=_extractors(PROFILES, "profile_extractor_config", config),
        playbook_extractors=_extractors(PLAYBOOKS, "user_playbook_extractor_config", config),
        idle_seconds=config.get("extraction_idle_timeout_seconds", SIX_HOURS),
        skip_gate=config.get("skip_should_run_check", False),
        agent_context=config.get("agent_context_prompt") or "",
        llm=llm_choice.from_stored(config),
        judging=judging.from_stored(config),
        aggregation=aggregation.from_stored(config),
        review={name: value for name, value in (config.get(REVIEW) or {}).items() if value is not None},
    )


def _extractors(default: Extractor, section: str, config: Mapping[str, Any]) -> tuple[Extractor, ...]:
    """In the order of the configuration, each under a name of its own."""
    sections = _sections(section, config)
    names = _names(default.name, [entry.get("extractor_name") for entry in sections])
    return tuple(_extractor(default, name, entry, config) for name, entry in zip(names, sections, strict=True))


def _sections(section: str, config: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """A list, or a single section. A section that is null is off; one that is missing has the defaults."""
    many = config.get(f"{section}s")
    if many is not None:
        return list(many)
    only = config.get(section, {})
    return [] if only is None else [only]


def _names(default: str, configured: Sequence[str | None]) -> list[str]:
    """The first without a name has the default name; further ones are numbered."""
    unnamed = 0
    names = []
    for name in configured:
        unnamed += name is None
        names.append(name or (default if unnamed == 1 else f"{default}-{unnamed}"))
    return names


def _extractor(default: Extractor, name: str, section: Mapping[str, Any], config: Mapping[str, Any]) -> Extractor:
    sources = section.get("request_sources_enabled")
    window = section.get("window_size_override") or config.get("window_size") or DEFAULT_WINDOW
    stride = section.get("stride_size_override") or config.get("stride_size") or DEFAULT_STRIDE
    explicit = section.get("stride_size_override") or config.get("stride_size") not in (None, DEFAULT_STRIDE)
    return Extractor(
        name=name,
        window=window,
        stride=min(stride, window),
        stride_is_set=bool(explicit),
        urgent_at_once=section.get("read_corrections_at_once") is not False,
        sources=tuple(sources) if sources else None,
        manual=section.get("manual_trigger", False),
        definition=section.get("extraction_definition_prompt") or default.definition,
        context=section.get("context_prompt") or "",
        tagging=section.get("tagging_definition_prompt") or "",
        gate=section.get("should_extract_profile_prompt_override") or "",
        # Profile and playbook extractors may share a name, and no bookmark may equal the indexer's.
        bookmark=name if name == default.name else f"{default.name}/{name}",
    )
