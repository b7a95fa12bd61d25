"""When lessons of several users become one for all, as an org wants it."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

# Older clients cannot read a null in its place: stored by one of them, the first means that it is not set; replies
# contain the second, which was measured to be good.
UNSAID_SIMILARITIES = frozenset({0.3, 0.4})


class Aggregation(Struct, frozen=True):
    least_users: int = 2  # who must have taught a lesson, each by themselves
    due_after: int = 2  # new lessons that make an agent version due again
    similarity: float | None = None  # the least cosine between lessons of one cluster; None: as measured to be good


def from_stored(config: Mapping[str, Any]) -> Aggregation:
    """From the first extractor of playbooks: lessons of all extractors are shared under one rule."""
    many = config.get("user_playbook_extractor_configs")
    section = many[0] if many else config.get("user_playbook_extractor_config")
    settings = (section or {}).get("aggregation_config") or {}
    default = Aggregation()
    similarity = settings.get("clustering_similarity")
    return Aggregation(
        least_users=settings.get("min_cluster_size", default.least_users),
        due_after=settings.get("reaggregation_trigger_count", default.due_after),
        similarity=None if similarity in UNSAID_SIMILARITIES else similarity,
    )
