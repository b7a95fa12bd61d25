"""How one org wants to be learned from: the part of its configuration that steps read."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

# Every new turn is read at once: a correction is worth most in the very next request.
DEFAULT_STRIDE = 1
DEFAULT_WINDOW = 10
SIX_HOURS = 21_600


@dataclass(frozen=True, slots=True)
class Extractor:
    """One reader of conversations, with a bookmark of its own."""

    name: str
    window: int = DEFAULT_WINDOW  # turns read at a time, the ones before the new ones being context
    stride: int = DEFAULT_STRIDE  # new turns that make a window due
    sources: tuple[str, ...] | None = None  # None: reads requests of any source
    on: bool = True


@dataclass(frozen=True, slots=True)
class Config:
    profiles: Extractor = Extractor("profiles")
    playbooks: Extractor = Extractor("playbooks")
    idle_seconds: int = SIX_HOURS

    @property
    def extractors(self) -> tuple[Extractor, ...]:
        """Those that run by themselves."""
        return tuple(extractor for extractor in (self.profiles, self.playbooks) if extractor.on)


def from_stored(stored: Mapping[str, Any] | None) -> Config:
    """What an org has set, as it is stored; None is an org that has set nothing."""
    given = stored or {}
    return Config(
        profiles=_extractor("profiles", "profile_extractor_config", given),
        playbooks=_extractor("playbooks", "user_playbook_extractor_config", given),
        idle_seconds=given.get("extraction_idle_timeout_seconds", SIX_HOURS),
    )


def _extractor(name: str, section: str, given: Mapping[str, Any]) -> Extractor:
    """A section that is there and null is switched off; one that is not there is as by default."""
    own = given.get(section) or {}
    sources = own.get("request_sources_enabled")
    return Extractor(
        name=name,
        window=own.get("window_size_override") or given.get("window_size") or DEFAULT_WINDOW,
        stride=own.get("stride_size_override") or given.get("stride_size") or DEFAULT_STRIDE,
        sources=tuple(sources) if sources else None,
        on=not (section in given and given[section] is None) and not own.get("manual_trigger", False),
    )
