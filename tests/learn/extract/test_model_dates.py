"""Dates that a model reads out of words must be what the words can mean."""

import pytest

from acumen.learn.extract.model_dates import agree
from tests.learn.talk import NOON  # a Wednesday: 2025-10-15


@pytest.mark.parametrize(
    "text,words,possible",
    [
        ("on 2025-10-17", "I leave on Friday", True),
        ("on 2025-10-23", "I leave on Friday", False),
        ("on 2025-11-14", "I leave on Friday", False),  # too far for a weekday
        ("am 2025-10-23", "Nächste Woche Donnerstag fliege ich", True),
        ("am 2025-10-24", "Nächste Woche Donnerstag fliege ich", False),
        ("2025-10-20", "我星期一去北京", True),
        ("2025-10-21", "我星期一去北京", False),
        ("2025-11-05", "下个月5号我要去北京", True),
        ("2025-11-05", "下个月五号我要去北京", True),
        ("2025-10-20", "下个月五号我要去北京", False),  # five days later
        ("2025-11-26", "二十六日に結婚します", True),
        ("2025-11-10", "十号我要去北京", True),
        ("2025-10-15", "du 2 au 13 octobre, le 10", False),
        ("2025-11-06", "The wedding is on the 26th", False),
        ("2025-10-16", "I leave tomorrow", True),
        ("2025-10-15", "I am allergic to nuts", False),  # the day on which it was said
        ("2025-10-18", "I leave in 3 days", True),
        ("2030-01-01", "I leave soon", False),
        ("2025-02-31", "I left on the 31st", False),
        ("2019-05-01", "since 2019", True),
        ("no date", "I leave on Friday", True),
    ],
)
def test_a_day_agrees_with_the_weekday_and_the_numbers_of_the_words(text: str, words: str, possible: bool):
    assert agree(text, words, NOON) is possible
