"""The vectors of rows, eight bits a number."""

from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from acumen.index.arrays import AnyFloats, Column, Floats, Ints, RowIds, grown
from acumen.index.rows import FEW_DEAD
from acumen.index.similarity import NO_ROW, STEPS, QueryVector, Similarities, VectorColumns

# Vectors wait until this many can be packed at once, which is ten times cheaper than one by one.
AT_ONCE = 256
# What is computed of so many in between stays in the processor's cache.
PACKED_AT_ONCE = 64


class Vectors:
    """One vector for a row, or several (one for each passage of a long text): then the closest one counts.

    The cosine of a row without a vector is 0.
    """

    def __init__(self) -> None:
        self._dims = 0
        self._numbers: NDArray[np.int8] = np.zeros((0, 0), np.int8)  # one line a vector
        self._scales = Column(np.float32)  # what makes a vector's numbers a unit vector again
        self._owners = Column(np.int32)  # the row of a vector; NO_ROW once the row has other ones
        self._first = Column(np.int32)  # of a row's vectors, which stand together
        self._count = Column(np.int32)
        self._owned = 0
        self._waiting: dict[int, Floats] = {}
        self._in_order = True  # the first vector is the first row's, the second the second's, and so on
        self._read: VectorColumns | None = None  # the columns as a query reads them; None after a change

    @property
    def bytes(self) -> int:
        columns = sum(column.nbytes for column in (self._scales, self._owners, self._first, self._count))
        waiting = sum(vectors.nbytes for vectors in self._waiting.values())
        flags = 0 if self._read is None else self._read.has_vector.nbytes
        return self._numbers.nbytes + columns + waiting + flags

    def append(self, vector: AnyFloats | None) -> None:
        self._append_rows(1)
        if vector is not None:
            self.set(len(self._first) - 1, vector)

    def extend(self, vectors: AnyFloats, counts: Ints) -> None:
        """Rows with so many vectors each, which stand one after the other."""
        self._pack()
        first = len(self._first)
        self._append_rows(len(counts))
        if len(vectors):
            self._set_dims(vectors)
            self._store(np.repeat(np.arange(first, first + len(counts), dtype=np.int32), counts), vectors)

    def set(self, row: int, vector: AnyFloats) -> None:
        """`vector` has one line for each vector of the row, or is the only one."""
        vectors = np.atleast_2d(vector).astype(np.float32, copy=False)
        self._set_dims(vectors)
        self._waiting[row] = vectors
        if len(self._waiting) >= AT_ONCE:
            self._pack()

    def sweep(self, survivors: RowIds) -> None:
        """Only the rows in `survivors` go on, renumbered."""
        self._pack()
        self._read = None
        place = np.full(len(self._first) + 1, NO_ROW, np.int32)  # one more, which index NO_ROW finds
        place[survivors] = np.arange(len(survivors))
        owners = place[self._owners.values]
        slots = np.flatnonzero(owners != NO_ROW)
        self._numbers = self._numbers[slots]
        self._scales.replace(self._scales.values[slots])
        self._owners.replace(owners[slots])
        self._count.replace(np.bincount(owners[slots], minlength=len(survivors)))
        self._owned = len(slots)
        first = np.zeros(len(survivors), np.int32)
        first[owners[slots][::-1]] = np.arange(len(slots), dtype=np.int32)[::-1]
        self._first.replace(first)
        self._in_order = np.array_equal(owners[slots], np.arange(len(slots)))

    def of(self, rows: Sequence[int]) -> tuple[Floats, list[int]]:
        """The unit vectors of these rows, one line each, as they were up to rounding; and how many each row has."""
        self._pack()
        first, count = self._first.values, self._count.values
        slots = [range(first[row], first[row] + count[row]) for row in rows]
        places = np.fromiter(chain.from_iterable(slots), np.intp)
        vectors: Floats = self._numbers[places].astype(np.float32) * self._scales.values[places][:, None]
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
        count = self._count.values
        return VectorColumns(
            self._owners.values,
            self._first.values,
            count,
            self._scales.values,
            has_vector=count > 0,
            all_have_vectors=bool((count > 0).all()),
            one_each=self._in_order and len(self._owners) == len(count),
        )

    def _append_rows(self, many: int) -> None:
        self._read = None
        self._first.extend(np.zeros(many, np.int32))
        self._count.extend(np.zeros(many, np.int32))

    def _set_dims(self, vectors: NDArray[Any]) -> None:
        if self._dims == 0:
            self._dims = vectors.shape[1]
            self._numbers = np.zeros((0, self._dims), np.int8)
        self._check(vectors)

    def _check(self, vectors: NDArray[Any]) -> None:
        if vectors.shape[1] != self._dims:
            message = f"a vector of {vectors.shape[1]} numbers cannot be compared with vectors of {self._dims}"
            raise ValueError(message)

    def _pack(self) -> None:
        if not self._waiting:
            return
        waiting, self._waiting = self._waiting, {}
        counts = [len(vectors) for vectors in waiting.values()]
        self._disown(np.fromiter(waiting, np.int32, len(waiting)))
        self._store(
            np.repeat(np.fromiter(waiting, np.int32, len(waiting)), counts), np.concatenate([*waiting.values()])
        )

    def _disown(self, rows: Ints) -> None:
        """What these rows had gives way to new vectors."""
        counts = self._count.values[rows]
        if counts.any():
            for first, count in zip(self._first.values[rows].tolist(), counts.tolist(), strict=True):
                self._owners.values[first : first + count] = NO_ROW
            self._owned -= int(counts.sum())
            self._count.values[rows] = 0
            if len(self._owners) > max(FEW_DEAD, 2 * self._owned):
                self.sweep(np.arange(len(self._first)))

    def _store(self, rows: Ints, vectors: AnyFloats) -> None:
        """Behind the used places. A row is listed once per vector; those without a direction are left out."""
        self._read = None
        numbers, scales = packed(vectors)
        sound = scales > 0
        if not sound.all():
            rows, numbers, scales = rows[sound], numbers[sound], scales[sound]
        begin = len(self._owners)
        self._in_order = self._in_order and np.array_equal(rows, np.arange(begin, begin + len(rows)))
        owners, first, counts = np.unique(rows, return_index=True, return_counts=True)
        self._first.values[owners] = begin + first
        self._count.values[owners] = counts
        self._owned += len(rows)
        self._numbers = grown(self._numbers, begin, len(rows))
        self._numbers[begin : begin + len(rows)] = numbers
        self._owners.extend(rows)
        self._scales.extend(scales)


def packed(vectors: AnyFloats) -> tuple[NDArray[np.int8], Floats]:
    """Eight bits a number, and what makes each line a unit vector again; 0 where it has no direction."""
    numbers, scales = np.empty(vectors.shape, np.int8), np.empty(len(vectors), np.float32)
    with np.errstate(all="ignore"):
        for start in range(0, len(vectors), PACKED_AT_ONCE):
            part = slice(start, start + PACKED_AT_ONCE)
            numbers[part], scales[part] = _packed(vectors[part].astype(np.float32, copy=False))
    return numbers, scales


def _packed(vectors: Floats) -> tuple[Floats, Floats]:
    lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
    peaks = np.maximum(vectors.max(axis=1), -vectors.min(axis=1))
    scales = np.where(np.isfinite(lengths) & (lengths > 0), peaks / (STEPS * lengths), np.float32(0))
    numbers = vectors * (STEPS / peaks)[:, None]
    return np.rint(numbers, out=numbers), scales
