import pytest

from bench.figures import Figure, at_least, at_most, below, median, percentile


@pytest.mark.parametrize(
    "share, expected",
    [(0.5, 50), (0.95, 95), (0.99, 99), (1.0, 100), (0.001, 1)],
)
def test_a_percentile_is_the_value_that_the_share_does_not_exceed(share: float, expected: float) -> None:
    assert percentile([float(value) for value in range(100, 0, -1)], share) == expected


def test_the_median_of_one_value_is_that_value() -> None:
    assert median([7.0]) == 7.0


def test_a_target_is_met_up_to_its_limit() -> None:
    assert Figure("wait", 6.0, "ms", at_most(6)).met is True
    assert Figure("wait", 6.1, "ms", at_most(6)).met is False
    assert Figure("wait", 1.0, "s", below(1)).met is False
    assert Figure("rate", 2_000.0, "/s", at_least(2_000)).met is True
    assert Figure("rate", 1_999.0, "/s", at_least(2_000)).met is False


def test_a_figure_without_a_target_is_neither_met_nor_missed() -> None:
    assert Figure("load", 3.0, "").met is None
