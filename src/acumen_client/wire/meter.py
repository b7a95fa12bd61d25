"""Meter: how often each memory was shown, what that cost, whether it helped, and what was shown word for word."""

from typing import Annotated, Any, Optional

from pydantic import Field

from acumen_client.compat import StrEnum
from acumen_client.wire.observe import Citation, fresh_request_id
from acumen_client.wire.shapes import (
    AnswerModel,
    Days,
    Done,
    HowMany,
    Id,
    Label,
    MaybeId,
    MemoryKind,
    NullsSent,
    Offset,
    PageModel,
    RequestModel,
    Seconds,
)


class GetInjectionStatsRequest(RequestModel):
    days_back: Days = 30
    limit: HowMany = 1_000
    offset: Offset = 0


class InjectionStat(AnswerModel):
    """Injections of one memory. Ids repeat across kinds; `entity_type` tells them apart. Times are epoch seconds."""

    entity_type: MemoryKind
    entity_id: str
    title: Optional[str] = None
    surfaced_count: int = 0
    distinct_session_count: int = 0
    total_prompt_tokens: int = 0
    first_injected_at: Optional[int] = None
    last_injected_at: Optional[int] = None
    last_session_id: str = ""


class GetInjectionStatsResponse(PageModel):
    """Most injected first, then most recent.

    `covered_since` is the start of metering, if it is later than the start of the period.
    """

    stats: list[InjectionStat] = Field(default_factory=list)
    covered_since: Optional[int] = None
    msg: Optional[str] = None


class CiteRequest(RequestModel):
    """Memories that the agent used. A retry with the same `request_id` counts nothing twice."""

    request_id: Id = Field(default_factory=fresh_request_id)
    user_id: Id
    session_id: MaybeId = None
    citations: Annotated[list[Citation], Field(min_length=1, max_length=1_000)]


class CitedMemory(AnswerModel):
    kind: MemoryKind
    id: str


class CiteResponse(Done):
    """The memories that were counted. `unresolved` are not memories of this user."""

    cited: list[CitedMemory] = Field(default_factory=list)
    unresolved: list[str] = Field(default_factory=list)


class GetPlaybookApplicationStatsRequest(GetInjectionStatsRequest):
    pass


class PlaybookApplicationStat(AnswerModel):
    """How often agents cited a memory."""

    real_id: str
    kind: MemoryKind
    title: str = ""
    applied_count: int
    last_applied_at: Optional[int] = None
    last_interaction_id: Optional[int] = None


class GetPlaybookApplicationStatsResponse(PageModel):
    """Most cited first. `unresolved_count` citations are not memories of the user who cited them.

    `retrieved_count` counts `retrieved_learnings` of published turns, which are no citations. `covered_since` is the
    first citation by an agent; while it is null, counts mean nothing.
    """

    stats: list[PlaybookApplicationStat] = Field(default_factory=list)
    unresolved_count: int = 0
    retrieved_count: int = 0
    covered_since: Optional[int] = None
    msg: Optional[str] = None


# --- price tags ----------------------------------------------------------------------------------------------------


class CostGroup(StrEnum):
    """What costs are summed by."""

    MEMORY = "memory"
    USER = "user"
    AGENT_VERSION = "agent_version"
    DAY = "day"


class GetMemoryCostsRequest(RequestModel):
    """Costs are injected tokens, and their price."""

    days_back: Days = 30
    group_by: CostGroup = CostGroup.MEMORY
    model: Optional[Label] = None
    limit: HowMany = 100
    offset: Offset = 0


class MemoryCost(AnswerModel):
    """What injections cost, and how many were cited.

    Shares are null without injections, prices if the model has none. `wasted` counts injections that were not cited:
    weak evidence, not proof.
    """

    entity_type: Optional[MemoryKind] = None
    entity_id: Optional[str] = None
    title: Optional[str] = None
    user_id: Optional[str] = None
    agent_version: Optional[str] = None
    day: Optional[str] = None
    shown_count: int = 0
    shown_tokens: int = 0
    echoed_count: int = 0
    echoed_tokens: int = 0
    cited_count: int = 0
    cited_tokens: int = 0
    wasted_tokens: int = 0
    wasted_share: Optional[float] = None
    usd: Optional[float] = None
    wasted_usd: Optional[float] = None
    search_count: Optional[int] = None
    zero_hit_count: Optional[int] = None


class GetMemoryCostsResponse(PageModel):
    """Most wasted tokens first, days by date. `since` is the first whole day (UTC) that is counted.

    `cited_since` is the first citation by an agent. While it is null, nothing can be called wasted.
    """

    costs: list[MemoryCost] = Field(default_factory=list)
    all_together: MemoryCost = Field(default_factory=MemoryCost)
    model: str = ""
    usd_per_million_tokens: Optional[float] = None
    since: int = 0
    covered_since: Optional[int] = None
    cited_since: Optional[int] = None
    msg: Optional[str] = None


# --- did it help ---------------------------------------------------------------------------------------------------


class GetMemoryLiftRequest(RequestModel):
    entity_type: MemoryKind
    entity_id: Id
    days_back: Days = 90


class SessionGroup(AnswerModel):
    """Sessions with a known outcome, and how many succeeded."""

    session_count: int = 0
    success_count: int = 0
    success_rate: Optional[float] = None


class Comparison(AnswerModel):
    """`difference` is a share (0.1 is ten points more), between `low` and `high` with 95 % confidence (Newcombe).

    All three are null, and `verdict` is `not enough data`, below twenty sessions on a side.
    """

    here: SessionGroup
    there: SessionGroup
    difference: Optional[float] = None
    low: Optional[float] = None
    high: Optional[float] = None
    verdict: str


class GetMemoryLiftResponse(NullsSent, Done):
    """Sessions with and without the memory, and sessions after and before it was learned.

    Both are observations; only an experiment shows causes.
    """

    with_and_without: Comparison
    after_and_before: Comparison
    covered_since: Optional[int] = None


# --- replay --------------------------------------------------------------------------------------------------------


class GetInjectionRequest(RequestModel):
    injection_id: Id


class InjectedMemory(AnswerModel):
    """A memory that a search found: why, whether it was injected, and its line in the context."""

    kind: MemoryKind
    id: str
    score: Optional[float] = None
    reasons: Optional[dict[str, float]] = None
    shown: bool = False
    line: str = ""
    tokens: int = 0


class GetInjectionResponse(Done):
    """The query, the results with their reasons, and the injected context, byte for byte."""

    injection_id: str
    created_at: int
    user_id: Optional[str] = None
    session_id: Optional[str] = None
    request_id: Optional[str] = None
    agent_version: Optional[str] = None
    caller_type: str
    query: str
    ask: Optional[dict[str, Any]] = None
    context: str
    context_tokens: int
    degraded: Optional[str] = None
    experiment_id: Optional[str] = None
    experiment_arm: Optional[str] = None
    memories: list[InjectedMemory] = Field(default_factory=list)


class CompareInjectionRequest(RequestModel):
    """Run the search again, on the memories at two points in time."""

    injection_id: Id
    earlier: Seconds
    later: Seconds


class RecalledThen(AnswerModel):
    at: int
    context: str
    context_tokens: int
    memories: list[InjectedMemory] = Field(default_factory=list)


class CompareInjectionResponse(Done):
    """`diff` is a unified diff of the two contexts; empty if they are equal."""

    injection_id: str
    earlier: RecalledThen
    later: RecalledThen
    appeared: list[str] = Field(default_factory=list)
    vanished: list[str] = Field(default_factory=list)
    reworded: list[str] = Field(default_factory=list)
    diff: str = ""
    msg: Optional[str] = None
