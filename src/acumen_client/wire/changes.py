"""Changes to memories: what was learned, refined, superseded, put in conflict, forgotten or expired, and why."""

from enum import StrEnum
from typing import Annotated, Self

from pydantic import Field, model_validator

from acumen_client.wire.shapes import Answer, Done, Label, MaybeId, MemoryKind, Request, RowId, When


class ChangeKind(StrEnum):
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


class GetMemoryChangesRequest(Request):
    """Of one user, or of the whole org without `user_id`. `until` is exclusive; a time without a zone is UTC.

    `cursor` is the `next_cursor` of the page before: changes that arrive meanwhile move nothing.
    """

    user_id: MaybeId = None
    kinds: Annotated[list[ChangeKind], Field(max_length=50)] | None = None
    since: When | None = None
    until: When | None = None
    session_id: MaybeId = None
    limit: Annotated[int, Field(gt=0, le=1_000)] = 50
    cursor: RowId | None = None

    @model_validator(mode="after")
    def _ends_after_it_starts(self) -> Self:
        if self.since and self.until and self.until <= self.since:
            raise ValueError("until must be after since")
        return self


class OtherMemory(Answer):
    """The memory that took its place (`superseded_by`, `merged_into`), or that it may disagree with
    (`conflicts_with`). `text` and `status` are null when it was deleted; a current one has the status `current`.
    """

    relation: str
    kind: MemoryKind
    id: str
    text: str | None = None
    status: str | None = None


class MemoryChange(Answer):
    """`before` and `after` are the memory's text while it was in use, null where it was not or where it was erased.

    `quote` are the user's words that caused it, said in `interaction_id` of `session_id`. `undone_by` is the action
    that undid it; `refusal` says why it cannot be undone now. `at` is in epoch seconds.
    """

    change_id: int
    at: int
    change: ChangeKind
    kind: MemoryKind
    id: str
    user_id: str | None = None
    before: str | None = None
    after: str | None = None
    other: OtherMemory | None = None
    cause: str | None = None
    reason: str = ""
    quote: str | None = None
    session_id: str | None = None
    interaction_id: int | None = None
    actor: str = ""
    conflict_id: str | None = None
    conflict_state: str | None = None
    undoable: bool = False
    refusal: str | None = None
    undone_by: str | None = None


class GetMemoryChangesResponse(Done):
    """Newest first. Without `next_cursor` it is the last page."""

    changes: list[MemoryChange] = Field(default_factory=list)
    next_cursor: int | None = None


class UndoMemoryChangeRequest(Request):
    """Refused with 409 when the memory was changed again since."""

    change_id: RowId
    reason: Label = ""


class UndoMemoryChangeResponse(Done):
    """`action_id` names the undo in the audit log, where it can itself be undone. `successor` had taken the memory's
    place and stays; `conflict_id` links the two when both are current now.
    """

    action_id: str
    change: MemoryChange
    successor: OtherMemory | None = None
    conflict_id: str | None = None
    msg: str | None = None
