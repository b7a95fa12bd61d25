"""Postings: which rows contain which terms, scored by BM25."""

from collections.abc import Sequence
from sys import getsizeof
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from acumen.index.arrays import Column, Flags, Floats, RowIds, starts_of_runs
from acumen.index.bm25 import idf, length_norm, term_saturation
from acumen.index.segments.term_codes import ROW_MASK, Codes, term_codes
from acumen.index.tokenizer import asking_terms, is_one_sign

# The weight of a term of asking ("recommend", "number") against a term of the subject.
ASKING = 0.5

# How often a row repeats a term is held in eight bits.
MOST = 255
# A block is joined with the one before it unless that is this many times as long: a handful of blocks for any history.
BLOCK_RATIO = 6

# A waiting text, in addition to its characters; a pair of signs.
BYTES_PER_TEXT = 57
BYTES_PER_PAIR = 110


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

    def saturation(self, rows: RowIds, counts: NDArray[Any]) -> Floats:
        return term_saturation(counts, self.norm[rows])


class _Block(Struct, frozen=True, eq=False):
    """Postings in order: a term's code with the row, and how often the row says it."""

    keys: Codes
    counts: NDArray[np.uint8]

    @staticmethod
    def of(codes: Codes, rows: RowIds) -> "_Block":
        keys = codes | rows.astype(np.uint64)
        keys.sort()
        first = starts_of_runs(keys)
        counts = np.minimum(np.diff(first, append=len(keys)), MOST)
        return _Block(keys[first], counts.astype(np.uint8))

    def joined_with(self, other: "_Block") -> "_Block":
        places = self.keys.searchsorted(other.keys) + np.arange(len(other.keys))
        others = np.zeros(len(self.keys) + len(other.keys), np.bool_)
        others[places] = True
        keys, counts = np.empty(len(others), np.uint64), np.empty(len(others), np.uint8)
        keys[others], counts[others] = other.keys, other.counts
        keys[~others], counts[~others] = self.keys, self.counts
        return _Block(keys, counts)

    def renumbered(self, place: NDArray[np.int64]) -> "_Block":
        rows = place[_rows(self.keys)]
        survives = rows >= 0
        keys = self.keys[survives] & ~ROW_MASK | rows[survives].astype(np.uint64)
        return _Block(keys, self.counts[survives])

    def entries(self, codes: Codes) -> "_Entries":
        bounds = zip(self.keys.searchsorted(codes), self.keys.searchsorted(codes | ROW_MASK, "right"), strict=True)
        slices = [slice(begin, end) for begin, end in bounds]
        sizes = [part.stop - part.start for part in slices]
        keys = np.concatenate([self.keys[part] for part in slices])
        counts = np.concatenate([self.counts[part] for part in slices])
        return _Entries(_rows(keys), counts, np.repeat(np.arange(len(codes)), sizes))


class _Entries(Struct, frozen=True, eq=False):
    """The postings of some terms; `term` is the place of each among them."""

    rows: RowIds
    counts: NDArray[np.uint8]
    term: RowIds


_NO_ENTRIES = _Entries(np.zeros(0, np.intp), np.zeros(0, np.uint8), np.zeros(0, np.intp))


class Postings:
    def __init__(self) -> None:
        self._blocks: list[_Block] = []
        self._waiting: list[str] = []
        self._waiting_bytes = 0
        self._lengths = Column(np.float32)
        self._pairs: set[str] = set()
        self._norms: _Lengths | None = None

    @property
    def bytes(self) -> int:
        blocks = sum(block.keys.nbytes + block.counts.nbytes for block in self._blocks)
        norms = 0 if self._norms is None else self._norms.norm.nbytes + self._norms.once.nbytes
        pairs = getsizeof(self._pairs) + len(self._pairs) * BYTES_PER_PAIR
        return blocks + self._lengths.nbytes + self._waiting_bytes + norms + pairs

    @property
    def size(self) -> int:
        """How many rows there are, the dead included."""
        return len(self._lengths) + len(self._waiting)

    def lengths(self) -> Floats:
        self._pack()
        return self._lengths.values

    def append(self, text: str) -> None:
        """A row; its terms stand between spaces."""
        self.extend((text,))

    def extend(self, texts: Sequence[str]) -> None:
        self._waiting.extend(texts)
        self._waiting_bytes += sum(map(len, texts)) + BYTES_PER_TEXT * len(texts)

    def sweep(self, survivors: RowIds) -> None:
        """Only the rows in `survivors` go on, renumbered."""
        self._pack()
        place = np.full(len(self._lengths), -1, np.int64)
        place[survivors] = np.arange(len(survivors))
        self._blocks = [block.renumbered(place) for block in self._blocks]
        self._lengths.replace(self._lengths.values[survivors])
        self._norms = None

    def matches(self, terms: Sequence[str], alive: Flags) -> list[TermMatch]:
        """The living rows of each term. A term that no row contains weighs too: it was asked for."""
        distinct = list(dict.fromkeys(terms))
        lengths, entries = self._read(alive), self._entries(distinct)
        matches = []
        for place, term in enumerate(distinct):
            asked = (entries.term == place) & alive[entries.rows]
            rows, counts = entries.rows[asked], entries.counts[asked].astype(np.float32)
            weight = term_weight(term, lengths.living, len(rows))
            matches.append(TermMatch(weight, rows, counts, lengths.saturation(rows, counts)))
        return matches

    def weights(self, terms: Sequence[str], alive: Flags) -> dict[str, float]:
        """The idf of each term among these rows."""
        distinct = list(dict.fromkeys(terms))
        weights = self._weights(distinct, self._entries(distinct), self._read(alive))
        return dict(zip(distinct, weights, strict=True))

    def matching(self, terms: Sequence[str], alive: Flags) -> list[int]:
        """How many living rows contain each term."""
        entries = self._entries(terms)
        return [int(count) for count in np.bincount(entries.term[alive[entries.rows]], minlength=len(terms))]

    def coverage_in(self, shares: Sequence[float], terms: Sequence[str], mean_length: float) -> Floats:
        """The same as part of a larger corpus, which gives each term its share of the question's information."""
        entries = self._entries(terms)
        norm = length_norm(self.lengths()[entries.rows], mean_length)
        covered = np.array(shares)[entries.term] * term_saturation(entries.counts.astype(np.float32), norm)
        return np.bincount(entries.rows, covered, self.size).astype(np.float32)

    def coverage(self, terms: Sequence[str], alive: Flags) -> Floats:
        """For every living row the share of the question's information that it contains, 0 to 1."""
        distinct = list(dict.fromkeys(terms))
        lengths, entries = self._read(alive), self._entries(distinct)
        weights = np.array(self._weights(distinct, entries, lengths))
        once = (weights / (weights.sum() or 1.0))[entries.term]
        # As if every row said a term once, and then what saying it again adds.
        again = np.flatnonzero(entries.counts > 1)
        rows = entries.rows[again]
        more = once[again] * (lengths.saturation(rows, entries.counts[again]) / lengths.once[rows] - 1)
        once[again] += more
        covered = np.bincount(entries.rows, once, self.size).astype(np.float32)
        covered *= lengths.once
        return covered

    def _weights(self, terms: Sequence[str], entries: _Entries, lengths: _Lengths) -> list[float]:
        """Only the living count."""
        term = entries.term
        if lengths.living < self.size:
            term = term[lengths.alive[entries.rows]]
        sizes = np.bincount(term, minlength=len(terms)).tolist()
        return [term_weight(term, lengths.living, size) for term, size in zip(terms, sizes, strict=True)]

    def _read(self, alive: Flags) -> _Lengths:
        """Computed again when rows have come or gone: `alive` is another array then."""
        self._pack()
        if self._norms is None or self._norms.alive is not alive:
            self._norms = _Lengths.of(self._lengths.values, alive)
        return self._norms

    def _entries(self, terms: Sequence[str]) -> _Entries:
        """The rows that contain these terms, dead ones included."""
        self._pack()
        signs = [place for place, term in enumerate(terms) if not term.isascii() and is_one_sign(term)]
        parts = self._found(terms) + [self._within_pairs(terms[place], place) for place in signs]
        if len(parts) == 1:
            return parts[0]
        rows, counts, term = (np.concatenate(columns) for columns in zip(*map(_columns, parts), strict=True))
        if not signs:
            return _Entries(rows, counts, term)
        _, first = np.unique(term << 32 | rows, return_index=True)
        return _Entries(rows[first], counts[first], term[first])

    def _found(self, terms: Sequence[str]) -> list[_Entries]:
        if not terms or not self._blocks:
            return [_NO_ENTRIES]
        codes, _ = term_codes([" ".join(terms)])
        return [block.entries(codes) for block in self._blocks]

    def _within_pairs(self, sign: str, place: int) -> _Entries:
        """Scripts without spaces are indexed as pairs of signs; a single sign matches any pair that has it."""
        pairs = [pair for pair in self._pairs if sign in pair]
        rows, counts, _ = (np.concatenate(part) for part in zip(*map(_columns, self._found(pairs)), strict=True))
        return _Entries(rows, counts, np.full(len(rows), place))

    def _pack(self) -> None:
        if not self._waiting:
            return
        texts, self._waiting, self._waiting_bytes = self._waiting, [], 0
        codes, rows = term_codes(texts)
        block = _Block.of(codes, rows + len(self._lengths))
        self._lengths.extend(np.bincount(rows, minlength=len(texts)))
        while self._blocks and len(self._blocks[-1].keys) < BLOCK_RATIO * len(block.keys):
            block = self._blocks.pop().joined_with(block)
        self._blocks.append(block)
        self._pairs |= pairs_in(texts)


def _rows(keys: Codes) -> RowIds:
    return (keys & ROW_MASK).astype(np.intp)


def _columns(entries: _Entries) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    return entries.rows, entries.counts, entries.term


def pairs_in(texts: Sequence[str]) -> set[str]:
    """The terms that are pairs of signs of scripts without spaces."""
    words = (word for text in texts if not text.isascii() for word in text.split(" "))
    return {word for word in words if len(word) == 2 and not word.isascii()}


def term_weight(term: str, living: int, matching: int) -> float:
    return (ASKING if term in asking_terms() else 1.0) * idf(living, matching)
