"""Changes to memories: what was learned, refined, superseded, put in conflict, forgotten or expired, and why."""

from typing import Annotated, Optional

from pydantic import Field, model_validator
from typing_extensions import Self

from acumen_client.compat import StrEnum
from acumen_client.wire.shapes import AnswerModel, Done, Label, MaybeId, MemoryKind, RequestModel, RowId, When


class MemoryChangeKind(StrEnum):
    """What happened to a memory."""

    LEARNED = "learned"
    RESTATED = "restated"
    REFINED = "refined"
    SUPERSEDED = "superseded"
    CONFLICT = "conflict"
    FORGOTTEN = "forgotten"
    EXPIRED = "expired"
    EDITED = "edited"
    MERGED = "merged"
    ARCHIVED = "archived"
    RESTORED = "restored"
    DELETED = "deleted"


class GetMemoryChangesRequest(RequestModel):
    """Changes of one user, or of the whole org without `user_id`. A time without a zone is UTC.

    A `cursor` is stable while new changes arrive.
    """

    user_id: MaybeId = None
    kinds: Optional[Annotated[list[MemoryChangeKind], Field(max_length=50)]] = None
    since: Optional[When] = None
    until: Optional[When] = None
    session_id: MaybeId = None
    limit: Annotated[int, Field(gt=0, le=1_000)] = 50
    cursor: Optional[RowId] = None

    @model_validator(mode="after")
    def _ends_after_it_starts(self) -> Self:
        if self.since and self.until and self.until <= self.since:
            raise ValueError("until must be after since")
        return self


class RelatedMemoryView(AnswerModel):
    """The memory that took its place (`superseded_by`, `merged_into`), or that it may disagree with
    (`conflicts_with`). `text` and `status` are null when it was deleted; a current one has the status `current`.
    """

    relation: str
    kind: MemoryKind
    id: str
    text: Optional[str] = None
    status: Optional[str] = None


class MemoryChange(AnswerModel):
    """`before` and `after` are the memory's text while it was in use, null where it was not or where it was erased.

    `quote` are the user's words that caused it, said in `interaction_id` of `session_id`. `undone_by` is the action
    that undid it; `refusal` says why it cannot be undone now. `at` is in epoch seconds.
    """

    change_id: int
    at: int
    change: MemoryChangeKind
    kind: MemoryKind
    id: str
    user_id: Optional[str] = None
    before: Optional[str] = None
    after: Optional[str] = None
    other: Optional[RelatedMemoryView] = None
    cause: Optional[str] = None
    reason: str = ""
    quote: Optional[str] = None
    session_id: Optional[str] = None
    interaction_id: Optional[int] = None
    actor: str = ""
    conflict_id: Optional[str] = None
    conflict_state: Optional[str] = None
    undoable: bool = False
    refusal: Optional[str] = None
    undone_by: Optional[str] = None


class GetMemoryChangesResponse(Done):
    """Newest first. The last page has no `next_cursor`."""

    changes: list[MemoryChange] = Field(default_factory=list)
    next_cursor: Optional[int] = None


class UndoMemoryChangeRequest(RequestModel):
    """Refused with 409 if the memory was changed again since."""

    change_id: RowId
    reason: Label = ""


class UndoMemoryChangeResponse(Done):
    """`action_id` names the undo in the audit log, where it can be undone. `successor` is the memory that had replaced
    it and stays; `conflict_id` links the two if both are current now.
    """

    action_id: str
    change: MemoryChange
    successor: Optional[RelatedMemoryView] = None
    conflict_id: Optional[str] = None
    msg: Optional[str] = None
