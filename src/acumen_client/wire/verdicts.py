"""Verdicts: an auditor's word on a subject, and how often the same was found elsewhere."""

from typing import Annotated, Literal, Optional

from pydantic import Field, model_validator
from typing_extensions import Self

from acumen_client.wire.operations import Millis, Name, SmallObject, Summary, fresh_operation_id
from acumen_client.wire.shapes import AnswerModel, Done, HowMany, Id, MaybeId, RequestModel


class FindingIn(RequestModel):
    """One finding."""

    severity: Literal["info", "warn", "block"]
    message: Summary
    signature: Optional[Name] = None


class RecordVerdictRequest(RequestModel):
    subject: Name
    overall: Literal["approve", "request_changes", "block"]
    findings: Annotated[list[FindingIn], Field(max_length=1_000)] = Field(default_factory=list)
    one_liner: Optional[Summary] = None
    duration_ms: Optional[Millis] = None
    source: Name = "auditor"
    op_id: Id = Field(default_factory=fresh_operation_id)
    session_id: MaybeId = None
    user_id: MaybeId = None
    attributes: SmallObject = Field(default_factory=dict)


class RecurrenceView(AnswerModel):
    """How often a finding occurred. One subject alone never exceeds the level `info`; `confidence` is distinct subjects
    by count.
    """

    signature: str
    count: int
    distinct_subjects: int
    confidence: float
    level: Literal["none", "info", "warn", "block"]


class RecordVerdictResponse(Done):
    op_id: str
    result: Literal["stored", "known"]
    recurrence: list[RecurrenceView] = Field(default_factory=list)


class VerdictHistoryRequest(RequestModel):
    """Give either `subject` or `signature`."""

    subject: Optional[Name] = None
    signature: Optional[Name] = None
    limit: HowMany = 100

    @model_validator(mode="after")
    def _says_of_what(self) -> Self:
        if (self.subject is None) == (self.signature is None):
            raise ValueError("Give either subject or signature")
        return self


class FindingView(AnswerModel):
    op_id: str
    subject: str
    overall: str
    severity: str
    signature: str
    message: str
    created_at: int


class VerdictHistoryResponse(Done):
    findings: list[FindingView] = Field(default_factory=list)
    recurrence: list[RecurrenceView] = Field(default_factory=list)
