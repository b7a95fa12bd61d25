"""Find texts that say nearly the same, by an index rather than by comparing every pair. Pure."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]
Rows = NDArray[np.intp]

# Up to so many comparisons a plain product of matrices is faster than any index.
FEW_COMPARISONS = 4_000_000
BLOCK = 512
# Texts whose vectors lie on the same side of these random planes meet in a bucket. At 0.92 alike two texts agree on a
# plane with p = 0.87, so on ten of them with 0.25, and in at least one of sixteen tables with 0.99.
TABLES, PLANES = 16, 10
# Words that every tenth text has tell nothing about who says the same.
COMMON = 0.1
ALIKE_IN_WORDS = 0.8

Found = tuple[int, int, float]


def near(vectors: Vectors, changed: Sequence[int], least: float) -> list[Found]:
    """Pairs of rows at least so much alike, of which one is `changed`; rows are of length one."""
    own = np.unique(np.asarray(changed, np.intp))
    if not len(own) or len(vectors) < 2:
        return []
    few = len(own) * len(vectors) <= FEW_COMPARISONS
    pairs = _all(vectors, own, least) if few else _indexed(vectors, own, least)
    return sorted({(min(i, j), max(i, j), round(min(s, 1.0), 4)) for i, j, s in pairs if i != j})


def _all(vectors: Vectors, own: Rows, least: float) -> Iterable[Found]:
    for start in range(0, len(own), BLOCK):
        some = own[start : start + BLOCK]
        alike = vectors[some] @ vectors.T
        for row, other in np.argwhere(alike >= least).tolist():
            yield int(some[row]), other, float(alike[row, other])


def _indexed(vectors: Vectors, own: Rows, least: float) -> Iterable[Found]:
    """Only rows that share a bucket are compared."""
    wanted = np.zeros(len(vectors), np.bool_)
    wanted[own] = True
    random = np.random.default_rng(7)
    weights = 1 << np.arange(PLANES)
    for _ in range(TABLES):
        planes = random.standard_normal((vectors.shape[1], PLANES), np.float32)
        buckets = (vectors @ planes > 0) @ weights
        order = np.argsort(buckets, kind="stable")
        for rows in np.split(order, np.flatnonzero(np.diff(buckets[order])) + 1):
            mine = rows[wanted[rows]]
            if len(mine) and len(rows) > 1:
                yield from _within(vectors, mine, rows, least)


def _within(vectors: Vectors, mine: Rows, rows: Rows, least: float) -> Iterable[Found]:
    for start in range(0, len(mine), BLOCK):
        some = mine[start : start + BLOCK]
        alike = vectors[some] @ vectors[rows].T
        for row, other in np.argwhere(alike >= least).tolist():
            yield int(some[row]), int(rows[other]), float(alike[row, other])


def same_words(texts: Sequence[frozenset[str]], changed: Iterable[int]) -> list[Found]:
    """The same by words, for texts without a vector: only those that share a rarer word are compared."""
    holders: dict[str, list[int]] = {}
    for row, words in enumerate(texts):
        for word in words:
            holders.setdefault(word, []).append(row)
    most = max(20, int(len(texts) * COMMON))
    found: dict[tuple[int, int], float] = {}
    for row in changed:
        rare = [word for word in texts[row] if len(holders[word]) <= most]
        for other in {holder for word in rare for holder in holders[word]} - {row}:
            alike = len(texts[row] & texts[other]) / len(texts[row] | texts[other])
            if alike >= ALIKE_IN_WORDS:
                found[min(row, other), max(row, other)] = round(alike, 4)
    return sorted((i, j, alike) for (i, j), alike in found.items())
