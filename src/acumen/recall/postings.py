"""Which rows hold which words, grown row by row."""

from array import array
from collections import Counter
from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from acumen.recall import fuse
from acumen.recall.fuse import Floats
from acumen.recall.rows import RowIds
from acumen.recall.words import asking_terms, is_one_sign

# One entry is the row and, in its last eight bits, how often the row says the word.
COUNT_BITS = 8
MOST = (1 << COUNT_BITS) - 1
_NO_ENTRIES = np.zeros(0, np.uint32)

# A word with its list, beside the entries themselves; lists keep about a sixth in reserve.
BYTES_PER_WORD = 200
BYTES_PER_ENTRY = 5


class Holding(Struct, frozen=True):
    """One word of a question: how much it tells, and how firmly which rows hold it."""

    weight: float
    rows: RowIds
    counts: Floats
    held: Floats


class _Entries(Struct, frozen=True):
    """Which rows hold which word, word after word: so many entries for each."""

    weights: list[float]
    sizes: list[int]
    rows: RowIds
    counts: Floats
    held: Floats


class Postings:
    def __init__(self) -> None:
        self._lists: dict[str, array[int]] = {}
        self._lengths = array("f")
        self._read_lengths: Floats | None = None
        self._entries = 0

    @property
    def bytes(self) -> int:
        return len(self._lists) * BYTES_PER_WORD + self._entries * BYTES_PER_ENTRY + len(self._lengths) * 4

    @property
    def size(self) -> int:
        """How many rows there are, the dead included."""
        return len(self._lengths)

    def lengths(self) -> Floats:
        """Not to be written to: they are the same until rows come or go."""
        if self._read_lengths is None:
            self._read_lengths = np.array(self._lengths, np.float32)
        return self._read_lengths

    def append(self, words: Sequence[str]) -> None:
        row = len(self._lengths) << COUNT_BITS
        counts = Counter(words)
        self._lengths.append(len(words))
        self._read_lengths = None
        self._entries += len(counts)
        lists = self._lists
        for word, count in counts.items():
            entries = lists.get(word)
            if entries is None:
                lists[word] = array("I", (row | min(count, MOST),))
            else:
                entries.append(row | min(count, MOST))

    def sweep(self, kept: RowIds) -> None:
        """Only the rows in `kept` go on, renumbered."""
        place = np.full(len(self._lengths), -1, np.int64)
        place[kept] = np.arange(len(kept))
        old, self._lists, self._entries = self._lists, {}, 0
        for word, entries in old.items():
            packed = np.array(entries, np.uint32)
            rows = place[packed >> COUNT_BITS]
            moved = ((rows << COUNT_BITS) | (packed & MOST))[rows >= 0].astype(np.uint32)
            if len(moved):
                self._lists[word] = array("I", moved.tobytes())
                self._entries += len(moved)
        self._lengths, self._read_lengths = array("f", self.lengths()[kept].tobytes()), None

    def holdings(self, words: Sequence[str], alive: NDArray[np.bool_]) -> list[Holding]:
        """What living rows hold of each word. A word that none holds weighs too: it was asked for."""
        found = self._find(words, alive)
        ends = np.cumsum(found.sizes).tolist()
        return [
            Holding(weight, found.rows[begin:end], found.counts[begin:end], found.held[begin:end])
            for weight, begin, end in zip(found.weights, [0, *ends], ends, strict=False)
        ]

    def coverage(self, words: Sequence[str], alive: NDArray[np.bool_]) -> Floats:
        """For every row the share of the question's information that it holds, 0 to 1."""
        found = self._find(words, alive)
        total = sum(found.weights) or 1.0
        shares = np.repeat(np.array([weight / total for weight in found.weights], np.float32), found.sizes)
        return np.bincount(found.rows, found.held * shares, self.size).astype(np.float32)

    def _find(self, words: Sequence[str], alive: NDArray[np.bool_]) -> "_Entries":
        asked = list(dict.fromkeys(words))
        lists = [self._entries_of(word) for word in asked]
        entries, sizes = np.concatenate([_NO_ENTRIES, *lists]), [len(one) for one in lists]
        lengths, living = self.lengths(), int(np.count_nonzero(alive))
        if living < len(lengths):
            still = alive[entries >> COUNT_BITS]
            ends = np.concatenate([[0], np.cumsum(still)])[np.cumsum([0, *sizes])]
            entries, sizes = entries[still], np.diff(ends).tolist()
            lengths = np.where(alive, lengths, np.float32(0))
        rows = (entries >> COUNT_BITS).astype(np.intp)
        counts = (entries & MOST).astype(np.float32)
        mean = max(float(lengths.sum()) / living, 1.0) if living else 1.0
        weights = [_weight(word, living, size) for word, size in zip(asked, sizes, strict=True)]
        return _Entries(weights, sizes, rows, counts, fuse.hold(counts, lengths[rows], mean))

    def _entries_of(self, word: str) -> NDArray[np.uint32]:
        # A view: the list cannot grow while the caller looks at it, and the caller looks at it under the lock.
        entries = np.frombuffer(self._lists[word], np.uint32) if word in self._lists else _NO_ENTRIES
        if word.isascii() or not is_one_sign(word):
            return entries
        pairs = [np.array(self._lists[pair], np.uint32) for pair in self._pairs_of(word)]
        entries = np.concatenate([entries, *pairs])
        _, first = np.unique(entries >> COUNT_BITS, return_index=True)
        return entries[first]

    def _pairs_of(self, sign: str) -> list[str]:
        """Texts without spaces are kept as pairs of signs; a sign asked for alone is in any pair that has it."""
        return [word for word in self._lists if len(word) == 2 and sign in word]


def _weight(word: str, living: int, holding: int) -> float:
    return (fuse.ASKING if word in asking_terms() else 1.0) * fuse.rarity(living, holding)
