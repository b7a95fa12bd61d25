"""An LRU cache of indexes, limited by bytes."""

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import TypeVar, cast

from msgspec import Struct

from acumen.index.live_indexes import MemoryIndex, TurnIndex
from acumen.model.ids import Kind, UserId
from acumen.model.memories.search import TURN
from acumen.storage.store import Tx

Index = TypeVar("Index", MemoryIndex, TurnIndex)
Key = tuple[str, str, UserId | None]


class CacheStatistics(Struct, frozen=True):
    """`scopes` is the number of indexes held; hits and misses are counted since the start."""

    bytes: int
    most_bytes: int
    scopes: int
    hits: int
    misses: int


class IndexCache:
    """An LRU cache of indexes, limited by bytes."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._indexes: OrderedDict[Key, MemoryIndex | TurnIndex] = OrderedDict()
        self._sizes: dict[Key, int] = {}
        self._total = 0
        self._hits = self._misses = 0
        self._lock = Lock()

    @property
    def statistics(self) -> CacheStatistics:
        with self._lock:
            return CacheStatistics(self._total, self._most_bytes, len(self._indexes), self._hits, self._misses)

    def memories(self, tx: Tx, kind: Kind, user: UserId | None) -> MemoryIndex:
        """As it was left; `refresh` under its lock before use."""
        return self._get((tx.scope.org, kind, user), lambda: MemoryIndex(kind, user))

    def turns(self, tx: Tx, user: UserId) -> TurnIndex:
        return self._get((tx.scope.org, TURN, user), lambda: TurnIndex(user))

    def clear(self) -> None:
        with self._lock:
            self._indexes.clear()
            self._sizes.clear()
            self._total = 0

    def _get(self, key: Key, make: Callable[[], Index]) -> Index:
        with self._lock:
            # The kind within the key decides which of the two types is held under it.
            cached = cast("Index | None", self._indexes.pop(key, None))
            self._hits, self._misses = self._hits + (cached is not None), self._misses + (cached is None)
            index = cached or make()
            self._indexes[key] = index
            # What it grew to while it was last used is known only now.
            size = index.bytes
            self._total += size - self._sizes.get(key, 0)
            self._sizes[key] = size
            self._evict_lru(keep=key)
        return index

    def _evict_lru(self, keep: Key) -> None:
        while self._total > self._most_bytes and next(iter(self._indexes)) != keep:
            key, _ = self._indexes.popitem(last=False)
            self._total -= self._sizes.pop(key)
