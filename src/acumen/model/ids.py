"""Ids as types, so that a user can never be passed where a session is meant."""

import random
import time
from enum import StrEnum
from typing import NewType

from msgspec import Struct

OrgId = NewType("OrgId", str)
# The org of a server without keys; the name is that of the wire.
LOCAL_ORG = OrgId("self-host-org")
UserId = NewType("UserId", str)
SessionId = NewType("SessionId", str)
RequestId = NewType("RequestId", str)
InteractionId = NewType("InteractionId", int)
ProfileId = NewType("ProfileId", str)
PlaybookId = NewType("PlaybookId", int)
InjectionId = NewType("InjectionId", str)

# Epoch milliseconds, the one timestamp type inside the process and in the database.
Millis = NewType("Millis", int)


class Kind(StrEnum):
    """What a memory can be; each kind has an id space of its own."""

    PROFILE = "profile"
    USER_PLAYBOOK = "user_playbook"
    AGENT_PLAYBOOK = "agent_playbook"


class MemoryRef(Struct, frozen=True, order=True):
    """Names one memory: ids repeat across kinds, so the kind is part of the name."""

    kind: Kind
    id: str


def now() -> Millis:
    return Millis(time.time_ns() // 1_000_000)


def fresh_id(prefix: str) -> str:
    """A unique id that sorts by the time it was made. Not a secret, so it does not ask the system for randomness."""
    return f"{prefix}_{time.time_ns() // 1000:014x}{random.getrandbits(48):012x}"
