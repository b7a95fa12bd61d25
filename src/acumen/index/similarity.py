"""The similarity of rows to a query: cosines, all of them at eight bits, some of them exactly."""

from typing import Protocol

import numpy as np
import simsimd
from msgspec import Struct
from numpy.typing import NDArray

from acumen.index.arrays import Flags, Floats, Ints, RowIds

# Eight bits a number: a cosine moves by less than .002, and a vector takes a quarter of its float32 size.
STEPS = 127
NO_ROW = -1


class Cosines(Protocol):
    """The cosines of rows to one query, all of them up to rounding, some of them exactly."""

    cosines: Floats
    has_vector: Flags
    all_have_vectors: bool

    def exact(self, rows: RowIds) -> Floats: ...


class VectorColumns(Struct, frozen=True, eq=False):
    """Which vectors belong to which rows."""

    owners: Ints  # the row of each vector; NO_ROW if it has been replaced
    first: Ints  # of each row's vectors
    count: Ints
    scales: Floats
    has_vector: Flags  # whether a row has any
    all_have_vectors: bool
    one_each: bool  # every row has one, in the order of the rows


class QueryVector(Struct, frozen=True, eq=False):
    """The unit vector of a query, and the same rounded like those of the rows."""

    unit: Floats
    rounded: NDArray[np.int8]  # one line
    step: np.float32

    @staticmethod
    def of(vector: Floats) -> "QueryVector":
        unit = vector / np.float32(max(float(np.linalg.norm(vector)), 1e-12))
        step = np.float32(max(float(np.abs(unit).max()), 1e-12) / STEPS)
        return QueryVector(unit, np.rint(unit / step).astype(np.int8)[None], step)


class Similarities:
    """The cosine of every row to one query; 0 for a row without a vector."""

    def __init__(self, query: QueryVector, numbers: NDArray[np.int8], columns: VectorColumns) -> None:
        self._query = query
        self._numbers = numbers
        self._columns = columns
        self.has_vector = columns.has_vector
        self.all_have_vectors = columns.all_have_vectors
        # To the rounded query: off by as little as the rows themselves.
        self.cosines = self._of_rows(self._rounded())

    def exact(self, rows: RowIds) -> Floats:
        """Of these rows, to the query as it is."""
        if self._columns.one_each:
            return self._compared(rows)
        cosines = np.zeros(len(rows), np.float32)
        has_vector = self.has_vector[rows]
        cosines[has_vector] = self._closest(rows[has_vector])
        return cosines

    def _rounded(self) -> Floats:
        if not len(self._numbers):
            return np.zeros(0, np.float32)
        # Sums of such small numbers are exact in float32.
        sums = simsimd.cdist(self._query.rounded, self._numbers, "dot", out_dtype="float32")
        cosines: Floats = np.asarray(sums)[0]
        cosines *= self._columns.scales
        cosines *= self._query.step
        return cosines

    def _compared(self, slots: RowIds) -> Floats:
        cosines: Floats = self._numbers[slots].astype(np.float32) @ self._query.unit * self._columns.scales[slots]
        return cosines

    def _closest(self, rows: RowIds) -> Floats:
        """Of rows with vectors."""
        counts = self._columns.count[rows]
        compared = self._compared(_ranges(self._columns.first[rows], counts))
        closest: Floats = np.maximum.reduceat(compared, np.cumsum(counts) - counts) if len(rows) else compared
        return closest

    def _of_rows(self, cosines: Floats) -> Floats:
        if self._columns.one_each:
            return cosines
        closest = np.where(self.has_vector, np.float32(-1), np.float32(0))
        owned = self._columns.owners != NO_ROW
        if len(closest) and self._columns.count.max() > 1:
            np.maximum.at(closest, self._columns.owners[owned], cosines[owned])
        else:
            closest[self._columns.owners[owned]] = cosines[owned]
        return closest


def _ranges(first: Ints, count: Ints) -> RowIds:
    """first, first + 1, … `count` numbers from each first on."""
    before = np.cumsum(count) - count
    return np.repeat(first - before, count) + np.arange(int(count.sum()))
