"""Memories and sessions as the dashboard lists them."""

from msgspec import Struct

from acumen.model.ids import Kind, MemoryRef, Millis, SessionId, UserId
from acumen.model.memories.base import Status
from acumen.model.metering.evaluation import SessionKey


class MemoryFilter(Struct, frozen=True):
    """None means any. `refs` limits the list to these memories."""

    text: str | None = None
    kind: Kind | None = None
    statuses: tuple[Status, ...] | None = (Status.CURRENT,)
    user_id: str | None = None
    agent_version: str | None = None
    tag: str | None = None
    length: tuple[int, int | None] | None = None  # characters: at least, and less than
    refs: tuple[MemoryRef, ...] | None = None


class MemoryEntry(Struct, frozen=True):
    ref: MemoryRef
    user_id: str | None
    name: str
    content: str
    status: Status
    agent_version: str
    version: int
    created_at: Millis
    updated_at: Millis


class SessionEntry(Struct, frozen=True):
    user_id: UserId
    session_id: SessionId
    agent_version: str
    source: str
    requests: int
    started_at: Millis
    last_at: Millis
    turns: int = 0
    injections: int = 0
    tokens: int = 0
    cited: int = 0
    echoed: int = 0

    @property
    def key(self) -> SessionKey:
        return self.user_id, self.session_id
