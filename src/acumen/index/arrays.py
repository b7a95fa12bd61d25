"""The array types of the index."""

from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

Floats = NDArray[np.float32]
AnyFloats = NDArray[np.float32] | NDArray[np.float16]
Flags = NDArray[np.bool_]
Ints = NDArray[np.int32]
RowIds = NDArray[np.intp]

N = TypeVar("N", bound=np.generic)


class Column(Generic[N]):
    """An array that grows: what is appended is copied twice on average, however many changes there are."""

    def __init__(self, dtype: type[N]) -> None:
        self._array: NDArray[N] = np.zeros(0, dtype)
        self._used = 0

    def __len__(self) -> int:
        return self._used

    @property
    def nbytes(self) -> int:
        return self._array.nbytes

    @property
    def values(self) -> NDArray[N]:
        """A view: writing to it changes the column."""
        return self._array[: self._used]

    def append(self, value: Any) -> None:
        self._make_room(1)
        self._array[self._used] = value
        self._used += 1

    def extend(self, values: ArrayLike) -> None:
        added = np.asarray(values)
        self._make_room(len(added))
        self._array[self._used : self._used + len(added)] = added
        self._used += len(added)

    def replace(self, values: NDArray[Any]) -> None:
        self._array = values.astype(self._array.dtype)
        self._used = len(values)

    def _make_room(self, more: int) -> None:
        self._array = grown(self._array, self._used, more)


def starts_of_runs(values: NDArray[Any]) -> RowIds:
    """Where another value begins, in values that are in order."""
    differs = np.ones(len(values), np.bool_)
    differs[1:] = values[1:] != values[:-1]
    return np.flatnonzero(differs)


def grown(array: NDArray[N], used: int, more: int) -> NDArray[N]:
    """With room for `more` lines behind those in use; by half of it at least, unless it is the first time."""
    needed = used + more
    if needed <= len(array):
        return array
    larger = empty((max(needed, used + used // 2), *array.shape[1:]), array.dtype)
    larger[:used] = array[:used]
    return larger


def empty(shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    array: NDArray[Any] = np.empty(shape, dtype)
    return array
