"""Which rows hold which words, grown row by row."""

from array import array
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from acumen.recall import fuse
from acumen.recall.fuse import Flags, Floats
from acumen.recall.rows import RowIds
from acumen.recall.words import asking_terms, is_one_sign

# A row that says a word again stands in a list of its own with, in the last eight bits, how often it says it.
COUNT_BITS = 8
MOST = (1 << COUNT_BITS) - 1

# A word with its list, beside the entries themselves; lists keep about a sixth in reserve.
BYTES_PER_WORD = 200
BYTES_PER_ENTRY = 5

Entries = NDArray[np.int32]
Lists = dict[str, "array[int]"]
_NOBODY = array("i")


class Holding(Struct, frozen=True):
    """One word of a question: how much it tells, and how firmly which rows hold it."""

    weight: float
    rows: RowIds
    counts: Floats
    held: Floats


class _Texts(Struct, frozen=True, eq=False):
    """What is the same for every word until rows come or go."""

    alive: Flags
    living: int
    patience: Floats
    once: Floats  # how firmly each row holds a word that it says once

    @staticmethod
    def of(lengths: Floats, alive: Flags) -> "_Texts":
        living = int(np.count_nonzero(alive))
        mean = max(float(lengths[alive].sum()) / living, 1.0) if living else 1.0
        patience = fuse.patience(lengths, mean)
        return _Texts(alive, living, patience, fuse.hold(np.ones(1, np.float32), patience))

    def held(self, rows: NDArray[np.signedinteger[Any]], counts: NDArray[Any]) -> Floats:
        return fuse.hold(counts, self.patience[rows])


class Postings:
    def __init__(self) -> None:
        self._lists: Lists = {}
        self._again: Lists = {}
        self._lengths = array("f")
        self._texts: _Texts | None = None
        self._entries = 0

    @property
    def bytes(self) -> int:
        return len(self._lists) * BYTES_PER_WORD + self._entries * BYTES_PER_ENTRY + len(self._lengths) * 12

    @property
    def size(self) -> int:
        """How many rows there are, the dead included."""
        return len(self._lengths)

    def lengths(self) -> Floats:
        return np.array(self._lengths, np.float32)

    def append(self, words: Sequence[str]) -> None:
        row = len(self._lengths)
        counts = Counter(words)
        self._lengths.append(len(words))
        self._entries += len(counts)
        lists = self._lists
        for word, count in counts.items():
            rows = lists.get(word)
            if rows is None:
                lists[word] = array("i", (row,))
            else:
                rows.append(row)
            if count > 1:
                self._again.setdefault(word, array("i")).append(row << COUNT_BITS | min(count, MOST))

    def sweep(self, kept: RowIds) -> None:
        """Only the rows in `kept` go on, renumbered."""
        place = np.full(len(self._lengths), -1, np.int64)
        place[kept] = np.arange(len(kept))
        self._lists, self._again = _moved(self._lists, place, 0), _moved(self._again, place, COUNT_BITS)
        self._entries = sum(map(len, self._lists.values()))
        self._lengths = array("f", self.lengths()[kept].tobytes())

    def holdings(self, words: Sequence[str], alive: Flags) -> list[Holding]:
        """What living rows hold of each word. A word that none holds weighs too: it was asked for."""
        texts, found = self._read(alive), []
        for word in dict.fromkeys(words):
            rows, again = (np.array(entries, np.intp) for entries in self._entries_of(word))
            counts = np.ones(len(rows), np.float32)
            counts[rows.searchsorted(again >> COUNT_BITS)] = again & MOST
            still = alive[rows]
            rows, counts = rows[still], counts[still]
            found.append(Holding(_weight(word, texts.living, len(rows)), rows, counts, texts.held(rows, counts)))
        return found

    def weights(self, words: Sequence[str], alive: Flags) -> dict[str, float]:
        """How much each word tells among these rows."""
        texts = self._read(alive)
        holding = ((word, np.frombuffer(self._entries_of(word)[0], np.int32)) for word in dict.fromkeys(words))
        return {word: _weight(word, texts.living, int(np.count_nonzero(alive[rows]))) for word, rows in holding}

    def coverage(self, words: Sequence[str], alive: Flags) -> Floats:
        """For every living row the share of the question's information that it holds, 0 to 1."""
        texts, asked = self._read(alive), list(dict.fromkeys(words))
        found = [self._entries_of(word) for word in asked]
        said, again = _joined([rows for rows, _ in found]), _joined([more for _, more in found])
        weights = self._weights(asked, [len(rows) for rows, _ in found], said, texts)
        total = sum(weights) or 1.0
        shares = [weight / total for weight in weights]
        rows = again >> COUNT_BITS
        # As if every row said a word once; what says it again holds it so much more firmly.
        more = texts.held(rows, again & MOST) / texts.once[rows] - 1
        more *= np.repeat(shares, [len(entries) for _, entries in found])
        once = np.repeat(shares, [len(entries) for entries, _ in found])
        held = np.bincount(np.concatenate([said, rows]), np.concatenate([once, more]), self.size).astype(np.float32)
        held *= texts.once
        return held

    def _weights(self, words: Sequence[str], sizes: Sequence[int], rows: Entries, texts: _Texts) -> list[float]:
        """`rows` hold the words, so many each, one word after the other; only the living count."""
        if texts.living < self.size:
            living = np.concatenate([[0], np.cumsum(texts.alive[rows])])
            sizes = np.diff(living[np.cumsum([0, *sizes])]).tolist()
        return [_weight(word, texts.living, size) for word, size in zip(words, sizes, strict=True)]

    def _read(self, alive: Flags) -> _Texts:
        """Anew whenever rows have come or gone: `alive` is another array then."""
        if self._texts is None or self._texts.alive is not alive:
            self._texts = _Texts.of(self.lengths(), alive)
        return self._texts

    def _entries_of(self, word: str) -> tuple["array[int]", "array[int]"]:
        """The rows that say a word, and those that say it again."""
        if word.isascii() or not is_one_sign(word):
            return self._lists.get(word, _NOBODY), self._again.get(word, _NOBODY)
        having = [word, *self._pairs_of(word)]
        rows = _joined([self._lists.get(one, _NOBODY) for one in having])
        again = _joined([self._again.get(one, _NOBODY) for one in having])
        _, first = np.unique(again >> COUNT_BITS, return_index=True)
        return array("i", np.unique(rows).tobytes()), array("i", again[first].tobytes())

    def _pairs_of(self, sign: str) -> list[str]:
        """Texts without spaces are kept as pairs of signs; a sign asked for alone is in any pair that has it."""
        return [word for word in self._lists if len(word) == 2 and sign in word]


def _joined(lists: "Sequence[array[int]]") -> Entries:
    return np.frombuffer(b"".join(lists), np.int32)


def _moved(lists: Lists, place: NDArray[np.int64], count_bits: int) -> Lists:
    moved = {}
    for word, entries in lists.items():
        packed = np.array(entries, np.int32)
        rows = place[packed >> count_bits]
        kept = (rows << count_bits | packed & ((1 << count_bits) - 1))[rows >= 0]
        if len(kept):
            moved[word] = array("i", kept.astype(np.int32).tobytes())
    return moved


def _weight(word: str, living: int, holding: int) -> float:
    return (fuse.ASKING if word in asking_terms() else 1.0) * fuse.rarity(living, holding)
