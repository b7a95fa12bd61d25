"""Postings: which rows contain which terms, scored by BM25."""

from array import array
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from acumen.index.arrays import Flags, Floats, RowIds
from acumen.index.bm25 import idf, length_norm, term_saturation
from acumen.index.tokenizer import asking_terms, is_one_sign

# The weight of a term of asking ("recommend", "number") against a term of the subject.
ASKING = 0.5

# A row that repeats a word is in a list of its own with, in the last eight bits, how often it occurs.
COUNT_BITS = 8
MOST = (1 << COUNT_BITS) - 1

# A word with its list, in addition to the entries; lists have about a sixth in reserve.
BYTES_PER_WORD = 200
BYTES_PER_ENTRY = 5

Entries = NDArray[np.int32]
Lists = dict[str, "array[int]"]
_EMPTY = array("i")


class TermMatch(Struct, frozen=True):
    """One term of a question: its weight, and the rows that contain it."""

    weight: float
    rows: RowIds
    counts: Floats
    saturation: Floats


class _Lengths(Struct, frozen=True, eq=False):
    """What is the same for every term until rows come or go."""

    alive: Flags
    living: int
    norm: Floats
    once: Floats  # the saturation of a term that a row says once

    @staticmethod
    def of(lengths: Floats, alive: Flags) -> "_Lengths":
        living = int(np.count_nonzero(alive))
        mean = max(float(lengths[alive].sum()) / living, 1.0) if living else 1.0
        norm = length_norm(lengths, mean)
        return _Lengths(alive, living, norm, term_saturation(np.ones(1, np.float32), norm))

    def saturation(self, rows: NDArray[np.signedinteger[Any]], counts: NDArray[Any]) -> Floats:
        return term_saturation(counts, self.norm[rows])


class Postings:
    def __init__(self) -> None:
        self._lists: Lists = {}
        self._again: Lists = {}
        self._lengths = array("f")
        self._norms: _Lengths | None = None
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

    def sweep(self, survivors: RowIds) -> None:
        """Only the rows in `survivors` go on, renumbered."""
        place = np.full(len(self._lengths), -1, np.int64)
        place[survivors] = np.arange(len(survivors))
        self._lists, self._again = _moved(self._lists, place, 0), _moved(self._again, place, COUNT_BITS)
        self._entries = sum(map(len, self._lists.values()))
        self._lengths = array("f", self.lengths()[survivors].tobytes())

    def matches(self, terms: Sequence[str], alive: Flags) -> list[TermMatch]:
        """The living rows of each term. A term that no row contains weighs too: it was asked for."""
        lengths, matches = self._read(alive), []
        for term in dict.fromkeys(terms):
            rows, again = (np.array(entries, np.intp) for entries in self._entries_of(term))
            counts = np.ones(len(rows), np.float32)
            counts[rows.searchsorted(again >> COUNT_BITS)] = again & MOST
            living = alive[rows]
            rows, counts = rows[living], counts[living]
            weight = _weight(term, lengths.living, len(rows))
            matches.append(TermMatch(weight, rows, counts, lengths.saturation(rows, counts)))
        return matches

    def weights(self, terms: Sequence[str], alive: Flags) -> dict[str, float]:
        """The idf of each term among these rows."""
        lengths = self._read(alive)
        entries = ((term, np.frombuffer(self._entries_of(term)[0], np.int32)) for term in dict.fromkeys(terms))
        return {term: _weight(term, lengths.living, int(np.count_nonzero(alive[rows]))) for term, rows in entries}

    def coverage(self, terms: Sequence[str], alive: Flags) -> Floats:
        """For every living row the share of the question's information that it contains, 0 to 1."""
        lengths, distinct = self._read(alive), list(dict.fromkeys(terms))
        lists = [self._entries_of(term) for term in distinct]
        first, again = _joined([rows for rows, _ in lists]), _joined([more for _, more in lists])
        weights = self._weights(distinct, [len(rows) for rows, _ in lists], first, lengths)
        total = sum(weights) or 1.0
        shares = [weight / total for weight in weights]
        rows = again >> COUNT_BITS
        # As if every row said a term once, and then what saying it again adds.
        more = lengths.saturation(rows, again & MOST) / lengths.once[rows] - 1
        more *= np.repeat(shares, [len(entries) for _, entries in lists])
        once = np.repeat(shares, [len(entries) for entries, _ in lists])
        covered = np.bincount(np.concatenate([first, rows]), np.concatenate([once, more]), self.size).astype(np.float32)
        covered *= lengths.once
        return covered

    def _weights(self, terms: Sequence[str], sizes: Sequence[int], rows: Entries, lengths: _Lengths) -> list[float]:
        """`rows` are those of the terms, one term after the other, `sizes` of each; only the living count."""
        if lengths.living < self.size:
            living = np.concatenate([[0], np.cumsum(lengths.alive[rows])])
            sizes = np.diff(living[np.cumsum([0, *sizes])]).tolist()
        return [_weight(term, lengths.living, size) for term, size in zip(terms, sizes, strict=True)]

    def _read(self, alive: Flags) -> _Lengths:
        """Computed again when rows have come or gone: `alive` is another array then."""
        if self._norms is None or self._norms.alive is not alive:
            self._norms = _Lengths.of(self.lengths(), alive)
        return self._norms

    def _entries_of(self, term: str) -> tuple["array[int]", "array[int]"]:
        """The rows that contain a term, and those that repeat it."""
        if term.isascii() or not is_one_sign(term):
            return self._lists.get(term, _EMPTY), self._again.get(term, _EMPTY)
        # Scripts without spaces are indexed as pairs of signs; a single sign matches any pair that has it.
        terms = [term, *(pair for pair in self._lists if len(pair) == 2 and term in pair)]
        rows = _joined([self._lists.get(pair, _EMPTY) for pair in terms])
        again = _joined([self._again.get(pair, _EMPTY) for pair in terms])
        _, first = np.unique(again >> COUNT_BITS, return_index=True)
        return array("i", np.unique(rows).tobytes()), array("i", again[first].tobytes())


def _joined(lists: "Sequence[array[int]]") -> Entries:
    return np.frombuffer(b"".join(lists), np.int32)


def _moved(lists: Lists, place: NDArray[np.int64], count_bits: int) -> Lists:
    moved = {}
    for word, entries in lists.items():
        packed = np.array(entries, np.int32)
        rows = place[packed >> count_bits]
        moved_entries = (rows << count_bits | packed & ((1 << count_bits) - 1))[rows >= 0]
        if len(moved_entries):
            moved[word] = array("i", moved_entries.astype(np.int32).tobytes())
    return moved


def _weight(term: str, living: int, matching: int) -> float:
    return (ASKING if term in asking_terms() else 1.0) * idf(living, matching)
