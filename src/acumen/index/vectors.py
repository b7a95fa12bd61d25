"""The vectors of rows, eight bits a number."""

from array import array
from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from acumen.index.arrays import Floats, RowIds
from acumen.index.rows import FEW_DEAD
from acumen.index.similarity import NO_ROW, STEPS, QueryVector, Similarities, VectorColumns

# Vectors wait until this many can be packed at once, which is ten times cheaper than one by one.
AT_ONCE = 256


class Vectors:
    """One vector for a row, or several (one for each passage of a long text): then the closest one counts.

    The cosine of a row without a vector is 0.
    """

    def __init__(self) -> None:
        self._dims = 0
        self._numbers = np.zeros((0, 0), np.int8)  # one line a vector
        self._scales = array("f")  # what makes a vector's numbers a unit vector again
        self._owners = array("i")  # the row of a vector; NO_ROW once the row has other ones
        self._first = array("i")  # of a row's vectors, which stand together
        self._count = array("i")
        self._waiting: dict[int, Floats] = {}
        self._in_order = True  # the first vector is the first row's, the second the second's, and so on
        self._read: VectorColumns | None = None  # the columns as a query reads them; None after a change

    @property
    def bytes(self) -> int:
        columns = 2 * (len(self._owners) + len(self._first))
        waiting = sum(vectors.nbytes for vectors in self._waiting.values())
        return self._numbers.nbytes + columns * 8 + waiting

    def append(self, vector: Floats | None) -> None:
        self._read = None
        self._first.append(0)
        self._count.append(0)
        if vector is not None:
            self.set(len(self._first) - 1, vector)

    def set(self, row: int, vector: Floats) -> None:
        """`vector` has one line for each vector of the row, or is the only one."""
        vectors = np.atleast_2d(vector)
        if self._dims == 0:
            self._dims = vectors.shape[1]
        self._check(vectors)
        self._waiting[row] = vectors
        if len(self._waiting) >= AT_ONCE:
            self._pack()

    def sweep(self, survivors: RowIds) -> None:
        """Only the rows in `survivors` go on, renumbered."""
        self._pack()
        self._read = None
        place = np.full(len(self._first) + 1, NO_ROW, np.int32)  # one more, which index NO_ROW finds
        place[survivors] = np.arange(len(survivors))
        owners = place[np.array(self._owners, np.int32)]
        slots = np.flatnonzero(owners != NO_ROW)
        self._numbers = self._numbers[slots]
        self._scales = array("f", np.array(self._scales, np.float32)[slots].tobytes())
        self._owners = array("i", owners[slots].tobytes())
        self._count = array("i", np.bincount(owners[slots], minlength=len(survivors)).astype(np.int32).tobytes())
        first = np.zeros(len(survivors), np.int32)
        first[owners[slots][::-1]] = np.arange(len(slots), dtype=np.int32)[::-1]
        self._first = array("i", first.tobytes())
        self._in_order = np.array_equal(owners[slots], np.arange(len(slots)))

    def of(self, rows: Sequence[int]) -> tuple[Floats, list[int]]:
        """The unit vectors of these rows, one line each, as they were up to rounding; and how many each row has."""
        self._pack()
        slots = [range(self._first[row], self._first[row] + self._count[row]) for row in rows]
        places = np.fromiter(chain.from_iterable(slots), np.intp)
        scales = np.frombuffer(self._scales, np.float32)[places]
        vectors: Floats = self._numbers[places].astype(np.float32) * scales[:, None]
        return vectors, [len(places) for places in slots]

    def similarities(self, query: QueryVector) -> Similarities:
        self._pack()
        if self._dims:
            self._check(query.rounded)
        if self._read is None:
            self._read = self._columns()
        used = len(self._owners)
        return Similarities(query, self._numbers[:used].reshape(used, len(query.unit)), self._read)

    def _columns(self) -> VectorColumns:
        """Copies, because views would forbid the columns to grow for as long as anyone holds them."""
        count = np.array(self._count, np.int32)
        return VectorColumns(
            np.array(self._owners, np.int32),
            np.array(self._first, np.int32),
            count,
            np.array(self._scales, np.float32),
            has_vector=count > 0,
            all_have_vectors=bool((count > 0).all()),
            one_each=self._in_order and len(self._owners) == len(count),
        )

    def _check(self, vectors: NDArray[Any]) -> None:
        if vectors.shape[1] != self._dims:
            message = f"a vector of {vectors.shape[1]} numbers cannot be compared with vectors of {self._dims}"
            raise ValueError(message)

    def _pack(self) -> None:
        if not self._waiting:
            return
        rows, vectors = _sound(self._waiting)
        self._waiting, self._read = {}, None
        lengths = np.linalg.norm(vectors, axis=1)
        peaks = np.abs(vectors).max(axis=1)
        place = self._place(rows)
        self._numbers[place] = np.rint(vectors * (STEPS / peaks)[:, None])
        self._scales.frombytes((peaks / (STEPS * lengths)).astype(np.float32).tobytes())

    def _place(self, rows: list[int]) -> slice:
        """New places for vectors of these rows (a row is listed once per vector), behind the used ones."""
        if len(self._owners) > max(FEW_DEAD, 2 * sum(self._count)):
            self.sweep(np.arange(len(self._first)))
        for row in dict.fromkeys(rows):
            for old in range(self._first[row], self._first[row] + self._count[row]):
                self._owners[old] = NO_ROW
            self._count[row] = 0
        begin = len(self._owners)
        self._in_order = self._in_order and rows == list(range(begin, begin + len(rows)))
        for place, row in enumerate(rows, begin):
            if self._count[row] == 0:
                self._first[row] = place
            self._count[row] += 1
        self._owners.extend(rows)
        self._make_room(len(self._owners))
        return slice(begin, len(self._owners))

    def _make_room(self, needed: int) -> None:
        """Grown by half: appends are cheap on average and little memory is unused."""
        if len(self._numbers) >= needed and self._dims == self._numbers.shape[1]:
            return
        room = max(needed + needed // 2, 16)
        numbers = np.zeros((room, self._dims), np.int8)
        if self._numbers.size:
            numbers[: len(self._numbers)] = self._numbers
        self._numbers = numbers


def _sound(waiting: dict[int, Floats]) -> tuple[list[int], Floats]:
    """The vectors that have a direction, with their rows: zeros and what is not a number have none."""
    rows = [row for row, vectors in waiting.items() for _ in vectors]
    vectors = np.concatenate(list(waiting.values())).astype(np.float32)
    lengths = np.linalg.norm(vectors, axis=1)
    sound = np.isfinite(lengths) & (lengths > 0)
    return [row for row, is_sound in zip(rows, sound.tolist(), strict=True) if is_sound], vectors[sound]
