"""What all memories share: status, evidence, where they came from."""

from dataclasses import dataclass
from enum import StrEnum

from acumen.model.ids import InteractionId


class Status(StrEnum):
    """Where a memory stands. CURRENT is null on the wire."""

    CURRENT = "current"
    PENDING = "pending"  # made by a rerun, waits for an upgrade
    ARCHIVED = "archived"
    ARCHIVE_IN_PROGRESS = "archive_in_progress"
    MERGED = "merged"  # folded into another memory of its kind
    SUPERSEDED = "superseded"  # a newer memory says otherwise
    EXPIRED = "expired"


@dataclass(frozen=True, slots=True)
class Evidence:
    """The words a memory rests on: characters `start` to `end` of a turn."""

    interaction_id: InteractionId
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Origin:
    """What produced a memory: enough to lead back to the words that caused it."""

    engine: str = "caller"  # caller | rules | model
    model: str = ""
    prompt_hash: str = ""
    confidence: float = 1.0
