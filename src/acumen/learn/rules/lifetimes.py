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
    word: count
    for count, names in enumerate("a an one|two couple|three|four few|five|six|seven|eight|nine|ten".split("|"), 1)
    for word in names.split()
}
_UNITS = {"hour": 0.05, "day": 1, "night": 1, "week": 7, "fortnight": 14, "month": 30, "quarter": 90, "year": 365}

# A span counted from now: "for the next three weeks", "over the coming days".
_SPAN = re.compile(
    r"\b(?:for|over|during|in|within) (?:about |around |another )?(?:(?:the )?(?:next|coming|following) )?"
    r"(?P<count>\d{1,3}|"
    + "|".join(_NUMBERS)
    + r")?(?: more)?(?: of)?\s?(?P<unit>hour|day|night|week|fortnight|month|quarter|year)s?\b"
)
_END = r"end of (?:the )?"
_SEASON = r"(?:quarter|summer|winter|spring|fall|autumn|semester|term|season)"
# Days that named times last at most, the shortest first.
_NAMED = [
    (days, re.compile(rf"\b(?:{pattern})\b"))
    for days, pattern in [
        (1, rf"today|tonight|this (?:morning|afternoon|evening)|(?:right|just) now|for the day|{_END}day|eod"),
        (
            7,
            rf"tomorrow|this (?:coming )?week(?:end)?|{_END}week|eow|for now|at the moment|temporarily|the time being",
        ),
        (14, r"next week(?:end)?|this sprint|fortnight"),
        (31, rf"this month|{_END}month|eom"),
        (61, r"next month"),
        (92, rf"this {_SEASON}|{_END}{_SEASON}|q[1-4]"),
        (183, rf"next {_SEASON}"),
        (366, rf"this year|{_END}year|eoy|next year|pregnant|expecting a baby"),
    ]
]
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
    r"\b(?:since|ago|every|each|last|past|used to|born|anniversary|birthday|always|never|usually|experience)\b|"
    r"\b(?:for|over) (?:\w+ ){1,3}(?:years|months|weeks) (?:now|already)\b"
)
_RECURRING = re.compile(
    r"\b(?:mornings|afternoons|evenings|nights|weekends|weekdays|(?:" + "|".join(_WEEKDAYS) + r")s)\b"
)
_ENDS = re.compile(r"\buntil\b|\bthrough\b|\btill\b|\bexpires?\b|\bthis week\b|\btoday\b|\bfor now\b")


def lifetime(text: str, at: Millis, *, perfect: bool = False) -> TimeToLive:
    """How long the words of `text` (lower case) hold when said at `at`; infinity when they do not end."""
    days = days_left(text, at, perfect=perfect)
    if days is None:
        return TimeToLive.INFINITY
    return next((limit for most, limit in _LIMITS if days <= most), TimeToLive.INFINITY)


_BOUNDED = re.compile(
    r"\b(?:until|through|till|today|tonight|temporarily|for now|for the (?:next|coming|rest|time being|day)|"
    r"this (?:week|weekend|month|quarter|year|sprint|semester|summer|winter|morning|afternoon|evening)|"
    r"for (?:an?|one|two|three|\d+) (?:days?|weeks?|months?))\b"
)


def bounded(text: str, at: Millis) -> TimeToLive:
    """How long an instruction holds: only words that bound it count, not 'within two days'."""
    return lifetime(text, at) if _BOUNDED.search(text) else TimeToLive.INFINITY


def days_left(text: str, at: Millis, *, perfect: bool = False) -> float | None:
    if _RECURRING.search(text) or (_OPEN_ENDED.search(text) and not _ENDS.search(text)):
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
