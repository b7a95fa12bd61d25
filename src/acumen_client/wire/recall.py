"""Recall: search the memories, or the conversations they came from."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from acumen_client.wire.memories import AgentPlaybookView, ProfileView, UserPlaybookView
from acumen_client.wire.observe import InteractionView
from acumen_client.wire.shapes import (
    Answer,
    ApprovalFilter,
    CallerType,
    Done,
    ExperimentAssignment,
    HowMany,
    Id,
    Label,
    MaybeId,
    MemoryKind,
    NonEmpty,
    Request,
    RowId,
    SearchMode,
    Share,
    Source,
    StatusFilter,
    Str,
    Tags,
    Text,
    TimeRange,
)

TopOfHundred = Annotated[int, Field(gt=0, le=100)]


class ConversationTurn(Request):
    role: NonEmpty
    content: NonEmpty


class ContextShares(Request):
    """How much of the context's budget its parts may take, each from 0 (leave it out) to 1, together at most 1."""

    standing: Share = 0.25
    relevant: Share = 0.4
    quoted: Share = 0.35

    @model_validator(mode="after")
    def _at_most_everything(self) -> Self:
        if self.standing + self.relevant + self.quoted > 1 + 1e-9:
            raise ValueError("standing, relevant and quoted must be at most 1 together")
        return self


class UnifiedSearchRequest(Request):
    """All kinds of memory at once.

    `top_k` counts per kind. `max_tokens` bounds the ready-made `context` of the answer; null leaves it to the server.
    Memories of every agent version are considered, those of `agent_version` first on ties; `agent_version_only`
    leaves out the others. `threshold` is the least cosine of a hit that shares no word with the query. `cite` adds a
    line that asks the agent to cite the handles of what it uses.
    """

    query: NonEmpty
    top_k: TopOfHundred = 5
    threshold: Share | None = None
    agent_version: Label | None = None
    playbook_name: Label | None = None
    user_id: MaybeId = None
    source: Source | None = None
    tags: Tags | None = None
    entity_types: Annotated[
        list[Literal["profiles", "user_playbooks", "agent_playbooks"]] | None, Field(max_length=50)
    ] = None
    agent_playbook_status_filter: ApprovalFilter | None = None
    conversation_history: Annotated[list[ConversationTurn] | None, Field(max_length=1_000)] = None
    enable_reformulation: bool = False
    enable_agent_answer: bool = False
    search_mode: SearchMode = SearchMode.HYBRID
    request_id: MaybeId = None
    session_id: MaybeId = None
    interaction_id: RowId | None = None
    max_tokens: Annotated[int, Field(ge=0, le=1_000_000)] | None = None
    context: ContextShares | None = None
    cite: bool = False
    agent_version_only: bool = False
    caller_type: CallerType = CallerType.PRODUCTION_AGENT


class LeftOut(Answer):
    """A memory that was found and did not go into the context, and why."""

    kind: MemoryKind
    id: str
    tokens: int
    reason: str


class SearchAnswer(Done):
    """What every search tells. `injection_id` names this showing, for those who report its use later."""

    msg: str | None = None
    injection_id: str | None = None
    degraded: bool = False
    search_mode_effective: str | None = None
    experiment: ExperimentAssignment | None = None


class UnifiedSearchViewResponse(SearchAnswer):
    """The hits, best first in each list, and `context`: text to add to the prompt.

    `standing` is the part of the context that does not depend on the query. It stays the same, byte for byte, until
    one of its memories changes.
    """

    profiles: list[ProfileView] = Field(default_factory=list)
    agent_playbooks: list[AgentPlaybookView] = Field(default_factory=list)
    user_playbooks: list[UserPlaybookView] = Field(default_factory=list)
    reformulated_query: str | None = None
    context: str | None = None
    context_tokens: int | None = None
    standing: str | None = None
    left_out: list[LeftOut] = Field(default_factory=list)


class SearchOneKind(TimeRange):
    """What the searches of a single kind share."""

    query: Text | None = None
    source: Source | None = None
    tags: Tags | None = None
    threshold: Share | None = None
    enable_reformulation: bool = False
    search_mode: SearchMode = SearchMode.HYBRID
    request_id: MaybeId = None
    session_id: MaybeId = None
    caller_type: CallerType = CallerType.PRODUCTION_AGENT


class SearchUserProfileRequest(SearchOneKind):
    user_id: Id
    generated_from_request_id: MaybeId = None
    top_k: HowMany = 10
    custom_feature: Str | None = None
    extractor_name: Label | None = None


class SearchUserPlaybookRequest(SearchOneKind):
    user_id: MaybeId = None
    agent_version: Label | None = None
    agent_version_only: bool = False
    playbook_name: Label | None = None
    status_filter: StatusFilter | None = None
    top_k: TopOfHundred = 10


class SearchAgentPlaybookRequest(SearchOneKind):
    """`user_id` filters nothing: it tells who will see the result."""

    user_id: MaybeId = None
    agent_version: Label | None = None
    agent_version_only: bool = False
    playbook_name: Label | None = None
    status_filter: StatusFilter | None = None
    playbook_status_filter: ApprovalFilter | None = None
    top_k: HowMany = 10


class SearchInteractionRequest(TimeRange):
    user_id: Id
    request_id: MaybeId = None
    query: Text | None = None
    top_k: HowMany | None = None
    most_recent_k: HowMany | None = None
    threshold: Share | None = None
    search_mode: SearchMode = SearchMode.HYBRID


class SearchProfilesViewResponse(SearchAnswer):
    user_profiles: list[ProfileView] = Field(default_factory=list)


class SearchUserPlaybooksViewResponse(SearchAnswer):
    user_playbooks: list[UserPlaybookView] = Field(default_factory=list)


class SearchAgentPlaybooksViewResponse(SearchAnswer):
    agent_playbooks: list[AgentPlaybookView] = Field(default_factory=list)


class SearchInteractionsViewResponse(SearchAnswer):
    interactions: list[InteractionView] = Field(default_factory=list)
