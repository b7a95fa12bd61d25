"""Texts that say nearly the same are found by an index."""

import numpy as np
import pytest

from acumen.index import similar_pairs
from acumen.index.similar_pairs import similar_vectors, similar_words


def planted(count: int, pairs: int, seed: int = 1) -> tuple[np.ndarray, set[tuple[int, int]]]:
    """Random directions; row i + pairs is nearly row i, for as many as there are pairs."""
    random = np.random.default_rng(seed)
    vectors = random.standard_normal((count, 384)).astype(np.float32)
    noise = random.standard_normal((pairs, 384)).astype(np.float32) * 0.25
    vectors[pairs : 2 * pairs] = vectors[:pairs] + noise
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors, {(row, row + pairs) for row in range(pairs)}


def test_pairs_that_are_alike_are_found_and_no_others():
    vectors, pairs = planted(300, 20)

    found = similar_vectors(vectors, range(300), 0.92)

    assert {(left, right) for left, right, _ in found} == pairs
    assert all(0.92 <= alike <= 1 for _, _, alike in found)


def test_only_pairs_of_which_one_changed_are_looked_for():
    vectors, _ = planted(100, 20)

    assert [(left, right) for left, right, _ in similar_vectors(vectors, [3, 25, 99], 0.92)] == [(3, 23), (5, 25)]


def test_the_index_finds_nearly_all_that_comparing_every_pair_finds(monkeypatch: pytest.MonkeyPatch):
    vectors, pairs = planted(3_000, 300)
    monkeypatch.setattr(similar_pairs, "FEW_COMPARISONS", 0)

    found = similar_vectors(vectors, range(3_000), 0.92)

    assert {(left, right) for left, right, _ in found} <= pairs
    assert len(found) >= 0.97 * len(pairs)


def test_without_vectors_words_decide():
    texts = [frozenset(text.split()) for text in (
        "use the west region for every deploy", "use the west region for every single deploy",
        "be brief", "use the staging cluster",
    )]  # fmt: skip

    assert [(left, right) for left, right, _ in similar_words(texts, range(4))] == [(0, 1)]


def test_nothing_is_like_nothing():
    assert similar_vectors(np.zeros((0, 384), np.float32), [], 0.9) == []
    assert similar_vectors(np.ones((1, 384), np.float32), [0], 0.9) == []
    assert similar_words([], []) == []
