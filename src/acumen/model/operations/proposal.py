"""A lesson proposed from operations: the analysis, its evidence and its confidence."""

from enum import StrEnum
from typing import Any

from msgspec import Struct, field

from acumen.model.ids import Millis, PlaybookId
from acumen.model.memories.base import Origin

# Less than this share of distinct sessions is one session failing over and over.
LEAST_CONFIDENCE = 0.3


class About(StrEnum):
    """What a lesson was learned from."""

    FAILURE = "failure"
    RECOVERY = "recovery"
    SUCCESS = "success"


class AnalysisState(StrEnum):
    DONE = "done"
    QUARANTINED = "quarantined"  # the evidence contains prompt injection; a person reviews it first
    WEAK = "weak"  # too few distinct sessions for a lesson


class Analysis(Struct, frozen=True):
    """One analysis per evidence; the hash of the evidence is its identity."""

    id: str
    about: About
    key: str
    evidence_hash: str
    evidence: tuple[str, ...]  # ids of operations
    scopes: tuple[str, ...]  # sessions they came from
    state: AnalysisState
    diagnosis: dict[str, Any]
    origin: Origin
    created_at: Millis


class Proposal(Struct, frozen=True):
    """One per key. Whether it is approved is a field of its playbook."""

    key: str
    about: About
    playbook_id: PlaybookId
    source: str
    endpoint: str
    evidence: tuple[str, ...]
    scopes: tuple[str, ...]
    count: int  # operations behind it
    confidence: float
    created_at: Millis
    replays: int = 1  # how often the same was concluded
    group_id: str | None = None
    schema_hash: str | None = None
    agent_version: str | None = None
    detail: dict[str, Any] = field(default_factory=dict)
    flag: str | None = None
    decided_at: Millis | None = None


def confidence(scopes: int, count: int) -> float:
    """Distinct sessions as a share of what was counted: one session that fails ten times is 0.1."""
    return scopes / count if count else 0.0


def level(scopes: int, count: int) -> str:
    """How seriously a recurring finding is to be taken: 2 distinct subjects inform, 3 warn, 5 block."""
    if scopes < 2 or confidence(scopes, count) < LEAST_CONFIDENCE:
        return "info" if scopes >= 2 else "none"
    return "block" if scopes >= 5 else "warn" if scopes >= 3 else "info"
