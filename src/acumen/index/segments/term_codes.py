"""Terms as numbers: many texts at once, without an object for each term."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from acumen.index.arrays import RowIds

Codes = NDArray[np.uint64]

# A posting is one number: in its high bits the term's hash, in these the row.
ROW_BITS = np.uint64(24)
ROW_MASK = np.uint64((1 << 24) - 1)

SPACE, END_OF_TEXT = 32, 10
# Terms have up to 64 characters. A hash is the sum of each byte times a random weight of its place, and two terms share
# the 40 bits that are used with a chance of one in 10^12.
_WEIGHTS: Codes = np.random.Generator(np.random.PCG64(20)).integers(1, 1 << 63, 320, np.uint64) * np.uint64(
    2
) + np.uint64(1)
# Differs if another version of the library draws other numbers: what is on disk is hashed again.
WEIGHTS_CHECK = int(np.bitwise_xor.reduce(_WEIGHTS))

# Texts hashed at a time: what is computed in between stays in the processor's cache.
AT_ONCE = 64


def term_codes(texts: Sequence[str]) -> tuple[Codes, RowIds]:
    """The hash of every term of texts whose terms stand between spaces, and the number of the text it is in."""
    if len(texts) <= AT_ONCE:
        return _hashed(texts)
    parts = [_hashed(texts[start : start + AT_ONCE]) for start in range(0, len(texts), AT_ONCE)]
    rows = [rows + start * AT_ONCE for start, (_, rows) in enumerate(parts)]
    return np.concatenate([codes for codes, _ in parts]), np.concatenate(rows)


def _hashed(texts: Sequence[str]) -> tuple[Codes, RowIds]:
    letters = np.frombuffer(("\n".join(texts) + "\n").encode("utf-8", "surrogatepass"), np.uint8)
    ends = np.flatnonzero(letters <= SPACE)
    starts = np.concatenate([[0], ends[:-1] + 1])
    places = np.arange(len(letters)) - np.repeat(starts, ends + 1 - starts)
    hashed = _WEIGHTS.take(places, mode="clip")
    hashed *= letters
    hashed[ends] = 0
    codes = np.add.reduceat(hashed, starts) & ~ROW_MASK
    last_of_text = letters[ends] == END_OF_TEXT
    texts_of = np.cumsum(last_of_text) - last_of_text
    is_term = ends > starts
    return codes[is_term], texts_of[is_term]
