"""The kinds of memories, each with its table."""

from typing import Any

from acumen.storage.memories.memory_rows import Mapping
from acumen.storage.memories.playbooks import AGENT_PLAYBOOKS, USER_PLAYBOOKS
from acumen.storage.memories.profiles import PROFILES

TABLES: dict[str, Mapping[Any]] = {one.kind: one for one in (PROFILES, USER_PLAYBOOKS, AGENT_PLAYBOOKS)}
