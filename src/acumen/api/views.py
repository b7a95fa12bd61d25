"""From what we think to what we promise: memories and turns as the wire shows them."""

from datetime import datetime
from functools import cache
from typing import Any, TypeVar

from pydantic import BaseModel

from acumen.model.conversation import Interaction, Request
from acumen.model.ids import Millis, UserId
from acumen.model.memories.base import Status
from acumen.model.memories.playbook import AgentPlaybook, UserPlaybook
from acumen.model.memories.profile import Profile
from acumen.model.memories.search import Filter, Found
from acumen_client.wire.memories import AgentPlaybookView, ProfileView, UserPlaybookView
from acumen_client.wire.observe import InteractionView, RequestView

A = TypeVar("A", bound=BaseModel)


def shaped(shape: type[A], /, *things: object, **fields: Any) -> A:
    """What the wire shows of some things. A field that is not given is that of the first thing which has one of the
    same name; times (`…_at`) become seconds.
    """
    for name, place, is_time in _sources(shape, tuple(map(type, things))):
        if name not in fields:
            value = getattr(things[place], name)
            fields[name] = maybe_seconds(value) if is_time else value
    return shape.model_validate(fields)


@cache
def _sources(shape: type[BaseModel], kinds: tuple[type, ...]) -> list[tuple[str, int, bool]]:
    """For each field the place of the thing that has it, and whether it is a time. Methods are no fields."""
    return [
        (name, place, name.endswith("_at"))
        for name in shape.model_fields
        for place in [next((i for i, kind in enumerate(kinds) if _has_field(kind, name)), None)]
        if place is not None
    ]


def _has_field(kind: type, name: str) -> bool:
    return hasattr(kind, name) and not callable(getattr(kind, name))


def user(user_id: str | None) -> UserId | None:
    """None when no user is named."""
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


def profile(memory: Profile, match: Found | None = None) -> ProfileView:
    return shaped(
        ProfileView,
        memory,
        memory.origin,
        match,
        **_statement(memory),
        profile_id=memory.id,
        last_modified_timestamp=seconds(memory.updated_at),
        generated_from_request_id=memory.request_id,
        profile_time_to_live=memory.ttl,
        expiration_timestamp=seconds(memory.expires_at),
        extractor_names=memory.extractors or None,
    )


def user_playbook(memory: UserPlaybook, match: Found | None = None) -> UserPlaybookView:
    return shaped(
        UserPlaybookView,
        memory,
        memory.lesson,
        memory.origin,
        match,
        **_statement(memory),
        user_playbook_id=memory.id,
        playbook_name=memory.name,
        playbook_metadata=memory.metadata or None,
    )


def _statement(memory: Profile | UserPlaybook) -> dict[str, Any]:
    return {
        "status": shown_status(memory.status),
        "valid_from": maybe_seconds(memory.valid_from),
        "valid_until": maybe_seconds(memory.valid_until),
        "category": str(memory.category),
        "source_interaction_ids": memory.interaction_ids,
    }


def agent_playbook(memory: AgentPlaybook, match: Found | None = None) -> AgentPlaybookView:
    return shaped(
        AgentPlaybookView,
        memory,
        memory.lesson,
        memory.origin,
        match,
        status=shown_status(memory.status),
        agent_playbook_id=memory.id,
        playbook_name=memory.name,
        playbook_status=str(memory.approval),
        playbook_metadata=memory.metadata,
    )


def turn(interaction: Interaction, match: Found | None = None) -> InteractionView:
    about = {"interaction_id": interaction.id, "interacted_image_url": interaction.image_url}
    return shaped(InteractionView, interaction, match, **about)


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
