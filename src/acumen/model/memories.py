"""The three kinds of memory, taken together."""

from acumen.model.playbook import AgentPlaybook, UserPlaybook
from acumen.model.profile import Profile

Memory = Profile | UserPlaybook | AgentPlaybook


def searchable(memory: Memory) -> str:
    """All words by which it should be found."""
    return memory.content if isinstance(memory, Profile) else memory.lesson.searchable


def owner(memory: Memory) -> str:
    """The user it was learned from; empty for what belongs to all."""
    return "" if isinstance(memory, AgentPlaybook) else memory.user_id or ""
