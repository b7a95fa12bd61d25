"""Erasure: of one memory or turn, of many, of everything known of a user."""

from typing import Annotated, Optional

from pydantic import Field, model_validator
from typing_extensions import Self

from acumen_client.wire.shapes import Done, Id, RequestModel, RowId, Str, Text


class DeleteUserProfileRequest(RequestModel):
    """Give `profile_id`, or `search_query` for all profiles of the user that match."""

    user_id: Id
    profile_id: Str = ""
    search_query: Text = ""

    @model_validator(mode="after")
    def _says_which(self) -> Self:
        if not self.profile_id.strip() and not self.search_query.strip():
            raise ValueError("Give profile_id or search_query")
        return self


class DeleteUserInteractionRequest(RequestModel):
    user_id: Id
    interaction_id: RowId


class DeleteRequestRequest(RequestModel):
    request_id: Id


class DeleteSessionRequest(RequestModel):
    session_id: Id


class DeleteAgentPlaybookRequest(RequestModel):
    agent_playbook_id: RowId


class DeleteUserPlaybookRequest(RequestModel):
    user_playbook_id: RowId


class DeleteRequestsByIdsRequest(RequestModel):
    request_ids: Annotated[list[Id], Field(min_length=1, max_length=10_000)]


class DeleteProfilesByIdsRequest(RequestModel):
    profile_ids: Annotated[list[Id], Field(min_length=1, max_length=10_000)]


class DeleteAgentPlaybooksByIdsRequest(RequestModel):
    agent_playbook_ids: Annotated[list[RowId], Field(min_length=1, max_length=10_000)]


class DeleteUserPlaybooksByIdsRequest(RequestModel):
    user_playbook_ids: Annotated[list[RowId], Field(min_length=1, max_length=10_000)]


class DeletedResponse(Done):
    message: str = ""


class DeleteSessionResponse(DeletedResponse):
    deleted_requests_count: int = 0


class BulkDeleteResponse(Done):
    deleted_count: int = 0
    message: str = ""


class ClearUserDataRequest(RequestModel):
    user_id: Id


class ClearUserDataResponse(Done):
    """A receipt: numbers and ids of what was erased, by kind. Shared lessons lose what came from the user:
    `rewritten_agent_playbooks` are worded from the other users' lessons, `retired_agent_playbooks` are emptied.
    `scrub_pending`: the rows are gone, but a reader of the database, such as a backup, still needs their bytes; the
    server overwrites them as soon as it can.
    """

    deleted_counts: dict[str, int] = Field(default_factory=dict)
    deleted_ids: dict[str, list[str]] = Field(default_factory=dict)
    rewritten_agent_playbooks: list[int] = Field(default_factory=list)
    retired_agent_playbooks: list[int] = Field(default_factory=list)
    scrub_pending: bool = False
    message: Optional[str] = None
