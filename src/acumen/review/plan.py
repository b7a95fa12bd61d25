"""What an action changes in one memory, or why it changes nothing. Pure."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from acumen.errors import BadInput
from acumen.model.ids import Millis
from acumen.model.memories.base import Status
from acumen.model.memories.memory import Memory, searchable
from acumen.model.memories.playbook import UserPlaybook
from acumen.model.memories.profile import Profile
from acumen.model.prompt_injection import detect_in_lesson
from acumen.model.review.action import ActionKind, ActionRequest, ActionScope, ReviewState

LESSON_FIELDS = frozenset({"content", "trigger", "rationale", "pitfall"})
IN_USE = frozenset({Status.CURRENT, Status.PENDING})


class Planned(Struct, frozen=True):
    """The memory or its review state after the action; `why` says why nothing changes; `gone` is a deletion."""

    memory: Memory | None = None
    state: ReviewState | None = None
    why: str | None = None
    gone: bool = False


def plan(request: ActionRequest, memory: Memory, state: ReviewState, flagged: Mapping[str, Any], at: Millis) -> Planned:
    """`flagged`: by signal, the numbers for which the memory is in the review queue now."""
    match request.doing:
        case ActionKind.ARCHIVE | ActionKind.RESTORE | ActionKind.SUPERSEDE_BY | ActionKind.MERGE:
            return _moved(request, memory, at)
        case ActionKind.EDIT:
            after = changed(memory, request.changes)
            return Planned(why="no field changes") if after == memory else Planned(after)
        case ActionKind.CHANGE_SCOPE:
            return _shared(memory) if request.reach.everyone else _scoped(memory, request.reach)
        case ActionKind.DELETE:
            return Planned(gone=True)
        case _:
            new_state = _reviewed(request, state, flagged, at)
            return Planned(why=_ALREADY[request.doing]) if new_state == state else Planned(state=new_state)


def _moved(request: ActionRequest, memory: Memory, at: Millis) -> Planned:
    """Changes of status."""
    status = memory.status
    if request.doing is ActionKind.RESTORE:
        return Planned(why="already current") if status is Status.CURRENT else Planned(_restored(memory, at))
    if request.doing is ActionKind.ARCHIVE:
        allowed = status in IN_USE
        return Planned(replace(memory, status=Status.ARCHIVED)) if allowed else Planned(why=f"already {status}")
    if str(memory.id) == request.successor:
        return Planned(why="kept")
    if request.doing is ActionKind.MERGE:
        if status not in IN_USE:
            return Planned(why=f"already {status}")
        return Planned(replace(memory, status=Status.MERGED, merged_into=_pointer(memory, request.successor)))
    return Planned(superseded(memory, request.successor))


def _shared(memory: Memory) -> Planned:
    """The user's lesson is archived; the shared lesson is created when the action is confirmed."""
    if isinstance(memory, Profile):
        return Planned(why="a profile belongs to one user and cannot be shared")
    if not isinstance(memory, UserPlaybook):
        return Planned(why="already shared")
    if memory.status is not Status.CURRENT:
        return Planned(why=f"not current: {memory.status}")
    if finding := detect_in_lesson(searchable(memory)):
        return Planned(why=f"prompt injection risk: it {finding.what}. Edit it first")
    shared = {**memory.metadata, "shared_as": "a new agent_playbook"}
    return Planned(replace(memory, status=Status.ARCHIVED, metadata=shared))


def _scoped(memory: Memory, scope: ActionScope) -> Planned:
    if isinstance(memory, Profile):
        return Planned(why="a profile applies to every agent version")
    if memory.agent_version == scope.agent_version:
        return Planned(why="already has this agent version")
    return Planned(replace(memory, agent_version=scope.agent_version or ""))


def superseded(memory: Memory, successor: str | None) -> Memory:
    after = replace(memory, status=Status.SUPERSEDED, superseded_by=_pointer(memory, successor))
    if isinstance(after, UserPlaybook):  # read by older clients
        return replace(after, metadata={**after.metadata, "superseded_by": after.superseded_by})
    return after


def _pointer(memory: Memory, successor: str | None) -> Any:
    """Ids of profiles are text, ids of playbooks are numbers."""
    return successor if isinstance(memory, Profile) else int(successor or 0)


def _restored(memory: Memory, at: Millis) -> Memory:
    """Current again, without a successor; an expired profile gets a new time to live."""
    after = replace(memory, status=Status.CURRENT, superseded_by=None, merged_into=None)
    if isinstance(after, Profile):
        return replace(after, expires_at=after.ttl.expires(at)) if after.expires_at <= at else after
    if isinstance(after, UserPlaybook):
        return replace(after, metadata={k: v for k, v in after.metadata.items() if k != "superseded_by"})
    return after


_ALREADY = {
    ActionKind.PIN: "already pinned",
    ActionKind.UNPIN: "not pinned",
    ActionKind.SNOOZE: "already snoozed until then",
    ActionKind.MARK_USEFUL: "already marked useful",
    ActionKind.DISMISS: "no signals to dismiss",
}


def _reviewed(request: ActionRequest, state: ReviewState, flagged: Mapping[str, Any], at: Millis) -> ReviewState:
    match request.doing:
        case ActionKind.PIN:
            return replace(state, pinned=True)
        case ActionKind.UNPIN:
            return replace(state, pinned=False)
        case ActionKind.SNOOZE:
            return replace(state, snoozed_until=request.until)
        case ActionKind.MARK_USEFUL:
            return state if state.useful_at else replace(state, useful_at=at)
        case ActionKind.DISMISS:
            return replace(state, dismissed={**state.dismissed, **flagged})
    raise BadInput(f"{request.doing} cannot be requested.")


def changed(before: Any, changes: Mapping[str, Any]) -> Any:
    """Fields that are None are not changed."""
    fields = {name: value for name, value in changes.items() if value is not None}
    lesson = {name: fields.pop(name) for name in LESSON_FIELDS & fields.keys()}
    if isinstance(before, Profile):
        unknown = (lesson.keys() - {"content"}) | (fields.keys() & {"name"})
        if unknown:
            raise BadInput(f"A profile has no {min(unknown)}.")
        after: Any = replace(before, **lesson, **fields)
    else:
        after = replace(before, lesson=replace(before.lesson, **lesson), **fields)
    if not searchable(after).strip():
        raise BadInput("content must not be empty.")
    return after


def check(request: ActionRequest, at: Millis) -> None:
    """Refuses a request that is invalid for any memories."""
    names = [target.ref for target in request.targets]
    if len(set(names)) != len(names):
        raise BadInput("items names a memory twice.")
    if request.doing in {ActionKind.SUPERSEDE_BY, ActionKind.MERGE}:
        _check_successor_set(request)
    if request.doing is ActionKind.EDIT:
        _check_changes(request)
    if request.doing is ActionKind.CHANGE_SCOPE and request.reach.everyone == (request.reach.agent_version is not None):
        raise BadInput("scope must be either everyone or an agent_version.")
    if request.doing is ActionKind.SNOOZE and (request.until is None or request.until <= at):
        raise BadInput("until must be in the future.")
    if request.doing is ActionKind.DELETE and request.confirm != (phrase := f"delete {len(request.targets)}"):
        raise BadInput(f'confirm must be "{phrase}": deletion cannot be undone.')


def _check_successor_set(request: ActionRequest) -> None:
    name = "into" if request.doing is ActionKind.MERGE else "superseded_by"
    if not request.successor:
        raise BadInput(f"{name} must name the memory to keep.")
    if len({target.ref.kind for target in request.targets}) > 1:
        raise BadInput("Select memories of the same type.")


def _check_changes(request: ActionRequest) -> None:
    fields = {name for name, value in request.changes.items() if value is not None}
    if not fields:
        raise BadInput("changes must name at least one field.")
    if len(request.targets) > 1 and fields & LESSON_FIELDS:
        raise BadInput("changes may change the text of one memory at a time.")
