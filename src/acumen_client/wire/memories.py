"""Memories: profiles and playbooks, as they are shown, added, changed and deleted."""

import json
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from acumen_client.wire.shapes import (
    LARGEST_INT,
    NEVER,
    Answer,
    ApprovalFilter,
    Done,
    HowMany,
    Id,
    JsonObject,
    Label,
    MaybeId,
    PlaybookStatus,
    Request,
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
    TimeToLive,
    When,
)

# --- as they are shown ---------------------------------------------------------------------------------------------


MemoryCategory = Literal["identity", "preference", "rule", "fact", "plan", "event", "recipe"]


class MemoryView(Answer):
    """What all memories show. `score` and `reasons` are present in search results only."""

    status: ShownStatus = None
    tags: list[str] = Field(default_factory=list)
    updated_at: int | None = None
    engine: str | None = None
    confidence: float | None = None
    mentions: int | None = None
    notes: str | None = None
    score: float | None = None
    reasons: dict[str, float] | None = None


class StatementView(MemoryView):
    """A memory taken from what a user said. `standing`: it belongs into every prompt, whatever is asked."""

    said_at: int | None = None
    valid_from: int | None = None
    valid_until: int | None = None
    category: MemoryCategory | None = None
    standing: bool = False


class ProfileView(StatementView):
    """One fact about one user. Times are epoch seconds."""

    profile_id: str
    user_id: str
    content: str
    last_modified_timestamp: int
    generated_from_request_id: str = ""
    created_at: int | None = None
    profile_time_to_live: TimeToLive = TimeToLive.INFINITY
    expiration_timestamp: int = NEVER
    custom_features: dict[str, Any] | None = None
    source: str | None = None
    extractor_names: list[str] | None = None
    source_span: str | None = None
    source_interaction_ids: list[int] = Field(default_factory=list)
    superseded_by: str | None = None
    merged_into: str | None = None
    version: int | None = None


class BlockingIssue(Answer):
    """What keeps an agent from doing as a playbook says."""

    kind: Literal["missing_tool", "permission_denied", "external_dependency", "policy_restriction"]
    details: str


class PlaybookView(MemoryView):
    agent_version: str = ""
    playbook_name: str = ""
    created_at: int
    content: str = ""
    trigger: str | None = None
    rationale: str | None = None
    pitfall: str | None = None
    blocking_issue: BlockingIssue | None = None
    scoped_version: str | None = None
    superseded_by: int | None = None
    merged_into: int | None = None
    version: int | None = None


class UserPlaybookView(PlaybookView, StatementView):
    """A lesson learned from one user."""

    user_playbook_id: int = 0
    user_id: str | None = None
    request_id: str = ""
    source: str | None = None
    source_interaction_ids: list[int] = Field(default_factory=list)
    source_span: str | None = None
    playbook_metadata: dict[str, Any] | None = None


class AgentPlaybookView(PlaybookView):
    """A lesson shared by all users of an agent. Its metadata is a text, as older clients expect."""

    agent_playbook_id: int = 0
    playbook_status: PlaybookStatus = PlaybookStatus.PENDING
    playbook_metadata: str = ""


# --- reading -------------------------------------------------------------------------------------------------------


class GetUserProfilesRequest(TimeRange):
    user_id: Id
    profile_id: MaybeId = None
    query: Text | None = None
    top_k: HowMany = 30
    source: Source | None = None
    profile_time_to_live: TimeToLive | None = None
    status_filter: StatusFilter | None = None
    tags: Tags | None = None


# What a text may be that travels in a URL: percent-encoded it still fits into one.
InUrl = Annotated[Str, Field(max_length=4_000)]


def _no_filter(value: Any) -> Any:
    """`?status_filter=` with nothing after it asks for no filter."""
    return None if value == "" else value


class GetAllProfilesRequest(Request):
    """Over all users; times are epoch seconds and count against `date_field`."""

    limit: HowMany = 100
    status_filter: Annotated[StatusWord | None, BeforeValidator(_no_filter)] = None
    profile_id: MaybeId = None
    user_id: MaybeId = None
    query: InUrl | None = None
    source: Source | None = None
    profile_time_to_live: Annotated[TimeToLive | None, BeforeValidator(_no_filter)] = None
    start_time: Seconds | None = None
    end_time: Seconds | None = None
    date_field: Literal["last_modified_timestamp", "created_at"] = "last_modified_timestamp"
    include_tombstones: bool = False

    @model_validator(mode="after")
    def _ends_after_it_starts(self) -> Self:
        if self.start_time is not None and self.end_time is not None and self.end_time <= self.start_time:
            raise ValueError("end_time must be after start_time")
        return self


class GetProfilesResponse(Done):
    user_profiles: list[ProfileView] = Field(default_factory=list)
    msg: str | None = None


class GetProfileStatisticsResponse(Done):
    current_count: int = 0
    pending_count: int = 0
    archived_count: int = 0
    expiring_soon_count: int = 0
    msg: str | None = None


class StorageStatsRequest(Request):
    user_id: Id


class StorageStatsResponse(Done):
    profile_count: int = 0
    playbook_count: int = 0
    oldest_profile_modified: When | None = None
    newest_profile_modified: When | None = None
    msg: str | None = None


class GetUserPlaybooksRequest(TimeRange):
    limit: HowMany = 100
    user_playbook_id: RowId | None = None
    user_id: MaybeId = None
    request_id: MaybeId = None
    query: Text | None = None
    playbook_name: Label | None = None
    agent_version: Label | None = None
    status_filter: StatusFilter | None = None
    tags: Tags | None = None


class GetUserPlaybooksResponse(Done):
    user_playbooks: list[UserPlaybookView] = Field(default_factory=list)
    msg: str | None = None


class GetAgentPlaybooksRequest(TimeRange):
    limit: HowMany = 100
    agent_playbook_id: RowId | None = None
    query: Text | None = None
    playbook_name: Label | None = None
    agent_version: Label | None = None
    status_filter: StatusFilter | None = None
    playbook_status_filter: ApprovalFilter | None = None
    tags: Tags | None = None
    request_id: MaybeId = None
    session_id: MaybeId = None


class GetAgentPlaybooksResponse(Done):
    agent_playbooks: list[AgentPlaybookView] = Field(default_factory=list)
    msg: str | None = None


# --- adding --------------------------------------------------------------------------------------------------------


class NewMemory(Request):
    """What may be said of a memory that is added by hand.

    The last seven fields are sent by older clients and are the server's to decide: accepted, and not used.
    """

    status: StatusWord | None = None
    tags: Tags = Field(default_factory=list)
    source_span: Text | None = None
    notes: Text | None = None
    expanded_terms: Text | None = None
    reader_angle: Text | None = None
    embedding: Annotated[list[float], Field(max_length=8_192)] = Field(default_factory=list)
    merged_into: Str | int | None = None
    superseded_by: Str | int | None = None
    governance_subject_ref: Str | None = None
    retired_at: Seconds | None = None


class NewStatement(NewMemory):
    """When it was said, what sort of statement it is, and whether it belongs into every prompt."""

    said_at: Seconds | None = None
    category: MemoryCategory | None = None
    standing: bool = False


class NewProfile(NewStatement):
    """A fact about a user. Without an id or a time, the server gives both."""

    older_names: ClassVar[dict[str, str]] = {"profile_content": "content"}

    user_id: Id
    content: Text
    profile_id: MaybeId = None
    last_modified_timestamp: Seconds | None = None
    generated_from_request_id: Annotated[Str, Field(max_length=255)] = ""
    profile_time_to_live: TimeToLive = TimeToLive.INFINITY
    expiration_timestamp: Seconds = NEVER
    custom_features: JsonObject | None = None
    source: Source | None = None
    extractor_names: Tags = Field(default_factory=list)
    source_interaction_ids: RowIds = Field(default_factory=list)

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if not self.content.strip():
            raise ValueError("content must not be empty")
        return self


class NewBlockingIssue(Request):
    kind: Literal["missing_tool", "permission_denied", "external_dependency", "policy_restriction"]
    details: Text


class NewPlaybook(NewMemory):
    agent_version: Label = ""
    playbook_name: Label = ""
    created_at: Seconds | None = None
    content: Text = ""
    trigger: Text | None = None
    rationale: Text | None = None
    pitfall: Text | None = None
    blocking_issue: NewBlockingIssue | None = None

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if not self.content.strip() and not (self.trigger or "").strip():
            raise ValueError("give content or trigger: a playbook without both teaches nothing")
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
    source: Source | None = None
    source_interaction_ids: RowIds = Field(default_factory=list)
    playbook_metadata: Metadata | None = None


class NewAgentPlaybook(NewPlaybook):
    agent_playbook_id: NewRowId = 0
    playbook_status: PlaybookStatus = PlaybookStatus.PENDING
    playbook_metadata: Text = ""


class AddUserProfileRequest(Request):
    user_profiles: Annotated[list[NewProfile], Field(min_length=1, max_length=1_000)]


class AddUserPlaybookRequest(Request):
    user_playbooks: Annotated[list[NewUserPlaybook], Field(min_length=1, max_length=1_000)]


class AddAgentPlaybookRequest(Request):
    agent_playbooks: Annotated[list[NewAgentPlaybook], Field(min_length=1, max_length=1_000)]


class AddedResponse(Done):
    message: str | None = None
    added_count: int = 0


# --- changing ------------------------------------------------------------------------------------------------------


class UpdateUserProfileRequest(Request):
    """Fields that are null or missing stay as they are."""

    older_names: ClassVar[dict[str, str]] = {"profile_content": "content"}

    user_id: Id
    profile_id: Id
    content: Text | None = None
    custom_features: JsonObject | None = None
    status: Annotated[StatusWord | None, BeforeValidator(_no_filter)] = None
    superseded_by: MaybeId = None


class UpdatePlaybook(Request):
    """Fields that are null or missing stay as they are; an archived one returns with status `current`."""

    playbook_name: Label | None = None
    content: Text | None = None
    trigger: Text | None = None
    rationale: Text | None = None
    pitfall: Text | None = None
    status: Annotated[StatusWord | None, BeforeValidator(_no_filter)] = None
    superseded_by: RowId | None = None


class UpdateUserPlaybookRequest(UpdatePlaybook):
    """A playbook replaced by another says so in its metadata: `{"superseded_by": id}`."""

    user_playbook_id: RowId
    playbook_metadata: Metadata | None = None


class UpdateAgentPlaybookRequest(UpdatePlaybook):
    agent_playbook_id: RowId
    playbook_status: PlaybookStatus | None = None
    playbook_metadata: Text | None = None


class UpdatePlaybookStatusRequest(Request):
    agent_playbook_id: RowId
    playbook_status: PlaybookStatus


class UpdatedResponse(Done):
    msg: str | None = None
