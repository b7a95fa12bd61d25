"""The system itself: who am I, is it well, what is it doing, who holds keys."""

from typing import Annotated, Any, Literal, Optional

from pydantic import AfterValidator, Field

from acumen_client.wire.alerts import AlertView
from acumen_client.wire.shapes import AnswerModel, Done, Id, NonEmpty, NullsSent, RequestModel, Role, Seconds, When


class WhoamiResponse(Done):
    org_id: str
    storage_type: Optional[str] = None
    storage_label: Optional[str] = None
    storage_configured: bool = False
    role: Optional[Role] = None
    key_name: Optional[str] = None
    message: str = ""


class MyConfigResponse(Done):
    storage_config: Optional[dict[str, Any]] = None
    storage_type: Optional[str] = None
    message: str = ""


class VersionResponse(NullsSent, AnswerModel):
    server_version: str
    api_version: str = "v1"
    min_client_version: str = "0.1.0"


class WelcomeResponse(AnswerModel):
    service: str = "acumen"
    version: str = ""
    status: str = "ok"
    docs: Optional[str] = None


class AliveResponse(AnswerModel):
    status: str = "ok"


class ReadinessCheck(AnswerModel):
    status: Literal["passed", "failed", "pending", "not_checked"]
    required: bool = True
    reason: Optional[str] = None
    checked_at: Optional[When] = None


class ReadinessResponse(AnswerModel):
    """`unhealthy` if a required check failed. `ops_in_ring` is the legacy name for the number of stored operations; it
    is missing if the server has keys.
    """

    status: Literal["healthy", "unhealthy"] = "healthy"
    ops_in_ring: Optional[int] = None
    checks: dict[str, ReadinessCheck] = Field(default_factory=dict)


# --- what it is doing ----------------------------------------------------------------------------------------------


class JobCount(AnswerModel):
    """How many jobs of a kind are in a state; `oldest_at` (epoch seconds) is when the first of them was made."""

    kind: str
    state: str
    count: int
    oldest_at: Optional[int] = None


class DeadLetter(AnswerModel):
    """A job that failed too often to be tried again, and the last cause."""

    job_id: str
    kind: str
    cause: str
    attempts: int = 0
    failed_at: Optional[int] = None


class StoreStatus(AnswerModel):
    kind: str
    label: str = ""
    ok: bool = True
    size_bytes: Optional[int] = None
    detail: Optional[str] = None


class EmbedderStatus(AnswerModel):
    name: str
    ready: bool
    dimensions: Optional[int] = None
    detail: Optional[str] = None


class ModelStatus(AnswerModel):
    """The language model and its calls of today (UTC). `degraded` says why rules are used instead, if they are."""

    configured: bool = False
    endpoint: str = ""
    models: dict[str, str] = Field(default_factory=dict)
    calls_today: int = 0
    failed_today: int = 0
    tokens_today: int = 0
    cost_today_usd: Optional[float] = None  # None: of none of today's calls the price is known
    daily_tokens: Optional[int] = None
    degraded: Optional[str] = None


class MemoryCount(AnswerModel):
    kind: str
    status: str
    count: int


class Coverage(AnswerModel):
    """How far derived data is complete. `counts_lost` counts since the start of the server."""

    metering_enabled: bool = True
    metered_since: Optional[int] = None
    counts_lost: int = 0
    unread_interactions: int = 0
    memories_without_vector: int = 0


class LearningStatus(AnswerModel):
    """How far learning is behind publishing."""

    turns_waiting: int = 0
    oldest_seconds: float = 0.0
    turns_per_second: float = 0.0
    seconds_left: Optional[float] = None


class WorkerStatus(AnswerModel):
    """Where this server's jobs run, and what is wrong there, if anything is."""

    place: str = ""
    problem: Optional[str] = None


class StatusResponse(Done):
    version: str = ""
    started_at: Optional[int] = None
    jobs: list[JobCount] = Field(default_factory=list)
    dead_letters: list[DeadLetter] = Field(default_factory=list)
    dead_letter_count: int = 0
    store: StoreStatus
    embedder: EmbedderStatus
    model: ModelStatus = Field(default_factory=ModelStatus)
    memories: list[MemoryCount] = Field(default_factory=list)
    alerts: list[AlertView] = Field(default_factory=list)
    coverage: Coverage = Field(default_factory=Coverage)
    learning: LearningStatus = Field(default_factory=LearningStatus)
    worker: WorkerStatus = Field(default_factory=WorkerStatus)


# --- keys ----------------------------------------------------------------------------------------------------------


class KeyView(AnswerModel):
    """A key without its secret; `hint` is its beginning."""

    key_id: str
    name: str
    role: Role
    hint: str = ""
    created_at: int
    expires_at: Optional[int] = None
    last_used_at: Optional[int] = None


class ListKeysResponse(Done):
    keys: list[KeyView] = Field(default_factory=list)


def _held_by_someone(role: Role) -> Role:
    if role is Role.PUBLIC:
        raise ValueError("must be reader, agent, reviewer or admin: public needs no key")
    return role


class CreateKeyRequest(RequestModel):
    """Without `expires_at` the key is valid until it is revoked."""

    name: Annotated[NonEmpty, Field(max_length=255)]
    role: Annotated[Role, AfterValidator(_held_by_someone)]
    expires_at: Optional[Seconds] = None


class CreateKeyResponse(Done):
    """The secret is shown only here."""

    secret: str
    key: KeyView


class RevokeKeyRequest(RequestModel):
    key_id: Id


class RevokeKeyResponse(Done):
    message: str = ""
