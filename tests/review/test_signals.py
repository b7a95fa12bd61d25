"""Why a memory deserves a look."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acumen.model.ids import Millis
from acumen.model.profile import DAY_MS
from acumen.review.signals import Used, stale

NOW = Millis(1_000 * DAY_MS)
SINCE = Millis(NOW - 60 * DAY_MS)
LONG_AGO = Millis(NOW - 100 * DAY_MS)


def test_what_was_neither_shown_nor_changed_in_the_window_is_stale():
    signal = stale(Used(LONG_AGO), SINCE, NOW, covered_since=LONG_AGO)

    assert signal is not None
    assert (signal.name, signal.score) == ("stale", 50 + 100 // 7)
    assert "60 days" in signal.why
    assert "100 days" in signal.why


@pytest.mark.parametrize(
    "used, covered",
    [
        (Used(LONG_AGO, shown=1), LONG_AGO),
        (Used(SINCE), LONG_AGO),
        (Used(LONG_AGO), None),
        (Used(LONG_AGO), Millis(SINCE + 1)),
    ],
    ids=["shown", "changed", "never counted", "counted too shortly"],
)
def test_what_is_used_or_cannot_be_judged_is_not_stale(used: Used, covered: Millis | None):
    assert stale(used, SINCE, NOW, covered) is None


@given(st.integers(0, 10_000))
def test_a_stale_memory_scores_between_fifty_and_ninety_nine_and_older_is_never_less(age: int):
    def score(days: int) -> int:
        signal = stale(Used(Millis(SINCE - 1 - days * DAY_MS)), SINCE, NOW, Millis(0))
        assert signal is not None
        return signal.score

    assert 50 <= score(age) <= score(age + 1) <= 99
