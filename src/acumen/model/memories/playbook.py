"""Playbooks: lessons for an agent, learned from one user or shared by all."""

from enum import StrEnum
from typing import Any

from msgspec import Struct, field

from acumen.model.ids import InteractionId, Millis, PlaybookId, RequestId, UserId
from acumen.model.memories.base import Category, EvidenceSpan, Origin, Status


class Approval(StrEnum):
    """A shared lesson needs a person's word before it counts as approved."""

    PENDING = "pending"
    APPROVED = "approved"
    REJECTED = "rejected"


class Lesson(Struct, frozen=True):
    """The teaching itself, the same for user and agent playbooks."""

    content: str  # the instruction
    trigger: str | None = None  # the situation it is for
    rationale: str | None = None
    pitfall: str | None = None  # what the agent had done, and should not do again
    blocking_issue: dict[str, Any] | None = None

    @property
    def searchable(self) -> str:
        """All words by which the lesson should be found."""
        return "\n".join(part for part in (self.trigger, self.content, self.pitfall) if part)


class UserPlaybook(Struct, frozen=True):
    id: PlaybookId
    user_id: UserId | None
    lesson: Lesson
    created_at: Millis
    updated_at: Millis
    agent_version: str = ""
    request_id: RequestId = RequestId("")
    name: str = ""
    status: Status = Status.CURRENT
    source: str | None = None
    tags: list[str] = field(default_factory=list)
    interaction_ids: list[InteractionId] = field(default_factory=list)
    source_span: str | None = None
    notes: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    # What the lesson is about and what it asks: one subject with two values contradicts.
    subject: str = ""
    value: str = ""
    mentions: int = 1
    superseded_by: PlaybookId | None = None
    merged_into: PlaybookId | None = None
    # Epoch milliseconds: when it was said, and the time in which it holds where the words give one.
    said_at: Millis | None = None
    valid_from: Millis | None = None
    valid_until: Millis | None = None
    category: Category = Category.RULE
    standing: bool = False  # injected into every prompt, regardless of the query
    scoped_version: str | None = None  # the only agent version a person wants it used for
    origin: Origin = Origin()
    version: int = 1


class AgentPlaybook(Struct, frozen=True):
    id: PlaybookId
    lesson: Lesson
    created_at: Millis
    updated_at: Millis
    agent_version: str = ""
    name: str = ""
    approval: Approval = Approval.PENDING
    status: Status = Status.CURRENT
    metadata: str = ""
    tags: list[str] = field(default_factory=list)
    notes: str | None = None
    superseded_by: PlaybookId | None = None
    merged_into: PlaybookId | None = None
    scoped_version: str | None = None
    origin: Origin = Origin()
    version: int = 1


class PlaybookNote(Struct, frozen=True):
    """A lesson an extractor read, before it is compared with what is known."""

    lesson: Lesson
    subject: str
    value: str
    evidence: EvidenceSpan
    request_id: RequestId
    forget: bool = False
    confidence: float = 0.7
    tags: tuple[str, ...] = ()
    denies: bool = False  # as of a profile
    faint: bool = False  # as of a ProfileNote
