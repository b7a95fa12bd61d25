"""Duplicate memories: pair by pair, or in clusters of connected pairs."""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from acumen.deps import Deps
from acumen.model.ids import Kind, Millis, UserId
from acumen.model.memories.memory import Memory
from acumen.model.metering.usage import Use
from acumen.model.review.action import UNREVIEWED, ReviewState
from acumen.model.review.signal import DUPLICATE
from acumen.model.times import DAY_MS
from acumen.review.queue import USUAL_DAYS, kinds
from acumen.storage.review.memory_flags import SimilarPair
from acumen.storage.store import Tx


class Member(Struct, frozen=True):
    """`shown`: injections in the default window."""

    id: str
    memory: Memory
    shown: int


class DuplicateCluster(Struct, frozen=True):
    """Memories of one kind and owner that are connected by pairs; the most injected first."""

    pairs: Sequence[SimilarPair]
    members: Sequence[Member]

    @property
    def kind(self) -> Kind:
        return self.pairs[0].kind

    @property
    def user_id(self) -> str | None:
        return self.pairs[0].user_id

    @property
    def similarity(self) -> tuple[float, float]:
        """Lowest and highest of its pairs."""
        return min(pair.similarity for pair in self.pairs), max(pair.similarity for pair in self.pairs)

    def member(self, memory_id: str) -> Member:
        return next(member for member in self.members if member.id == memory_id)


async def pairs(user: UserId | None, limit: int, offset: int, deps: Deps) -> tuple[list[DuplicateCluster], int]:
    """Each pair as a cluster, highest similarity first; and the total number."""
    since, least, part = *_limits(deps), slice(offset, offset + limit)
    return await deps.store.read(lambda tx: _page(tx, [[pair] for pair in _in_use(tx, user, least)], since, part))


async def clusters(user: UserId | None, limit: int, offset: int, deps: Deps) -> tuple[list[DuplicateCluster], int]:
    """Highest similarity first; and the total number."""
    since, least, part = *_limits(deps), slice(offset, offset + limit)
    return await deps.store.read(lambda tx: _page(tx, connected(_in_use(tx, user, least)), since, part))


def _limits(deps: Deps) -> tuple[Millis, float]:
    """The start of the default window, and the lowest similarity of a pair."""
    return Millis(deps.now() - USUAL_DAYS * DAY_MS), deps.thresholds.similarity


def _page(
    tx: Tx, groups: Sequence[Sequence[SimilarPair]], since: Millis, part: slice
) -> tuple[list[DuplicateCluster], int]:
    return [_cluster(tx, group, since) for group in groups[part]], len(groups)


def _in_use(tx: Tx, user: UserId | None, least: float) -> list[SimilarPair]:
    """Without pairs that a person has dismissed; highest similarity first."""
    found_pairs: list[SimilarPair] = []
    for kind in kinds(user):
        states = tx.review_states.find_all(kind)
        pairs = tx.memory_flags.find_pairs(kind, user, least=least)
        found_pairs += [pair for pair in pairs if not _dismissed(pair, states)]
    return sorted(found_pairs, key=lambda pair: (-pair.similarity, pair.kind, pair.left, pair.right))


def _dismissed(pair: SimilarPair, states: Mapping[str, ReviewState]) -> bool:
    """Whether each was dismissed as a duplicate of the other."""
    return all(
        right in states.get(left, UNREVIEWED).dismissed.get(DUPLICATE, {}).get("about", ())
        for left, right in ((pair.left, pair.right), (pair.right, pair.left))
    )


def connected(pairs: Sequence[SimilarPair]) -> list[list[SimilarPair]]:
    """Groups of pairs that share memories (union-find), in the order of their first pairs."""
    parents: dict[tuple[Kind, str], tuple[Kind, str]] = {}

    def root(node: tuple[Kind, str]) -> tuple[Kind, str]:
        while node != (node := parents.setdefault(node, node)):
            pass
        return node

    for pair in pairs:
        parents[root((pair.kind, pair.left))] = root((pair.kind, pair.right))
    groups: dict[tuple[Kind, str], list[SimilarPair]] = {}
    for pair in pairs:
        groups.setdefault(root((pair.kind, pair.left)), []).append(pair)
    return list(groups.values())


def _cluster(tx: Tx, pairs: Sequence[SimilarPair], since: Millis) -> DuplicateCluster:
    kind = pairs[0].kind
    ids = list(dict.fromkeys(memory_id for pair in pairs for memory_id in (pair.left, pair.right)))
    memories: dict[str, Any] = dict(tx.by_kind[kind].get_many(ids))
    used = tx.usage.counters.get_uses(kind, since, ids)
    members = [Member(memory_id, memories[memory_id], used.get(memory_id, Use()).shown) for memory_id in ids]
    return DuplicateCluster(pairs, sorted(members, key=lambda member: -member.shown))
