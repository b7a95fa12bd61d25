"""Recall: search the memories, or the conversations they came from."""

from typing import Annotated, Literal, Optional

from pydantic import Field, model_validator
from typing_extensions import Self

from acumen_client.wire.memories import AgentPlaybookView, ProfileView, UserPlaybookView
from acumen_client.wire.observe import InteractionView
from acumen_client.wire.shapes import (
    AnswerModel,
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
    RequestModel,
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


class ConversationTurn(RequestModel):
    role: NonEmpty
    content: NonEmpty


class ContextShares(RequestModel):
    """Shares of the context's token budget, from 0 (none) to 1, together at most 1."""

    standing: Share = 0.25
    relevant: Share = 0.4
    quoted: Share = 0.35

    @model_validator(mode="after")
    def _at_most_everything(self) -> Self:
        if self.standing + self.relevant + self.quoted > 1 + 1e-9:
            raise ValueError("standing, relevant and quoted must be at most 1 together")
        return self


class UnifiedSearchRequest(RequestModel):
    """Memories of all agent versions are considered; on equal scores those of `agent_version` come first."""

    query: NonEmpty
    top_k: TopOfHundred = 5
    threshold: Optional[Share] = None
    agent_version: Optional[Label] = None
    playbook_name: Optional[Label] = None
    user_id: MaybeId = None
    source: Optional[Source] = None
    tags: Optional[Tags] = None
    entity_types: Annotated[
        Optional[list[Literal["profiles", "user_playbooks", "agent_playbooks"]]], Field(max_length=50)
    ] = None
    agent_playbook_status_filter: Optional[ApprovalFilter] = None
    conversation_history: Annotated[Optional[list[ConversationTurn]], Field(max_length=1_000)] = None
    enable_reformulation: bool = False
    enable_agent_answer: bool = False
    search_mode: SearchMode = SearchMode.HYBRID
    request_id: MaybeId = None
    session_id: MaybeId = None
    interaction_id: Optional[RowId] = None
    max_tokens: Optional[Annotated[int, Field(ge=0, le=1_000_000)]] = None
    context: Optional[ContextShares] = None
    cite: bool = False
    agent_version_only: bool = False
    caller_type: CallerType = CallerType.PRODUCTION_AGENT


class LeftOut(AnswerModel):
    """A memory that was found but is not in the context, and why."""

    kind: MemoryKind
    id: str
    tokens: int
    reason: str


class SearchAnswer(Done):
    """`injection_id` names this search, to report citations and to replay it."""

    msg: Optional[str] = None
    injection_id: Optional[str] = None
    degraded: bool = False
    search_mode_effective: Optional[str] = None
    experiment: Optional[ExperimentAssignment] = None


class UnifiedSearchViewResponse(SearchAnswer):
    """The results, best first per kind, and `context`: the text to add to the prompt.

    `standing` is the part of the context that does not depend on the query. It stays the same, byte for byte, until
    one of its memories changes.
    """

    profiles: list[ProfileView] = Field(default_factory=list)
    agent_playbooks: list[AgentPlaybookView] = Field(default_factory=list)
    user_playbooks: list[UserPlaybookView] = Field(default_factory=list)
    reformulated_query: Optional[str] = None
    context: Optional[str] = None
    context_tokens: Optional[int] = None
    standing: Optional[str] = None
    left_out: list[LeftOut] = Field(default_factory=list)


class SearchOneKind(TimeRange):
    """What the searches of a single kind share."""

    query: Optional[Text] = None
    source: Optional[Source] = None
    tags: Optional[Tags] = None
    threshold: Optional[Share] = None
    enable_reformulation: bool = False
    search_mode: SearchMode = SearchMode.HYBRID
    request_id: MaybeId = None
    session_id: MaybeId = None
    caller_type: CallerType = CallerType.PRODUCTION_AGENT


class SearchUserProfileRequest(SearchOneKind):
    user_id: Id
    generated_from_request_id: MaybeId = None
    top_k: HowMany = 10
    custom_feature: Optional[Str] = None
    extractor_name: Optional[Label] = None


class SearchPlaybooks(SearchOneKind):
    """What the searches of both kinds of playbook share."""

    user_id: MaybeId = None
    agent_version: Optional[Label] = None
    agent_version_only: bool = False
    playbook_name: Optional[Label] = None
    status_filter: Optional[StatusFilter] = None


class SearchUserPlaybookRequest(SearchPlaybooks):
    top_k: TopOfHundred = 10


class SearchAgentPlaybookRequest(SearchPlaybooks):
    """`user_id` filters nothing; it assigns the user to an experiment."""

    playbook_status_filter: Optional[ApprovalFilter] = None
    top_k: HowMany = 10


class SearchInteractionRequest(TimeRange):
    user_id: Id
    request_id: MaybeId = None
    query: Optional[Text] = None
    top_k: Optional[HowMany] = None
    most_recent_k: Optional[HowMany] = None
    threshold: Optional[Share] = None
    search_mode: SearchMode = SearchMode.HYBRID


class SearchProfilesViewResponse(SearchAnswer):
    user_profiles: list[ProfileView] = Field(default_factory=list)


class SearchUserPlaybooksViewResponse(SearchAnswer):
    user_playbooks: list[UserPlaybookView] = Field(default_factory=list)


class SearchAgentPlaybooksViewResponse(SearchAnswer):
    agent_playbooks: list[AgentPlaybookView] = Field(default_factory=list)


class SearchInteractionsViewResponse(SearchAnswer):
    interactions: list[InteractionView] = Field(default_factory=list)
