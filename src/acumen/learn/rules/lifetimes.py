"""How long a statement holds, from its own words about time."""

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime

from acumen.model.ids import Millis
from acumen.model.patterns import later
from acumen.model.profile import TimeToLive

_LIMITS = [
    (1, TimeToLive.ONE_DAY),
    (7, TimeToLive.ONE_WEEK),
    (31, TimeToLive.ONE_MONTH),
    (92, TimeToLive.ONE_QUARTER),
    (366, TimeToLive.ONE_YEAR),
]
# How long something is taken to last that ends with an event no calendar knows: "until the release is out".
EVENT = 31.0
# From this day of a month on it is nearly over: "until March" is until March is.
LATE_IN_MONTH = 28

_WEEKDAY = r"(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day|mon|tue|tues|wed|thu|thur|thurs|fri|sat|sun)"
_MONTHS = "january february march april may june july august september october november december".split()
_MONTH = r"(?:" + "|".join(f"{name[:3]}(?:{name[3:]})?" if name != "may" else "may" for name in _MONTHS) + r"|sept)"
_NUMBERS = {
    word: count
    for count, names in enumerate("a an one|two couple|three|four few|five|six|seven|eight|nine|ten".split("|"), 1)
    for word in names.split()
}
_UNITS = {"hour": 1 / 24, "day": 1, "night": 1, "week": 7, "fortnight": 14, "month": 30, "quarter": 90, "year": 365}
_SHORT_UNITS = {"hr": "hour", "h": "hour", "wk": "week", "mth": "month", "yr": "year"}
# Month and day of days that people count by; of those that move, where they mostly lie.
_FEASTS = {
    "christmas": (12, 25),
    "xmas": (12, 25),
    "new year": (1, 1),
    "valentine": (2, 14),
    "easter": (4, 10),
    "mother's day": (5, 10),
    "mothers day": (5, 10),
    "midsummer": (6, 24),
    "halloween": (10, 31),
    "thanksgiving": (11, 26),
}
_END = r"(?:the )?end of (?:the |this )?"
_SEASON = r"(?:quarter|summer|winter|spring|fall|autumn|semester|term|season)"
_THIS = r"(?:this|all|all of this|for the|for the whole|for this|(?:rest|remainder) of (?:the|this))(?: (?!last)\w+)?"

# --- ends that are told by "until"

# What tells an end, by a date or by an event; and what does only before a date.
_UNTIL = later(
    r"\b(?P<until>until|till|til|as long as|for the (?:time|duration) of)\b|\b(?:before|thru|through|by|back on)\b"
)
# What is still said of the end: "until the audit is finished on 30 June".
_SAID_OF_IT = later(r"(?: (?!so\b|and\b|but\b|because\b|since\b|then\b)[\w'./:-]+){1,8}")
# A date must stand right behind the other words: "through Friday", "before the end of May".
_NEARER = r"(?:(?:the|this|next|coming|late|early|mid|beginning of|start of|end of) )"
_AT_ONCE = later(
    rf" (?:at least |about )?(?:{_NEARER}*(?:{_WEEKDAY}\b|{_MONTH}\b|\d|tomorrow|tonight|{'|'.join(_FEASTS)})"
    rf"|{_NEARER}+(?:week|weekend|month|year|{_SEASON})\b)"
)
# "From the 10th to the 14th", "between 20 and 27 December".
_DAY = r"\d{1,2}(?:st|nd|rd|th)"
_RANGE = later(
    rf"\b\d{{1,2}}(?:st|nd|rd|th)?(?: (?:of )?{_MONTH})? (?:to|and|-|–) (?:the )?"
    rf"(?P<last>{_DAY}(?: (?:of )?{_MONTH})?|\d{{1,2}} (?:of )?{_MONTH})\b"
    rf"|[(,] to (?P<to>the {_DAY})\b"
    rf"|\bfrom (?:now|today|tomorrow) to (?P<then>(?:next )?{_WEEKDAY}|(?:the )?{_DAY}|\d{{1,2}} {_MONTH})\b"
    r"|\b(?:leave|away|closed|holidays?|vacation|off)(?: from)?(?: the)? \d{1,2} (?:to|-|–) (?P<day>\d{1,2})\b"
    r"(?! ?(?:[ap]m|h\b|hours|years|%|:))"
)
# Until a time of day is a rule for every day; until now, or a year that is over, was so.
_UNTIL_HOUR = later(
    r" (?:about |around |at least )?(?:\d{1,2}(?:[:.]\d\d)?(?: ?[ap]m)?(?! ?(?:th|st|nd|rd|of|[a-z]))|"
    r"\d{1,2}[:.]\d\d\b|\d{1,2} ?[ap]m\b|half|noon|midday|midnight|late\b|lunch|dinner|sunset|sunrise|the end\b(?! of)|"
    r"(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)\b(?! (?:days?|weeks?|months?|years?|more)))"
)
_UNTIL_PAST = later(r" (?:now|recently|last|yesterday|further)\b")
_UNTIL_YEAR = later(r" (?:the end of )?(?P<year>(?:19|20)\d\d)\b")
# "I ran a lot, or did until May"; but "it is closed until May".
_WAS_SO = later(
    r"\b(?:was|were|did|had|used to|worked|lived|stayed|played|ran|went)\b"
    r"(?:(?!\b(?:is|are|am|has|have|will|be|being)\b)[^,;.])*$"
)
# "Never deploy on Fridays, always wait until Monday": of every week.
_EVERY_WEEK = later(rf"\b(?:always|never|usually)\b.*\buntil {_WEEKDAY}\b")
# "Nothing leaves before that": before what was told last.
_UNTIL_THEN = later(r"\b(?:until|till|before) (?:then|that)\b")

# --- times of day, days, weeks, seasons

# A span counted from now: "for the next three weeks", "over the coming days", "in the next 24 hours".
_SPAN = later(
    r"\b(?P<lead>for|over|during|in|within)? ?(?:about |around |at least |up to )?(?P<more>another |the first )?"
    r"(?P<ahead>(?:the )?(?:next|coming|following) )?"
    r"(?P<count>\d{1,3}|" + "|".join(_NUMBERS) + r")?(?P<still> more)?(?: of)?\s?"
    r"(?P<unit>hour|day|night|week|fortnight|month|quarter|year|hr|wk|mth|yr|h)s?\b"
    r"(?P<off> (?:off|with no|without|of (?:rest|no)\b|no\b|in (?:a|the) (?:cast|sling|boot|brace)))?"
)
# Days that named times last at most, the shortest first.
_NAMED = [
    (days, later(rf"\b(?:{pattern})\b"))
    for days, pattern in [
        (1, (rf"(?<!as of )(?<!since )(?<!from )(?:today|tonight|this (?:morning|afternoon|evening))|(?:right|"
            rf"just) now|{_THIS} day|{_END}day|eod")),
        (7, (rf"tomorrow|{_THIS} (?:coming )?(?:week(?:end)?|{_WEEKDAY})|{_END}week|over the weekend|eow|for now|"
            rf"at the moment|for the moment|temporarily|back (?:\w+ ){{0,3}}{_WEEKDAY}|ends? (?:on )?{_WEEKDAY}")),
        (14, r"next week(?:end)?|this sprint|fortnight"),
        (31, (rf"{_THIS} month|{_END}month|eom|over the holidays|the time being|the coming weeks|"
            rf"(?:during|for|in|of) (?:ramadan|advent|lent)|next (?:salary|payday)")),
        (61, r"next month"),
        (92, rf"{_THIS} {_SEASON}|{_END}{_SEASON}|(?:until|for|in) q[1-4]|over the {_SEASON}|over christmas"),
        (183, rf"next {_SEASON}"),
        (366, rf"{_THIS} year|{_END}year|eoy|next year|pregnant|expecting a baby|for another year"),
    ]
]  # fmt: skip
_IN_MONTH = later(rf"\b(?:during|all of|all through|the whole of|throughout|whole|the month of) (?P<month>{_MONTH})\b")
# Somebody who is away comes back; works come to an end.
_WHILE = later(
    r"\bwhile (?:\w+ ){1,4}?(?:away|abroad|on (?:\w+ )?(?:leave|holiday|holidays|vacation|sabbatical)|off sick|ill|"
    r"being \w+ed|being (?:done|built|redone)|under (?:repair|construction|maintenance)|travelling|traveling)\b"
    r"|\bwhile they (?:do|fix|build|redo|renovate|repair|replace|paint)\b"
)
# Time words that speak of the past or of a habit do not end anything.
_OPEN_ENDED = later(
    r"\b(?:since|ago|every|each|last|past|used to|born|birthday|always|never|usually|experience|"
    r"stay like that|"
    r"for good|from now on|permanently)\b|\b(?:for|over) (?:\w+ ){1,3}(?:years|months|weeks) (?:now|already)\b"
)
_FOR_GOOD = later(r"\b(?:stay like that|for good|from now on|permanently)\b")
_BEFORE_NOW = later(
    r"\b(?:i|we|they|he|she|it|has|have|been) (?:was|were|had|got|been|\w{2,}ed|went|came|left|said|did|bought|"
    r"sold|found)\b|\bnew\b|this morning"
)
# "We moved offices this month": when it happened, not how long it holds.
_HAPPENED = later(
    r"\b(?:moved|married|started|joined|bought|sold|switched|quit|changed|upgraded|hired|graduated|retired|opened|"
    r"launched|migrated|renamed|passed|turned|ported|bumped|merged|shipped|deployed|installed)\b"
)
_RECURRING = later(rf"\b(?:mornings|afternoons|evenings|nights|weekends|weekdays|{_WEEKDAY}s)\b")
_ENDS = later(
    rf"\b(?:expires?|for now|{_THIS} (?:week|weekend|month|quarter|year|sprint)|for the (?:next|coming|rest)|"
    rf"(?:{_WEEKDAY}|today|tonight|tomorrow|week|month) only|only (?:today|tonight|tomorrow|this))\b"
    r"|^(?:\w+ )?today\b|^tonight\b"
)
# "March, not next year": a time that is denied ends nothing.
_DENIED = later(r", not [^,.;]*")
# "From this month": when it begins, not when it ends.
_BEGINS = later(r"\b(?:from|since|as of|starting|effective) (?:this|next|last) \w+")
# "For two weeks", said of now.
_FOR_A_TIME = later(
    r"(?<!been )\bfor (?:a|an|one|two|three|four|six|\d+) (?:day|week|month)s?\b(?! (?:now|already|straight))"
)

# --- dates

_DATES = later(
    rf"\b(?P<iso>\d{{4}}-\d\d-\d\d)\b"
    rf"|\b(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? (?P<month>{_MONTH})\b"
    rf"|\b(?P<named>{_MONTH})(?: the)? (?P<its_day>\d{{1,2}})(?:st|nd|rd|th)?\b(?!:)"
    r"|\b(?P<day_of_month>\d{1,2})(?:st|nd|rd|th)\b"
    rf"|\b(?P<feast>{'|'.join(_FEASTS)})"
    rf"|\b(?P<year>20\d\d)\b"
)
_BEFORE_MAY = later(r"(?:of|in|until|till|mid|through|thru|early|late|next|this|before|^) ?$")
_WHOLE_MONTH = later(rf"(?<!\d )\b(?P<month>{_MONTH})\b(?! \d)")


def lifetime(text: str, at: Millis, before: str = "") -> TimeToLive:
    """How long the words of `text` hold when said at `at` after those of `before`, both in lower case."""
    days = days_left(text, at, before)
    if days is None:
        return TimeToLive.INFINITY
    return next((limit for most, limit in _LIMITS if days <= most), TimeToLive.INFINITY)


def days_left(text: str, at: Millis, before: str = "") -> float | None:
    text, today = _BEGINS.sub("", _DENIED.sub("", text)), datetime.fromtimestamp(at / 1000, UTC).date()
    then = _UNTIL_THEN.search(text)
    told = _day_in(f"{before} {text[: then.start()]}", today) if then else None
    if told is not None:
        return told
    ends = list(_ends(text, today))
    dated = next((days for days in ends if days is not None), None)
    if dated is not None:
        return dated
    if _FOR_GOOD.search(text):
        return None
    return _named_time(text, limited=bool(ends)) or (EVENT if ends or then or _WHILE.search(text) else None)


# --- by "until"


def _ends(text: str, today: date) -> Iterator[float | None]:
    """For each end that is told in how many days it comes; None where no calendar knows."""
    for found in _RANGE.finditer(text):
        yield _day_in(f"{found['day']}th" if found["day"] else found["last"] or found["to"] or found["then"], today)
    for found in _UNTIL.finditer(text):
        said = _SAID_OF_IT.match(text, found.end())
        after = said[0] if said else ""
        year = _UNTIL_YEAR.match(after)
        if (
            (year and int(year["year"]) < today.year)
            or _UNTIL_PAST.match(after)
            or _WAS_SO.search(text[: found.start()])
        ):
            continue
        if (_UNTIL_HOUR.match(after) or _EVERY_WEEK.search(text)) and _DATES.search(after) is None:
            continue
        if (found["until"] and after) or _AT_ONCE.match(after):
            yield _day_in(after, today)


def _day_in(text: str, today: date) -> float | None:
    """In how many days the first day comes that is named."""
    found = _DATES.search(text)
    if found:
        return _days_to(found, today)
    if re.search(rf"\b{_WEEKDAY}\b", text):
        return 7.0
    named = next((float(days) for days, pattern in _NAMED if pattern.search(text)), None)
    if named is not None:
        return named
    month = next((one for one in _WHOLE_MONTH.finditer(text) if one[0] != "may" or _of_month(text, one)), None)
    if month:
        return _days_to_day(today, _number(month["month"]), LATE_IN_MONTH)
    span = next((one for one in _SPAN.finditer(text) if one["count"]), None)
    return _length(span) if span else None


def _of_month(text: str, month: re.Match[str]) -> bool:
    """'Until the end of May', not 'until she may'."""
    return bool(_BEFORE_MAY.search(text[: month.start()]))


def _days_to(found: re.Match[str], today: date) -> float | None:
    if found["iso"]:
        return _days_to_iso(found["iso"], today)
    if found["feast"]:
        return _days_to_day(today, *_FEASTS[found["feast"]])
    if found["year"]:
        return max(int(found["year"]) - today.year, 1) * 365.0
    if found["day_of_month"]:
        return float((int(found["day_of_month"]) - today.day) % 31 + 1)
    return _days_to_day(today, _number(found["month"] or found["named"]), int(found["day"] or found["its_day"]))


def _days_to_iso(iso: str, today: date) -> float | None:
    try:
        days = (date.fromisoformat(iso) - today).days + 1
    except ValueError:
        return None
    return float(days) if days > 0 else None


def _days_to_day(today: date, month: int, day: int) -> float:
    """Days until the next such date; a date just past means next year's."""
    first = (date(year, month, 1) for year in (today.year, today.year + 1))
    return next(days for days in (float((one - today).days + day) for one in first) if days > 0)


def _number(month: str) -> int:
    return next(place for place, name in enumerate(_MONTHS, 1) if name.startswith(month[:3]))


# --- by what lasts


def _named_time(text: str, *, limited: bool) -> float | None:
    """'For two weeks', 'this month', 'in the next 24 hours'. What is limited in other words may tell so how long."""
    ends = limited or _ENDS.search(text) or (_FOR_A_TIME.search(text) and not _BEFORE_NOW.search(text))
    if not ends and (_RECURRING.search(text) or _OPEN_ENDED.search(text)):
        return None
    span = next((found for found in _SPAN.finditer(text) if _counts(found, limited=limited)), None)
    if span:
        return _length(span)
    if _IN_MONTH.search(text):
        return 31.0
    named = next((float(days) for days, pattern in _NAMED if pattern.search(text)), None)
    over = _HAPPENED.search(text) or (not ends and _BEFORE_NOW.search(text))
    return None if over and not limited else named


def _counts(span: re.Match[str], *, limited: bool) -> bool:
    """'for two weeks', 'the next two weeks', 'two weeks with no running'; not 'two weeks' nor 'within two days'.

    'Until the report is back, six weeks or so' says how long that will be.
    """
    ahead = span["ahead"] and (span["count"] or span["lead"] or span["ahead"].startswith("the "))
    counted = span["lead"] == "for" or limited or span["off"] or span["more"] or span["still"]
    return bool(ahead or (counted and span["count"]) or (span["more"] and span["lead"] == "for"))


def _length(span: re.Match[str]) -> float:
    unit = _SHORT_UNITS.get(span["unit"], span["unit"])
    return _count(span["count"]) * _UNITS[unit]


def _count(word: str | None) -> float:
    if word is None:
        return 1
    return float(word) if word.isdigit() else float(_NUMBERS[word])
