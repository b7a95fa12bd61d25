"""Why a memory deserves a look."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acumen.model.ids import Millis
from acumen.model.metering.usage import Use
from acumen.model.review.action import ReviewState
from acumen.model.review.signal import Replaced, ReviewWindow, ScannedSignal, SignalInput, Thresholds, Twin
from acumen.model.times import DAY_MS
from acumen.review.signals import Signal, costly, signals_of, stale

NOW = Millis(1_000 * DAY_MS)
SINCE = Millis(NOW - 60 * DAY_MS)
LONG_AGO = Millis(NOW - 100 * DAY_MS)
WINDOW = ReviewWindow(SINCE, NOW, LONG_AGO)
UNUSED = SignalInput(LONG_AGO, LONG_AGO)
USUAL = Thresholds()


def with_(case: SignalInput, **changes: Any) -> SignalInput:
    return case._replace(**changes)


def shown(times: int, cited: int = 0, tokens: int = 50, *, judged: bool = True) -> SignalInput:
    use = Use(shown=times, tokens=times * tokens, cited_shown=cited, cited_tokens=cited * tokens, first_at=SINCE)
    return with_(UNUSED, use=use._replace(judged_shown=times, judged_tokens=times * tokens) if judged else use)


def names(case: SignalInput, window: ReviewWindow = WINDOW) -> list[str]:
    return [signal.name for signal in signals_of(case, window, USUAL)]


# --- stale ---------------------------------------------------------------------------------------------------------


def test_what_was_neither_shown_nor_changed_in_the_window_is_stale():
    signal = stale(UNUSED, WINDOW)

    assert signal is not None
    assert (signal.name, signal.score) == ("stale", 50 + 100 // 7)
    assert "60 days" in signal.why
    assert "100 days" in signal.why
    assert signal.since == LONG_AGO + 60 * DAY_MS


@pytest.mark.parametrize(
    "case, covered",
    [
        (with_(UNUSED, use=Use(shown=1)), LONG_AGO),
        (with_(UNUSED, modified_at=SINCE), LONG_AGO),
        (UNUSED, None),
        (UNUSED, Millis(SINCE + 1)),
    ],
    ids=["shown", "changed", "never counted", "counted too shortly"],
)
def test_what_is_used_or_cannot_be_judged_is_not_stale(case: SignalInput, covered: Millis | None):
    assert stale(case, ReviewWindow(SINCE, NOW, covered)) is None


@given(st.integers(0, 10_000))
def test_a_stale_memory_scores_between_fifty_and_ninety_nine_and_older_is_never_less(age: int):
    def score(days: int) -> int:
        at = Millis(SINCE - 1 - days * DAY_MS)
        signal = stale(SignalInput(at, at), ReviewWindow(SINCE, NOW, Millis(0)))
        assert signal is not None
        return signal.score

    assert 50 <= score(age) <= score(age + 1) <= 99


# --- expensive -----------------------------------------------------------------------------------------------------


def test_a_memory_that_is_shown_often_and_surely_seldom_cited_is_expensive():
    signal = costly(shown(10, cited=1), WINDOW, USUAL)

    assert signal is not None
    assert (signal.name, signal.score, signal.measure) == ("high_cost_low_cite", 40, 450)
    assert "450 of 500 tokens" in signal.why
    assert "1 of 10 injections" in signal.why
    assert signal.saving == pytest.approx(450 / 60)


@pytest.mark.parametrize(
    "case",
    [
        shown(2),
        shown(3),  # nothing of three may still be 56 %
        shown(4, cited=1),
        shown(100, cited=45),
        shown(10, tokens=2),
        with_(shown(10), created_at=Millis(NOW - 6 * DAY_MS)),
        shown(100, judged=False),
    ],
    ids=["twice", "three times", "one of four", "nearly half", "few tokens", "young", "by agents that never cite"],
)
def test_small_samples_small_costs_and_young_memories_are_not_held_against_a_memory(case: SignalInput):
    assert costly(case, WINDOW, USUAL) is None


@given(st.integers(0, 500), st.data())
def test_an_expensive_memory_scores_between_thirty_and_forty_nine(times: int, data: st.DataObject):
    signal = costly(shown(times, data.draw(st.integers(0, times))), WINDOW, USUAL)

    assert signal is None or 30 <= signal.score <= 49


# --- the others ----------------------------------------------------------------------------------------------------


def test_signals_come_in_order_of_urgency():
    case = with_(
        shown(10),
        replaced=Replaced("7", "it was folded into the shared lesson 7", NOW),
        twins=[Twin("2", 0.97, NOW), Twin("3", 0.93, NOW)],
        flags=[
            ScannedSignal("oversized", {"tokens": 300, "most": 200}, NOW),
            ScannedSignal("instruction_like", {"what": "asks for secrets", "words": "reveal", "digest": "d"}, NOW),
            ScannedSignal(
                "harmful",
                {"with_rate": 0.4, "with_n": 30, "without_rate": 0.8, "without_n": 50, "low": -0.6, "high": -0.1},
                NOW,
            ),
        ],
    )

    found = signals_of(case, WINDOW, USUAL)

    assert [signal.name for signal in found] == [
        "instruction_like", "harmful", "supersedeable", "high_cost_low_cite", "duplicate", "oversized",
    ]  # fmt: skip
    assert found[2].score == 100
    assert found[4].about == ("2", "3")
    assert "97%" in found[4].why
    assert "n=30" in found[1].why
    assert found[5].saving == pytest.approx(10 * 100 / 60)


# --- what a person has said ----------------------------------------------------------------------------------------


def test_a_pinned_memory_is_never_flagged():
    assert names(with_(UNUSED, mark=ReviewState(pinned=True))) == []


def test_a_snoozed_memory_is_flagged_again_when_its_time_has_come():
    asleep = with_(UNUSED, mark=ReviewState(snoozed_until=Millis(NOW + 1)))
    awake = with_(UNUSED, mark=ReviewState(snoozed_until=NOW))

    assert (names(asleep), names(awake)) == ([], ["stale"])


def test_who_vouches_for_a_memory_speaks_against_counts_but_not_against_text():
    flag = ScannedSignal("oversized", {"tokens": 300, "most": 200}, NOW)

    case = with_(shown(10), flags=[flag], mark=ReviewState(useful_at=NOW))

    assert names(case) == ["oversized"]


def dismissed(case: SignalInput) -> ReviewState:
    return ReviewState(dismissed={signal.name: signal.as_dismissed() for signal in signals_of(case, WINDOW, USUAL)})


@pytest.mark.parametrize("times, expected", [(10, []), (14, []), (15, ["high_cost_low_cite"])])
def test_a_dismissed_memory_returns_when_its_waste_has_grown_by_half(times: int, expected: list[str]):
    mark = dismissed(shown(10))

    assert names(with_(shown(times), mark=mark)) == expected


def test_a_dismissed_duplicate_returns_with_a_twin_that_was_not_there():
    twins = [Twin("2", 0.95, NOW)]
    mark = dismissed(with_(shown(1), twins=twins))

    assert names(with_(shown(1), twins=twins, mark=mark)) == []
    assert names(with_(shown(1), twins=[*twins, Twin("3", 0.95, NOW)], mark=mark)) == ["duplicate"]


def test_a_dismissal_covers_only_the_signals_that_were_there():
    mark = dismissed(UNUSED)

    assert names(with_(shown(10), mark=mark)) == ["high_cost_low_cite"]


def test_a_first_hour_of_counting_is_not_taken_for_a_habit():
    young = ReviewWindow(SINCE, NOW, Millis(NOW - 3_600_000))

    signal = costly(shown(10), young, USUAL)

    assert isinstance(signal, Signal)
    assert signal.saving == 500
