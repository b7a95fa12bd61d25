"""Dates in words become days, counted from the day on which they were said."""

from datetime import UTC, date, datetime

import pytest

from acumen.learn.extract.relative_dates import end_in, period_in
from tests.learn.talk import MONDAY

PERIODS = {
    "yesterday": (date(2023, 5, 7), date(2023, 5, 7)),
    "last Friday": (date(2023, 5, 5), date(2023, 5, 5)),
    "next Tuesday": (date(2023, 5, 9), date(2023, 5, 9)),
    "two weeks ago": (date(2023, 4, 24), date(2023, 4, 30)),
    "next month": (date(2023, 6, 1), date(2023, 6, 30)),
    "this weekend": (date(2023, 5, 13), date(2023, 5, 14)),
    "on 15 July": (date(2023, 7, 15), date(2023, 7, 15)),
    "on March 3rd, 2022": (date(2022, 3, 3), date(2022, 3, 3)),
    "in mid-February": (date(2023, 2, 1), date(2023, 2, 28)),
    "in November": (date(2022, 11, 1), date(2022, 11, 30)),
    "in 2019": (date(2019, 1, 1), date(2019, 12, 31)),
    "2023-06-01": (date(2023, 6, 1), date(2023, 6, 1)),
    "a couple of days ago": (date(2023, 5, 6), date(2023, 5, 6)),
}


@pytest.mark.parametrize("words, days", PERIODS.items())
def test_a_period_is_resolved(words: str, days: tuple[date, date]):
    period = period_in(f"I was there {words}.", MONDAY)

    assert period is not None
    assert (period.first, period.last) == days


@pytest.mark.parametrize("words", ["I may go.", "on 31 February", "the second one", "March on!", "I have 12 of them"])
def test_what_names_no_day_is_no_period(words: str):
    assert period_in(words, MONDAY) is None


@pytest.mark.parametrize(
    "words, day",
    [
        ("I'm away until Friday.", date(2023, 5, 12)),
        ("For the next two weeks I work from home.", date(2023, 5, 22)),
        ("Just for today, use Celsius.", date(2023, 5, 8)),
    ],
)
def test_a_stated_end_is_the_end_of_its_day(words: str, day: date):
    end = end_in(words, MONDAY)

    assert end is not None
    assert datetime.fromtimestamp(end / 1000, UTC).date() == day


@pytest.mark.parametrize(
    "words",
    [
        "I went there last week.",
        "My flight is on Friday.",
        "I waited until now.",
        "Our support hours are Monday until Friday.",
        "My son is at school until Friday every week.",
        "Always wait until Monday before you send invoices.",
    ],
)
def test_events_plans_and_what_comes_again_have_no_end(words: str):
    assert end_in(words, MONDAY) is None


@pytest.mark.parametrize(
    "words, past, first",
    [
        ("I've lived here since September.", False, date(2022, 9, 1)),
        ("I started the job in September.", True, date(2022, 9, 1)),
        ("I booked a trip for September.", True, date(2023, 9, 1)),
        ("I start in September.", False, date(2023, 9, 1)),
    ],
)
def test_a_month_of_the_past_is_the_last_one(words: str, past: bool, first: date):
    period = period_in(words, MONDAY, past=past)

    assert period is not None
    assert period.first == first
