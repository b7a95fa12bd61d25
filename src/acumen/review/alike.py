"""Memories that say nearly the same, as a person merges them: pair by pair, or all that hang together."""

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
    """A memory, with how often it was shown in the usual window."""

    id: str
    memory: Memory
    shown: int


class DuplicateCluster(Struct, frozen=True):
    """Memories of one kind and owner that hang together by their pairs; the one most shown first."""

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
        """Of the pair least alike and of the one most alike."""
        return min(pair.similarity for pair in self.pairs), max(pair.similarity for pair in self.pairs)

    def member(self, own: str) -> Member:
        return next(one for one in self.members if one.id == own)


async def pairs(user: UserId | None, limit: int, offset: int, deps: Deps) -> tuple[list[DuplicateCluster], int]:
    """Each by itself, the most alike first, and how many there are."""
    since, least, part = *_asked(deps), slice(offset, offset + limit)
    return await deps.store.read(lambda tx: _page(tx, [[pair] for pair in _in_use(tx, user, least)], since, part))


async def clusters(user: UserId | None, limit: int, offset: int, deps: Deps) -> tuple[list[DuplicateCluster], int]:
    """All that hang together, those with the most alike pair first, and how many there are."""
    since, least, part = *_asked(deps), slice(offset, offset + limit)
    return await deps.store.read(lambda tx: _page(tx, joined(_in_use(tx, user, least)), since, part))


def _asked(deps: Deps) -> tuple[Millis, float]:
    """Since when use counts, and how much alike two must be."""
    return Millis(deps.now() - USUAL_DAYS * DAY_MS), deps.thresholds.similarity


def _page(
    tx: Tx, groups: Sequence[Sequence[SimilarPair]], since: Millis, part: slice
) -> tuple[list[DuplicateCluster], int]:
    return [_pictured(tx, some, since) for some in groups[part]], len(groups)


def _in_use(tx: Tx, user: UserId | None, least: float) -> list[SimilarPair]:
    """Pairs of which both are in use and no person has told them apart, the most alike first."""
    found = []
    for kind in kinds(user):
        marks = tx.review_states.find_all(kind)
        found += [pair for pair in tx.memory_flags.find_pairs(kind, user, least=least) if not _told_apart(pair, marks)]
    return sorted(found, key=lambda pair: (-pair.similarity, pair.kind, pair.left, pair.right))


def _told_apart(pair: SimilarPair, marks: Mapping[str, ReviewState]) -> bool:
    """Whether a person has dismissed each as a duplicate of the other."""
    return all(
        other in marks.get(own, UNREVIEWED).dismissed.get(DUPLICATE, {}).get("about", ())
        for own, other in ((pair.left, pair.right), (pair.right, pair.left))
    )


def joined(found: Sequence[SimilarPair]) -> list[list[SimilarPair]]:
    """Pairs that share a memory come together; the order of the first ones stays."""
    leads: dict[tuple[Kind, str], tuple[Kind, str]] = {}

    def leader(one: tuple[Kind, str]) -> tuple[Kind, str]:
        while one != (one := leads.setdefault(one, one)):
            pass
        return one

    for pair in found:
        leads[leader((pair.kind, pair.left))] = leader((pair.kind, pair.right))
    together: dict[tuple[Kind, str], list[SimilarPair]] = {}
    for pair in found:
        together.setdefault(leader((pair.kind, pair.left)), []).append(pair)
    return list(together.values())


def _pictured(tx: Tx, some: Sequence[SimilarPair], since: Millis) -> DuplicateCluster:
    kind = some[0].kind
    ids = list(dict.fromkeys(own for pair in some for own in (pair.left, pair.right)))
    memories: dict[str, Any] = dict(tx.by_kind[kind].get_many(ids))
    used = tx.usage.counters.get_uses(kind, since, ids)
    members = [Member(own, memories[own], used.get(own, Use()).shown) for own in ids]
    return DuplicateCluster(some, sorted(members, key=lambda one: -one.shown))
