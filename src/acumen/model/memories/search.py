"""What search reads of a memory or turn, and what it answers."""

from enum import StrEnum

from msgspec import Struct, field

from acumen.model.conversation import versions_meant
from acumen.model.ids import Millis, UserId
from acumen.model.memories.base import Status
from acumen.model.memories.playbook import Approval


class RankingMode(StrEnum):
    VECTOR = "vector"
    FTS = "fts"
    HYBRID = "hybrid"


# Turns are found too, but they are not memories: they have no status and are never injected by themselves.
TURN = "turn"


class SearchRow(Struct, frozen=True):
    """The words and the vector by which one row is found, each with the name of what made it."""

    kind: str
    entity_id: str
    user_id: str  # "" where the row belongs to no user
    terms: str
    analyser: str
    vector: bytes | None = None  # float16, little endian; of a turn, its passages one after the other
    model: str = ""


class Facet(Struct, frozen=True):
    """What a search may filter by."""

    user_id: str
    status: Status
    created_at: Millis
    updated_at: Millis
    expires_at: Millis
    source: str = ""
    agent_version: str = ""
    name: str = ""
    tags: frozenset[str] = frozenset()
    approval: Approval | None = None
    request_id: str = ""
    session_id: str = ""
    extractors: frozenset[str] = frozenset()
    standing: bool = False
    scoped_version: str | None = None


class Filter(Struct, frozen=True):
    """Which rows may be listed or found; None means "any". `agent_version` is a caller's word: see `versions_meant`."""

    user_id: UserId | None = None
    ids: tuple[str, ...] | None = None
    statuses: tuple[Status, ...] | None = (Status.CURRENT,)
    approvals: tuple[Approval, ...] | None = None
    source: str | None = None
    agent_version: str | None = None
    name: str | None = None
    tags: tuple[str, ...] | None = None
    request_id: str | None = None
    ttl: str | None = None
    text: str | None = None
    since: Millis | None = None
    until: Millis | None = None
    by_creation: bool = False  # `since` and `until` look at created_at instead of updated_at
    extractor: str | None = None
    unexpired_at: Millis | None = None
    # The agent version that asks, "" for an unnamed one; None: lessons scoped to another version are included.
    asking_version: str | None = None

    def admits(self, facet: Facet) -> bool:
        """The same filter over rows held in memory."""
        at = facet.created_at if self.by_creation else facet.updated_at
        return (
            (self.user_id is None or facet.user_id == self.user_id)
            and (self.statuses is None or facet.status in self.statuses)
            and (self.approvals is None or facet.approval in self.approvals)
            and (self.source is None or facet.source == self.source)
            and (self.agent_version is None or facet.agent_version in versions_meant(self.agent_version))
            and (self.name is None or facet.name == self.name)
            and (not self.tags or not facet.tags.isdisjoint(self.tags))
            and (self.request_id is None or facet.request_id == self.request_id)
            and (self.extractor is None or self.extractor in facet.extractors)
            and (self.since is None or at >= self.since)
            and (self.until is None or at <= self.until)
            and (self.unexpired_at is None or facet.expires_at > self.unexpired_at)
            and (self.asking_version is None or self._in_scope(facet.scoped_version))
        )

    def _in_scope(self, scoped_version: str | None) -> bool:
        return scoped_version is None or scoped_version in versions_meant(self.asking_version or "")


class Found(Struct, frozen=True):
    """How well one row answers, and what each arm of the search said."""

    entity_id: str
    score: float
    reasons: dict[str, float] = field(default_factory=dict)
