"""A cluster: lessons of several users that say the same, and the shared lesson that was written from them."""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from acumen.model.ids import Millis, PlaybookId, UserId


class Cluster(Struct, frozen=True):
    """`lesson` is the agent playbook; it may be rejected, edited or deleted by now. 0: found to be no one lesson."""

    id: str
    agent_version: str
    name: str
    fingerprint: str
    members: tuple[PlaybookId, ...]
    lesson: PlaybookId
    wording: str  # a hash of the lesson as it was written; empty: a person had written it before


class AggregationChange(Struct, frozen=True):
    """What one aggregation did, as it was at that time. Lessons are snapshots, not references."""

    id: int
    run_id: str
    agent_version: str
    name: str
    created_at: Millis
    added: Sequence[Mapping[str, Any]] = ()
    updated: Sequence[Mapping[str, Any]] = ()  # each with `before` and `after`
    removed: Sequence[Mapping[str, Any]] = ()


class AggregationBookmark(Struct, frozen=True):
    """How far aggregation has come with the lessons of one agent version, when, and how long it took."""

    last: PlaybookId = PlaybookId(0)
    at: Millis | None = None
    duration_ms: float = 0.0
    seq: int = 0  # of the search rows that were seen
    basis: str = ""  # the settings and models that the clusters were made with


class IndexedLesson(Struct, frozen=True):
    """A current lesson of a user without its text: the fields needed to find others that may say the same."""

    id: PlaybookId
    user: UserId
    vector: bytes | None  # only one of the model in use
    terms: str  # empty where there is a vector
    seq: int
