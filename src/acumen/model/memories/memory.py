"""The three kinds of memory, taken together."""

from collections.abc import Mapping
from typing import Any

from acumen.model.ids import Kind, PlaybookId
from acumen.model.memories.base import Category, Origin, Status
from acumen.model.memories.playbook import AgentPlaybook, Approval, Lesson, UserPlaybook
from acumen.model.memories.profile import Profile, TimeToLive

TITLE_LENGTH = 80

Memory = Profile | UserPlaybook | AgentPlaybook


def searchable(memory: Memory) -> str:
    """All words by which it should be found."""
    return memory.content if isinstance(memory, Profile) else memory.lesson.searchable


def of_snapshot(kind: Kind, memory_id: str, snapshot: Mapping[str, Any]) -> Memory:
    """A memory as its lineage remembers it."""
    values = dict(snapshot)
    values["status"] = Status(values["status"])
    values["origin"] = Origin(**values["origin"])
    if "category" in values:
        values["category"] = Category(values["category"])
    if kind is Kind.PROFILE:
        return Profile(**{**values, "ttl": TimeToLive(values["ttl"])})
    # What was remembered of a new playbook is from before the database numbered it.
    values |= {"id": PlaybookId(int(memory_id)), "lesson": Lesson(**values["lesson"])}
    if kind is Kind.USER_PLAYBOOK:
        return UserPlaybook(**values)
    return AgentPlaybook(**{**values, "approval": Approval(values["approval"])})


def title(memory: Memory) -> str:
    """Its name, or the beginning of what it says."""
    name = "" if isinstance(memory, Profile) else memory.name
    text = name or (memory.content if isinstance(memory, Profile) else memory.lesson.content)
    return text if len(text) <= TITLE_LENGTH else f"{text[:TITLE_LENGTH]}..."


def owner(memory: Memory) -> str:
    """The user it was learned from; empty for what belongs to all."""
    return "" if isinstance(memory, AgentPlaybook) else memory.user_id or ""
