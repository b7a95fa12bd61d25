"""Days that a question names."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acumen.index.days import CalendarDay, days


@pytest.mark.parametrize(
    "text, day",
    [
        ("What happened on 8 May 2023?", CalendarDay(5, 8, 2023)),
        ("on 31 July, 2023", CalendarDay(7, 31, 2023)),
        ("on October 13, 2023", CalendarDay(10, 13, 2023)),
        ("on the 3rd of June", CalendarDay(6, 3)),
        ("on Sept. 4th", CalendarDay(9, 4)),
        ("in August 2023", CalendarDay(8, None, 2023)),
        ("in August", CalendarDay(8)),
        ("since last march", CalendarDay(3)),
        ("at 2023-05-08", CalendarDay(5, 8, 2023)),
        ("during 2023/11", CalendarDay(11, None, 2023)),
    ],
)
def test_a_day_is_read_however_it_is_written(text: str, day: CalendarDay) -> None:
    assert days(text) == (day,)


@pytest.mark.parametrize(
    "text",
    ["May I ask?", "we march on", "call 555-1234", "version 2023.1", "2023-13-01", "32 May", "when was that", ""],
)
def test_what_is_no_day_is_not_read_as_one(text: str) -> None:
    assert all(day.day is None for day in days(text))
    assert days(text) == () or "32 May" in text


def test_several_days_are_read_each_once() -> None:
    assert set(days("between 3 May 2023 and 5 June 2023, that is 3 May 2023")) == {
        CalendarDay(5, 3, 2023),
        CalendarDay(6, 5, 2023),
    }


@given(st.text())
def test_any_text_may_be_asked(text: str) -> None:
    assert all(1 <= day.month <= 12 for day in days(text))


@given(st.dates())
def test_a_date_is_read_back(date) -> None:
    assert days(f"on {date:%d %B} {date.year:04}") == (CalendarDay(date.month, date.day, date.year),)
    assert days(f"on {date.isoformat()}") == (CalendarDay(date.month, date.day, date.year),)
