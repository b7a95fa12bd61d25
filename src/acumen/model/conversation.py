"""What was said: requests, and the interactions (turns) they carried."""

from typing import Any

from msgspec import Struct, field

from acumen.model.ids import InteractionId, Millis, RequestId, SessionId, UserId


class Interaction(Struct, frozen=True):
    """One turn. `id` is 0 until stored; order of ids is the order of arrival per user."""

    id: InteractionId
    user_id: UserId
    session_id: SessionId
    request_id: RequestId
    created_at: Millis
    role: str
    content: str
    shadow_content: str = ""
    expert_content: str = ""
    user_action: str = "none"
    user_action_description: str = ""
    image_url: str = ""
    image_encoding: str = ""
    tools_used: list[dict[str, Any]] = field(default_factory=list)
    citations: list[dict[str, Any]] = field(default_factory=list)
    retrieved_learnings: list[dict[str, Any]] = field(default_factory=list)

    @property
    def by_user(self) -> bool:
        return self.role.strip().lower() in USER_ROLES


# Everything else is the agent's side of the talk; a role that is neither may be any name.
USER_ROLES = frozenset({"user", "human", "customer"})
AGENT_ROLES = frozenset({"assistant", "agent", "ai", "bot", "model", "system", "developer", "tool", "function"})


# The version of agents whose callers name none; the wire's own word for it.
UNNAMED_VERSION = "agent-v0"


def versions_meant(agent_version: str) -> tuple[str, ...]:
    """As stored, when a caller asks for one: a publish without a version belongs to the unnamed version."""
    return (agent_version, "") if agent_version == UNNAMED_VERSION else (agent_version,)


class Request(Struct, frozen=True):
    """One publish call: some turns of one session, stored or refused together."""

    id: RequestId
    user_id: UserId
    session_id: SessionId
    created_at: Millis
    source: str = ""
    agent_version: str = ""
    body_hash: str = ""
    session_finished: bool = False
    force_extraction: bool = False
    evaluation_only: bool = False
    skip_aggregation: bool = False
    experiment_id: str | None = None
    experiment_arm: str | None = None


class Turn(Struct, frozen=True):
    """A turn as an extractor reads it: text cleaned of what we injected ourselves."""

    id: InteractionId
    request_id: RequestId
    session_id: SessionId
    by_user: bool
    text: str
    tools_used: tuple[dict[str, Any], ...] = ()
    expert_text: str = ""
    is_new: bool = True  # False: read before, present as context only
    at: Millis = Millis(0)
    source: str = ""
    agent_version: str = ""


class Window(Struct, frozen=True):
    """Consecutive turns of one user, oldest first; the old ones are context."""

    user_id: UserId
    turns: tuple[Turn, ...]
    forced: bool = False  # a caller asked for it to be read: the gate is skipped

    @property
    def last_id(self) -> InteractionId:
        return self.turns[-1].id if self.turns else InteractionId(0)

    def turn(self, turn_id: InteractionId) -> Turn:
        """Raises StopIteration: a note rests on a turn of its window."""
        return next(turn for turn in self.turns if turn.id == turn_id)
