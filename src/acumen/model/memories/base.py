"""What all memories share: status, evidence, where they came from."""

from collections.abc import Mapping
from enum import StrEnum
from typing import TypeVar

from msgspec import Struct

from acumen.model.ids import InteractionId

Id = TypeVar("Id", str, int)


class Status(StrEnum):
    """The status of a memory. CURRENT is null on the wire."""

    CURRENT = "current"
    PENDING = "pending"  # made by a rerun, waits for an upgrade
    ARCHIVED = "archived"
    FORGOTTEN = "forgotten"  # the user asked for it; the wire calls it archived, but no downgrade brings it back
    ARCHIVE_IN_PROGRESS = "archive_in_progress"
    MERGED = "merged"  # folded into another memory of its kind
    SUPERSEDED = "superseded"  # a newer memory says otherwise
    EXPIRED = "expired"


class Category(StrEnum):
    """What sort of statement a memory is."""

    IDENTITY = "identity"  # who the user is: name, role, place, language
    PREFERENCE = "preference"
    RULE = "rule"  # how the agent should work
    FACT = "fact"
    PLAN = "plan"
    EVENT = "event"
    RECIPE = "recipe"  # a way that worked


class Cause(StrEnum):
    """Why a memory was learned, changed or ended. There are no other reasons to end one."""

    LEARNED = "learned"
    RESTATED = "restated"
    REFINED = "refined"
    CORRECTION = "correction"  # the user corrected it explicitly
    RETRACTION = "retraction"  # the user said that it no longer holds
    NEW_VALUE = "new_value"  # a declarative statement gave the same single-valued attribute a new value
    MODEL = "model"  # a language model ended or updated it, with a quote
    PERSON = "person"
    FORGET = "forget"  # the user asked to forget it
    EXPIRED = "expired"  # its stated time is over
    CONFLICT = "conflict"  # it may disagree with another one; both stay current


def part_of_a_rerun(memories: Mapping[Id, tuple[Status, Id | None]]) -> set[Id]:
    """Which of a user's memories a rerun has made: its pending ones, and what gave way to them within it.

    `memories` gives for each id its status and what it gave way to.
    """
    newest = {memory_id for memory_id, (status, _) in memories.items() if status is Status.PENDING}
    members = set(newest)
    while newest:
        newest = {memory_id for memory_id, (_, heir) in memories.items() if heir in newest} - members
        members |= newest
    return members


class EvidenceSpan(Struct, frozen=True):
    """The words a memory rests on: characters `start` to `end` of a turn."""

    interaction_id: InteractionId
    start: int
    end: int
    text: str


class Origin(Struct, frozen=True):
    """What produced a memory: enough to lead back to the words that caused it."""

    engine: str = "caller"  # caller | rules | model
    model: str = ""
    prompt_hash: str = ""
    confidence: float = 1.0
