"""What injections of memories cost, and their results."""

from enum import StrEnum
from typing import Any, NamedTuple

from msgspec import Struct, field

from acumen.model.ids import InjectionId, Millis
from acumen.model.times import DAY_MS

SHOWN = "learning_injection"  # one per memory put into a context
SEARCHED = "learning_applied"  # one per search, zero-hit ones too
WITHHELD = "learning_withheld"  # one per search of a user whom an experiment shows nothing
ECHOED = "learning_echo"  # a memory's text came back in what was published
CITED = "learning_citation"  # the agent cited it: in its answer, on the wire, or by a call
RETRIEVED = "learning_retrieved"  # the caller reports that it was in the agent's context; says nothing of its use
UNRESOLVED = "learning_citation_unresolved"  # the agent named something that is no memory of ours, or not this user's
EVENTS = (SHOWN, SEARCHED, WITHHELD, ECHOED, CITED, RETRIEVED, UNRESOLVED)

# Only what a production agent was shown counts as use.
PRODUCTION = "production_agent"


class Injection(Struct, frozen=True):
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
    ask: dict[str, Any] | None = None  # the rest of the question, enough to ask it again
    agent_version: str | None = None
    degraded: str | None = None
    experiment_id: str | None = None
    experiment_arm: str | None = None


class Unanswered(NamedTuple):
    """A question for which nothing was shown."""

    query: str
    times: int
    last_at: Millis


class UsageEvent(Struct, frozen=True):
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
    agent_version: str | None = None
    detail: dict[str, Any] = field(default_factory=dict)


class InjectionUsage(Struct, frozen=True):
    """How often one memory was shown and what it cost."""

    kind: str
    id: str
    shown: int
    sessions: int
    tokens: int
    first_at: Millis
    last_at: Millis
    last_session: str


class CitationStat(Struct, frozen=True):
    """How often agents named one memory as what they went by."""

    kind: str
    id: str
    cited: int
    last_at: Millis
    last_interaction: int | None = None


class Use(NamedTuple):
    """The results of injections. Their citations and echoes are counted at the time of the injection.

    A tuple, as thousands are read at once.
    """

    shown: int = 0
    tokens: int = 0
    cited_shown: int = 0
    cited_tokens: int = 0
    echoed_shown: int = 0
    echoed_tokens: int = 0
    citations: int = 0
    echoes: int = 0
    judged_shown: int = 0  # those cited, or that could have been: by agents of a version that had cited before
    judged_tokens: int = 0
    first_at: Millis | None = None
    last_at: Millis | None = None
    last_cited_at: Millis | None = None
    searches: int = 0
    zero_hits: int = 0

    @property
    def wasted_tokens(self) -> int:
        """Tokens of injections that were not cited."""
        return self.tokens - self.cited_tokens

    @property
    def idle_tokens(self) -> int:
        """Of those, the ones that count against a memory: the agent cites, but did not cite it."""
        return self.judged_tokens - self.cited_tokens


def days_in_use(first_at: Millis | None, at: Millis, counted_days: float) -> float:
    """The divisor of a memory's tokens per day: days since its first injection, at least one and at most the counted
    days of the window; all of these where the first injection is unknown.
    """
    return counted_days if first_at is None else min(counted_days, max(1.0, (at - first_at) / DAY_MS))


class GroupBy(StrEnum):
    """What a price tag hangs on."""

    MEMORY = "memory"
    USER = "user"
    AGENT_VERSION = "agent_version"
    DAY = "day"
