"""An index in memory over the rows of one scope, exact over all of them. Not thread-safe: give each its lock."""

from collections.abc import Callable, Iterator, Sequence
from typing import Generic, Protocol, TypeVar

import numpy as np
from msgspec import Struct, field

from acumen.model.search import Mode
from acumen.recall import fuse
from acumen.recall.days import Day, days
from acumen.recall.fuse import Floats
from acumen.recall.postings import Postings, coverage
from acumen.recall.rows import RowIds, Rows, newest_first
from acumen.recall.vectors import Near, Vectors
from acumen.recall.words import terms

F = TypeVar("F")

# Rows looked at closely for each one wanted: estimates may have put the best a little further down.
CLOSER_LOOK = 4
AT_LEAST = 32
# Estimates may also have put a row under the line that stands above it: so far below it is looked.
DOUBT = 0.25
# The best rows by words are compared by meaning too, however far sign bits put them: so many for each one wanted.
BY_WORDS = 10
# Nothing is found by nothing, whatever threshold is asked for.
NOTHING = 1e-6


class Question(Struct, frozen=True, eq=False):
    """What is asked. Without a vector a hybrid question is answered by its words."""

    terms: Sequence[str]
    vector: Floats | None = None
    mode: Mode = Mode.HYBRID
    days: Sequence[Day] = ()

    @staticmethod
    def of(text: str, vector: Floats | None = None, mode: Mode = Mode.HYBRID) -> "Question":
        return Question(terms(text), vector, mode, days(text))

    @property
    def by_words(self) -> bool:
        return self.mode != Mode.VECTOR

    @property
    def by_meaning(self) -> bool:
        return self.mode != Mode.FTS and self.vector is not None

    def floor(self, threshold: float | None) -> float:
        """In full text any shared word is a hit; where meaning speaks, everything is a little alike."""
        usual = fuse.FLOOR if self.by_meaning else NOTHING
        return max(usual if threshold is None else threshold, NOTHING)


class Hit(Struct, frozen=True):
    """A row that was found; `reasons` holds what each arm of the search said of it."""

    key: str
    score: float
    reasons: dict[str, float] = field(default_factory=dict)


class Judge(Protocol):
    """Scores all rows for one question; `sharpen` makes sure of some of them."""

    def scores(self, rows: RowIds | None = None) -> Floats: ...
    def sharpen(self, rows: RowIds) -> bool: ...
    def reasons(self, row: int) -> dict[str, float]: ...


class Partition(Generic[F]):
    """Rows under keys, found by words and by meaning. A facet is what `accept` may filter by."""

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
        """About how much memory this holds."""
        return self._rows.bytes + self._words.bytes + self._vectors.bytes

    def put(self, key: str, text: str, vector: Floats | None, facet: F, *, words: Sequence[str] | None = None) -> None:
        """Insert or replace. `words` are the terms of the text if the caller has them already."""
        self.drop(key)
        self._rows.add(key, facet)
        self._words.append(terms(text) if words is None else words)
        self._vectors.append(vector)

    def drop(self, key: str) -> bool:
        """Forget a row; False if it was not here."""
        if self._rows.kill(key) is None:
            return False
        kept = self._rows.sweep()
        if kept is not None:
            self._words.sweep(kept)
            self._vectors.sweep(kept)
        return True

    def set_vector(self, key: str, vector: Floats) -> bool:
        """Give a row its meaning once it is known; False if the row is gone."""
        row = self._rows.row(key)
        if row is None:
            return False
        self._vectors.set(row, vector)
        return True

    def facet(self, key: str) -> F:
        """KeyError if there is no such row."""
        return self._rows.facet_of(key)

    def rank(
        self,
        question: Question,
        limit: int,
        accept: Callable[[F], bool] | None = None,
        threshold: float | None = None,
    ) -> list[Hit]:
        """The best rows that `accept` lets through, best first, newest first among equals; perhaps none."""
        if not len(self) or limit <= 0 or not (question.by_words or question.by_meaning):
            return []
        words = self._covered(question) if question.by_words else None
        near = (
            None if question.vector is None or not question.by_meaning else self._vectors.near(question.vector, limit)
        )
        judge = _Memories(words, near)
        if words is not None:
            judge.sharpen(leaders(words, BY_WORDS * limit))
        return best(self._rows, judge, question.floor(threshold), limit, accept)

    def _covered(self, question: Question) -> Floats:
        return coverage(self._words.holdings(question.terms, self._rows.alive()), self._words.size)


def best(rows: Rows[F], judge: Judge, floor: float, limit: int, accept: Callable[[F], bool] | None) -> list[Hit]:
    """Walk down the ranking of all rows, look closely at those that may matter, and rank these for good."""
    seen = rows.first(judge.scores(), floor * DOUBT, max(CLOSER_LOOK * limit, AT_LEAST), accept)
    judge.sharpen(seen)
    ranked, scores = newest_first(seen, judge.scores(seen))
    return [
        Hit(rows.key(row), min(score, 1.0), judge.reasons(row))
        for row, score in zip(ranked[:limit].tolist(), scores[:limit].tolist(), strict=True)
        if score >= floor
    ]


class _Memories:
    """Judges texts that stand by themselves."""

    def __init__(self, words: Floats | None, near: Near | None) -> None:
        self._words = words
        self._near = near

    def scores(self, rows: RowIds | None = None) -> Floats:
        """Of these rows, in their order, or of all."""
        which = slice(None) if rows is None else rows
        words = None if self._words is None else self._words[which]
        if self._near is None:
            return np.zeros(0, np.float32) if words is None else words
        meanings = fuse.meaning(self._near.cosines[which])
        return meanings if words is None else fuse.memory(words, meanings, self._near.known[which])

    def sharpen(self, rows: RowIds) -> bool:
        return self._near is not None and self._near.sharpen(rows)

    def reasons(self, row: int) -> dict[str, float]:
        found = {}
        if self._words is not None:
            found["fts"] = round(float(self._words[row]), 4)
        if self._near is not None:
            found["vector"] = round(float(self._near.cosines[row]), 4)
        return found


def leaders(scores: Floats, most: int) -> RowIds:
    """The rows with the highest scores above 0, about `most` of them."""
    rows = np.flatnonzero(scores > 0)
    return rows if len(rows) <= most else rows[np.argpartition(scores[rows], len(rows) - most)[len(rows) - most :]]
