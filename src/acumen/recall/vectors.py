"""What rows mean: vectors kept small, every one of them compared with a question."""

from array import array
from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np
import simsimd
from msgspec import Struct
from numpy.typing import NDArray

from acumen.recall.fuse import Floats
from acumen.recall.rows import FEW_DEAD, RowIds

# Eight bits a number: a cosine moves by less than .002, and a vector takes a quarter of its float32 size.
STEPS = 127
# Vectors wait until so many can be packed at once, which is ten times cheaper than one by one.
AT_ONCE = 256

_NO_ROW = -1


class Vectors:
    """One vector for a row, or several (one for each passage of a long text): then the closest one speaks for it.

    A row without a vector is known to be unknown, and its cosine is 0.
    """

    def __init__(self) -> None:
        self._dims = 0
        self._numbers = np.zeros((0, 0), np.int8)  # one line a vector
        self._scales = array("f")  # what makes a vector's numbers a unit vector again
        self._owners = array("i")  # the row of a vector; _NO_ROW once the row has other ones
        self._first = array("i")  # of a row's vectors, which stand together
        self._count = array("i")
        self._waiting: dict[int, Floats] = {}
        self._in_order = True  # the first vector is the first row's, the second the second's, and so on
        self._owned: Owned | None = None  # the columns as a question reads them, from the first one after a change on

    @property
    def bytes(self) -> int:
        columns = 2 * (len(self._owners) + len(self._first))
        waiting = sum(vectors.nbytes for vectors in self._waiting.values())
        return self._numbers.nbytes + columns * 8 + waiting

    def append(self, vector: Floats | None) -> None:
        self._owned = None
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

    def sweep(self, kept: RowIds) -> None:
        """Only the rows in `kept` go on, renumbered."""
        self._pack()
        self._owned = None
        place = np.full(len(self._first) + 1, _NO_ROW, np.int32)  # one more, which index _NO_ROW finds
        place[kept] = np.arange(len(kept))
        owners = place[np.array(self._owners, np.int32)]
        slots = np.flatnonzero(owners != _NO_ROW)
        self._numbers = self._numbers[slots]
        self._scales = array("f", np.array(self._scales, np.float32)[slots].tobytes())
        self._owners = array("i", owners[slots].tobytes())
        self._count = array("i", np.bincount(owners[slots], minlength=len(kept)).astype(np.int32).tobytes())
        first = np.zeros(len(kept), np.int32)
        first[owners[slots][::-1]] = np.arange(len(slots), dtype=np.int32)[::-1]
        self._first = array("i", first.tobytes())
        self._in_order = np.array_equal(owners[slots], np.arange(len(slots)))

    def of(self, rows: Sequence[int]) -> tuple[Floats, list[int]]:
        """The unit vectors of these rows, one line each, as they were but for rounding; and how many each row has."""
        self._pack()
        slots = [range(self._first[row], self._first[row] + self._count[row]) for row in rows]
        places = np.fromiter(chain.from_iterable(slots), np.intp)
        scales = np.frombuffer(self._scales, np.float32)[places]
        vectors: Floats = self._numbers[places].astype(np.float32) * scales[:, None]
        return vectors, [len(places) for places in slots]

    def near(self, aim: "Aim") -> "Near":
        """How close every row is to a question."""
        self._pack()
        if self._dims:
            self._check(aim.rounded)
        if self._owned is None:
            self._owned = self._columns()
        used = len(self._owners)
        return Near(aim, self._numbers[:used].reshape(used, len(aim.unit)), self._owned)

    def _columns(self) -> "Owned":
        """Copies, because views would forbid the columns to grow for as long as anyone holds them."""
        count = np.array(self._count, np.int32)
        return Owned(
            np.array(self._owners, np.int32),
            np.array(self._first, np.int32),
            count,
            np.array(self._scales, np.float32),
            known=count > 0,
            all_known=bool((count > 0).all()),
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
        self._waiting, self._owned = {}, None
        lengths = np.linalg.norm(vectors, axis=1)
        peaks = np.abs(vectors).max(axis=1)
        place = self._place(rows)
        self._numbers[place] = np.rint(vectors * (STEPS / peaks)[:, None])
        self._scales.frombytes((peaks / (STEPS * lengths)).astype(np.float32).tobytes())

    def _place(self, rows: list[int]) -> slice:
        """New places for vectors of these rows (a row stands here once per vector), behind the used ones."""
        if len(self._owners) > max(FEW_DEAD, 2 * sum(self._count)):
            self.sweep(np.arange(len(self._first)))
        for row in dict.fromkeys(rows):
            for old in range(self._first[row], self._first[row] + self._count[row]):
                self._owners[old] = _NO_ROW
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
        """Grown by half, so that growing costs little on the whole and little room lies idle."""
        if len(self._numbers) >= needed and self._dims == self._numbers.shape[1]:
            return
        room = max(needed + needed // 2, 16)
        numbers = np.zeros((room, self._dims), np.int8)
        if self._numbers.size:
            numbers[: len(self._numbers)] = self._numbers
        self._numbers = numbers


class Owned(Struct, frozen=True, eq=False):
    """Whose vectors stand where."""

    owners: NDArray[np.int32]  # the row of each vector
    first: NDArray[np.int32]  # of each row's vectors
    count: NDArray[np.int32]
    scales: Floats
    known: NDArray[np.bool_]  # whether a row has any
    all_known: bool
    one_each: bool  # every row has one, in the order of the rows


class Aim(Struct, frozen=True, eq=False):
    """Where a question points: its unit vector, and the same rounded like those of the rows."""

    unit: Floats
    rounded: NDArray[np.int8]  # one line
    step: np.float32

    @staticmethod
    def at(vector: Floats) -> "Aim":
        unit = vector / np.float32(max(float(np.linalg.norm(vector)), 1e-12))
        step = np.float32(max(float(np.abs(unit).max()), 1e-12) / STEPS)
        return Aim(unit, np.rint(unit / step).astype(np.int8)[None], step)


class Near:
    """How close rows are to one question; 0 where nothing is known."""

    def __init__(self, aim: Aim, numbers: NDArray[np.int8], owned: Owned) -> None:
        self._aim = aim
        self._numbers = numbers
        self._owned = owned
        self.known = owned.known
        self.all_known = owned.all_known
        # Of every row, to the rounded question: off by as little as the rows themselves.
        self.cosines = self._of_rows(self._rounded())

    def exact(self, rows: RowIds) -> Floats:
        """Of these rows, to the question as it is."""
        if self._owned.one_each:
            return self._compared(rows)
        cosines = np.zeros(len(rows), np.float32)
        known = self.known[rows]
        cosines[known] = self._closest(rows[known])
        return cosines

    def _rounded(self) -> Floats:
        if not len(self._numbers):
            return np.zeros(0, np.float32)
        # Sums of so small numbers are exact in float32.
        sums = simsimd.cdist(self._aim.rounded, self._numbers, "dot", out_dtype="float32")
        cosines: Floats = np.asarray(sums)[0]
        cosines *= self._owned.scales
        cosines *= self._aim.step
        return cosines

    def _compared(self, slots: RowIds) -> Floats:
        cosines: Floats = self._numbers[slots].astype(np.float32) @ self._aim.unit * self._owned.scales[slots]
        return cosines

    def _closest(self, rows: RowIds) -> Floats:
        """Of known rows."""
        counts = self._owned.count[rows]
        compared = self._compared(_ranges(self._owned.first[rows], counts))
        closest: Floats = np.maximum.reduceat(compared, np.cumsum(counts) - counts) if len(rows) else compared
        return closest

    def _of_rows(self, cosines: Floats) -> Floats:
        if self._owned.one_each:
            return cosines
        closest = np.where(self.known, np.float32(-1), np.float32(0))
        owned = self._owned.owners != _NO_ROW
        if len(closest) and self._owned.count.max() > 1:
            np.maximum.at(closest, self._owned.owners[owned], cosines[owned])
        else:
            closest[self._owned.owners[owned]] = cosines[owned]
        return closest


def _sound(waiting: dict[int, Floats]) -> tuple[list[int], Floats]:
    """The vectors that have a direction, with their rows: zeros and what is not a number have none."""
    rows = [row for row, vectors in waiting.items() for _ in vectors]
    vectors = np.concatenate(list(waiting.values())).astype(np.float32)
    lengths = np.linalg.norm(vectors, axis=1)
    sound = np.isfinite(lengths) & (lengths > 0)
    return [row for row, is_sound in zip(rows, sound.tolist(), strict=True) if is_sound], vectors[sound]


def _ranges(first: NDArray[np.int32], count: NDArray[np.int32]) -> RowIds:
    """first, first + 1, … count numbers from each first on."""
    before = np.cumsum(count) - count
    return np.repeat(first - before, count) + np.arange(int(count.sum()))
