"""Dates that a model reads out of words: whether the words can mean them, and when a memory holds and ends. Pure.

Models count days badly. A date that contradicts the words it was made of is worse than the words themselves.
"""

import re
from datetime import UTC, date, datetime, timedelta

from acumen.model.ids import Millis
from acumen.model.lazy_regex import lazy_regex
from acumen.model.memories.base import Category
from acumen.model.memories.profile import TimeToLive

# Monday to Sunday in the languages that are read most.
_WEEKDAYS = [
    lazy_regex(rf"\b(?:{spaced})|(?:星期|周|礼拜){chinese}|{japanese}曜|{korean}요일", re.IGNORECASE)
    for spaced, chinese, japanese, korean in (
        ("monday|montag|lunes|lundi|segunda|lunedì|понедельник", "一", "月", "월"),
        ("tuesday|dienstag|martes|mardi|terça|martedì|вторник", "二", "火", "화"),
        ("wednesday|mittwoch|miércoles|mercredi|quarta|mercoledì|сред[уаы]", "三", "水", "수"),
        ("thursday|donnerstag|jueves|jeudi|quinta|giovedì|четверг", "四", "木", "목"),
        ("friday|freitag|viernes|vendredi|sexta|venerdì|пятниц", "五", "金", "금"),
        ("saturday|samstag|sonnabend|sábado|samedi|sabato|суббот", "六", "土", "토"),
        ("sunday|sonntag|domingo|dimanche|domenica|воскресень", "[日天]", "日", "일"),
    )
]
# Days that a weekday, and any other relative date, can be away from the day on which it was said.
_NEAR, _FAR = 14, 62
_ORDINAL = re.compile(r"(?<!\d)(\d{1,2})(?:st\b|nd\b|rd\b|th\b|号|號|日(?!本|曜))")
_CHINESE = "零一二三四五六七八九"
_CHINESE_DAY = re.compile(r"([一二三四五六七八九]?十?[一二三四五六七八九]|[二三]?十)[号號日](?!本|曜)")
_NUMBER = re.compile(r"(?<!\d)\d{1,4}(?!\d)")
_DAY = re.compile(r"(?<!\d)((?:19|20|21)\d\d)-(\d\d)-(\d\d)(?!\d)")
_DATE = re.compile(r"(\d{4})(?:-(\d{1,2}))?(?:-(\d{1,2}))?")
_YEARS = range(1900, 2200)

# Past events and plans stay true: their end is no reason to end the memory.
_NEVER_OVER = frozenset({Category.EVENT, Category.PLAN})
# Words that state an end ("until Friday", "this week"): a date that the model made up ends nothing.
_LIMIT = lazy_regex(
    r"\b(?:until|till?|through|by|to|for|during|this|bis|für|diese\w?|während|hasta|al|durante|est[ea]|por|jusqu\w*|au|"
    r"pendant|cette|ce|até|ao|fino|quest[ao]|до|на)\b|まで|間|今週|今月|今年|到|为止|之前|本周|这周|本月|까지|동안",
    re.IGNORECASE,
)


def agree(text: str, words: str, at: Millis) -> bool:
    """Whether every day in the text, as YYYY-MM-DD, can be what the words, said at that time, mean."""
    days = [_date(int(match[1]), int(match[2]), int(match[3])) for match in _DAY.finditer(text)]
    return all(day is not None and _agrees(day, words, _utc(at).date()) for day in days)


def without_dates(text: str) -> str:
    return _DAY.sub("", text)


def _agrees(day: date, words: str, spoken_on: date) -> bool:
    """False when the words name another weekday, another day of the month, or when the day is that of the words."""
    if day.isoformat() in words:
        return True
    distance = abs((day - spoken_on).days)
    if not distance:
        return False
    weekdays = [number for number, pattern in enumerate(_WEEKDAYS) if pattern.search(words)]
    if weekdays:
        return day.weekday() in weekdays and distance <= _NEAR
    days = _days_of_month(words)
    if days:
        return day.day in days
    numbers = {int(number) for number in _NUMBER.findall(words)}
    return bool({day.day, day.year, distance} & numbers) if numbers else distance <= _FAR


def _days_of_month(words: str) -> set[int]:
    """The 26th, 26日, 二十六号."""
    chinese = {_chinese(match[1]) for match in _CHINESE_DAY.finditer(words)}
    return chinese | {int(match[1]) for match in _ORDINAL.finditer(words)}


def _chinese(number: str) -> int:
    """Up to 99; characters other than digits and ten are not expected."""
    tens, ten, units = number.rpartition("十")
    return (_CHINESE.index(tens) if tens else len(ten)) * 10 + (_CHINESE.index(units) if units else 0)


def period(start: str, end: str, words: str, at: Millis) -> tuple[Millis | None, Millis | None]:
    """First and last millisecond of what a model says about when it holds, as far as the words can mean it."""
    begins = first_moment(start) if agree(start, words, at) else None
    ends = _last_moment(end) if agree(end, words, at) else None
    return (begins, None) if begins and ends and ends < begins else (begins, ends)


def first_moment(text: str) -> Millis | None:
    """Of a day, month or year in UTC, as YYYY, YYYY-MM or YYYY-MM-DD; None for what is no date."""
    match = _DATE.fullmatch(text.strip())
    first = _date(int(match[1]), int(match[2] or 1), int(match[3] or 1)) if match else None
    return None if first is None else _millis(first)


def _last_moment(text: str) -> Millis | None:
    begins, match = first_moment(text), _DATE.fullmatch(text.strip())
    if begins is None or match is None:
        return None
    days = 1 if match[3] else 31 if match[2] else 366
    after = _utc(begins).date() + timedelta(days)
    return Millis(_millis(after.replace(day=after.day if match[3] else 1, month=after.month if match[2] else 1)) - 1)


def expiry(category: Category, valid_until: Millis | None, words: str, at: Millis) -> Millis | None:
    """Its stated end, where that is still to come when it is said."""
    stated = category not in _NEVER_OVER and _LIMIT.search(words)
    return valid_until if stated and valid_until and valid_until > at else None


def time_to_live(expires: Millis | None, at: Millis) -> TimeToLive:
    """The shortest of the wire's terms that reaches the end."""
    if expires is None:
        return TimeToLive.INFINITY
    return next(term for term in TimeToLive if term.expires(at) >= expires)


def _date(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day) if year in _YEARS else None
    except ValueError:
        return None


def _utc(at: Millis) -> datetime:
    return datetime.fromtimestamp(at / 1000, UTC)


def _millis(day: date) -> Millis:
    return Millis(int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp() * 1000))
