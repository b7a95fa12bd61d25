"""Review: which memories need review, and why."""

from typing import Annotated, Any, Optional

from pydantic import Field, model_validator
from typing_extensions import Self

from acumen_client.compat import StrEnum
from acumen_client.wire.shapes import (
    AnswerModel,
    Days,
    Done,
    HowMany,
    Id,
    Label,
    MaybeId,
    MemoryKind,
    NullsSent,
    Offset,
    PageModel,
    RequestModel,
    RowId,
    Seconds,
    Tags,
    Text,
)


class ReviewSignal(StrEnum):
    """Why a memory needs review."""

    STALE = "stale"
    DUPLICATE = "duplicate"
    HIGH_COST_LOW_CITE = "high_cost_low_cite"
    SUPERSEDEABLE = "supersedeable"
    HARMFUL = "harmful"
    INSTRUCTION_LIKE = "instruction_like"
    OVERSIZED = "oversized"
    CONFLICT = "conflict"


class ReviewOrder(StrEnum):
    """Sort order: highest score first, or most uncited tokens first."""

    SCORE = "score"
    WASTED_TOKENS = "wasted_tokens"


class OfOneOrAll(RequestModel):
    """Give `user_id`, or `include_all_users`."""

    user_id: MaybeId = None
    include_all_users: bool = False
    limit: HowMany = 100
    offset: Offset = 0

    @model_validator(mode="after")
    def _says_whose(self) -> Self:
        if self.user_id is None and not self.include_all_users:
            raise ValueError("Give user_id, or include_all_users=true for all users")
        return self


class GetMemoryReviewRequest(OfOneOrAll):
    """Give `user_id`, or `include_all_users`. A `signal_filter` of null includes all signals, an empty list none."""

    days_back: Days = 60
    signal_filter: Optional[Annotated[list[ReviewSignal], Field(max_length=50)]] = None
    sort: ReviewOrder = ReviewOrder.SCORE


class MemoryReviewCandidate(AnswerModel):
    """`reasons` gives each signal in words, `since` its start.

    `saving_tokens_per_day` is what archiving the memory saves. `cited_injection_count` counts injections that were
    cited, comparable with `injection_count`. Times are epoch seconds; null is unknown, not zero.
    """

    entity_type: MemoryKind = MemoryKind.USER_PLAYBOOK
    entity_id: str
    title: str = ""
    user_id: Optional[str] = None
    version: Optional[int] = None
    signals: list[ReviewSignal] = Field(default_factory=list)
    reasons: dict[ReviewSignal, str] = Field(default_factory=dict)
    since: dict[ReviewSignal, int] = Field(default_factory=dict)
    score: int = 0
    injection_count: int = 0
    citation_count: int = 0
    cited_injection_count: int = 0
    echoed_injection_count: int = 0
    total_prompt_tokens: int = 0
    wasted_tokens: int = 0
    saving_tokens_per_day: float = 0.0
    related_ids: list[str] = Field(default_factory=list)
    conflict_ids: list[str] = Field(default_factory=list)
    last_injected_at: Optional[int] = None
    last_cited_at: Optional[int] = None
    last_modified_at: Optional[int] = None


class GetMemoryReviewResponse(NullsSent, PageModel):
    """Highest score first. `covered_since` is the start of metering: before it, nothing can be called stale.
    `being_counted` memories are not analyzed yet.
    """

    candidates: list[MemoryReviewCandidate] = Field(default_factory=list)
    signal_counts: dict[ReviewSignal, int] = Field(default_factory=dict)
    saving_tokens_per_day: float = 0.0
    covered_since: Optional[int] = None
    insufficient_history: bool = False
    being_counted: int = 0  # memories that were not looked at yet: their texts, and whether others say the same
    msg: Optional[str] = None


# --- acting --------------------------------------------------------------------------------------------------------


class ReviewAction(StrEnum):
    """What a person can do to memories."""

    ARCHIVE = "archive"
    RESTORE = "restore"
    EDIT = "edit"
    SUPERSEDE_BY = "supersede_by"
    MERGE = "merge"
    PIN = "pin"
    UNPIN = "unpin"
    SNOOZE = "snooze"
    MARK_USEFUL = "mark_useful"
    DISMISS = "dismiss"
    CHANGE_SCOPE = "change_scope"
    DELETE = "delete"


class ReviewItem(RequestModel):
    """One memory, in the version you saw."""

    kind: MemoryKind
    id: Id
    version: Optional[RowId] = None


class MemoryChanges(RequestModel):
    """New values; null keeps the old one. A profile has only `content` and `tags`."""

    content: Optional[Text] = None
    trigger: Optional[Text] = None
    rationale: Optional[Text] = None
    pitfall: Optional[Text] = None
    playbook_name: Optional[Label] = None
    tags: Optional[Tags] = None


class NewScope(RequestModel):
    """Give one of the two. With `everyone`, a user's lesson becomes an approved shared one; it is archived itself."""

    everyone: bool = False
    agent_version: Optional[Label] = None


class ReviewMemoriesRequest(RequestModel):
    """One action on one or many memories, all or nothing. `dry_run` reports what would change, and what not and why.

    `edit` needs `changes`, `supersede_by` needs `superseded_by`, `merge` needs `into`, `change_scope` needs `scope`,
    `delete` needs `confirm`. `snooze` takes `until`.
    """

    action: ReviewAction
    items: Annotated[list[ReviewItem], Field(min_length=1, max_length=1_000)]
    dry_run: bool = False
    reason: Label = ""
    changes: Optional[MemoryChanges] = None
    superseded_by: MaybeId = None
    into: MaybeId = None
    until: Optional[Seconds] = None
    scope: Optional[NewScope] = None
    confirm: Label = ""


class ReviewedItem(AnswerModel):
    """What changed (or would change): `changes` holds each field before and after, `why` the reason for no change."""

    kind: MemoryKind
    id: str
    user_id: Optional[str] = None
    changed: bool
    why: Optional[str] = None
    changes: dict[str, list[Any]] = Field(default_factory=dict)


class ReviewMemoriesResponse(Done):
    """`action_id` names the action, for undo; null for a dry run, and if nothing changed."""

    action_id: Optional[str] = None
    action: str
    dry_run: bool = False
    changed_count: int = 0
    unchanged_count: int = 0
    items: list[ReviewedItem] = Field(default_factory=list)
    msg: Optional[str] = None


class UndoReviewRequest(RequestModel):
    action_id: Id


class GetReviewActionsRequest(RequestModel):
    """Actions on all memories, or on the one that `kind` and `id` name together."""

    kind: Optional[MemoryKind] = None
    id: MaybeId = None
    limit: HowMany = 50
    offset: Offset = 0

    @model_validator(mode="after")
    def _names_it_whole(self) -> Self:
        if (self.kind is None) != (self.id is None):
            raise ValueError("kind and id must be given together")
        return self


class ReviewActionEntry(AnswerModel):
    """One row of the audit log. `actor` is the key's name and id, or `local` where there are no keys."""

    action_id: str
    action: str
    actor: str
    at: int
    reason: str = ""
    undoes: Optional[str] = None
    undone_by: Optional[str] = None
    undoable: bool = False
    changed_count: int = 0
    unchanged_count: int = 0
    items: list[ReviewedItem] = Field(default_factory=list)


class GetReviewActionsResponse(PageModel):
    """Latest first. `items` holds at most the first 100 of an action."""

    actions: list[ReviewActionEntry] = Field(default_factory=list)


# --- conflicts -----------------------------------------------------------------------------------------------------


class GetConflictsRequest(OfOneOrAll):
    """Give `user_id`, or `include_all_users`."""


class ConflictSideView(AnswerModel):
    """`at` is when it was said, or stored if that is unknown; epoch seconds."""

    kind: MemoryKind
    id: str
    text: str = ""
    at: int = 0
    version: int = 1


class MemoryConflict(AnswerModel):
    """Two current memories of one user that may disagree. `quote` are the words that raised the conflict."""

    conflict_id: str
    user_id: str
    reason: str = ""
    quote: Optional[str] = None
    interaction_id: Optional[int] = None
    since: int
    newer: ConflictSideView
    older: ConflictSideView


class GetConflictsResponse(PageModel):
    """Open conflicts, newest first."""

    conflicts: list[MemoryConflict] = Field(default_factory=list)


class ConflictChoice(StrEnum):
    """The memory to keep; the other is superseded. `both` closes the conflict and keeps both."""

    NEWER = "newer"
    OLDER = "older"
    BOTH = "both"


class SettleConflictRequest(RequestModel):
    """Refused with 409 if the conflict is settled already."""

    conflict_id: Id
    keep: ConflictChoice
    reason: Label = ""


# --- duplicates ----------------------------------------------------------------------------------------------------


class GetDuplicatesRequest(OfOneOrAll):
    """Give `user_id`, or `include_all_users`."""


class MemoryBrief(AnswerModel):
    id: str
    title: str = ""
    content: str = ""
    version: int = 1
    created_at: int = 0
    injection_count: int = 0


class DuplicatePair(AnswerModel):
    """Two similar memories, matched semantically or lexically. Never merged automatically."""

    kind: MemoryKind
    user_id: Optional[str] = None
    similarity: float
    found_by: str
    since: int
    left: MemoryBrief
    right: MemoryBrief


class GetDuplicatesResponse(PageModel):
    """Most similar first. `being_counted` memories are not compared yet."""

    pairs: list[DuplicatePair] = Field(default_factory=list)
    being_counted: int = 0
