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
    """How much of the context's budget its parts may take, each from 0 (leave it out) to 1, together at most 1."""

    standing: Share = 0.25
    relevant: Share = 0.4
    quoted: Share = 0.35

    @model_validator(mode="after")
    def _at_most_everything(self) -> Self:
        if self.standing + self.relevant + self.quoted > 1 + 1e-9:
            raise ValueError("standing, relevant and quoted must be at most 1 together")
        return self


class UnifiedSearchRequest(RequestModel):
    """All kinds of memory at once.

    `top_k` counts per kind. `max_tokens` bounds the ready-made `context` of the answer; null leaves it to the server.
    Memories of every agent version are considered, those of `agent_version` first on ties; `agent_version_only`
    leaves out the others. `threshold` is the least cosine of a hit that shares no word with the query. `cite` adds a
    line that asks the agent to cite the handles of what it uses.
    """

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
    """A memory that was found and did not go into the context, and why."""

    kind: MemoryKind
    id: str
    tokens: int
    reason: str


class SearchAnswer(Done):
    """What every search tells. `injection_id` names this showing, for those who report its use later."""

    msg: Optional[str] = None
    injection_id: Optional[str] = None
    degraded: bool = False
    search_mode_effective: Optional[str] = None
    experiment: Optional[ExperimentAssignment] = None


class UnifiedSearchViewResponse(SearchAnswer):
    """The hits, best first in each list, and `context`: text to add to the prompt.

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
    """`user_id` filters nothing: it tells who will see the result."""

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
