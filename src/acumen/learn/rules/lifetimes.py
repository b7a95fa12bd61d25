"""How long a statement holds, from its own words about time."""

import re
from datetime import UTC, datetime

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
_WEEKDAY = r"(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day|mon|tue|wed|thu|fri|sat|sun)"
_MONTHS = "january february march april may june july august september october november december".split()
_MONTH = "(?P<month>" + "|".join(f"{name[:3]}(?:{name[3:]})?" if name != "may" else "may" for name in _MONTHS) + ")"
_NUMBERS = {
    word: count
    for count, names in enumerate("a an one|two couple|three|four few|five|six|seven|eight|nine|ten".split("|"), 1)
    for word in names.split()
}
_UNITS = {"hour": 1 / 24, "day": 1, "night": 1, "week": 7, "fortnight": 14, "month": 30, "quarter": 90, "year": 365}
_END = r"(?:the )?end of (?:the |this )?"
_SEASON = r"(?:quarter|summer|winter|spring|fall|autumn|semester|term|season)"
_UNTIL = r"(?:until|till|til|before)"
_THIS = r"(?:this|all|all of this|for the|for the whole|for this|(?:rest|remainder) of (?:the|this))(?: (?!last)\w+)?"

# A span counted from now: "for the next three weeks", "over the coming days", "in the next 24 hours".
_SPAN = later(
    r"\b(?P<lead>for|over|during|in|within)? ?(?:about |around |another )?(?P<ahead>(?:the )?(?:next|coming|"
    r"following) )?"
    r"(?P<count>\d{1,3}|" + "|".join(_NUMBERS) + r")?(?: more| of)?\s?"
    r"(?P<unit>hour|day|night|week|fortnight|month|quarter|year)s?\b"
)
# Days that named times last at most, the shortest first.
_NAMED = [
    (days, later(rf"\b(?:{pattern})\b"))
    for days, pattern in [
        (1, (rf"(?<!as of )(?<!since )(?<!from )(?:today|tonight|this (?:morning|afternoon|evening))|(?:right|"
            rf"just) now|{_THIS} day|{_END}day|eod")),
        (7, rf"tomorrow|{_THIS} (?:coming )?week(?:end)?|{_END}week|eow|for now|at the moment|temporarily"),
        (7, (rf"(?:until|till|til|ends?|back|between now and)\b.{{0,40}}\b{_WEEKDAY}|"
            rf"(?:before|through|from (?:now|today|tomorrow) to) (?:next )?{_WEEKDAY}")),
        (14, r"next week(?:end)?|this sprint|fortnight"),
        (31, (rf"{_THIS} month|{_END}month|eom|the time being|the coming weeks|(?:during|for|in) (?:ramadan|"
            rf"advent|lent)|{_UNTIL} (?:the )?next (?:salary|payday|month)")),
        (61, r"next month"),
        (92, rf"{_THIS} {_SEASON}|{_END}{_SEASON}|(?:until|for|in) q[1-4]"),
        (183, rf"next {_SEASON}"),
        (366, rf"{_THIS} year|{_END}year|eoy|next year|pregnant|expecting a baby|for another year"),
    ]
]  # fmt: skip
_DAY_OF_MONTH = later(rf"\b(?:{_UNTIL}|to|by) (?:and including )?(?:the )?(?P<day>\d{{1,2}})(?:st|nd|rd|th)\b")
_DATE = later(
    rf"\b(?:{_UNTIL}|by|to) (?:the )?(?:{_MONTH} (?P<day>\d{{1,2}})(?:st|nd|rd|th)?|(?P<iso>\d{{4}}-\d\d-\d\d))\b"
)
_UNTIL_MONTH = later(
    rf"\b(?:{_UNTIL}|through) (?:the )?(?:end of |start of |beginning of |mid-?)?{_MONTH}\b(?! \d{{4}})"
)
_IN_MONTH = later(r"\b(?:during|all of|all through|the whole of|throughout|whole) " + _MONTH + r"\b")
# An end that no calendar knows: "until the release is out", "till she is back", "while the audit runs".
_UNTIL_EVENT = later(
    r"\b(?:until|till|til) (?!\d{4})(?:the |we |i |he |she |they |it |my |our |\d\.|\w{3,} \w+)|"
    r"\b(?:for the (?:time|duration) of|as long as)\b"
)
# Time words that speak of the past or of a habit do not end anything.
_OPEN_ENDED = later(
    r"\b(?:since|ago|every|each|last|past|used to|born|anniversary|birthday|always|never|usually|experience|"
    r"stay like that|"
    r"for good|from now on|permanently)\b|\b(?:for|over) (?:\w+ ){1,3}(?:years|months|weeks) (?:now|already)\b"
)
_BEFORE_NOW = later(
    r"\b(?:i|we|they|he|she|it|has|have|been) (?:was|were|had|got|been|\w{2,}ed|went|came|left|said|did|bought|"
    r"sold|found)\b|\bnew\b|this morning"
)
_RECURRING = later(rf"\b(?:mornings|afternoons|evenings|nights|weekends|weekdays|{_WEEKDAY}s)\b")
_ENDS = later(
    rf"\b(?:until|till|til|before {_WEEKDAY}|expires?|for now|{_THIS} (?:week|month|quarter|year|sprint)|"
    rf"for the (?:next|coming|rest))\b|^(?:\w+ )?today\b|^tonight\b"
)
# "March, not next year": a time that is denied ends nothing.
_DENIED = later(r", not [^,.;]*")
# "From this month": when it begins, not when it ends.
_BEGINS = later(r"\b(?:from|since|as of|starting|effective) (?:this|next|last) \w+")
# "For two weeks", said of now.
_FOR_A_TIME = later(
    r"(?<!been )\bfor (?:a|an|one|two|three|four|six|\d+) (?:day|week|month)s?\b(?! (?:now|already|straight))"
)
# Until a time of day is a rule for every day.
_UNTIL_HOUR = later(
    rf"\b{_UNTIL} (?:\d{{1,2}}(?::\d\d)?(?: ?[ap]m)?\b(?!th|st|nd|rd)|noon|late|lunch|sunset|then|the end\b)"
)


def lifetime(text: str, at: Millis) -> TimeToLive:
    """How long the words of `text` (lower case) hold when said at `at`; infinity when they do not end."""
    days = days_left(text, at)
    if days is None:
        return TimeToLive.INFINITY
    return next((limit for most, limit in _LIMITS if days <= most), TimeToLive.INFINITY)


def days_left(text: str, at: Millis) -> float | None:
    text = _BEGINS.sub("", _DENIED.sub("", text))
    dated = _until_date(text, at)
    if dated is not None:
        return dated
    ends = _ENDS.search(text) or (_FOR_A_TIME.search(text) and not _BEFORE_NOW.search(text))
    if not ends and (_RECURRING.search(text) or _OPEN_ENDED.search(text)):
        return None
    if re.search(r"\bstay like that|for good|from now on|permanently\b", text):
        return None
    until = bool(_UNTIL_EVENT.search(text)) and not _UNTIL_HOUR.search(text)
    span = next((found for found in _SPAN.finditer(text) if _counts(found, until=until)), None)
    if span:
        return _count(span["count"]) * _UNITS[span["unit"]]
    named = next((float(days) for days, pattern in _NAMED if pattern.search(text)), None)
    if named is not None:
        return None if named <= 1 and not ends and _BEFORE_NOW.search(text) else named
    return 31.0 if until else None


def _counts(span: re.Match[str], *, until: bool) -> bool:
    """'for two weeks', 'the next two weeks', 'for a week'; not 'two weeks' nor 'within two days'.

    'Until the report is back, six weeks or so' says how long that will be.
    """
    return bool(span["ahead"] or ((span["lead"] == "for" or until) and span["count"]))


def _count(word: str | None) -> float:
    if word is None:
        return 1
    return float(word) if word.isdigit() else float(_NUMBERS[word])


def _until_date(text: str, at: Millis) -> float | None:
    today = datetime.fromtimestamp(at / 1000, UTC)
    day = _DAY_OF_MONTH.search(text)
    if day:
        return float((int(day["day"]) - today.day) % 31 + 1)
    date = _DATE.search(text)
    if date and date["iso"]:
        return _days_to(today, date["iso"])
    if date:
        return _days_to_month(today, date["month"], int(date["day"]))
    month = _UNTIL_MONTH.search(text)
    if month:
        return _days_to_month(today, month["month"], 28)
    return 31.0 if _IN_MONTH.search(text) else None


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
