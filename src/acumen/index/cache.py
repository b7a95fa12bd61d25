"""An LRU cache of indexes, limited by bytes."""

import ctypes
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import TypeVar, cast

from msgspec import Struct

from acumen.index.live_indexes import MemoryIndex, TurnIndex
from acumen.index.segments.segment import Segment
from acumen.index.segments.tail import Tail
from acumen.model.ids import Kind, UserId
from acumen.model.memories.search import TURN
from acumen.storage.store import Tx

Index = TypeVar("Index", MemoryIndex, TurnIndex, Tail)
Key = tuple[str, str, UserId | None]

# An entry of the cache and its index with nothing in it, by tracemalloc.
BYTES_PER_INDEX = 4_000
# Evicted indexes leave holes between what stays; to give these back takes some milliseconds.
EVICTED_AT_ONCE = 16 * 1024 * 1024


class CacheStatistics(Struct, frozen=True):
    """`scopes` is the number of indexes held; hits and misses are counted since the start."""

    bytes: int
    most_bytes: int
    scopes: int
    hits: int
    misses: int


class IndexCache:
    """An LRU cache of indexes. Between uses it holds no more than `most_bytes`."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._indexes: OrderedDict[Key, MemoryIndex | TurnIndex] = OrderedDict()
        self._sizes: dict[Key, int] = {}
        self._total = 0
        self._hits = self._misses = 0
        self._evicted = 0
        self._lock = Lock()

    @property
    def statistics(self) -> CacheStatistics:
        with self._lock:
            return CacheStatistics(self._total, self._most_bytes, len(self._indexes), self._hits, self._misses)

    @contextmanager
    def memories(self, tx: Tx, kind: Kind, user: UserId | None, model: str) -> Iterator[MemoryIndex]:
        """In step with the transaction, and only the caller's meanwhile."""
        with self._use((tx.scope.org, kind, user), lambda: MemoryIndex(kind, user)) as index:
            index.refresh(tx, model)
            yield index

    @contextmanager
    def tail(self, tx: Tx, kind: Kind, user: UserId | None, model: str, segment: Segment) -> Iterator[Tail]:
        """What changed in a scope since a segment was built."""
        with self._use(
            (tx.scope.org, f"{kind} since {segment.path.name}", user), lambda: Tail(kind, user, segment)
        ) as tail:
            tail.refresh(tx, model)
            yield tail

    @contextmanager
    def turns(self, tx: Tx, user: UserId, model: str) -> Iterator[TurnIndex]:
        """In step with the transaction, and only the caller's meanwhile."""
        with self._use((tx.scope.org, TURN, user), lambda: TurnIndex(user)) as index:
            index.refresh(tx, model)
            yield index

    def holds(self, tx: Tx, kind: Kind, user: UserId | None) -> bool:
        return (tx.scope.org, kind, user) in self._indexes

    def clear(self) -> None:
        with self._lock:
            self._indexes.clear()
            self._sizes.clear()
            self._total = 0

    @contextmanager
    def _use(self, key: Key, make: Callable[[], Index]) -> Iterator[Index]:
        index = self._get(key, make)
        with index.lock:
            try:
                yield index
            finally:
                self._count(key, index)

    def _get(self, key: Key, make: Callable[[], Index]) -> Index:
        with self._lock:
            # The kind within the key decides which of the types is held under it.
            cached = cast("Index | None", self._indexes.pop(key, None))
            self._hits, self._misses = self._hits + (cached is not None), self._misses + (cached is None)
            index = cached or make()
            self._indexes[key] = index
        return index

    def _count(self, key: Key, index: MemoryIndex | TurnIndex) -> None:
        """What the index has grown to; others make room for it."""
        with self._lock:
            if self._indexes.get(key) is not index:
                return  # evicted while it was used
            size = index.bytes + BYTES_PER_INDEX
            self._total += size - self._sizes.get(key, 0)
            self._sizes[key] = size
            self._evict_lru()
            trim = self._evicted >= EVICTED_AT_ONCE
            if trim:
                self._evicted = 0
        if trim:
            return_free_memory()

    def _evict_lru(self) -> None:
        while self._total > self._most_bytes:
            key, _ = self._indexes.popitem(last=False)
            size = self._sizes.pop(key, 0)
            self._total -= size
            self._evicted += size


def return_free_memory() -> None:
    """The C library keeps freed blocks for later; glibc gives them back on demand, others do so themselves."""
    _trim()(0)


@cache
def _trim() -> Callable[[int], int]:
    try:
        trim: Callable[[int], int] = ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):  # no glibc
        return lambda _padding: 0
    return trim
