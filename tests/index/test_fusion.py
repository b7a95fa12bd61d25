"""The arithmetic of scores: bounded, monotone, and silent where nothing speaks."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from acumen.index import fusion
from acumen.index.bm25 import idf, length_norm, term_saturation

shares = st.lists(st.floats(0, 1, width=32), min_size=1, max_size=20).map(lambda values: np.array(values, np.float32))


def floats(*values: float) -> NDArray[np.float32]:
    return np.array(values, np.float32)


@given(st.integers(0, 10_000), st.integers(0, 10_000))
def test_rare_words_tell_more_than_common_ones(rows: int, holding: int) -> None:
    holding = min(holding, rows)

    assert idf(rows + 1, holding) > idf(rows + 1, holding + 1) > 0


def test_a_word_said_once_in_a_text_of_average_length_counts_in_full() -> None:
    assert term_saturation(floats(1), length_norm(floats(12), 12.0)) == pytest.approx(1)


def test_a_word_counts_less_in_a_longer_text_and_more_when_repeated() -> None:
    short, long, long_twice = term_saturation(floats(1, 1, 2), length_norm(floats(10, 40, 40), 10.0))

    assert short > long_twice > long > 0


@pytest.mark.parametrize("cosine, share", [(-1, 0), (0.1, 0), (0.45, 0.5), (0.8, 1), (1, 1)])
def test_similarity_runs_from_unrelated_to_paraphrase(cosine: float, share: float) -> None:
    assert fusion.similarity(floats(cosine))[0] == pytest.approx(share, abs=1e-6)


@given(shares)
def test_the_score_of_a_memory_lies_between_nothing_and_one(values: NDArray[np.float32]) -> None:
    scores = fusion.fuse_memory(values, values[::-1])

    assert ((scores >= 0) & (scores <= 1)).all()


@given(shares)
def test_more_words_and_more_meaning_never_score_less(values: NDArray[np.float32]) -> None:
    more = np.minimum(values + np.float32(0.1), 1)

    assert (fusion.fuse_memory(more, values) >= fusion.fuse_memory(values, values) - 1e-6).all()
    assert (fusion.fuse_memory(values, more) >= fusion.fuse_memory(values, values) - 1e-6).all()


def test_a_memory_without_a_vector_is_judged_by_its_words() -> None:
    scores = fusion.fuse_memory(floats(0.7, 0.7), floats(0, 0), np.array([True, False]))

    assert scores[1] == pytest.approx(0.7)
    assert scores[0] < scores[1]


def test_words_whose_meaning_points_elsewhere_fall_below_the_floor_unless_they_cover_much() -> None:
    chance, exact_id = fusion.fuse_memory(floats(0.3, 1), floats(0, 0))

    assert chance < fusion.FLOOR < exact_id


def test_session_and_bonus_do_not_raise_a_turn_that_says_nothing() -> None:
    silent, speaking = fusion.fuse_turn(floats(0, 0.5), None, floats(1, 1), floats(0.5, 0.5))

    assert silent == 0
    assert speaking > 0.5


@given(shares)
def test_the_score_of_a_turn_lies_between_nothing_and_one_but_for_bonus(values: NDArray[np.float32]) -> None:
    similarity = fusion.TurnSimilarity(values, values[::-1], values > 0.5)

    for scores in (
        fusion.fuse_turn(values, similarity, values, values),
        fusion.fuse_turn(values, None, values, values),
        fusion.fuse_turn(None, similarity, None, values),
        fusion.fuse_turn(None, None, None, values),
    ):
        assert ((scores >= 0) & (scores <= 1.0001 + values)).all()


def test_an_arm_that_was_not_asked_leaves_its_share_to_the_others() -> None:
    full = floats(1)
    similarity = fusion.TurnSimilarity(full, full, np.array([True]))

    assert fusion.fuse_turn(full, None, full, floats(0)) == pytest.approx(1)
    assert fusion.fuse_turn(None, similarity, None, floats(0)) == pytest.approx(1)
    assert fusion.fuse_turn(full, similarity, full, floats(0)) == pytest.approx(1)
