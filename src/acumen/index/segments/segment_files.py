"""A segment on disk: a folder with a header and a file of arrays. It gets its name when all of it is on disk."""

import mmap
import os
import secrets
import shutil
import weakref
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from acumen.index.arrays import RowIds
from acumen.index.segments.term_codes import WEIGHTS_CHECK
from acumen.llm.embedding import DIMS

FORMAT = 1
HEADER, ARRAYS = "header.json", "arrays"
UNFINISHED = ".unfinished"
COPIED_AT_ONCE = 1 << 20

Array = NDArray[Any]

PLANES = DIMS // 64

# The element of each array; where there are several numbers a row, `Segment` knows how many.
DTYPES = {
    # of each row, in the order of users, of one user in the order of change
    "seqs": np.int64,
    "lengths": np.float32,
    "scales": np.float32,  # 0 for a row without a vector
    "vectors": np.int8,
    **{f"signs_{plane}": np.uint64 for plane in range(PLANES)},  # of the first 64 numbers of a vector, the next, …
    "created_at": np.int64,
    "updated_at": np.int64,
    "expires_at": np.int64,
    "status": np.uint32,
    "approval": np.uint32,
    "source": np.uint32,
    "agent_version": np.uint32,
    "name": np.uint32,
    "request_id": np.uint32,
    "scoped_version": np.uint32,
    # of each tag or extractor of a row
    "tags": np.uint32,
    "tag_rows": np.int32,
    "extractors": np.uint32,
    "extractor_rows": np.int32,
    # ids in the order of rows, and their hashes in order
    "ids": np.uint8,
    "id_starts": np.int64,
    "id_codes": np.uint64,
    "id_rows": np.int32,
    # of each user: its hash, its first row
    "user_codes": np.uint64,
    "user_starts": np.int64,
    # of each term: its hash, where its rows begin; a row is listed once per mention
    "term_codes": np.uint64,
    "term_starts": np.int64,
    "term_rows": np.int32,
    "term_matching": np.int32,  # how many rows contain it
}
# Read at a few places by each search; kept in memory, they would soon be there as a whole.
SPARSE = ("term_rows", "ids")


class Landmark(Struct, frozen=True):
    """One of the newest rows: a database in which it is another one is not the one that the segment was built from."""

    entity_id: str
    seq: int
    updated_at: int


class Header(Struct, frozen=True):
    """What a segment was built from. It has all changes up to `seq`."""

    org: str
    kind: str
    generation: int
    seq: int
    model: str
    analyser: str
    rows: int
    dims: int
    mean_length: float
    landmarks: tuple[Landmark, ...]
    pairs: tuple[str, ...]  # of signs of scripts without spaces
    places: Mapping[str, tuple[int, int]] = {}  # of the arrays in their file: first byte, and how many
    format: int = FORMAT
    hashes: int = WEIGHTS_CHECK


class SegmentDamaged(Exception):
    """The file of arrays is missing or has another size than its header says."""


class SegmentWriter:
    """Files appear under their name when all of them are on disk."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.path = folder / f"{secrets.token_hex(8)}{UNFINISHED}"
        self.path.mkdir(parents=True)
        self._files: dict[str, BinaryIO] = {}
        for name in DTYPES:
            self._file(name)

    def append(self, name: str, values: Any) -> None:
        array = np.ascontiguousarray(values, DTYPES.get(name, np.uint64))
        self._file(name).write(array.data.cast("B") if array.size else b"")

    def take(self, name: str) -> Array:
        """What was appended to a file that is only needed while writing; it is removed."""
        self._file(name).close()
        del self._files[name]
        values = np.fromfile(self.path / name, np.uint64)
        (self.path / name).unlink()
        return values

    def read(self, name: str) -> Array:
        self._file(name).flush()
        return np.fromfile(self.path / name, DTYPES[name])

    def finish(self, header: Header) -> Path:
        places = self._join()
        with (self.path / HEADER).open("wb") as file:
            file.write(msgspec.json.encode(replace(header, places=places)))
            _sync(file)
        path = self.path.with_suffix("")
        self.path.rename(path)
        return path

    def _join(self) -> dict[str, tuple[int, int]]:
        """One file, because each that is mapped takes a descriptor."""
        places = {}
        with (self.path / ARRAYS).open("wb") as joined:
            for name in DTYPES:
                self._file(name).close()
                joined.write(b"\0" * (-joined.tell() % mmap.PAGESIZE))
                begin = joined.tell()
                with (self.path / name).open("rb") as file:
                    shutil.copyfileobj(file, joined, COPIED_AT_ONCE)
                places[name] = (begin, joined.tell() - begin)
                (self.path / name).unlink()
            joined.write(b"\0")  # even without rows, it can be mapped
            _sync(joined)
        return places

    def abandon(self) -> None:
        for file in self._files.values():
            file.close()
        shutil.rmtree(self.path, ignore_errors=True)

    def _file(self, name: str) -> BinaryIO:
        if name not in self._files:
            self._files[name] = (self.path / name).open("wb")
        return self._files[name]


class SegmentArrays:
    """The arrays of a segment, mapped into memory."""

    def __init__(self, path: Path, header: Header) -> None:
        self._places = header.places
        file, end = path / ARRAYS, max(begin + size for begin, size in header.places.values()) + 1
        if not file.is_file() or file.stat().st_size != end or set(header.places) != set(DTYPES):
            raise SegmentDamaged(f"{file} is not as its header says")
        self._file = os.open(file, os.O_RDONLY)
        weakref.finalize(self, os.close, self._file)
        self._map = mmap.mmap(self._file, 0, access=mmap.ACCESS_READ)
        self._arrays = {name: self._array(name, dtype) for name, dtype in DTYPES.items()}

    def __getitem__(self, name: str) -> Array:
        return self._arrays[name]

    def lines(self, name: str, places: RowIds, width: int) -> Array:
        """Some of an array of lines of bytes, read instead of mapped: a mapped line comes with 64 kB around it."""
        begin = self._places[name][0]
        if len(places) and places[-1] - places[0] == len(places) - 1 and (np.diff(places) == 1).all():
            together = os.pread(self._file, width * len(places), begin + int(places[0]) * width)
            return np.frombuffer(together, DTYPES[name]).reshape(len(places), width)
        read = [os.pread(self._file, width, begin + place * width) for place in places.tolist()]
        return np.frombuffer(b"".join(read), DTYPES[name]).reshape(len(places), width)

    def release(self) -> None:
        """Pages that few searches need twice leave the memory of this process."""
        if hasattr(mmap, "MADV_DONTNEED"):
            for begin, size in (self._places[name] for name in SPARSE):
                if size:
                    self._map.madvise(mmap.MADV_DONTNEED, begin, size)

    def _array(self, name: str, dtype: Any) -> Array:
        begin, size = self._places[name]
        return np.frombuffer(self._map, dtype, size // np.dtype(dtype).itemsize, begin)


def headers(folder: Path) -> Iterator[tuple[Path, Header | None]]:
    """Of every finished segment in a folder; None where it cannot be read or was made by another version."""
    for path in folder.iterdir() if folder.is_dir() else ():
        if not path.name.endswith(UNFINISHED):
            yield path, _header(path)


def _header(path: Path) -> Header | None:
    try:
        header = msgspec.json.decode((path / HEADER).read_bytes(), type=Header)
    except (OSError, msgspec.DecodeError):
        return None
    return header if (header.format, header.hashes) == (FORMAT, WEIGHTS_CHECK) else None


def remove(path: Path) -> None:
    """Processes that have it open keep what they have mapped."""
    shutil.rmtree(path, ignore_errors=True)


def _sync(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())
