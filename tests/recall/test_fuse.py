"""The arithmetic of scores: bounded, monotone, and silent where nothing speaks."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from acumen.recall import fuse

shares = st.lists(st.floats(0, 1, width=32), min_size=1, max_size=20).map(lambda values: np.array(values, np.float32))


def floats(*values: float) -> NDArray[np.float32]:
    return np.array(values, np.float32)


@given(st.integers(0, 10_000), st.integers(0, 10_000))
def test_rare_words_tell_more_than_common_ones(rows: int, holding: int) -> None:
    holding = min(holding, rows)

    assert fuse.rarity(rows + 1, holding) > fuse.rarity(rows + 1, holding + 1) > 0


def test_a_word_said_once_in_a_text_of_average_length_is_held_in_full() -> None:
    assert fuse.hold(floats(1), fuse.patience(floats(12), 12.0)) == pytest.approx(1)


def test_a_word_is_held_less_firmly_by_a_longer_text_and_more_firmly_when_repeated() -> None:
    short, long, long_twice = fuse.hold(floats(1, 1, 2), fuse.patience(floats(10, 40, 40), 10.0))

    assert short > long_twice > long > 0


@pytest.mark.parametrize("cosine, share", [(-1, 0), (0.1, 0), (0.45, 0.5), (0.8, 1), (1, 1)])
def test_meaning_runs_from_unrelated_to_paraphrase(cosine: float, share: float) -> None:
    assert fuse.meaning(floats(cosine))[0] == pytest.approx(share, abs=1e-6)


@given(shares)
def test_the_score_of_a_memory_lies_between_nothing_and_one(values: NDArray[np.float32]) -> None:
    scores = fuse.memory(values, values[::-1])

    assert ((scores >= 0) & (scores <= 1)).all()


@given(shares)
def test_more_words_and_more_meaning_never_score_less(values: NDArray[np.float32]) -> None:
    more = np.minimum(values + np.float32(0.1), 1)

    assert (fuse.memory(more, values) >= fuse.memory(values, values) - 1e-6).all()
    assert (fuse.memory(values, more) >= fuse.memory(values, values) - 1e-6).all()


def test_a_memory_without_a_vector_is_judged_by_its_words() -> None:
    scores = fuse.memory(floats(0.7, 0.7), floats(0, 0), np.array([True, False]))

    assert scores[1] == pytest.approx(0.7)
    assert scores[0] < scores[1]


def test_words_whose_meaning_points_elsewhere_fall_below_the_floor_unless_they_cover_much() -> None:
    chance, exact_id = fuse.memory(floats(0.3, 1), floats(0, 0))

    assert chance < fuse.FLOOR < exact_id


def test_session_and_favour_do_not_raise_a_turn_that_says_nothing() -> None:
    silent, speaking = fuse.turn(floats(0, 0.5), None, floats(1, 1), floats(0.5, 0.5))

    assert silent == 0
    assert speaking > 0.5


@given(shares)
def test_the_score_of_a_turn_lies_between_nothing_and_one_but_for_favour(values: NDArray[np.float32]) -> None:
    meant = fuse.Meant(values, values[::-1], values > 0.5)

    for scores in (
        fuse.turn(values, meant, values, values),
        fuse.turn(values, None, values, values),
        fuse.turn(None, meant, None, values),
        fuse.turn(None, None, None, values),
    ):
        assert ((scores >= 0) & (scores <= 1.0001 + values)).all()


def test_an_arm_that_was_not_asked_leaves_its_share_to_the_others() -> None:
    full = floats(1)
    meant = fuse.Meant(full, full, np.array([True]))

    assert fuse.turn(full, None, full, floats(0)) == pytest.approx(1)
    assert fuse.turn(None, meant, None, floats(0)) == pytest.approx(1)
    assert fuse.turn(full, meant, full, floats(0)) == pytest.approx(1)
