"""Aggregation: playbooks of several users that say the same become one for all users of an agent."""

from typing import Annotated, Literal, Optional

from pydantic import BeforeValidator, Field, StringConstraints

from acumen_client.wire.memories import BlockingIssue
from acumen_client.wire.shapes import (
    AnswerModel,
    Done,
    HowMany,
    Id,
    Label,
    NullsSent,
    PlaybookStatus,
    RequestModel,
    storable,
)

# How older clients write "none given".
DEFAULT_VERSION = "agent-v0"
DEFAULT_NAME = "playbook"

Name = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=1_000), BeforeValidator(storable)
]
Short = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200), BeforeValidator(storable)
]


class RunPlaybookAggregationRequest(RequestModel):
    """The default version includes playbooks without a version; the default name includes all names."""

    agent_version: Label = DEFAULT_VERSION
    playbook_name: Name = DEFAULT_NAME
    full: bool = Field(False, description="Compare every lesson again, not only those that changed.")


class PlaybookAggregationResult(AnswerModel):
    """Numbers of clusters and playbooks. `skipped` says why nothing was done; `withheld` shared lessons were rejected
    or deleted by a person before.
    """

    clusters_found: int = 0
    user_playbooks_processed: int = 0
    playbooks_generated: int = 0
    skipped: Optional[str] = None
    playbooks_updated: int = 0
    playbooks_grown: int = 0
    playbooks_removed: int = 0
    unchanged: int = 0
    withheld: int = 0


class RunPlaybookAggregationResponse(Done):
    message: str = ""
    operation_id: Optional[str] = None
    result: Optional[PlaybookAggregationResult] = None


class SubmitPlaybookAggregationRequest(RequestModel):
    request_id: Short
    agent_version: Short
    full: bool = Field(False, description="Compare every lesson again, not only those that changed.")


class GetPlaybookAggregationOperationRequest(RequestModel):
    operation_id: Id


class PlaybookAggregationOperation(NullsSent, AnswerModel):
    """Times are epoch seconds. `done` of `total` steps are done; `total` may grow."""

    operation_id: str
    request_id: str
    agent_version: str
    status: Literal["queued", "running", "retrying", "succeeded", "failed"]
    created_at: int
    updated_at: int
    started_at: Optional[int] = None
    completed_at: Optional[int] = None
    attempts: int = 0
    next_attempt_at: Optional[int] = None
    error: Optional[str] = None
    result: Optional[PlaybookAggregationResult] = None
    total: int = 0
    done: int = 0


class PlaybookAggregationChangeLogRequest(RequestModel):
    playbook_name: Name
    agent_version: Label
    limit: HowMany = 100


class AgentPlaybookSnapshot(AnswerModel):
    """A shared lesson at that time; its content is `(erased)` if words of an erased user were in it."""

    agent_playbook_id: int = 0
    playbook_name: str = ""
    agent_version: str = ""
    content: str = ""
    trigger: Optional[str] = None
    rationale: Optional[str] = None
    pitfall: Optional[str] = None
    blocking_issue: Optional[BlockingIssue] = None
    playbook_status: PlaybookStatus = PlaybookStatus.PENDING
    playbook_metadata: str = ""


class AgentPlaybookUpdateEntry(AnswerModel):
    before: AgentPlaybookSnapshot
    after: AgentPlaybookSnapshot


class PlaybookAggregationChangeLog(AnswerModel):
    id: int = 0
    created_at: int
    playbook_name: str
    agent_version: str
    run_mode: Literal["full_archive", "incremental"] = "incremental"
    added_agent_playbooks: list[AgentPlaybookSnapshot] = Field(default_factory=list)
    removed_agent_playbooks: list[AgentPlaybookSnapshot] = Field(default_factory=list)
    updated_agent_playbooks: list[AgentPlaybookUpdateEntry] = Field(default_factory=list)
    operation_id: str = ""


class PlaybookAggregationChangeLogResponse(NullsSent, Done):
    """Newest first. Aggregations without changes are left out."""

    change_logs: list[PlaybookAggregationChangeLog] = Field(default_factory=list)
