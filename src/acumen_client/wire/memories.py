"""Memories: profiles and playbooks, as they are shown, added, changed and deleted."""

import json
from typing import Annotated, Any, ClassVar, Literal, Optional, Union

from pydantic import BeforeValidator, Field, model_validator
from typing_extensions import Self

from acumen_client.wire.shapes import (
    LARGEST_INT,
    NEVER,
    AnswerModel,
    ApprovalFilter,
    Done,
    HowMany,
    Id,
    JsonObject,
    Label,
    MaybeId,
    PlaybookStatus,
    ProfileTimeToLive,
    RequestModel,
    RowId,
    RowIds,
    Seconds,
    ShownStatus,
    Source,
    StatusFilter,
    StatusWord,
    Str,
    Tags,
    Text,
    TimeRange,
    When,
)

# --- as they are shown ---------------------------------------------------------------------------------------------


MemoryCategory = Literal["identity", "preference", "rule", "fact", "plan", "event", "recipe"]


class MemoryView(AnswerModel):
    """Fields of all memories. `score` and `reasons` are present in search results only."""

    status: ShownStatus = None
    tags: list[str] = Field(default_factory=list)
    updated_at: Optional[int] = None
    engine: Optional[str] = None
    confidence: Optional[float] = None
    mentions: Optional[int] = None
    notes: Optional[str] = None
    score: Optional[float] = None
    reasons: Optional[dict[str, float]] = None


class StatementView(MemoryView):
    """A memory from what a user said. `standing`: it is in every context."""

    said_at: Optional[int] = None
    valid_from: Optional[int] = None
    valid_until: Optional[int] = None
    category: Optional[MemoryCategory] = None
    standing: bool = False


class ProfileView(StatementView):
    """One fact about one user. Times are epoch seconds."""

    profile_id: str
    user_id: str
    content: str
    last_modified_timestamp: int
    generated_from_request_id: str = ""
    created_at: Optional[int] = None
    profile_time_to_live: ProfileTimeToLive = ProfileTimeToLive.INFINITY
    expiration_timestamp: int = NEVER
    custom_features: Optional[dict[str, Any]] = None
    source: Optional[str] = None
    extractor_names: Optional[list[str]] = None
    source_span: Optional[str] = None
    source_interaction_ids: list[int] = Field(default_factory=list)
    superseded_by: Optional[str] = None
    merged_into: Optional[str] = None
    version: Optional[int] = None


class BlockingIssue(AnswerModel):
    """What prevents an agent from following a playbook."""

    kind: Literal["missing_tool", "permission_denied", "external_dependency", "policy_restriction"]
    details: str


class PlaybookView(MemoryView):
    agent_version: str = ""
    playbook_name: str = ""
    created_at: int
    content: str = ""
    trigger: Optional[str] = None
    rationale: Optional[str] = None
    pitfall: Optional[str] = None
    blocking_issue: Optional[BlockingIssue] = None
    scoped_version: Optional[str] = None
    superseded_by: Optional[int] = None
    merged_into: Optional[int] = None
    version: Optional[int] = None


class UserPlaybookView(PlaybookView, StatementView):
    """A lesson learned from one user."""

    user_playbook_id: int = 0
    user_id: Optional[str] = None
    request_id: str = ""
    source: Optional[str] = None
    source_interaction_ids: list[int] = Field(default_factory=list)
    source_span: Optional[str] = None
    playbook_metadata: Optional[dict[str, Any]] = None


class AgentPlaybookView(PlaybookView):
    """A lesson shared by all users of an agent. `playbook_metadata` is JSON text, as older clients expect."""

    agent_playbook_id: int = 0
    playbook_status: PlaybookStatus = PlaybookStatus.PENDING
    playbook_metadata: str = ""


# --- reading -------------------------------------------------------------------------------------------------------


class GetUserProfilesRequest(TimeRange):
    user_id: Id
    profile_id: MaybeId = None
    query: Optional[Text] = None
    top_k: HowMany = 30
    source: Optional[Source] = None
    profile_time_to_live: Optional[ProfileTimeToLive] = None
    status_filter: Optional[StatusFilter] = None
    tags: Optional[Tags] = None


# What a text may be that travels in a URL: percent-encoded it still fits into one.
InUrl = Annotated[Str, Field(max_length=4_000)]


def _no_filter(value: Any) -> Any:
    """`?status_filter=` with nothing after it asks for no filter."""
    return None if value == "" else value


class GetAllProfilesRequest(RequestModel):
    """Times are epoch seconds and refer to `date_field`."""

    limit: HowMany = 100
    status_filter: Annotated[Optional[StatusWord], BeforeValidator(_no_filter)] = None
    profile_id: MaybeId = None
    user_id: MaybeId = None
    query: Optional[InUrl] = None
    source: Optional[Source] = None
    profile_time_to_live: Annotated[Optional[ProfileTimeToLive], BeforeValidator(_no_filter)] = None
    start_time: Optional[Seconds] = None
    end_time: Optional[Seconds] = None
    date_field: Literal["last_modified_timestamp", "created_at"] = "last_modified_timestamp"
    include_tombstones: bool = False

    @model_validator(mode="after")
    def _ends_after_it_starts(self) -> Self:
        if self.start_time is not None and self.end_time is not None and self.end_time <= self.start_time:
            raise ValueError("end_time must be after start_time")
        return self


class GetProfilesResponse(Done):
    user_profiles: list[ProfileView] = Field(default_factory=list)
    msg: Optional[str] = None


class GetProfileStatisticsResponse(Done):
    current_count: int = 0
    pending_count: int = 0
    archived_count: int = 0
    expiring_soon_count: int = 0
    msg: Optional[str] = None


class StorageStatsRequest(RequestModel):
    user_id: Id


class StorageStatsResponse(Done):
    profile_count: int = 0
    playbook_count: int = 0
    oldest_profile_modified: Optional[When] = None
    newest_profile_modified: Optional[When] = None
    msg: Optional[str] = None


class GetPlaybooks(TimeRange):
    """What the lists of both kinds of playbook share."""

    limit: HowMany = 100
    request_id: MaybeId = None
    query: Optional[Text] = None
    playbook_name: Optional[Label] = None
    agent_version: Optional[Label] = None
    status_filter: Optional[StatusFilter] = None
    tags: Optional[Tags] = None


class GetUserPlaybooksRequest(GetPlaybooks):
    user_playbook_id: Optional[RowId] = None
    user_id: MaybeId = None


class GetUserPlaybooksResponse(Done):
    user_playbooks: list[UserPlaybookView] = Field(default_factory=list)
    msg: Optional[str] = None


class GetAgentPlaybooksRequest(GetPlaybooks):
    agent_playbook_id: Optional[RowId] = None
    playbook_status_filter: Optional[ApprovalFilter] = None
    session_id: MaybeId = None


class GetAgentPlaybooksResponse(Done):
    agent_playbooks: list[AgentPlaybookView] = Field(default_factory=list)
    msg: Optional[str] = None


# --- adding --------------------------------------------------------------------------------------------------------


class NewMemory(RequestModel):
    """A memory added by hand."""

    status: Optional[StatusWord] = None
    tags: Tags = Field(default_factory=list)
    source_span: Optional[Text] = None
    notes: Optional[Text] = None
    expanded_terms: Optional[Text] = None
    reader_angle: Optional[Text] = None
    embedding: Annotated[list[float], Field(max_length=8_192)] = Field(default_factory=list)
    merged_into: Optional[Union[Str, int]] = None
    superseded_by: Optional[Union[Str, int]] = None
    governance_subject_ref: Optional[Str] = None
    retired_at: Optional[Seconds] = None


class NewStatement(NewMemory):
    """A statement added by hand."""

    said_at: Optional[Seconds] = None
    category: Optional[MemoryCategory] = None
    standing: bool = False


class NewProfile(NewStatement):
    """A fact about a user. Without an id or a time, the server sets them."""

    older_names: ClassVar[dict[str, str]] = {"profile_content": "content"}

    user_id: Id
    content: Text
    profile_id: MaybeId = None
    last_modified_timestamp: Optional[Seconds] = None
    generated_from_request_id: Annotated[Str, Field(max_length=255)] = ""
    profile_time_to_live: ProfileTimeToLive = ProfileTimeToLive.INFINITY
    expiration_timestamp: Seconds = NEVER
    custom_features: Optional[JsonObject] = None
    source: Optional[Source] = None
    extractor_names: Tags = Field(default_factory=list)
    source_interaction_ids: RowIds = Field(default_factory=list)

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if not self.content.strip():
            raise ValueError("content must not be empty")
        return self


class NewBlockingIssue(RequestModel):
    kind: Literal["missing_tool", "permission_denied", "external_dependency", "policy_restriction"]
    details: Text


class NewPlaybook(NewMemory):
    agent_version: Label = ""
    playbook_name: Label = ""
    created_at: Optional[Seconds] = None
    content: Text = ""
    trigger: Optional[Text] = None
    rationale: Optional[Text] = None
    pitfall: Optional[Text] = None
    blocking_issue: Optional[NewBlockingIssue] = None

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if not self.content.strip() and not (self.trigger or "").strip():
            raise ValueError("Give content or trigger")
        return self


def _as_metadata(value: Any) -> Any:
    """Metadata is an object; one that arrives as a JSON text is read."""
    if not isinstance(value, str):
        return value
    if not value.strip():
        return {}
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        raise ValueError("must be a JSON object") from None


Metadata = Annotated[JsonObject, BeforeValidator(_as_metadata)]
# Older clients send 0 for "not stored yet"; the server numbers playbooks itself.
NewRowId = Annotated[int, Field(ge=0, le=LARGEST_INT)]


class NewUserPlaybook(NewPlaybook, NewStatement):
    user_playbook_id: NewRowId = 0
    user_id: MaybeId = None
    request_id: Annotated[Str, Field(max_length=255)] = ""
    source: Optional[Source] = None
    source_interaction_ids: RowIds = Field(default_factory=list)
    playbook_metadata: Optional[Metadata] = None


class NewAgentPlaybook(NewPlaybook):
    agent_playbook_id: NewRowId = 0
    playbook_status: PlaybookStatus = PlaybookStatus.PENDING
    playbook_metadata: Text = ""


class AddUserProfileRequest(RequestModel):
    user_profiles: Annotated[list[NewProfile], Field(min_length=1, max_length=1_000)]


class AddUserPlaybookRequest(RequestModel):
    user_playbooks: Annotated[list[NewUserPlaybook], Field(min_length=1, max_length=1_000)]


class AddAgentPlaybookRequest(RequestModel):
    agent_playbooks: Annotated[list[NewAgentPlaybook], Field(min_length=1, max_length=1_000)]


class AddedResponse(Done):
    message: Optional[str] = None
    added_count: int = 0


# --- changing ------------------------------------------------------------------------------------------------------


class UpdateUserProfileRequest(RequestModel):
    """Fields that are null or missing stay unchanged."""

    older_names: ClassVar[dict[str, str]] = {"profile_content": "content"}

    user_id: Id
    profile_id: Id
    content: Optional[Text] = None
    custom_features: Optional[JsonObject] = None
    status: Annotated[Optional[StatusWord], BeforeValidator(_no_filter)] = None
    superseded_by: MaybeId = None


class UpdatePlaybook(RequestModel):
    """Fields that are null or missing stay unchanged. Status `current` restores an archived playbook."""

    playbook_name: Optional[Label] = None
    content: Optional[Text] = None
    trigger: Optional[Text] = None
    rationale: Optional[Text] = None
    pitfall: Optional[Text] = None
    status: Annotated[Optional[StatusWord], BeforeValidator(_no_filter)] = None
    superseded_by: Optional[RowId] = None


class UpdateUserPlaybookRequest(UpdatePlaybook):
    """Fields that are null or missing stay unchanged. Status `current` restores an archived playbook.

    `playbook_metadata` of `{"superseded_by": ID}` names the playbook that replaces it.
    """

    user_playbook_id: RowId
    playbook_metadata: Optional[Metadata] = None


class UpdateAgentPlaybookRequest(UpdatePlaybook):
    agent_playbook_id: RowId
    playbook_status: Optional[PlaybookStatus] = None
    playbook_metadata: Optional[Text] = None


class UpdatePlaybookStatusRequest(RequestModel):
    agent_playbook_id: RowId
    playbook_status: PlaybookStatus


class UpdatedResponse(Done):
    msg: Optional[str] = None
