"""Review: which memories deserve a person's look, and why."""

from enum import StrEnum
from typing import Annotated, Self

from pydantic import Field, model_validator

from acumen_client.wire.shapes import Answer, Days, HowMany, MaybeId, MemoryKind, Offset, Page, Request


class Signal(StrEnum):
    """Why a memory deserves a look."""

    STALE = "stale"
    DUPLICATE = "duplicate"
    HIGH_COST_LOW_CITE = "high_cost_low_cite"
    SUPERSEDEABLE = "supersedeable"


class GetMemoryReviewRequest(Request):
    """Of one user, or of all when asked to. `signal_filter` null keeps all signals, an empty list none."""

    days_back: Days = 60
    user_id: MaybeId = None
    include_all_users: bool = False
    signal_filter: Annotated[list[Signal], Field(max_length=50)] | None = None
    limit: HowMany = 100
    offset: Offset = 0

    @model_validator(mode="after")
    def _says_whose(self) -> Self:
        if self.user_id is None and not self.include_all_users:
            raise ValueError("give user_id, or include_all_users=true for everyone's")
        return self


class MemoryReviewCandidate(Answer):
    """`reasons` gives each signal in words and numbers. Times are epoch seconds; null is unknown, not zero."""

    entity_type: MemoryKind = MemoryKind.USER_PLAYBOOK
    entity_id: str
    title: str = ""
    user_id: str | None = None
    signals: list[Signal] = Field(default_factory=list)
    reasons: dict[Signal, str] = Field(default_factory=dict)
    score: int = 0
    injection_count: int = 0
    citation_count: int = 0
    total_prompt_tokens: int = 0
    wasted_tokens: int = 0
    related_ids: list[str] = Field(default_factory=list)
    last_injected_at: int | None = None
    last_cited_at: int | None = None
    last_modified_at: int | None = None


class GetMemoryReviewResponse(Page):
    """Highest score first. Before `covered_since` nothing was metered, so nothing can be called stale."""

    candidates: list[MemoryReviewCandidate] = Field(default_factory=list)
    covered_since: int | None = None
    msg: str | None = None
