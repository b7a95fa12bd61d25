"""Vectors: close to the truth everywhere, exact where it counts."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from acumen.index.rows import FEW_DEAD
from acumen.index.similarity import QueryVector
from acumen.index.vectors import Vectors

DIMS = 96


def random_vectors(count: int, seed: int = 0, dims: int = DIMS) -> NDArray[np.float32]:
    """In bundles, as sentences lie."""
    random = np.random.default_rng(seed)
    topics = random.standard_normal((20, dims))
    return (topics[random.integers(0, 20, count)] + random.standard_normal((count, dims))).astype(np.float32)


def unit(matrix: NDArray[np.float32]) -> NDArray[np.float32]:
    return matrix / np.linalg.norm(matrix, axis=-1, keepdims=True)


def filled(matrix: NDArray[np.float32]) -> Vectors:
    held = Vectors()
    for line in matrix:
        held.append(line)
    return held


def test_every_cosine_is_near_the_truth_and_that_of_any_row_nearer_when_asked_for() -> None:
    matrix, question = random_vectors(500, dims=384), random_vectors(1, seed=1, dims=384)[0]
    truth, some = unit(matrix) @ unit(question), np.array([3, 77, 400])

    near = filled(matrix).similarities(QueryVector.of(question))

    assert near.cosines == pytest.approx(truth, abs=0.005)
    assert near.exact(some) == pytest.approx(truth[some], abs=0.002)


def test_the_closest_of_several_vectors_speaks_for_a_row() -> None:
    count = 60
    matrix, question = random_vectors(3 * count), random_vectors(1, seed=1)[0]
    held = Vectors()
    for start in range(0, 3 * count, 3):
        held.append(matrix[start : start + 1 + (start // 3) % 3])

    near = held.similarities(QueryVector.of(question))

    truth = (unit(matrix) @ unit(question)).reshape(-1, 3)
    closest = [line[: 1 + row % 3].max() for row, line in enumerate(truth)]
    assert near.cosines == pytest.approx(closest, abs=0.01)
    assert near.exact(np.arange(count)) == pytest.approx(closest, abs=0.005)


def test_a_row_without_vector_is_unknown_and_far() -> None:
    held = Vectors()
    held.append(None)
    held.append(random_vectors(1)[0])

    near = held.similarities(QueryVector.of(random_vectors(1)[0]))

    assert near.has_vector.tolist() == [False, True]
    assert near.cosines[0] == 0


@pytest.mark.parametrize("number", [0.0, np.nan, np.inf])
def test_a_vector_without_direction_is_no_vector(number: float) -> None:
    held = Vectors()
    held.append(np.full(8, number, np.float32))

    near = held.similarities(QueryVector.of(np.ones(8, np.float32)))

    assert near.has_vector.tolist() == [False]


def test_a_vector_of_another_size_is_refused() -> None:
    held = filled(random_vectors(1))

    with pytest.raises(ValueError, match="cannot be compared"):
        held.append(np.ones(DIMS + 1, np.float32))
    with pytest.raises(ValueError, match="cannot be compared"):
        held.similarities(QueryVector.of(np.ones(DIMS + 1, np.float32)))


def test_a_vector_set_again_replaces_the_old_ones_and_keeps_no_room_for_them() -> None:
    held = filled(random_vectors(2))
    new = random_vectors(1, seed=5)[0]

    for _ in range(FEW_DEAD):
        held.set(1, np.stack([-new, new]))
        held.similarities(QueryVector.of(new))

    assert held.similarities(QueryVector.of(new)).cosines[1] == pytest.approx(1, abs=0.005)
    assert len(held._owners) < 1.5 * FEW_DEAD


@given(st.lists(st.integers(0, 3), min_size=1, max_size=40), st.data())
def test_sweeping_keeps_the_cosines_of_those_kept(counts: list[int], data: st.DataObject) -> None:
    matrix = random_vectors(sum(counts) + 1)
    held, start = Vectors(), 0
    for count in counts:
        held.append(matrix[start : start + count] if count else None)
        start += count
    kept = np.array(sorted(data.draw(st.sets(st.sampled_from(range(len(counts)))))), np.intp)
    before = held.similarities(QueryVector.of(matrix[-1]))

    held.sweep(kept)

    after = held.similarities(QueryVector.of(matrix[-1]))
    assert after.has_vector.tolist() == before.has_vector[kept].tolist()
    assert after.cosines == pytest.approx(before.cosines[kept], abs=1e-6)


def test_the_size_in_bytes_grows_by_a_quarter_of_what_floats_take() -> None:
    held = filled(random_vectors(4000, dims=384))
    held.similarities(QueryVector.of(random_vectors(1, dims=384)[0]))

    assert 4000 * 384 < held.bytes < 4000 * 384 * 4 / 2
