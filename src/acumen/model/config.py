"""How one org wants to be learned from: the part of its configuration that steps read."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from acumen.model import llm_choice
from acumen.model.llm_choice import LlmChoice

# Every new turn is read at once: a correction is worth most in the very next request.
DEFAULT_STRIDE = 1
DEFAULT_WINDOW = 10
SIX_HOURS = 21_600

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


@dataclass(frozen=True, slots=True)
class Extractor:
    """One reader of conversations, with a bookmark of its own."""

    name: str
    window: int = DEFAULT_WINDOW  # turns read at a time, the ones before the new ones being context
    stride: int = DEFAULT_STRIDE  # new turns that make a window due
    sources: tuple[str, ...] | None = None  # None: reads requests of any source
    on: bool = True
    definition: str = ""  # what to look for, in words for a model
    context: str = ""  # what a model should know about the surroundings
    tagging: str = ""  # how a model should tag what it found
    gate: str = ""  # when a window is worth reading at all, in words for a model


@dataclass(frozen=True, slots=True)
class Config:
    profiles: Extractor = Extractor("profiles", definition=FACTS)
    playbooks: Extractor = Extractor("playbooks", definition=LESSONS)
    idle_seconds: int = SIX_HOURS
    skip_gate: bool = False  # read every window, without asking first whether it is worth it
    agent_context: str = ""  # what the org's agents are for, told to a model that reads their talks
    llm: LlmChoice = LlmChoice()

    @property
    def extractors(self) -> tuple[Extractor, ...]:
        """Those that run by themselves."""
        return tuple(extractor for extractor in (self.profiles, self.playbooks) if extractor.on)


def from_stored(stored: Mapping[str, Any] | None) -> Config:
    """What an org has set, as it is stored; None is an org that has set nothing."""
    given = stored or {}
    return Config(
        profiles=_extractor("profiles", FACTS, "profile_extractor_config", given),
        playbooks=_extractor("playbooks", LESSONS, "user_playbook_extractor_config", given),
        idle_seconds=given.get("extraction_idle_timeout_seconds", SIX_HOURS),
        skip_gate=given.get("skip_should_run_check", False),
        agent_context=given.get("agent_context_prompt") or "",
        llm=llm_choice.from_stored(given),
    )


def _extractor(name: str, definition: str, section: str, given: Mapping[str, Any]) -> Extractor:
    """A section that is there and null is switched off; one that is not there is as by default."""
    own = given.get(section) or {}
    sources = own.get("request_sources_enabled")
    return Extractor(
        name=name,
        window=own.get("window_size_override") or given.get("window_size") or DEFAULT_WINDOW,
        stride=own.get("stride_size_override") or given.get("stride_size") or DEFAULT_STRIDE,
        sources=tuple(sources) if sources else None,
        on=not (section in given and given[section] is None) and not own.get("manual_trigger", False),
        definition=own.get("extraction_definition_prompt") or definition,
        context=own.get("context_prompt") or "",
        tagging=own.get("tagging_definition_prompt") or "",
        gate=own.get("should_extract_profile_prompt_override") or "",
    )
