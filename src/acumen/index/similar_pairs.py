"""Find pairs of similar texts between two lists of them. Pure."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]

# Rows whose products are computed at once: with pages of some thousand rows, a matrix of a few megabytes.
BLOCK = 256
# A copied text may be like every other: of these, the closest are enough.
MOST_OF_A_ROW = 100
# A word that every tenth text has is no sign of similarity.
COMMON = 0.1
LEAST_OVERLAP = 0.8

Pair = tuple[int, int, float]  # a row of the left, a row of the right, and their similarity


def unit_vectors(vectors: Sequence[bytes]) -> Vectors:
    """As they are stored, at length one."""
    matrix = np.frombuffer(b"".join(vectors), np.float16).astype(np.float32).reshape(len(vectors), -1)
    matrix /= np.maximum(np.linalg.norm(matrix, axis=1, keepdims=True), np.float32(1e-9))
    return matrix


def similar_vectors(left: Vectors, right: Vectors, least: float) -> list[Pair]:
    """Pairs with a cosine of at least `least`; of a row of the left those with the highest. Vectors have length one."""
    pairs: list[Pair] = []
    for start in range(0, len(left) if len(right) else 0, BLOCK):
        cosines = left[start : start + BLOCK] @ right.T
        for row in np.flatnonzero((cosines >= least).any(axis=1)).tolist():
            matches = np.flatnonzero(cosines[row] >= least)
            closest = matches[np.argsort(-cosines[row, matches], kind="stable")[:MOST_OF_A_ROW]]
            alike = np.minimum(cosines[row, closest], 1.0).tolist()
            named = zip(closest.tolist(), alike, strict=True)
            pairs += [(start + row, match, round(cosine, 4)) for match, cosine in named]
    return pairs


def similar_words(left: Sequence[frozenset[str]], right: Sequence[frozenset[str]]) -> list[Pair]:
    """Pairs by overlap of words (Jaccard), for texts without a vector; they share a word that is rare on the right."""
    holders: dict[str, list[int]] = {}
    for row, words in enumerate(right):
        for word in words:
            holders.setdefault(word, []).append(row)
    most = max(20, int(len(right) * COMMON))
    pairs: list[Pair] = []
    for row, words in enumerate(left):
        rare = [word for word in words if len(holders.get(word, ())) <= most]
        for match in sorted({holder for word in rare for holder in holders.get(word, ())}):
            overlap = len(words & right[match]) / len(words | right[match])
            if overlap >= LEAST_OVERLAP:
                pairs.append((row, match, round(overlap, 4)))
    return pairs
