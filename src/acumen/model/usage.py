"""What showing memories cost, and what came of it."""

from dataclasses import dataclass, field
from typing import Any

from acumen.model.ids import InjectionId, Millis

SHOWN = "learning_injection"  # one per memory put into a context
SEARCHED = "learning_applied"  # one per search, zero-hit ones too
ECHOED = "learning_echo"  # a memory's text came back in what was published
CITED = "learning_citation"  # the agent named it as what it went by

# Only what a production agent was shown counts as use.
PRODUCTION = "production_agent"


@dataclass(frozen=True, slots=True)
class Injection:
    """One search's answer, kept so that it can be shown again byte for byte."""

    id: InjectionId
    user_id: str | None
    session_id: str | None
    request_id: str | None
    caller_type: str
    query: str
    rendered: str
    tokens: int
    hits: list[dict[str, Any]]
    created_at: Millis


@dataclass(frozen=True, slots=True)
class UsageEvent:
    id: str
    name: str
    at: Millis
    user_id: str | None = None
    request_id: str | None = None
    session_id: str | None = None
    injection_id: str | None = None
    kind: str | None = None
    memory_id: str | None = None
    caller_type: str = PRODUCTION
    count: int = 1
    tokens: int = 0
    duration_ms: float | None = None
    detail: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class InjectionStat:
    """How often one memory was shown and what it cost."""

    kind: str
    id: str
    shown: int
    sessions: int
    tokens: int
    first_at: Millis
    last_at: Millis
    last_session: str
