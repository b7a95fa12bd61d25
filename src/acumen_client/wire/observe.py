"""Observe: publish interactions, end a session, follow a request's status, read it back."""

import uuid
from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal, Optional

from pydantic import BeforeValidator, Field, model_validator
from typing_extensions import Self

from acumen_client.compat import StrEnum
from acumen_client.wire.shapes import (
    AnswerModel,
    Done,
    ExperimentArm,
    HowMany,
    Id,
    ImageUrl,
    InQuery,
    JsonObject,
    Label,
    MaybeId,
    NullsSent,
    Offset,
    RequestModel,
    Seconds,
    Source,
    Text,
    TimeRange,
    Tolerant,
    storable,
)


class UserAction(StrEnum):
    CLICK = "click"
    SCROLL = "scroll"
    TYPE = "type"
    NONE = "none"


def _brief_text(value: Any) -> str:
    """Tools report their outcome in many types; each is stored as a short text."""
    return "" if value is None else str(storable(str(value)))[:100]


class ToolUsed(Tolerant):
    """A tool that the agent called in a turn."""

    older_names: ClassVar[dict[str, str]] = {"tool_input": "tool_data"}

    tool_name: Label
    tool_data: JsonObject = Field(default_factory=dict)
    status: Annotated[str, BeforeValidator(_brief_text)] = ""


class Citation(Tolerant):
    """A memory that shaped the answer, as the agent states. `playbook` is the legacy name of `user_playbook`.

    Without a `kind`, `real_id` is a handle (`m48217`) or the id of a memory that was injected for this user
    recently.
    """

    kind: Optional[Literal["playbook", "profile", "user_playbook", "agent_playbook"]] = None
    real_id: Label
    tag: Label = ""
    title: Label = ""


class RetrievedLearning(Tolerant):
    """A memory that was in the agent's context, whether it helped or not. This is no citation."""

    kind: Literal["profile", "user_playbook", "agent_playbook"]
    learning_id: Annotated[str, Field(min_length=1, max_length=1_000), BeforeValidator(storable)]
    exposure_receipt: Optional[Annotated[str, Field(max_length=8_192), BeforeValidator(storable)]] = None
    exposure_receipt_digest: Optional[Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]] = None


Citations = Annotated[list[Citation], Field(max_length=1_000)]
# Over all turns of one publish.
MOST_LEARNINGS = 1_000
# A turn that has none of these (and no user action) carries nothing to keep.
CONTENT_FIELDS = (
    "content",
    "shadow_content",
    "expert_content",
    "interacted_image_url",
    "image_encoding",
    "tools_used",
    "citations",
    "retrieved_learnings",
)


class InteractionData(Tolerant):
    """One turn."""

    created_at: Optional[Seconds] = None
    role: Label = "User"
    content: Text = ""
    shadow_content: Text = ""
    expert_content: Text = ""
    user_action: UserAction = UserAction.NONE
    user_action_description: Annotated[str, Field(max_length=10_000), BeforeValidator(storable)] = ""
    interacted_image_url: ImageUrl = ""
    image_encoding: Annotated[str, Field(max_length=15_000_000), BeforeValidator(storable)] = ""
    tools_used: Annotated[list[ToolUsed], Field(max_length=1_000)] = Field(default_factory=list)
    citations: Citations = Field(default_factory=list)
    retrieved_learnings: Annotated[list[RetrievedLearning], Field(max_length=1_000)] = Field(default_factory=list)

    @model_validator(mode="after")
    def _says_one_thing(self) -> Self:
        if self.user_action != UserAction.NONE and not self.user_action_description:
            raise ValueError("user_action requires a user_action_description")
        if self.interacted_image_url and self.image_encoding:
            raise ValueError("interacted_image_url and image_encoding cannot both be set")
        return self

    def is_empty(self) -> bool:
        if self.content and not self.content.isspace():
            return False
        said = (getattr(self, name) for name in CONTENT_FIELDS)
        return self.user_action == UserAction.NONE and not any(
            part.strip() if isinstance(part, str) else part for part in said
        )

    def unknown_fields(self) -> list[str]:
        """Names of dropped fields, those of nested parts as paths such as `tools_used[0].stat`."""
        names = super().unknown_fields()
        parts: dict[str, Sequence[Tolerant]] = {
            "tools_used": self.tools_used,
            "citations": self.citations,
            "retrieved_learnings": self.retrieved_learnings,
        }
        for part, items in parts.items():
            for index, item in enumerate(items):
                names += [f"{part}[{index}].{name}" for name in item.unknown_fields()]
        return sorted(names)


def fresh_request_id() -> str:
    return f"req_{uuid.uuid4().hex}"


# Names of unknown fields come from callers and go into replies and logs, so all three are bounded.
_NAMES_SHOWN = 5
_NAME_LENGTH = 64
_WARNINGS_SHOWN = 20


def _shown(names: list[str]) -> str:
    brief = ["".join(c if c.isprintable() else "?" for c in name[:_NAME_LENGTH]) for name in names[:_NAMES_SHOWN]]
    more = len(names) - len(brief)
    return ", ".join(brief) + (f", +{more} more" if more else "")


def _ignored(names: list[str]) -> str:
    return f"Unknown field{'s' if len(names) > 1 else ''} ignored: {_shown(names)}"


def _bounded(warnings: list[str]) -> list[str]:
    more = len(warnings) - _WARNINGS_SHOWN
    others = "1 more turn has" if more == 1 else f"{more} more turns have"
    return warnings if more <= 0 else [*warnings[:_WARNINGS_SHOWN], f"{others} unknown fields"]


class PublishUserInteractionRequest(Tolerant):
    """Turns of one session, stored or refused together.

    Unknown fields and empty turns are left out, and named in `warnings`. `citations` belong to the agent's last
    turn. Without a `request_id` the client generates one; a retry with the same id stores nothing twice.
    """

    older_names: ClassVar[dict[str, str]] = {"request_group": "session_id"}
    _harmless_extras: ClassVar[frozenset[str]] = frozenset()

    request_id: Id = Field(default_factory=fresh_request_id)
    user_id: Id
    interaction_data_list: Annotated[list[InteractionData], Field(min_length=1, max_length=1_000)]
    source: Source = ""
    agent_version: Label = ""
    session_id: Id
    citations: Citations = Field(default_factory=list)
    session_finished: bool = False
    skip_aggregation: bool = False
    force_extraction: bool = False
    evaluation_only: bool = False
    override_learning_stall: bool = False
    retrieval_experiment_id: MaybeId = None
    retrieval_experiment_arm: Optional[ExperimentArm] = None
    wait_for_response: Annotated[bool, InQuery()] = False

    @model_validator(mode="after")
    def _options_agree(self) -> Self:
        if self.evaluation_only and self.force_extraction:
            raise ValueError("evaluation_only cannot be combined with force_extraction")
        if (self.retrieval_experiment_id is None) != (self.retrieval_experiment_arm is None):
            raise ValueError("retrieval_experiment_id and retrieval_experiment_arm must be given together")
        if sum(len(turn.retrieved_learnings) for turn in self.interaction_data_list) > MOST_LEARNINGS:
            raise ValueError(f"A publish may have at most {MOST_LEARNINGS} retrieved_learnings in total")
        return self

    @model_validator(mode="after")
    def _skip_empty_turns(self) -> Self:
        """Warnings count turns as they were sent, so they are written before any turn is left out."""
        turns = self.interaction_data_list
        warnings = _bounded(
            [
                _ignored([f"interaction_data_list[{index}].{name}" for name in names])
                for index, turn in enumerate(turns)
                if (names := turn.unknown_fields())
            ]
        )
        empty = [index for index, turn in enumerate(turns) if turn.is_empty()]
        if len(empty) == len(turns):
            raise ValueError(". ".join(["All turns are empty: set `content` on at least one", *warnings]))
        if names := self.unknown_fields():
            warnings.append(_ignored(names))
        if empty:
            self.interaction_data_list = [turn for turn in turns if not turn.is_empty()]
            places = _shown([f"interaction_data_list[{index}]" for index in empty])
            warnings.append(f"Empty turn{'s' if len(empty) > 1 else ''} skipped: {places}")
        if warnings:
            self._note("warnings", warnings)
        return self

    def warnings(self) -> list[str]:
        """What was left out, in words for the caller: names and places, never values."""
        return self._noted("warnings")


class PublishUserInteractionResponse(Done):
    """The turns are on disk. `learning_status` is `done` when memories have been learned from them, else
    `learning_reason` says why not yet.
    """

    message: str = ""
    warnings: list[str] = Field(default_factory=list)
    request_id: Optional[str] = None
    endpoint_url: Optional[str] = None
    storage_type: Optional[str] = None
    storage_label: Optional[str] = None
    profiles_added: Optional[int] = None
    profiles_updated: Optional[int] = None
    playbooks_added: Optional[int] = None
    playbooks_updated: Optional[int] = None
    learning_status: Optional[str] = None
    learning_reason: Optional[str] = None
    learning_delay_seconds: Optional[int] = None


class FinalizeSessionRequest(RequestModel):
    user_id: Id
    session_id: Id


class FinalizeSessionResponse(NullsSent, Done):
    accepted: bool = False
    message: str = ""


class LearningStatusRequest(RequestModel):
    request_id: Id


class LearningStatusResponse(AnswerModel):
    status: Literal["pending", "processing", "done", "failed", "not_tracked"]
    reason: Optional[str] = None
    # What failed last, and in which extractor; the others have read.
    error: Optional[str] = None


class InteractionView(AnswerModel):
    """A turn as stored. `score` and `reasons` are present in search results only."""

    interaction_id: int = 0
    user_id: str
    request_id: str
    created_at: int
    role: str = "User"
    content: str = ""
    user_action: UserAction = UserAction.NONE
    user_action_description: str = ""
    interacted_image_url: str = ""
    shadow_content: str = ""
    expert_content: str = ""
    tools_used: list[dict[str, Any]] = Field(default_factory=list)
    retrieved_learnings: list[dict[str, Any]] = Field(default_factory=list)
    score: Optional[float] = None
    reasons: Optional[dict[str, float]] = None


class GetInteractionsRequest(TimeRange):
    user_id: Id
    top_k: HowMany = 30


class GetAllInteractionsRequest(RequestModel):
    limit: HowMany = 100


class GetInteractionsResponse(Done):
    interactions: list[InteractionView] = Field(default_factory=list)
    msg: Optional[str] = None


class GetRequestsRequest(TimeRange):
    """`top_k` and `offset` count sessions; each session comes with all its requests."""

    older_names: ClassVar[dict[str, str]] = {"request_group": "session_id"}

    user_id: MaybeId = None
    request_id: MaybeId = None
    session_id: MaybeId = None
    source: Optional[Source] = None
    top_k: HowMany = 30
    offset: Offset = 0


class RequestView(AnswerModel):
    request_id: str
    user_id: str
    created_at: int
    source: str = ""
    agent_version: str = ""
    session_id: str
    evaluation_only: bool = False
    retrieval_experiment_id: Optional[str] = None
    retrieval_experiment_arm: Optional[ExperimentArm] = None


class RequestDataView(AnswerModel):
    request: RequestView
    interactions: list[InteractionView] = Field(default_factory=list)


class SessionView(AnswerModel):
    session_id: str
    requests: list[RequestDataView] = Field(default_factory=list)


class GetRequestsResponse(Done):
    sessions: list[SessionView] = Field(default_factory=list)
    has_more: bool = False
    msg: Optional[str] = None
