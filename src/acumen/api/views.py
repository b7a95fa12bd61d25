"""From what we think to what we promise: memories and turns as the wire shows them."""

from datetime import datetime
from typing import Any, TypeVar

from pydantic import BaseModel

from acumen.model.conversation import Interaction, Request
from acumen.model.ids import Millis, UserId
from acumen.model.memories.base import Status
from acumen.model.memories.memory import Memory
from acumen.model.memories.playbook import AgentPlaybook, UserPlaybook
from acumen.model.memories.profile import Profile
from acumen.model.memories.search import Filter, Found
from acumen_client.wire.memories import AgentPlaybookView, BlockingIssue, ProfileView, UserPlaybookView
from acumen_client.wire.observe import InteractionView, RequestView

A = TypeVar("A", bound=BaseModel)


def shaped(shape: type[A], thing: object, /, **fields: Any) -> A:
    """What the wire shows of a thing: fields of the same name are the thing's own, times (`…_at`) in seconds."""
    same = {name: getattr(thing, name) for name in shape.model_fields.keys() - fields.keys() if hasattr(thing, name)}
    times = {name: maybe_seconds(value) for name, value in same.items() if name.endswith("_at")}
    return shape.model_validate({**same, **times, **fields})


def user(user_id: str | None) -> UserId | None:
    """Nobody, when none is named."""
    return UserId(user_id) if user_id else None


def seconds(at: Millis) -> int:
    return at // 1000


def maybe_seconds(at: Millis | None) -> int | None:
    return None if at is None else seconds(at)


def millis(at: datetime | int | None) -> Millis | None:
    """From the wire's two ways of telling time to ours."""
    if at is None:
        return None
    return Millis(int(at.timestamp() * 1000) if isinstance(at, datetime) else at * 1000)


def before(at: datetime | int | None) -> Millis | None:
    """The last moment that an end which itself is not included still admits."""
    end = millis(at)
    return None if end is None else Millis(end - 1)


def shown_status(status: Status) -> str | None:
    """Current is null on the wire, and what was forgotten is archived."""
    if status is Status.FORGOTTEN:
        return str(Status.ARCHIVED)
    return None if status is Status.CURRENT else str(status)


def statuses(names: object) -> tuple[Status, ...]:
    """Those a caller names; who names none means the current ones."""
    named = tuple(Status(str(name)) for name in names) if isinstance(names, list) else ()
    return _with_forgotten(named) or (Status.CURRENT,)


def _with_forgotten(named: tuple[Status, ...]) -> tuple[Status, ...]:
    return (*named, Status.FORGOTTEN) if Status.ARCHIVED in named else named


def moments(since: int, until: int) -> tuple[Millis, Millis]:
    """From the first moment of a second to the last of another."""
    return Millis(since * 1000), Millis(until * 1000 + 999)


def _shared(memory: Memory, match: Found | None) -> dict[str, object]:
    return {
        "status": shown_status(memory.status),
        "tags": memory.tags,
        "updated_at": seconds(memory.updated_at),
        "engine": memory.origin.engine,
        "confidence": memory.origin.confidence,
        "notes": getattr(memory, "notes", None),
        "score": match and match.score,
        "reasons": match and match.reasons,
        "superseded_by": memory.superseded_by,
        "merged_into": memory.merged_into,
        "version": memory.version,
    }


def _statement(memory: Profile | UserPlaybook) -> dict[str, object]:
    return {
        "said_at": maybe_seconds(memory.said_at),
        "valid_from": maybe_seconds(memory.valid_from),
        "valid_until": maybe_seconds(memory.valid_until),
        "category": str(memory.category),
        "standing": memory.standing,
    }


def profile(memory: Profile, match: Found | None = None) -> ProfileView:
    return ProfileView.model_validate(
        {
            **_shared(memory, match),
            **_statement(memory),
            "profile_id": memory.id,
            "user_id": memory.user_id,
            "content": memory.content,
            "last_modified_timestamp": seconds(memory.updated_at),
            "generated_from_request_id": memory.request_id,
            "created_at": seconds(memory.created_at),
            "profile_time_to_live": memory.ttl,
            "expiration_timestamp": seconds(memory.expires_at),
            "custom_features": memory.custom_features,
            "source": memory.source,
            "extractor_names": memory.extractors or None,
            "source_span": memory.source_span,
            "source_interaction_ids": memory.interaction_ids,
            "mentions": memory.mentions,
        }
    )


def _lesson(memory: UserPlaybook | AgentPlaybook) -> dict[str, object]:
    issue = memory.lesson.blocking_issue
    return {
        "agent_version": memory.agent_version,
        "playbook_name": memory.name,
        "created_at": seconds(memory.created_at),
        "content": memory.lesson.content,
        "trigger": memory.lesson.trigger,
        "rationale": memory.lesson.rationale,
        "pitfall": memory.lesson.pitfall,
        "scoped_version": memory.scoped_version,
        "blocking_issue": issue and BlockingIssue.model_validate(issue),
    }


def user_playbook(memory: UserPlaybook, match: Found | None = None) -> UserPlaybookView:
    return UserPlaybookView.model_validate(
        {
            **_shared(memory, match),
            **_lesson(memory),
            **_statement(memory),
            "user_playbook_id": memory.id,
            "user_id": memory.user_id,
            "request_id": memory.request_id,
            "source": memory.source,
            "source_interaction_ids": memory.interaction_ids,
            "source_span": memory.source_span,
            "playbook_metadata": memory.metadata or None,
            "mentions": memory.mentions,
        }
    )


def agent_playbook(memory: AgentPlaybook, match: Found | None = None) -> AgentPlaybookView:
    return AgentPlaybookView.model_validate(
        {
            **_shared(memory, match),
            **_lesson(memory),
            "agent_playbook_id": memory.id,
            "playbook_status": str(memory.approval),
            "playbook_metadata": memory.metadata,
        }
    )


def turn(interaction: Interaction, match: Found | None = None) -> InteractionView:
    return InteractionView.model_validate(
        {
            "interaction_id": interaction.id,
            "user_id": interaction.user_id,
            "request_id": interaction.request_id,
            "created_at": seconds(interaction.created_at),
            "role": interaction.role,
            "content": interaction.content,
            "user_action": interaction.user_action,
            "user_action_description": interaction.user_action_description,
            "interacted_image_url": interaction.image_url,
            "shadow_content": interaction.shadow_content,
            "expert_content": interaction.expert_content,
            "tools_used": interaction.tools_used,
            "retrieved_learnings": interaction.retrieved_learnings,
            "score": match and match.score,
            "reasons": match and match.reasons,
        }
    )


def request(stored: Request) -> RequestView:
    experiment = {"retrieval_experiment_id": stored.experiment_id, "retrieval_experiment_arm": stored.experiment_arm}
    return shaped(RequestView, stored, request_id=stored.id, **experiment)


def playbooks_like(request: Any) -> Filter:
    """What every listing of and every search for playbooks may ask for; times are those at which they were made."""
    return Filter(
        statuses=statuses(request.status_filter),
        agent_version=request.agent_version,
        name=request.playbook_name,
        tags=tuple(request.tags or ()) or None,
        since=millis(request.start_time),
        until=before(request.end_time),
        by_creation=True,
    )
