"""How long a statement holds, from its own words about time."""

import re
from datetime import UTC, datetime

from acumen.model.ids import Millis
from acumen.model.profile import TimeToLive

_LIMITS = [
    (1, TimeToLive.ONE_DAY),
    (7, TimeToLive.ONE_WEEK),
    (31, TimeToLive.ONE_MONTH),
    (92, TimeToLive.ONE_QUARTER),
    (366, TimeToLive.ONE_YEAR),
]
_WEEKDAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
_MONTHS = "january february march april may june july august september october november december".split()
_MONTH = "(?P<month>" + "|".join(f"{name[:3]}(?:{name[3:]})?" if name != "may" else "may" for name in _MONTHS) + ")"
_NUMBERS = {
    "a": 1, "an": 1, "one": 1, "two": 2, "couple": 2, "three": 3, "few": 4, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8,
    "nine": 9, "ten": 10, "twelve": 12,
}  # fmt: skip
_UNITS = {
    "hour": 0.05,
    "day": 1.0,
    "night": 1.0,
    "week": 7.0,
    "fortnight": 14.0,
    "month": 30.0,
    "quarter": 90.0,
    "year": 365.0,
    "sprint": 14.0,
}

# A span counted from now: "for the next three weeks", "over the coming days".
_SPAN = re.compile(
    r"\b(?:for|over|during|in|within) (?:about |around |another )?(?:(?:the )?(?:next|coming|following) )?"
    r"(?P<count>\d{1,3}|"
    + "|".join(_NUMBERS)
    + r")?(?: more)?(?: of)?\s?(?P<unit>hour|day|night|week|fortnight|month|quarter|year)s?\b"
)
_NAMED = [
    (1, re.compile(r"\b(?:today|tonight|this (?:morning|afternoon|evening)|(?:right|just) now|for the day|end of (?:the )?day|eod)\b")),
    (7, re.compile(r"\b(?:tomorrow|this (?:coming )?(?:week|weekend)|end of (?:the )?week|eow|for now|at the moment|temporarily|for the time being)\b")),
    (14, re.compile(r"\b(?:next (?:week|weekend)|this sprint|fortnight)\b")),
    (31, re.compile(r"\b(?:this month|end of (?:the )?month|eom|these days)\b")),
    (61, re.compile(r"\b(?:next month)\b")),
    (92, re.compile(r"\b(?:this (?:quarter|summer|winter|spring|fall|autumn|semester|term|season)|end of (?:the )?(?:quarter|summer|semester|term)|q[1-4])\b")),
    (183, re.compile(r"\b(?:next (?:quarter|summer|semester|term))\b")),
    (366, re.compile(r"\b(?:this year|end of (?:the )?year|eoy|next year|pregnant|expecting a baby)\b")),
]  # fmt: skip
_WEEKDAY = re.compile(r"\b(?:until|through|by|before|on|this|next|till) (?P<day>" + "|".join(_WEEKDAYS) + r")\b")
_DATE = re.compile(
    r"\b(?:until|through|by|before|on|till|is|due)?\s?(?:the )?(?:"
    + _MONTH
    + r" (?P<day>\d{1,2})(?:st|nd|rd|th)?|(?P<iso>\d{4}-\d\d-\d\d))\b"
)
_UNTIL_MONTH = re.compile(
    r"\b(?:until|through|till|before) (?:the )?(?:end of |start of |beginning of |mid-?)?" + _MONTH + r"\b"
)
# Time words that speak of the past or of a habit do not end anything.
_OPEN_ENDED = re.compile(
    r"\b(?:since|ago|every|each|last|past|used to|born|anniversary|birthday|always|never|usually|experience)\b|\b(?:for|over) (?:\w+ ){1,3}(?:years|months|weeks) (?:now|already)\b"
)
_ENDS = re.compile(r"\buntil\b|\bthrough\b|\btill\b|\bexpires?\b|\bthis week\b|\btoday\b|\bfor now\b")


def lifetime(text: str, at: Millis, *, perfect: bool = False) -> TimeToLive:
    """How long the words of `text` (lower case) hold when said at `at`; infinity when they do not end."""
    days = days_left(text, at, perfect=perfect)
    if days is None:
        return TimeToLive.INFINITY
    return next((limit for most, limit in _LIMITS if days <= most), TimeToLive.INFINITY)


def days_left(text: str, at: Millis, *, perfect: bool = False) -> float | None:
    if _OPEN_ENDED.search(text) and not _ENDS.search(text):
        return None
    if not perfect:
        span = _SPAN.search(text)
        if span and (span["count"] or "next" in span[0] or "coming" in span[0]):
            return _count(span["count"]) * _UNITS[span["unit"]]
    dated = _until_date(text, at)
    if dated is not None:
        return dated
    return next((float(days) for days, pattern in _NAMED if pattern.search(text)), None)


def names_date(text: str) -> bool:
    """Whether the text names a day of the calendar."""
    return bool(
        _WEEKDAY.search(text)
        or _DATE.search(text)
        or re.search(r"\b(?:" + "|".join(_WEEKDAYS + _MONTHS) + r")\b", text)
    )


def _count(word: str | None) -> float:
    if word is None:
        return 1
    return float(word) if word.isdigit() else float(_NUMBERS[word])


def _until_date(text: str, at: Millis) -> float | None:
    today = datetime.fromtimestamp(at / 1000, UTC)
    weekday = _WEEKDAY.search(text)
    if weekday:
        return 7
    date = _DATE.search(text)
    if date and date["iso"]:
        return _days_to(today, date["iso"])
    if date:
        return _days_to_month(today, date["month"], int(date["day"])) if at else 92
    month = _UNTIL_MONTH.search(text)
    if month:
        return _days_to_month(today, month["month"], 28) if at else 183
    return None


def _days_to(today: datetime, iso: str) -> float | None:
    try:
        then = datetime.fromisoformat(iso).replace(tzinfo=UTC)
    except ValueError:
        return None
    days = (then - today).days + 1
    return float(days) if days > 0 else None


def _days_to_month(today: datetime, name: str, day: int) -> float:
    """Days until the next such date; a date just past means next year's."""
    number = next(place for place, month in enumerate(_MONTHS, 1) if month.startswith(name[:3]))
    return float(((number - today.month) % 12) * 30.4 + max(day - today.day, 0) + 1)
