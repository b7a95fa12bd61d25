"""Texts that say nearly the same."""

import numpy as np

from acumen.index.similar_pairs import MOST_OF_A_ROW, similar_vectors, similar_words, unit_vectors


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

    similar = similar_vectors(vectors[:20], vectors[20:], 0.92)

    assert {(left, right + 20) for left, right, _ in similar} == pairs
    assert all(0.92 <= similarity <= 1 for _, _, similarity in similar)


def test_of_a_text_that_was_copied_often_the_closest_are_enough():
    same = np.ones((300, 4), np.float32) / 2

    similar = similar_vectors(same[:2], same, 0.9)

    assert [sum(left == row for left, _, _ in similar) for row in (0, 1)] == [MOST_OF_A_ROW] * 2


def test_stored_vectors_are_compared_at_length_one():
    stored = [np.array(values, np.float16).tobytes() for values in ([3, 0], [1, 0], [0, 2])]

    assert similar_vectors(unit_vectors(stored[:1]), unit_vectors(stored[1:]), 0.9) == [(0, 0, 1.0)]


def test_without_vectors_words_decide():
    texts = [frozenset(text.split()) for text in (
        "use the west region for every deploy", "use the west region for every single deploy",
        "be brief", "use the staging cluster",
    )]  # fmt: skip

    assert [(left, right) for left, right, _ in similar_words(texts[:1], texts[1:])] == [(0, 0)]


def test_nothing_is_like_nothing():
    nothing = np.zeros((0, 384), np.float32)

    assert similar_vectors(nothing, nothing, 0.9) == []
    assert similar_vectors(np.ones((1, 384), np.float32), nothing, 0.9) == []
    assert similar_words([], []) == []
