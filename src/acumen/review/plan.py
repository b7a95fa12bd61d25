"""What an action would change, and what not and why. Pure."""

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
# Fields that make sense for one memory only: two memories with the same words are duplicates.
WORDS = frozenset({"content", "trigger", "rationale", "pitfall"})
IN_USE = frozenset({Status.CURRENT, Status.PENDING})


class Planned(Struct, frozen=True):
    """What becomes of one memory. `why` is set when nothing does; `gone` when it is deleted."""

    memory: Memory | None = None
    mark: ReviewState | None = None
    why: str | None = None
    gone: bool = False


def plan(asked: ActionRequest, memory: Memory, mark: ReviewState, flagged: Mapping[str, Any], at: Millis) -> Planned:
    """`flagged` holds, by signal, the numbers for which the memory stands in the queue now."""
    match asked.doing:
        case ActionKind.ARCHIVE | ActionKind.RESTORE | ActionKind.SUPERSEDE_BY | ActionKind.MERGE:
            return _moved(asked, memory, at)
        case ActionKind.EDIT:
            after = changed(memory, asked.changes)
            return Planned(why="it says that already") if after == memory else Planned(after)
        case ActionKind.CHANGE_SCOPE:
            return _moved_to_everyone(memory) if asked.reach.everyone else _moved_to_version(memory, asked.reach)
        case ActionKind.DELETE:
            return Planned(gone=True)
        case _:
            after_mark = _marked(asked, mark, flagged, at)
            return Planned(why=_ALREADY[asked.doing]) if after_mark == mark else Planned(mark=after_mark)


def _moved(asked: ActionRequest, memory: Memory, at: Millis) -> Planned:
    """Changes of status."""
    status = memory.status
    if asked.doing is ActionKind.RESTORE:
        return Planned(why="it is current") if status is Status.CURRENT else Planned(_restored(memory, at))
    if asked.doing is ActionKind.ARCHIVE:
        allowed = status in IN_USE
        return Planned(replace(memory, status=Status.ARCHIVED)) if allowed else Planned(why=f"it is {status} already")
    if str(memory.id) == asked.successor:
        return Planned(why="it is the one that stays")
    if asked.doing is ActionKind.MERGE:
        if status not in IN_USE:
            return Planned(why=f"it is {status} already")
        return Planned(replace(memory, status=Status.MERGED, merged_into=_pointer(memory, asked.successor)))
    return Planned(superseded(memory, asked.successor))


def _moved_to_everyone(memory: Memory) -> Planned:
    """What one user taught is archived; the shared lesson that takes its place is made when it is done."""
    if isinstance(memory, Profile):
        return Planned(why="a profile is about one user, and is never everyone's")
    if not isinstance(memory, UserPlaybook):
        return Planned(why="it is everyone's already")
    if memory.status is not Status.CURRENT:
        return Planned(why=f"it is {memory.status}")
    if finding := detect_in_lesson(searchable(memory)):
        return Planned(why=f"it {finding.what}: edit it before everyone's agents read it")
    shared = {**memory.metadata, "shared_as": "a new agent_playbook"}
    return Planned(replace(memory, status=Status.ARCHIVED, metadata=shared))


def _moved_to_version(memory: Memory, reach: ActionScope) -> Planned:
    if isinstance(memory, Profile):
        return Planned(why="a profile counts for agents of every version")
    if memory.agent_version == reach.agent_version:
        return Planned(why="it counts there already")
    return Planned(replace(memory, agent_version=reach.agent_version or ""))


def superseded(memory: Memory, successor: str | None) -> Memory:
    after = replace(memory, status=Status.SUPERSEDED, superseded_by=_pointer(memory, successor))
    if isinstance(after, UserPlaybook):  # where the wire's older clients look for it
        return replace(after, metadata={**after.metadata, "superseded_by": after.superseded_by})
    return after


def _pointer(memory: Memory, successor: str | None) -> Any:
    """Profiles are named by text, playbooks by number."""
    return successor if isinstance(memory, Profile) else int(successor or 0)


def _restored(memory: Memory, at: Millis) -> Memory:
    """Current again: nothing takes its place any more, and its time begins anew if it was over."""
    after = replace(memory, status=Status.CURRENT, superseded_by=None, merged_into=None)
    if isinstance(after, Profile):
        return replace(after, expires_at=after.ttl.expires(at)) if after.expires_at <= at else after
    if isinstance(after, UserPlaybook):
        return replace(after, metadata={k: v for k, v in after.metadata.items() if k != "superseded_by"})
    return after


_ALREADY = {
    ActionKind.PIN: "it is pinned already",
    ActionKind.UNPIN: "it is not pinned",
    ActionKind.SNOOZE: "it is snoozed until then already",
    ActionKind.MARK_USEFUL: "it is marked already",
    ActionKind.DISMISS: "nothing speaks against it, so there is nothing to dismiss",
}


def _marked(asked: ActionRequest, mark: ReviewState, flagged: Mapping[str, Any], at: Millis) -> ReviewState:
    match asked.doing:
        case ActionKind.PIN:
            return replace(mark, pinned=True)
        case ActionKind.UNPIN:
            return replace(mark, pinned=False)
        case ActionKind.SNOOZE:
            return replace(mark, snoozed_until=asked.until)
        case ActionKind.MARK_USEFUL:
            return mark if mark.useful_at else replace(mark, useful_at=at)
        case ActionKind.DISMISS:
            return replace(mark, dismissed={**mark.dismissed, **flagged})
    raise BadInput(f"{asked.doing} is not something that can be asked for.")


def changed(before: Any, changes: Mapping[str, Any]) -> Any:
    """Fields that are None stay as they are."""
    given = {name: value for name, value in changes.items() if value is not None}
    lesson = {name: given.pop(name) for name in LESSON_FIELDS & given.keys()}
    if isinstance(before, Profile):
        unknown = (lesson.keys() - {"content"}) | (given.keys() & {"name"})
        if unknown:
            raise BadInput(f"A profile has no {min(unknown)}.")
        after: Any = replace(before, **lesson, **given)
    else:
        after = replace(before, lesson=replace(before.lesson, **lesson), **given)
    if not searchable(after).strip():
        raise BadInput("content must not be empty: a memory without words says nothing.")
    return after


def check(asked: ActionRequest, at: Millis) -> None:
    """What can be said against the action before any memory is looked at."""
    names = [target.ref for target in asked.targets]
    if len(set(names)) != len(names):
        raise BadInput("items names a memory twice.")
    if asked.doing in {ActionKind.SUPERSEDE_BY, ActionKind.MERGE}:
        _check_successor_given(asked)
    if asked.doing is ActionKind.EDIT:
        _check_changes(asked)
    if asked.doing is ActionKind.CHANGE_SCOPE and asked.reach.everyone == (asked.reach.agent_version is not None):
        raise BadInput("scope must say one of the two: everyone, or an agent_version.")
    if asked.doing is ActionKind.SNOOZE and (asked.until is None or asked.until <= at):
        raise BadInput("until must lie in the future.")
    if asked.doing is ActionKind.DELETE and asked.confirm != (wanted := f"delete {len(asked.targets)}"):
        raise BadInput(f'confirm must be "{wanted}": what is deleted cannot be brought back.')


def _check_successor_given(asked: ActionRequest) -> None:
    name = "into" if asked.doing is ActionKind.MERGE else "superseded_by"
    if not asked.successor:
        raise BadInput(f"{name} must name the memory that stays.")
    if len({target.ref.kind for target in asked.targets}) > 1:
        raise BadInput("items must all be of one kind: only memories of one kind can take each other's place.")


def _check_changes(asked: ActionRequest) -> None:
    given = {name for name, value in asked.changes.items() if value is not None}
    if not given:
        raise BadInput("changes must name at least one field to change.")
    if len(asked.targets) > 1 and given & WORDS:
        raise BadInput("changes may give new words to one memory at a time.")
