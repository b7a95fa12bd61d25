"""The kinds of memories, each with its table."""

from typing import Any

from acumen.storage.memories.memory_rows import MemoryTable
from acumen.storage.memories.playbooks import AGENT_PLAYBOOKS, USER_PLAYBOOKS
from acumen.storage.memories.profiles import PROFILES

MEMORY_TABLES: dict[str, MemoryTable[Any]] = {
    mapping.kind: mapping for mapping in (PROFILES, USER_PLAYBOOKS, AGENT_PLAYBOOKS)
}
