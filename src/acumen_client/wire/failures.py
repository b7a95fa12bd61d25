"""Failures that are one and the same, and the lessons that operations suggest."""

from typing import Annotated, Any, Literal, Optional

from pydantic import Field, model_validator
from typing_extensions import Self

from acumen_client.wire.operations import MOST_AT_ONCE, Name, OperationView, Summary
from acumen_client.wire.shapes import AnswerModel, Done, HowMany, Id, MaybeId, Offset, PageModel, RequestModel, RowId

GroupState = Literal["new", "ongoing", "escalating", "regressed", "resolved", "archived"]


class FailureGroupView(AnswerModel):
    """Similar failures; counts include merged groups."""

    group_id: str
    template: str
    source: str
    endpoint: str
    error_type: str
    state: GroupState
    count: int
    sessions: int
    first_seen: int
    last_seen: int
    merged: list[str] = Field(default_factory=list)
    grouping_version: str = ""


class GetFailuresRequest(RequestModel):
    """Resolved and archived groups only if `states` names them."""

    states: Optional[Annotated[list[GroupState], Field(max_length=10)]] = None
    source: Optional[Name] = None
    endpoint: Optional[Name] = None
    limit: Annotated[int, Field(gt=0, le=MOST_AT_ONCE)] = 100
    offset: Offset = 0


class GetFailuresResponse(PageModel):
    groups: list[FailureGroupView] = Field(default_factory=list)


class AnalysisView(AnswerModel):
    analysis_id: str
    about: str
    state: str
    engine: str
    model: str = ""
    confidence: float
    diagnosis: dict[str, Any] = Field(default_factory=dict)
    evidence: list[str] = Field(default_factory=list)
    created_at: int


class GetFailureRequest(RequestModel):
    group_id: Id


class FailureResponse(Done):
    """One failure group. `hours` are counts of the last day and `days` of the last month, oldest first."""

    group: FailureGroupView
    hours: list[int] = Field(default_factory=list)
    days: list[int] = Field(default_factory=list)
    examples: list[OperationView] = Field(default_factory=list)
    hazards: list[str] = Field(default_factory=list)
    analyses: list[AnalysisView] = Field(default_factory=list)
    proposal: Optional["ProposalView"] = None


class ChangeFailureRequest(RequestModel):
    """`merge` needs `into`; `unmerge` undoes it. An archived group returns when it escalates."""

    group_id: Id
    change: Literal["merge", "unmerge", "resolve", "archive", "reopen"]
    into: MaybeId = None

    @model_validator(mode="after")
    def _says_into_what(self) -> Self:
        if (self.change == "merge") != (self.into is not None):
            raise ValueError("`into` is required for `merge`, and can only be used with it")
        return self


class ChangeFailureResponse(Done):
    group: FailureGroupView


# --- proposals -----------------------------------------------------------------------------------------------------


class ProposalView(AnswerModel):
    """A lesson suggested by operations; not shown to agents until a person approves it."""

    agent_playbook_id: int
    key: str
    about: Literal["failure", "recovery", "success"]
    approval: Literal["pending", "approved", "rejected"]
    content: str
    trigger: Optional[str] = None
    rationale: Optional[str] = None
    pitfall: Optional[str] = None
    source: str
    endpoint: str
    group_id: Optional[str] = None
    evidence: list[str] = Field(default_factory=list)
    distinct_sessions: int = 0
    count: int = 0
    replays: int = 1
    confidence: float = 0.0
    engine: str = ""
    flag: Optional[str] = None
    hazards: list[str] = Field(default_factory=list)
    similar: list[int] = Field(default_factory=list)
    detail: dict[str, Any] = Field(default_factory=dict)
    created_at: int


class GetProposalsRequest(RequestModel):
    approval: Optional[Literal["pending", "approved", "rejected"]] = None
    about: Optional[Literal["failure", "recovery", "success"]] = None
    flagged: bool = False
    limit: HowMany = 100


class GetProposalsResponse(Done):
    proposals: list[ProposalView] = Field(default_factory=list)


class DecideProposalRequest(RequestModel):
    """Approve or reject; or edit the text, which stays pending."""

    agent_playbook_id: RowId
    decision: Literal["approve", "reject", "edit"]
    content: Optional[Summary] = None
    trigger: Optional[Summary] = None
    rationale: Optional[Summary] = None
    pitfall: Optional[Summary] = None

    @model_validator(mode="after")
    def _an_edit_says_something(self) -> Self:
        words = (self.content, self.trigger, self.rationale, self.pitfall)
        if self.decision == "edit" and not any(word is not None for word in words):
            raise ValueError("An edit requires content, trigger, rationale or pitfall")
        return self


class DecideProposalResponse(Done):
    """`action_id` undoes the decision; missing if nothing changed."""

    proposal: ProposalView
    action_id: Optional[str] = None


class LessonEffectRequest(RequestModel):
    agent_playbook_id: RowId


class RateView(AnswerModel):
    """Sessions that failed in this way, out of those that made the call. The rate is null with too few sessions."""

    sessions: int
    failed: int
    rate: Optional[float] = None
    low: Optional[float] = None
    high: Optional[float] = None


class LessonEffectResponse(Done):
    """`difference` is the failure rate with the lesson minus without it: below zero, the lesson helps."""

    enough_data: bool
    shown: RateView
    not_shown: RateView
    before: RateView
    after: RateView
    difference: Optional[float] = None
    low: Optional[float] = None
    high: Optional[float] = None
    verdict: Literal["helps", "no_effect_seen", "harms", "not_enough_data"]
