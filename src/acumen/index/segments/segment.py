"""A segment, opened: which of its rows may answer a query, and what each says exactly."""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from acumen.index.arrays import Flags, Floats, Ints, RowIds, starts_of_runs
from acumen.index.bm25 import length_norm
from acumen.index.segments.codes import signs_of, text_codes
from acumen.index.segments.segment_files import PLANES, Header, SegmentArrays
from acumen.index.segments.segment_filter import admitted
from acumen.index.segments.term_codes import term_codes
from acumen.index.similarity import QueryVector
from acumen.index.tokenizer import is_one_sign
from acumen.model.memories.search import Filter

# Candidates of each arm of a search. Measured with the bench line `million-memories`.
BY_WORDS, BY_VECTOR = 400, 1000
# Mentions that are read to find candidates by their words, those of the rarest terms first.
MOST_MENTIONS = 100_000
# Of a row that is no candidate.
NO_DISTANCE = np.iinfo(np.uint16).max
ROWS_AT_ONCE = 8192


class Span(Struct, frozen=True):
    """The rows of a scope, which stand together."""

    begin: int
    end: int

    def __len__(self) -> int:
        return self.end - self.begin


class Mentions(Struct, frozen=True, eq=False):
    """The rows of a span that contain a term, each as often as it does, in order; and how many rows these are."""

    rows: Ints
    matching: int

    @staticmethod
    def of(rows: Ints) -> "Mentions":
        return Mentions(rows, len(starts_of_runs(rows)))

    def distinct(self) -> tuple[Ints, Floats]:
        """The rows, and how often each contains it."""
        starts = starts_of_runs(self.rows)
        return self.rows[starts], np.diff(starts, append=len(self.rows)).astype(np.float32)

    def counts(self, rows: RowIds) -> Floats:
        """How often each of these rows contains it."""
        wanted = rows.astype(self.rows.dtype)  # of another type, it would be all the others that are converted
        return (self.rows.searchsorted(wanted, "right") - self.rows.searchsorted(wanted)).astype(np.float32)


class Segment:
    """The memories of one kind of an org, as they were when it was built."""

    def __init__(self, path: Path, header: Header) -> None:
        self.path = path
        self.header = header
        self.arrays = SegmentArrays(path, header)
        self._planes = [self.arrays[f"signs_{plane}"] for plane in range(PLANES)]

    def is_of_generation(self, generation: int) -> bool:
        return self.header.generation == generation

    def span(self, user: str | None) -> Span:
        """Of one user, or of all."""
        if user is None:
            return Span(0, self.header.rows)
        codes, order = self._users
        place = int(codes.searchsorted(text_codes([user])[0]))
        if place == len(codes) or codes[place] != text_codes([user])[0]:
            return Span(0, 0)
        starts = self.arrays["user_starts"]
        return Span(int(starts[order[place]]), int(starts[order[place] + 1]))

    def rows_of(self, ids: Sequence[str]) -> RowIds:
        """Of the ids that it knows."""
        codes, wanted = self.arrays["id_codes"], text_codes(ids)
        if not len(codes):
            return np.zeros(0, np.intp)
        places = np.minimum(codes.searchsorted(wanted), len(codes) - 1)
        rows: RowIds = self.arrays["id_rows"][places[codes[places] == wanted]].astype(np.intp)
        return rows

    def ids(self, rows: RowIds) -> list[str]:
        starts, letters = self.arrays["id_starts"], self.arrays["ids"]
        bounds = zip(starts[rows].tolist(), starts[rows + 1].tolist(), strict=True)
        return [letters[begin:end].tobytes().decode() for begin, end in bounds]

    def words(self, span: Span) -> float:
        """How many there are in all rows of the span."""
        if len(span) == self.header.rows:
            return self.header.mean_length * self.header.rows
        return float(self.arrays["lengths"][span.begin : span.end].sum())

    def mentions(self, term: str, span: Span) -> "Mentions":
        if term.isascii() or not is_one_sign(term):
            return self._mentions(term, span)
        forms = [term, *(pair for pair in self.header.pairs if term in pair)]
        return Mentions.of(np.sort(np.concatenate([self._mentions(form, span).rows for form in forms])))

    def _mentions(self, term: str, span: Span) -> "Mentions":
        codes, starts = self.arrays["term_codes"], self.arrays["term_starts"]
        code = term_codes([term])[0][0]
        place = int(codes.searchsorted(code))
        if place == len(codes) or codes[place] != code:
            return Mentions(np.zeros(0, np.int32), 0)
        rows: Ints = self.arrays["term_rows"][int(starts[place]) : int(starts[place + 1])]
        if len(span) == self.header.rows:
            return Mentions(rows, int(self.arrays["term_matching"][place]))
        begin, end = rows.searchsorted(np.array([span.begin, span.end], rows.dtype))
        return Mentions.of(rows[begin:end])

    def closest(self, query: QueryVector, span: Span, allowed: Flags | None, many: int) -> RowIds:
        """The rows of the span whose vectors point into the same half-spaces as the query's, and are allowed."""
        distances = self._distances(signs_of(query.rounded)[0], span)
        distances[self.arrays["scales"][span.begin : span.end] == 0] = NO_DISTANCE
        if allowed is not None:
            distances[~allowed] = NO_DISTANCE
        line = NO_DISTANCE - 1 if len(distances) <= many else min(np.partition(distances, many)[many], NO_DISTANCE - 1)
        return span.begin + np.flatnonzero(distances <= line)

    def _distances(self, signs: NDArray[np.uint64], span: Span) -> NDArray[np.uint16]:
        """In how many signs each row of the span differs; a part at a time, which stays in the processor's cache."""
        distances = np.zeros(len(span), np.uint16)
        for begin in range(0, len(span), ROWS_AT_ONCE):
            part = distances[begin : begin + ROWS_AT_ONCE]
            differ, counts = np.empty(len(part), np.uint64), np.empty(len(part), np.uint8)
            for plane, sign in zip(self._planes, signs, strict=True):
                first = span.begin + begin
                np.bitwise_xor(plane[first : first + len(part)], sign, out=differ)
                part += np.bitwise_count(differ, out=counts)
        return distances

    def cosines(self, query: QueryVector, rows: RowIds) -> tuple[Floats, Flags]:
        """Of these rows exactly, and whether each has a vector."""
        scales = self.arrays["scales"][rows]
        numbers = self.arrays.lines("vectors", rows, self.header.dims)
        cosines: Floats = numbers.astype(np.float32) @ query.unit * scales
        return cosines, scales > 0

    def allowed(self, criteria: Filter, span: Span) -> Flags | None:
        """Which rows of the span the filter admits, up to a few too many; None if all."""
        return admitted(self.arrays, criteria, slice(span.begin, span.end))

    def norm(self, rows: NDArray[np.signedinteger[Any]], mean_length: float) -> Floats:
        return length_norm(self.arrays["lengths"][rows], mean_length)

    @cached_property
    def _users(self) -> tuple[NDArray[np.uint64], RowIds]:
        """Their hashes in order, and the place of each user."""
        codes = self.arrays["user_codes"]
        order = np.argsort(codes)
        return codes[order], order
