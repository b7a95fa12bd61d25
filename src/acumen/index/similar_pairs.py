"""Find pairs of similar texts, with a locality-sensitive hash where comparing every pair is too slow. Pure."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]
Rows = NDArray[np.intp]

# Up to this many comparisons a matrix product is faster than the hash index.
FEW_COMPARISONS = 4_000_000
BLOCK = 512
# Vectors on the same side of these random planes share a bucket. At a similarity of 0.92 two vectors agree on one
# plane with p = 0.87, on ten with p = 0.25, and in at least one of sixteen tables with p = 0.99.
TABLES, PLANES = 16, 10
# A word that every tenth text has is no sign of similarity.
COMMON = 0.1
LEAST_OVERLAP = 0.8

Pair = tuple[int, int, float]  # two rows and their similarity


def similar_vectors(vectors: Vectors, changed: Sequence[int], least: float) -> list[Pair]:
    """Pairs with a cosine of at least `least`, of which one row is `changed`; vectors have length one."""
    rows = np.unique(np.asarray(changed, np.intp))
    if not len(rows) or len(vectors) < 2:
        return []
    few = len(rows) * len(vectors) <= FEW_COMPARISONS
    pairs = _compare(vectors, rows, np.arange(len(vectors)), least) if few else _indexed(vectors, rows, least)
    return sorted({(min(i, j), max(i, j), round(min(s, 1.0), 4)) for i, j, s in pairs if i != j})


def _indexed(vectors: Vectors, changed: Rows, least: float) -> Iterable[Pair]:
    """Only rows that share a bucket are compared."""
    is_changed = np.zeros(len(vectors), np.bool_)
    is_changed[changed] = True
    random = np.random.default_rng(7)
    weights = 1 << np.arange(PLANES)
    for _ in range(TABLES):
        planes = random.standard_normal((vectors.shape[1], PLANES), np.float32)
        buckets = (vectors @ planes > 0) @ weights
        order = np.argsort(buckets, kind="stable")
        for rows in np.split(order, np.flatnonzero(np.diff(buckets[order])) + 1):
            left = rows[is_changed[rows]]
            if len(left) and len(rows) > 1:
                yield from _compare(vectors, left, rows, least)


def _compare(vectors: Vectors, left: Rows, right: Rows, least: float) -> Iterable[Pair]:
    compared = vectors[right].T
    for start in range(0, len(left), BLOCK):
        block = left[start : start + BLOCK]
        cosines = vectors[block] @ compared
        for i, j in np.argwhere(cosines >= least).tolist():
            yield int(block[i]), int(right[j]), float(cosines[i, j])


def similar_words(texts: Sequence[frozenset[str]], changed: Iterable[int]) -> list[Pair]:
    """Pairs by overlap of words (Jaccard), for texts without a vector; they must share a rare word."""
    holders: dict[str, list[int]] = {}
    for row, words in enumerate(texts):
        for word in words:
            holders.setdefault(word, []).append(row)
    most = max(20, int(len(texts) * COMMON))
    pairs: dict[tuple[int, int], float] = {}
    for row in changed:
        rare = [word for word in texts[row] if len(holders[word]) <= most]
        for match in {holder for word in rare for holder in holders[word]} - {row}:
            overlap = len(texts[row] & texts[match]) / len(texts[row] | texts[match])
            if overlap >= LEAST_OVERLAP:
                pairs[min(row, match), max(row, match)] = round(overlap, 4)
    return sorted((i, j, overlap) for (i, j), overlap in pairs.items())
