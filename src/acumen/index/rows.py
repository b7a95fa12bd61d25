"""The rows of a partition: their keys, their facets, and which of them still live."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from sys import getsizeof
from typing import Generic, TypeVar

import numpy as np

from acumen.index.arrays import Column, Flags, Floats, RowIds

F = TypeVar("F")

# Dead rows are swept when they outnumber the living, but not for a handful.
FEW_DEAD = 1024

# This many rows for each one wanted are scored exactly, if their scores are as close together.
CLOSER_LOOK = 4

# A key in addition to its characters, and the number of its row.
BYTES_PER_KEY = 81
# A facet with the values it owns and its entry in the dict.
BYTES_PER_FACET = 650

# Reads facets that are not in memory; what is left out does not exist.
Load = Callable[[Sequence[str]], Mapping[str, F]]


class Rows(Generic[F]):
    """Rows are numbered in the order they came; a number stays until the dead are swept."""

    def __init__(self) -> None:
        self._of_key: dict[str, int] = {}
        self._keys: list[str] = []
        self._key_bytes = 0
        self._facets: dict[int, F] = {}
        self._alive = Column(np.bool_)
        self._living: Flags | None = None

    def __len__(self) -> int:
        return len(self._of_key)

    def __contains__(self, key: object) -> bool:
        return key in self._of_key

    def __iter__(self) -> Iterator[str]:
        return iter(self._of_key)

    @property
    def bytes(self) -> int:
        keys = getsizeof(self._of_key) + getsizeof(self._keys) + self._key_bytes
        return keys + len(self._facets) * BYTES_PER_FACET + 2 * self._alive.nbytes

    def row(self, key: str) -> int | None:
        return self._of_key.get(key)

    def row_of(self, key: str) -> int:
        """KeyError if there is no such row."""
        return self._of_key[key]

    def key(self, row: int) -> str:
        return self._keys[row]

    def facet(self, row: int) -> F:
        return self._facets[row]

    def facet_of(self, key: str) -> F:
        return self._facets[self._of_key[key]]

    def alive(self) -> Flags:
        """Not to be written to: it is the same until rows come or go."""
        if self._living is None:
            self._living = self._alive.values.copy()
        return self._living

    def add(self, key: str, facet: F) -> int:
        row = len(self._keys)
        self.add_all([key])
        self._facets[row] = facet
        return row

    def add_all(self, keys: Sequence[str]) -> None:
        """New ones, whose facets are read when they are needed."""
        row = len(self._keys)
        self._of_key.update(zip(keys, range(row, row + len(keys)), strict=True))
        self._keys.extend(keys)
        self._key_bytes += sum(map(len, keys)) + BYTES_PER_KEY * len(keys)
        self._alive.extend(np.ones(len(keys), np.bool_))
        self._living = None

    def forget_facets(self) -> None:
        self._facets.clear()

    def kill(self, key: str) -> int | None:
        """The row that died, None if there was none."""
        row = self._of_key.pop(key, None)
        if row is not None:
            self._alive.values[row] = False
            self._facets.pop(row, None)
            self._living = None
        return row

    def sweep(self) -> RowIds | None:
        """Forget the dead if they outnumber the living; what was row `survivors[i]` is row i from then on."""
        if len(self._keys) - len(self) <= max(FEW_DEAD, len(self)):
            return None
        survivors = np.flatnonzero(self.alive())
        self._keys = [self._keys[row] for row in survivors.tolist()]
        self._facets = {new: self._facets[old] for new, old in enumerate(survivors.tolist()) if old in self._facets}
        self._of_key = {key: row for row, key in enumerate(self._keys)}
        self._key_bytes = sum(map(len, self._keys)) + BYTES_PER_KEY * len(self._keys)
        self._alive.replace(np.ones(len(self._keys), np.bool_))
        self._living = None
        return survivors

    def first(
        self,
        scores: Floats,
        floor: float,
        most: int,
        accept: Callable[[F], bool] | None,
        margin: float,
        load: Load[F] | None = None,
    ) -> list[int]:
        """The best rows from the floor on that live and are accepted: `most`, and a few within the margin of them."""
        accepted: list[int] = []
        if len(self) < len(self._keys):
            scores = np.where(self.alive(), scores, np.float32(-1))
        for rows, row_scores in descending(scores, floor, 2 * most):
            if load is not None:
                self._load([row for row, score in zip(rows, row_scores, strict=True) if score >= floor], load)
            for row, score in zip(rows, row_scores, strict=True):
                if score < floor or len(accepted) == CLOSER_LOOK * most:
                    return accepted
                if accept is None or self._accepted(row, accept):
                    accepted.append(row)
                    if len(accepted) == most:
                        floor = score - margin
        return accepted

    def _load(self, rows: Sequence[int], load: Load[F]) -> None:
        missing = [row for row in rows if row not in self._facets]
        facets = load([self._keys[row] for row in missing]) if missing else {}
        self._facets.update((row, facets[key]) for row in missing if (key := self._keys[row]) in facets)

    def _accepted(self, row: int, accept: Callable[[F], bool]) -> bool:
        return row in self._facets and accept(self._facets[row])


def descending(scores: Floats, floor: float, most: int) -> Iterator[tuple[list[int], list[float]]]:
    """Places and scores from the best down, a few at a time, sorted only as far as it is walked.

    Among equals (the last digits of a float are chance) the newest, which stand last.
    """
    line = np.inf
    while line > floor:
        walked, line = line, max(_best_but(most, scores), floor)
        reached = scores >= line
        if walked < np.inf:
            reached &= scores < walked
        best = reached.nonzero()[0][::-1]
        best = best[np.negative(scores[best].round(6)).argsort(kind="stable")]
        for start in range(0, len(best), most):
            part = best[start : start + most]
            yield part.tolist(), scores[part].tolist()
        most *= 4


def _best_but(many: int, scores: Floats) -> float:
    """The score that this many reach; any score where there are not that many."""
    return -np.inf if len(scores) <= many else float(np.partition(scores, len(scores) - many)[len(scores) - many])
