"""The days a question names, so that what was said on them can be preferred."""

import re
from datetime import UTC, datetime, timedelta

from msgspec import Struct

from acumen.model.ids import Millis

_MONTHS = (
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
)  # fmt: skip
_NUMBER = {name[:size]: number for number, name in enumerate(_MONTHS, 1) for size in (3, len(name))} | {"sept": 9}
_NAME = "|".join(sorted(_NUMBER, key=len, reverse=True))
_YEAR = r"(?:,?\s+(?:of\s+)?(?P<year>\d{4}))?\b"
_PATTERNS = [
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"\b(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?(?P<month>{_NAME})\b\.?{_YEAR}",
        rf"\b(?P<month>{_NAME})\b\.?\s+(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\b{_YEAR}",
        rf"\b(?P<month>{_NAME})\b\.?,?\s+(?:of\s+)?(?P<year>\d{{4}})\b",
        r"\b(?P<year>\d{4})[-/](?P<month>\d{1,2})(?:[-/](?P<day>\d{1,2}))?\b",
        rf"\b(?:in|of|since|during|until|by|from|last|this|next|early|late|mid)[\s-]+(?P<month>{_NAME})\b",
    )
]
# Most questions name no day, and this check is ten times faster.
_PERHAPS = re.compile(rf"\d{{4}}|\b(?:{_NAME})\b", re.IGNORECASE)
# Dates stand at the front or the end of questions; a longer text is not a question about a day.
LONGEST = 2_000


class CalendarDay(Struct, frozen=True):
    """A day or a month; the year may be left to guess."""

    month: int
    day: int | None = None
    year: int | None = None


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def iso_day(at: Millis) -> str:
    """2026-10-03 (UTC); empty for a time outside the calendar."""
    try:
        return f"{_EPOCH + timedelta(milliseconds=at):%Y-%m-%d}"
    except OverflowError:
        return ""


def days(text: str) -> tuple[CalendarDay, ...]:
    """In the order of how exactly they are written; a date is read once."""
    calendar_days: dict[CalendarDay, None] = {}
    remaining = text[:LONGEST]
    if not _PERHAPS.search(remaining):
        return ()
    for pattern in _PATTERNS:
        for match in pattern.finditer(remaining):
            day = _day(match.groupdict())
            if day is not None:
                calendar_days[day] = None
        remaining = pattern.sub(" ", remaining)
    return tuple(calendar_days)


def _day(parts: dict[str, str | None]) -> CalendarDay | None:
    month, day, year = parts.get("month") or "", parts.get("day"), parts.get("year")
    number = int(month) if month.isdigit() else _NUMBER[month.lower()]
    if not 1 <= number <= len(_MONTHS) or (day and not 1 <= int(day) <= 31):
        return None
    return CalendarDay(number, int(day) if day else None, int(year) if year else None)
