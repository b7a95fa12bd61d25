"""Learn: rebuild memories, switch versions, monitor and cancel runs, trace where memories come from."""

from typing import Annotated, Any, Literal, Optional

from pydantic import BeforeValidator, Field

from acumen_client.compat import StrEnum
from acumen_client.wire.memories import ProfileView, UserPlaybookView
from acumen_client.wire.observe import InteractionView
from acumen_client.wire.shapes import (
    AnswerModel,
    Done,
    HowMany,
    Id,
    InQuery,
    Label,
    MaybeId,
    MemoryKind,
    NullsSent,
    RequestModel,
    Source,
    Tags,
    TimeRange,
    blank_is_none,
)

MaybeLabel = Annotated[Optional[Label], BeforeValidator(blank_is_none)]

# --- rerun and manual runs ------------------------------------------------------------------------------------------


class ManualProfileGenerationRequest(RequestModel):
    """Reads the latest window of each user, or of one user."""

    user_id: MaybeId = None
    source: Optional[Source] = None
    extractor_names: Optional[Tags] = None
    # Wait, a minute at most, until the run is over.
    wait_for_response: Annotated[bool, InQuery()] = False


class RerunProfileGenerationRequest(ManualProfileGenerationRequest, TimeRange):
    """Reads all conversations, or those that the filters select. Times are the arrival of requests."""


class ManualPlaybookGenerationRequest(RequestModel):
    """Reads the latest window of each user, or of one user."""

    user_id: MaybeId = None
    agent_version: MaybeLabel = None
    playbook_name: MaybeLabel = None
    source: Optional[Source] = None
    wait_for_response: Annotated[bool, InQuery()] = False


class RerunPlaybookGenerationRequest(ManualPlaybookGenerationRequest, TimeRange):
    """Reads all conversations, or those that the filters select. `agent-v0` means turns without a version."""


class GenerationStarted(Done):
    """`run_id` names the run. Counts are present when the caller waited for the end."""

    msg: Optional[str] = None
    run_id: str = ""


class RerunProfileGenerationResponse(GenerationStarted):
    profiles_generated: Optional[int] = None
    operation_id: str = "rerun_profile_generation"


class RerunPlaybookGenerationResponse(GenerationStarted):
    playbooks_generated: Optional[int] = None
    operation_id: str = "rerun_playbook_generation"


class ManualProfileGenerationResponse(GenerationStarted):
    profiles_generated: Optional[int] = None


class ManualPlaybookGenerationResponse(GenerationStarted):
    playbooks_generated: Optional[int] = None


# --- versions ------------------------------------------------------------------------------------------------------

MemoryIds = Annotated[list[Id], Field(max_length=10_000)]


class UpgradeProfilesRequest(RequestModel):
    """With `profile_ids`, only these profiles move."""

    user_id: MaybeId = None
    profile_ids: Optional[MemoryIds] = None
    only_affected_users: bool = False


class DowngradeProfilesRequest(UpgradeProfilesRequest):
    pass


class DowngradeUserPlaybooksRequest(RequestModel):
    user_id: MaybeId = None
    agent_version: MaybeLabel = None
    playbook_name: MaybeLabel = None
    only_affected_users: bool = False


class UpgradeUserPlaybooksRequest(DowngradeUserPlaybooksRequest):
    """Unless current ones are archived, the promoted ones join them."""

    archive_current: bool = True


class UpgradeProfilesResponse(Done):
    profiles_archived: int = 0
    profiles_promoted: int = 0
    profiles_deleted: int = 0
    message: str = ""


class DowngradeProfilesResponse(Done):
    profiles_demoted: int = 0
    profiles_restored: int = 0
    message: str = ""


class UpgradeUserPlaybooksResponse(Done):
    user_playbooks_deleted: int = 0
    user_playbooks_archived: int = 0
    user_playbooks_promoted: int = 0
    message: str = ""


class DowngradeUserPlaybooksResponse(Done):
    user_playbooks_demoted: int = 0
    user_playbooks_restored: int = 0
    message: str = ""


# --- operations ----------------------------------------------------------------------------------------------------


class OperationStatus(StrEnum):
    """Some users failed: `failed`, with how many and why. Nothing is called completed that was not."""

    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


def _service(value: Any) -> Any:
    """`feedback` is the old word for playbooks."""
    return value.replace("feedback_generation", "playbook_generation") if isinstance(value, str) else value


Service = Annotated[Label, BeforeValidator(_service)]


class FailedUser(AnswerModel):
    user_id: str
    error: str


class OperationStatusInfo(AnswerModel):
    """A run, counted in users. `state` is finer than `status`: also queued, and partial when only some users failed.

    Of several runs, the current one or else the latest. `stats` count windows and turns once per extractor.
    """

    service_name: str
    status: OperationStatus
    state: str
    run_id: str
    mode: Optional[str] = None
    started_at: int
    completed_at: Optional[int] = None
    total_users: int = 0
    processed_users: int = 0
    failed_users: int = 0
    current_user_id: Optional[str] = None
    processed_user_ids: list[str] = Field(default_factory=list)
    failed_user_ids: list[FailedUser] = Field(default_factory=list)
    request_params: dict[str, Any] = Field(default_factory=dict)
    stats: dict[str, Any] = Field(default_factory=dict)
    error_message: Optional[str] = None
    cancel_asked: bool = False
    progress_percentage: Annotated[float, Field(ge=0.0, le=100.0)] = 0.0


class GetOperationStatusRequest(RequestModel):
    service_name: Service = "profile_generation"


class GetOperationStatusResponse(Done):
    operation_status: Optional[OperationStatusInfo] = None
    msg: Optional[str] = None


class CancelOperationRequest(RequestModel):
    """Without `service_name`, all runs."""

    service_name: Annotated[Optional[Service], BeforeValidator(blank_is_none)] = None


class CancelOperationResponse(Done):
    """Runs stop before their next window; runs that were queued end at once."""

    cancelled_services: list[str] = Field(default_factory=list)
    msg: Optional[str] = None


# --- where a memory came from ----------------------------------------------------------------------------------------


class GetLearningProvenanceRequest(RequestModel):
    kind: MemoryKind
    id: Id


class EvidenceView(AnswerModel):
    """The words that a memory rests on: characters `start` to `end` of a turn, null if only the turn is known."""

    interaction_id: int
    start: Optional[int] = None
    end: Optional[int] = None
    text: Optional[str] = None


class LineageView(AnswerModel):
    """One change of a memory, with its reason."""

    at: int
    op: str
    actor: str
    reason: str
    request_id: str = ""
    sources: list[str] = Field(default_factory=list)


class SourceUserPlaybookProvenanceView(AnswerModel):
    user_playbook: UserPlaybookView
    interactions: list[InteractionView] = Field(default_factory=list)
    source_interaction_ids: list[int] = Field(default_factory=list)


class LearningProvenanceViewResponse(Done):
    """`exact`: all source turns are included; `best_effort`: some were deleted, or only the request is known."""

    target_kind: MemoryKind
    target_id: str
    provenance_status: Literal["exact", "best_effort", "unavailable"] = "unavailable"
    trigger_request_id: Optional[str] = None
    interactions: list[InteractionView] = Field(default_factory=list)
    source_user_playbooks: list[SourceUserPlaybookProvenanceView] = Field(default_factory=list)
    evidence: list[EvidenceView] = Field(default_factory=list)
    lineage: list[LineageView] = Field(default_factory=list)
    engine: Optional[str] = None
    model: Optional[str] = None
    prompt_hash: Optional[str] = None
    confidence: Optional[float] = None
    msg: Optional[str] = None


class ProfileChangeLogRequest(RequestModel):
    """Newest first."""

    user_id: MaybeId = None
    limit: Annotated[HowMany, Field(le=10_000)] = 100


class ProfileChangeLogView(AnswerModel):
    """Changes of one user's profiles in one transaction."""

    id: int
    user_id: str
    request_id: str
    created_at: int
    added_profiles: list[ProfileView] = Field(default_factory=list)
    removed_profiles: list[ProfileView] = Field(default_factory=list)
    mentioned_profiles: list[ProfileView] = Field(default_factory=list)
    reasons: list[str] = Field(default_factory=list)


class ProfileChangeLogViewResponse(NullsSent, Done):
    profile_change_logs: list[ProfileChangeLogView] = Field(default_factory=list)
