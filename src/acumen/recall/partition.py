"""An index in memory over the rows of one scope, exact over all of them. Not thread-safe: give each its lock."""

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Generic, Protocol, TypeVar

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from acumen.model.memories.search import Found, RankingMode
from acumen.recall import fuse
from acumen.recall.days import CalendarDay, days
from acumen.recall.fuse import Floats
from acumen.recall.postings import Postings
from acumen.recall.rows import RowIds, Rows
from acumen.recall.vectors import Aim, Near, Vectors
from acumen.recall.words import terms

F = TypeVar("F")

# By so much a question that is rounded may have moved the score of one row against another's, with room to spare.
ROUNDED = 0.005
# Nothing is found by nothing, whatever threshold is asked for.
NOTHING = 1e-6


class RankQuery(Struct, frozen=True, eq=False, dict=True):
    """What is asked. Without a vector a hybrid question is answered by its words."""

    terms: Sequence[str]
    vector: Floats | None = None
    mode: RankingMode = RankingMode.HYBRID
    text: str = ""

    @staticmethod
    def of(text: str, vector: Floats | None = None, mode: RankingMode = RankingMode.HYBRID) -> "RankQuery":
        return RankQuery(terms(text), vector, mode, text)

    @cached_property
    def aim(self) -> Aim | None:
        """None where meaning is not asked for."""
        return Aim.at(self.vector) if self.by_meaning and self.vector is not None else None

    @property
    def days(self) -> Sequence[CalendarDay]:
        """Read when they are asked for: memories do not care."""
        return days(self.text)

    @property
    def by_words(self) -> bool:
        return self.mode != RankingMode.VECTOR

    @property
    def by_meaning(self) -> bool:
        return self.mode != RankingMode.FTS and self.vector is not None

    @property
    def floor(self) -> float:
        """In full text any shared word is a hit; where meaning speaks, everything is a little alike."""
        return fuse.FLOOR if self.by_meaning else NOTHING


class Scored(Struct, frozen=True, eq=False):
    """Rows in their order, with their scores and what each arm of the search said of them."""

    rows: RowIds
    scores: Floats
    arms: dict[str, Floats]

    def best(self, floor: float, limit: int, keys: Callable[[int], str]) -> list[Found]:
        """From the floor on; among equals (the last digits of a float are chance) the newest."""
        rows, scores = self.rows.tolist(), self.scores.tolist()
        arms = {arm: said.tolist() for arm, said in self.arms.items()}
        order = sorted(range(len(rows)), key=lambda place: (-round(scores[place] * 1e6), -rows[place]))
        return [
            Found(
                keys(rows[place]),
                min(_four_digits(scores[place]), 1.0),
                {arm: _four_digits(said[place]) for arm, said in arms.items()},
            )
            for place in order[:limit]
            if scores[place] >= floor
        ]


def _four_digits(number: float) -> float:
    """`round(number, 4)` in a quarter of its time."""
    return round(number * 1e4) / 1e4


class Judge(Protocol):
    """Scores rows for one question: all of them but for rounding, some of them for good."""

    def roughly(self) -> Floats: ...
    def exactly(self, rows: RowIds) -> Scored: ...
    def words(self) -> Floats | None: ...
    def cosines(self) -> Floats | None: ...


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
        question: RankQuery,
        limit: int,
        accept: Callable[[F], bool] | None = None,
        threshold: float | None = None,
    ) -> list[Found]:
        """The best rows that `accept` lets through, best first, newest first among equals; perhaps none."""
        if not len(self) or limit <= 0 or not (question.by_words or question.by_meaning):
            return []
        words = self._words.coverage(question.terms, self._rows.alive()) if question.by_words else None
        near = None if question.aim is None else self._vectors.near(question.aim)
        return best(self._rows, _Memories(words, near), question.floor, threshold, limit, accept)


def best(
    rows: Rows[F],
    judge: Judge,
    floor: float,
    threshold: float | None,
    limit: int,
    accept: Callable[[F], bool] | None,
) -> list[Found]:
    """The best of all rows that `accept` lets through. `threshold` is a cosine: a row with a shared word needs none."""
    scores, cosines = judge.roughly(), judge.cosines()
    if threshold is not None and cosines is not None:
        admitted = _admitted(judge, scores, min(floor, threshold), cosines >= threshold)
        scores, floor = np.where(admitted, scores, np.float32(-1)), NOTHING
    seen = rows.first(scores, max(floor - ROUNDED, NOTHING), limit, accept, ROUNDED)
    return judge.exactly(np.array(seen, np.intp)).best(floor, limit, rows.key)


def _admitted(judge: Judge, scores: Floats, floor: float, near: NDArray[np.bool_]) -> NDArray[np.bool_]:
    words = judge.words()
    return near if words is None else near | ((words > 0) & (scores >= floor))


class _Memories:
    """Judges texts that stand by themselves."""

    def __init__(self, words: Floats | None, near: Near | None) -> None:
        self._words = words
        self._near = near

    def words(self) -> Floats | None:
        return self._words

    def cosines(self) -> Floats | None:
        return None if self._near is None else self._near.cosines

    def roughly(self) -> Floats:
        return self._fused(slice(None), None if self._near is None else self._near.cosines)

    def exactly(self, rows: RowIds) -> Scored:
        arms = {} if self._words is None else {"fts": self._words[rows]}
        if self._near is not None:
            arms["vector"] = self._near.exact(rows)
        return Scored(rows, self._fused(rows, arms.get("vector")), arms)

    def _fused(self, rows: RowIds | slice, cosines: Floats | None) -> Floats:
        words = None if self._words is None else self._words[rows]
        if self._near is None or cosines is None:
            return np.zeros(0, np.float32) if words is None else words
        meanings = fuse.meaning(cosines)
        if words is None:
            return meanings
        return fuse.memory(words, meanings, None if self._near.all_known else self._near.known[rows])
