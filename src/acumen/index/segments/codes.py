"""Texts as numbers, the same in every process."""

from collections.abc import Iterable
from hashlib import blake2b
from zlib import crc32

import numpy as np
from numpy.typing import NDArray


def text_codes(texts: Iterable[str]) -> NDArray[np.uint64]:
    """Of ids: 64 bits, so that two of a segment are never the same."""
    return np.frombuffer(b"".join(blake2b(text.encode(), digest_size=8).digest() for text in texts), np.uint64)


def value_code(value: str | None) -> int:
    """Of what a filter compares: two may share a code, so what it lets through is compared again. 0 is no value."""
    return crc32(value.encode()) if value else 0


def signs_of(numbers: NDArray[np.int8]) -> NDArray[np.uint64]:
    """Of the numbers of vectors, 64 in one and a line for each vector: the more differ, the larger the angle."""
    return np.packbits(numbers > 0, axis=1).view(np.uint64)
