"""How sure a share is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acumen.model.metering.intervals import UserSample, clustered, newcombe, wilson

cases = st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@pytest.mark.parametrize(
    "successes, n, low, high",
    # Newcombe 1998, "Two-sided confidence intervals for the single proportion", table I, method 3.
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0000, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_wilson_is_as_published(successes: int, n: int, low: float, high: float):
    found = wilson(successes, n)

    assert (round(found.low, 4), round(found.high, 4)) == (low, high)


@pytest.mark.parametrize(
    "here, n, there, m, low, high",
    # Newcombe 1998, "Interval estimation for the difference between independent proportions", table II, method 10.
    [(56, 70, 48, 80, 0.0524, 0.3339), (9, 10, 3, 10, 0.1705, 0.8090), (10, 10, 0, 20, 0.6791, 1.0000)],
)
def test_newcombe_is_as_published(here: int, n: int, there: int, m: int, low: float, high: float):
    found = newcombe(here, n, there, m)

    assert (round(found.low, 4), round(found.high, 4)) == (low, high)


@given(cases, cases)
def test_an_interval_holds_what_was_seen_and_turns_with_the_question(one: tuple[int, int], other: tuple[int, int]):
    forth, back = newcombe(*one, *other), newcombe(*other, *one)

    assert forth.low - 1e-9 <= one[0] / one[1] - other[0] / other[1] <= forth.high + 1e-9
    assert -1 - 1e-9 <= forth.low <= forth.high <= 1 + 1e-9
    assert (forth.low, forth.high) == pytest.approx((-back.high, -back.low))


def test_nothing_seen_says_nothing():
    assert (wilson(0, 0).low, wilson(0, 0).high) == (0.0, 1.0)


def test_users_whose_sessions_all_end_alike_make_the_interval_wider():
    spread = [UserSample(10, 5)] * 20
    alike = [UserSample(10, 10)] * 10 + [UserSample(10, 0)] * 10

    (_, narrow), (_, wide) = clustered(spread, spread), clustered(alike, alike)

    assert narrow.high - narrow.low < 1e-9
    assert wide.high - wide.low > 0.5


def test_one_user_in_an_arm_is_no_arm():
    assert clustered([UserSample(100, 50)], [UserSample(10, 5)] * 5) is None
