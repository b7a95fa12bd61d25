"""The rows of a partition: their keys, their facets, and which of them still live."""

from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

import numpy as np

from acumen.index.arrays import Flags, Floats, RowIds

F = TypeVar("F")

# Dead rows are swept when they outnumber the living, but not for a handful.
FEW_DEAD = 1024

# This many rows for each one wanted are scored exactly, if their scores are as close together.
CLOSER_LOOK = 4

# A key, its place in the list and in the dict, and a facet with the values it owns.
BYTES_PER_ROW = 400


class Rows(Generic[F]):
    """Rows are numbered in the order they came; a number stays until the dead are swept."""

    def __init__(self) -> None:
        self._of_key: dict[str, int] = {}
        self._keys: list[str] = []
        self._facets: list[F] = []
        self._alive = bytearray()
        self._living: Flags | None = None

    def __len__(self) -> int:
        return len(self._of_key)

    def __contains__(self, key: object) -> bool:
        return key in self._of_key

    def __iter__(self) -> Iterator[str]:
        return iter(self._of_key)

    @property
    def bytes(self) -> int:
        return len(self._keys) * BYTES_PER_ROW

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
            # A copy, because a view would forbid the rows to grow for as long as anyone holds it.
            self._living = np.array(self._alive, np.bool_)
        return self._living

    def add(self, key: str, facet: F) -> int:
        row = len(self._keys)
        self._of_key[key] = row
        self._keys.append(key)
        self._facets.append(facet)
        self._alive.append(1)
        self._living = None
        return row

    def kill(self, key: str) -> int | None:
        """The row that died, None if there was none."""
        row = self._of_key.pop(key, None)
        if row is not None:
            self._alive[row] = 0
            self._living = None
        return row

    def sweep(self) -> RowIds | None:
        """Forget the dead if they outnumber the living; what was row `survivors[i]` is row i from then on."""
        if len(self._keys) - len(self) <= max(FEW_DEAD, len(self)):
            return None
        survivors = np.flatnonzero(self.alive())
        self._keys = [self._keys[row] for row in survivors.tolist()]
        self._facets = [self._facets[row] for row in survivors.tolist()]
        self._of_key = {key: row for row, key in enumerate(self._keys)}
        self._alive, self._living = bytearray(b"\x01" * len(self._keys)), None
        return survivors

    def first(
        self, scores: Floats, floor: float, most: int, accept: Callable[[F], bool] | None, margin: float
    ) -> list[int]:
        """The best rows from the floor on that live and are accepted: `most`, and a few within the margin of them."""
        accepted: list[int] = []
        if len(self) < len(self._keys):
            scores = np.where(self.alive(), scores, np.float32(-1))
        for row, score in _descending(scores, floor, 2 * most):
            if score < floor or len(accepted) == CLOSER_LOOK * most:
                break
            if accept is None or accept(self._facets[row]):
                accepted.append(row)
                if len(accepted) == most:
                    floor = score - margin
        return accepted


def _descending(scores: Floats, floor: float, most: int) -> Iterator[tuple[int, float]]:
    """Places and scores from the best down, sorted only as far as it is walked.

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
        yield from zip(best.tolist(), scores[best].tolist(), strict=True)
        most *= 4


def _best_but(many: int, scores: Floats) -> float:
    """The score that this many reach; any score where there are not that many."""
    return -np.inf if len(scores) <= many else float(np.partition(scores, len(scores) - many)[len(scores) - many])
