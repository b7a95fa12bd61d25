"""Did it help."""

from hypothesis import given
from hypothesis import strategies as st

from acumen.meter.lift import OutcomeCounts, lift

groups = st.integers(0, 300).flatmap(lambda n: st.builds(OutcomeCounts, st.just(n), st.integers(0, n)))


def test_below_twenty_sessions_on_a_side_nothing_is_said():
    few, many = OutcomeCounts(19, 19), OutcomeCounts(500, 0)

    assert lift(few, many).verdict == lift(many, few).verdict == "not enough data"
    assert (lift(few, many).difference, lift(few, many).interval) == (None, None)


def test_a_clear_difference_is_named_and_an_unclear_one_too():
    good, bad, fair = OutcomeCounts(100, 90), OutcomeCounts(100, 40), OutcomeCounts(100, 85)

    assert (lift(good, bad).verdict, lift(bad, good).verdict, lift(good, fair).verdict) == (
        "helps", "harms", "no clear difference",
    )  # fmt: skip
    assert lift(good, bad).difference == 0.5


@given(groups, groups)
def test_nothing_both_helps_and_harms(here: OutcomeCounts, there: OutcomeCounts):
    found = lift(here, there)

    assert not (found.helps and found.harms)
    assert found.interval is None or found.interval.low <= found.difference <= found.interval.high
