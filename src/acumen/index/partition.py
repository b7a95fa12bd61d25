"""An index in memory over the rows of one scope, exact over all of them. Not thread-safe: give each its lock."""

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Generic, Protocol, TypeVar

import numpy as np
from msgspec import Struct

from acumen.index import fusion
from acumen.index.arrays import AnyFloats, Flags, Floats, Ints, RowIds
from acumen.index.days import CalendarDay, days
from acumen.index.postings import Postings
from acumen.index.rows import Load, Rows
from acumen.index.similarity import Cosines, QueryVector, Similarities
from acumen.index.tokenizer import terms
from acumen.index.vectors import Vectors
from acumen.model.memories.search import Found, RankingMode

F = TypeVar("F")

# Rounding the query moves the score of a row against another's by no more than this.
ROUNDED = 0.005
# A score below this is none, for any threshold.
NOTHING = 1e-6


class RankQuery(Struct, frozen=True, eq=False, dict=True):
    """Without a vector a hybrid query is answered by its words."""

    terms: Sequence[str]
    vector: Floats | None = None
    mode: RankingMode = RankingMode.HYBRID
    text: str = ""

    @staticmethod
    def of(text: str, vector: Floats | None = None, mode: RankingMode = RankingMode.HYBRID) -> "RankQuery":
        return RankQuery(terms(text), vector, mode, text)

    @cached_property
    def query_vector(self) -> QueryVector | None:
        return QueryVector.of(self.vector) if self.by_vector and self.vector is not None else None

    @property
    def days(self) -> Sequence[CalendarDay]:
        """Only turns are ranked by them, so they are read on demand."""
        return days(self.text)

    @property
    def by_words(self) -> bool:
        return self.mode != RankingMode.VECTOR

    @property
    def by_vector(self) -> bool:
        return self.mode != RankingMode.FTS and self.vector is not None

    @property
    def floor(self) -> float:
        """In full text any shared word is a hit; by vector everything is a little similar."""
        return fusion.FLOOR if self.by_vector else NOTHING


class Scored(Struct, frozen=True, eq=False):
    """Rows in their order, with their scores and the score of each arm of the search."""

    rows: RowIds
    scores: Floats
    arms: dict[str, Floats]

    def best(self, floor: float, limit: int, keys: Callable[[int], str]) -> list[Found]:
        """From the floor on; among equals (the last digits of a float are chance) the newest."""
        rows, scores = self.rows.tolist(), self.scores.tolist()
        arms = {arm: values.tolist() for arm, values in self.arms.items()}
        order = sorted(range(len(rows)), key=lambda place: (-round(scores[place] * 1e6), -rows[place]))
        return [
            Found(
                keys(rows[place]),
                min(_four_digits(scores[place]), 1.0),
                {arm: _four_digits(values[place]) for arm, values in arms.items()},
            )
            for place in order[:limit]
            if scores[place] >= floor
        ]


def _four_digits(number: float) -> float:
    """`round(number, 4)` in a quarter of its time."""
    return round(number * 1e4) / 1e4


class Scorer(Protocol):
    """Scores rows for one query: all of them up to rounding, some of them exactly."""

    def approximate(self) -> Floats: ...
    def exact(self, rows: RowIds) -> Scored: ...
    def words(self) -> Floats | None: ...
    def cosines(self) -> Floats | None: ...


class IndexedRows(Generic[F]):
    """Rows under keys with their postings and vectors. A facet is what `accept` may filter by."""

    def __init__(self) -> None:
        self._rows = Rows[F]()
        self._words = Postings()
        self._vectors = Vectors()

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, key: object) -> bool:
        return key in self._rows

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    @property
    def bytes(self) -> int:
        """About how much memory this takes."""
        return self._rows.bytes + self._words.bytes + self._vectors.bytes

    def set_vector(self, key: str, vector: AnyFloats) -> bool:
        """For a row that was put without one; False if the row is gone."""
        row = self._rows.row(key)
        if row is None:
            return False
        self._vectors.set(row, vector)
        return True

    def facet(self, key: str) -> F:
        """KeyError if there is no such row."""
        return self._rows.facet_of(key)

    def key(self, row: int) -> str:
        return self._rows.key(row)

    def forget_facets(self) -> None:
        """They are read again when they are needed."""
        self._rows.forget_facets()

    def rank(
        self,
        query: RankQuery,
        limit: int,
        accept: Callable[[F], bool] | None = None,
        threshold: float | None = None,
        load: Load[F] | None = None,
    ) -> list[Found]:
        """The best rows that `accept` lets through, best first, newest first among equals; perhaps none.

        `threshold` is a cosine: a row with a shared word needs none. `load` reads facets that were not put.
        """
        if not len(self) or limit <= 0 or not (query.by_words or query.by_vector):
            return []
        scorer = self._scorer(query)
        scores, floor = admissible(scorer, query, threshold)
        rows = self._rows.first(scores, max(floor - ROUNDED, NOTHING), limit, accept, ROUNDED, load)
        return scorer.exact(np.array(rows, np.intp)).best(floor, limit, self._rows.key)

    def _scorer(self, query: RankQuery) -> Scorer:
        raise NotImplementedError

    def _similarities(self, query: RankQuery) -> Similarities | None:
        return None if query.query_vector is None else self._vectors.similarities(query.query_vector)


def admissible(scorer: Scorer, query: RankQuery, threshold: float | None) -> tuple[Floats, float]:
    """The scores, up to rounding, of rows that the threshold admits, below 0 for others; and the least one of a hit."""
    scores, cosines, floor = scorer.approximate(), scorer.cosines(), query.floor
    if threshold is None or cosines is None:
        return scores, floor
    admitted = _admitted(scorer, scores, min(floor, threshold), cosines >= threshold)
    return np.where(admitted, scores, np.float32(-1)), NOTHING


def _admitted(scorer: Scorer, scores: Floats, floor: float, similar: Flags) -> Flags:
    words = scorer.words()
    return similar if words is None else similar | ((words > 0) & (scores >= floor))


class Partition(IndexedRows[F]):
    """Texts without neighbours: memories."""

    def put(self, key: str, text: str, vector: Floats | None, facet: F, *, words: Sequence[str] | None = None) -> None:
        """Insert or replace. `words` are the terms of the text if the caller has them already."""
        self.drop(key)
        self._rows.add(key, facet)
        self._words.append(" ".join(terms(text) if words is None else words))
        self._vectors.append(vector)

    def put_all(self, keys: Sequence[str], words: Sequence[str], vectors: AnyFloats, counts: Ints) -> None:
        """Many at once: the terms of each between spaces, `counts` says how many lines of `vectors` each has."""
        for key in keys:
            self.drop(key)
        self._rows.add_all(keys)
        self._words.extend(words)
        self._vectors.extend(vectors, counts)

    def drop(self, key: str) -> bool:
        """False if there was no such row."""
        if self._rows.kill(key) is None:
            return False
        survivors = self._rows.sweep()
        if survivors is not None:
            self._words.sweep(survivors)
            self._vectors.sweep(survivors)
        return True

    @property
    def words(self) -> float:
        """How many there are in all living rows."""
        return float(self._words.lengths()[self._rows.alive()].sum())

    def alive(self) -> Flags:
        return self._rows.alive()

    def matching(self, terms: Sequence[str]) -> list[int]:
        """How many rows contain each term."""
        return self._words.matching(terms, self._rows.alive())

    def coverage_in(self, shares: Sequence[float], terms: Sequence[str], mean_length: float) -> Floats:
        """Of every row, as part of a larger corpus; see `Postings`."""
        return self._words.coverage_in(shares, terms, mean_length)

    def cosines(self, query: QueryVector) -> Floats:
        return self._vectors.similarities(query).cosines

    def exact_cosines(self, query: QueryVector, rows: RowIds) -> tuple[Floats, Flags]:
        """Of these rows, and whether each has a vector."""
        similarities = self._vectors.similarities(query)
        return similarities.exact(rows), similarities.has_vector[rows]

    def _scorer(self, query: RankQuery) -> Scorer:
        words = self._words.coverage(query.terms, self._rows.alive()) if query.by_words else None
        return MemoryScorer(words, self._similarities(query))


class MemoryScorer:
    """By the words a text shares with the query, and by its similarity."""

    def __init__(self, words: Floats | None, similarities: Cosines | None) -> None:
        self._words = words
        self._similarities = similarities

    def words(self) -> Floats | None:
        return self._words

    def cosines(self) -> Floats | None:
        return None if self._similarities is None else self._similarities.cosines

    def approximate(self) -> Floats:
        return self._fused(slice(None), self.cosines())

    def exact(self, rows: RowIds) -> Scored:
        arms = {} if self._words is None else {"fts": self._words[rows]}
        if self._similarities is not None:
            arms["vector"] = self._similarities.exact(rows)
        return Scored(rows, self._fused(rows, arms.get("vector")), arms)

    def _fused(self, rows: RowIds | slice, cosines: Floats | None) -> Floats:
        words = None if self._words is None else self._words[rows]
        if self._similarities is None or cosines is None:
            return np.zeros(0, np.float32) if words is None else words
        similarities = fusion.similarity(cosines)
        if words is None:
            return similarities
        has_vector = None if self._similarities.all_have_vectors else self._similarities.has_vector[rows]
        return fusion.fuse_memory(words, similarities, has_vector)
