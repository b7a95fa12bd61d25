"""Dates in a sentence, resolved against the time at which it was said: when a statement holds, and when it ends."""

import calendar
import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta

from msgspec import Struct

from acumen.model.ids import Millis
from acumen.model.lazy_regex import lazy_regex
from acumen.model.times import DAY_MS

_WEEKDAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
_WEEKDAY = "|".join(_WEEKDAYS)
_MONTHS = "january february march april may june july august september october november december".split()
_MONTH = "|".join(f"{name[:3]}(?:{name[3:]})?" if len(name) > 3 else name for name in _MONTHS) + "|sept"
NUMBERS = {
    word: count
    for count, words in enumerate("a an one|two couple|three|four|five|six|seven|eight|nine|ten".split("|"), 1)
    for word in words.split()
}
_COUNT = rf"(?P<count>\d{{1,3}}|{'|'.join(NUMBERS)})"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_YEAR = r"(?:,? (?P<year>(?:19|20)\d\d))?"


class Period(Struct, frozen=True):
    """From the beginning of one day to the end of another, in UTC."""

    first: date
    last: date

    @property
    def begin(self) -> Millis:
        return _millis(self.first)

    @property
    def end(self) -> Millis:
        return Millis(_millis(self.last) + DAY_MS - 1)


def period_in(text: str, at: Millis, *, past: bool = False) -> Period | None:
    """The first period that the words name, absolute or relative to the moment `at` when they were said.

    `past`: what the words tell has happened, so a month without a year is the last one.
    """
    today = datetime.fromtimestamp(at / 1000, UTC).date()
    matches = [(match, read) for pattern, read in _PERIODS for match in [pattern.search(text.lower())] if match]
    for match, read in sorted(matches, key=lambda pair: pair[0].start()):
        period = _read(read, match, today)
        if period is not None:
            is_past = _names_month_alone(match) and (past or bool(_SINCE.search(match.string, 0, match.end())))
            return _year_before(period) if is_past and period.first > today else period
    return None


_SINCE = lazy_regex(r"\bsince\b[^,.;]{0,20}$")
_AHEAD = lazy_regex(r"\b(?:for|by|until|till?)\b[^,.;]{0,12}$")


def _names_month_alone(match: re.Match[str]) -> bool:
    """A month without a year or "next", and not "for December", which may be ahead of what has happened."""
    named = match.groupdict()
    alone = named.get("month") and not (named.get("year") or named.get("which"))
    return bool(alone) and not _AHEAD.search(match.string, 0, match.end())


def _year_before(period: Period) -> Period:
    return Period(_shift(period.first, -1, "year"), _shift(period.last, -1, "year"))


def end_in(text: str, at: Millis) -> Millis | None:
    """When the statement ends by its own words: "until Friday", "for the next two weeks", "this week only".

    What comes again and again has no end: "open from Tuesday until Saturday", "at school until Friday every week".
    """
    low, today = text.lower(), datetime.fromtimestamp(at / 1000, UTC).date()
    until = _UNTIL.search(low)
    if until and not _RECURS.search(low):
        named = low[until.end() : until.end() + 60].strip()
        period = period_in(f"next {named}" if named.startswith(tuple(_WEEKDAYS)) else f"in {named}", at)
        return period.end if period and period.last >= today else None
    span = _FOR_SPAN.search(low)
    if span:
        return Period(today, _shift(today, _count(span), span["unit"])).end
    limited = _LIMITED.search(low) or (_STATE.search(low) and _NOW.search(low))
    period = period_in(limited[0], at) if limited else None
    return period.end if period else None


_UNTIL = lazy_regex(r"\b(?:until|till|til|through)\b(?! now| recently| last| yesterday)")
_RECURS = lazy_regex(
    rf"\b(?:every|each|usually|wait|hold off|(?:on )?(?:{_WEEKDAY})s\b|weekends|weekdays|hours|shift|open|"
    rf"closed)\b|\b(?:{_WEEKDAY}|[ap]m|\d{{1,2}}(?::\d\d)?) (?:until|till?|through)\b"
)
_FOR_SPAN = lazy_regex(rf"\bfor the (?:next|coming) {_COUNT} (?P<unit>day|week|month|year)s?\b")
_LIMITED = lazy_regex(
    r"\b(?:just |only )(?:for )?(?:today|this (?:week|month|quarter|year))\b|\b(?:today|this (?:week|month|quarter|"
    r"year)) only\b|\bfor (?:the rest of )?(?:today|this (?:week|month|year))\b"
)


# "I am in Rome this week" holds for this week.
_STATE = lazy_regex(
    r"\b(?:i'm|i am|we're|we are) (?:currently )?(?:in|at|on|away|off|out|working|staying|travell?ing|visiting|"
    r"studying)\b"
)
_NOW = lazy_regex(r"\b(?:today|tonight|this (?:week|weekend|month|quarter|year))\b")


def _read(read: Callable[[re.Match[str], date], Period | None], match: re.Match[str], today: date) -> Period | None:
    try:
        return read(match, today)
    except (ValueError, OverflowError):  # 31 February, the year 0
        return None


def _iso(match: re.Match[str], _today: date) -> Period:
    day = date.fromisoformat(match[0])
    return Period(day, day)


def _day_of_month(match: re.Match[str], today: date) -> Period:
    month = _month_number(match["month"])
    year = int(match["year"]) if match["year"] else _nearest_year(month, today)
    day = date(year, month, int(match["day"]))
    return Period(day, day)


def _whole_month(match: re.Match[str], today: date) -> Period:
    month = _month_number(match["month"])
    year = int(match["year"]) if match["year"] else _nearest_year(month, today, (match["which"] or "").strip())
    return _month(year, month)


def _year(match: re.Match[str], _today: date) -> Period:
    year = int(match["year"])
    return Period(date(year, 1, 1), date(year, 12, 31))


def _named_day(match: re.Match[str], today: date) -> Period:
    days = {"yesterday": -1, "last night": -1, "the day before yesterday": -2, "tomorrow": 1, "tonight": 0, "today": 0}
    day = today + timedelta(days.get(match[0], 0))
    return Period(day, day)


def _weekday(match: re.Match[str], today: date) -> Period | None:
    """The last one before today, or the next one; a bare weekday is left open unless a tense word decides."""
    ahead = (_WEEKDAYS.index(match["weekday"]) - today.weekday()) % 7
    which = (match["which"] or "").strip()
    if which == "last":
        day = today - timedelta((today.weekday() - _WEEKDAYS.index(match["weekday"])) % 7 or 7)
    elif which in ("next", "this", "coming", "this coming", "this past"):
        day = today + timedelta(ahead or 7) if which != "this past" else today - timedelta((-ahead) % 7 or 7)
    else:
        return None
    return Period(day, day)


def _relative_unit(match: re.Match[str], today: date) -> Period:
    step = {"last": -1, "past": -1, "previous": -1, "this": 0, "next": 1, "coming": 1}[match["which"].split()[-1]]
    return _unit_period(today, match["unit"], step)


def _ago(match: re.Match[str], today: date) -> Period:
    return _around(_shift(today, -_count(match), match["unit"]), match["unit"])


def _ahead(match: re.Match[str], today: date) -> Period:
    return _around(_shift(today, _count(match), match["unit"]), match["unit"])


def _unit_period(today: date, unit: str, step: int) -> Period:
    if unit == "week":
        monday = today - timedelta(today.weekday()) + timedelta(7 * step)
        return Period(monday, monday + timedelta(6))
    if unit == "weekend":
        saturday = today - timedelta(today.weekday()) + timedelta(5 + 7 * step)
        return Period(saturday, saturday + timedelta(1))
    if unit == "month":
        moved = _shift(today.replace(day=1), step, "month")
        return _month(moved.year, moved.month)
    return Period(date(today.year + step, 1, 1), date(today.year + step, 12, 31))


def _around(day: date, unit: str) -> Period:
    """That day of "three days ago", the whole month of "two months ago"."""
    return Period(day, day) if unit == "day" else _unit_period(day, unit, 0)


def _shift(day: date, count: int, unit: str) -> date:
    if unit in ("day", "week", "weekend"):
        return day + timedelta(count * (1 if unit == "day" else 7))
    months = day.year * 12 + day.month - 1 + count * (12 if unit == "year" else 1)
    year, month = months // 12, months % 12 + 1
    return date(year, month, min(day.day, calendar.monthrange(year, month)[1]))


def _month(year: int, month: int) -> Period:
    return Period(date(year, month, 1), date(year, month, calendar.monthrange(year, month)[1]))


def _nearest_year(month: int, today: date, which: str = "") -> int:
    """Of a month without a year: the nearest one, or as "last" and "next" say."""
    if which == "last":
        return today.year if month < today.month else today.year - 1
    if which == "next":
        return today.year if month > today.month else today.year + 1
    distance = month - today.month
    return today.year + (1 if distance < -6 else -1 if distance >= 6 else 0)


def _month_number(name: str) -> int:
    return next(number for number, month in enumerate(_MONTHS, 1) if month.startswith(name[:3]))


def _count(match: re.Match[str]) -> int:
    return int(match["count"]) if match["count"].isdigit() else NUMBERS[match["count"]]


def _millis(day: date) -> Millis:
    return Millis(int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp() * 1000))


_WHICH = r"(?P<which>(?:last|next|this past|this coming|this|coming|past|previous) )"
_PERIODS = (
    (lazy_regex(r"\b(?:19|20)\d\d-\d\d-\d\d\b"), _iso),
    (lazy_regex(rf"\b{_DAY}(?: of)? (?P<month>{_MONTH})\b\.?{_YEAR}"), _day_of_month),
    (lazy_regex(rf"\b(?P<month>{_MONTH})\.? (?:the )?{_DAY}\b(?!:|\d){_YEAR}"), _day_of_month),
    (lazy_regex(
        rf"\b(?:(?:in|since|of|early|late|until|by|for) |(?:in )?mid-?\s?|"
        rf"{_WHICH})(?P<month>{_MONTH})\b(?! \d{{1,2}}\b){_YEAR}"
    ), _whole_month),
    (lazy_regex(r"\b(?:in|since|of|from|until|by) (?P<year>(?:19|20)\d\d)\b"), _year),
    (lazy_regex(r"\b(?:the day before yesterday|yesterday|last night|today|tonight|tomorrow)\b"), _named_day),
    (lazy_regex(rf"\b{_WHICH}?(?P<weekday>{_WEEKDAY})\b"), _weekday),
    (lazy_regex(
        r"\b(?P<which>(?:over |during )?(?:the )?(?:last|past|previous|this|next|coming)) (?P<unit>weekend|week|month|"
        r"year)\b"
    ), _relative_unit),
    (lazy_regex(rf"\b{_COUNT} (?:of )?(?P<unit>day|week|month|year)s? ago\b"), _ago),
    (lazy_regex(rf"\bin {_COUNT} (?P<unit>day|week|month|year)s?\b(?! time)"), _ahead),
)  # fmt: skip
