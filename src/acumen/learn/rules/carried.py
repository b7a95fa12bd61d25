"""A new value put into the sentence that told the old one: 'the exam is on 12 December', then 'it's 9 January now'.

A fragment says little by itself, and what it replaces told more than the value that changed.
"""

import re

from msgspec import Struct

from acumen.learn.rules import keys, rivals
from acumen.learn.rules.words import words
from acumen.model.patterns import later

_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|"
    r"nov(?:ember)?|dec(?:ember)?)"
)
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
_WEEKDAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?"
_NUMBER = r"\d+(?:[.,]\d+)*"
_UNIT = (
    r"(?:%|percent|per cent|km/h|kmh|mph|kg|km|m|cm|mm|mg|ml|g|gb|mb|tb|ms|s|min|kw|"
    r"seconds?|minutes?|hours?|days?|weeks?|months?|years?|people|users?|covers|guests|units|kilos?|miles?|pounds?|"
    r"euros?|dollars?|zloty|francs?|thousand|k)"
)
# What may be given another value, the surest first. A run of weekdays is one value.
_VALUES = later(
    rf"\b(?P<date>{_DAY}(?: of)? {_MONTH}|{_MONTH} {_DAY})\b"
    rf"|\b(?P<weekdays>{_WEEKDAY}(?:(?:,| and|, and| or)? {_WEEKDAY})*)\b"
    r"|\b(?P<time>\d{1,2}[:.]\d{2}(?: ?[ap]m)?|\d{1,2} ?[ap]m|half (?:past )?\w+)\b"
    rf"|(?P<day>\bthe \d{{1,2}}(?:st|nd|rd|th)\b(?!(?: of)? {_MONTH}))"
    rf"|(?P<money>[$€£] ?{_NUMBER}(?:k\b)?)"
    rf"|\b(?P<count>{_NUMBER} ?{_UNIT}(?!\w))"
    rf"|(?<![\w.,/#-])(?P<number>{_NUMBER})(?![\w/-])",
    re.IGNORECASE,
)
# Words that only say that a value is another now.
_CHANGES = frozenset("go up down make push move change raise lower drop bump slip shift turn new".split())
_COUNTED = frozenset({"money", "count", "number"})


class _Value(Struct, frozen=True):
    kind: str
    start: int
    end: int
    text: str


def carried(old: str, new: str) -> str | None:
    """The old sentence with the new value; None where the new one says more, or what it means is unclear."""
    before, after = _values(old), _values(new)
    fresh = [one for one in after if all(one.text.lower() != other.text.lower() for other in before)]
    if len(fresh) != 1 or not _is_fragment(new, fresh[0], old):
        return None
    fits = [one for one in before if _fit(one, fresh[0])]
    return old[: fits[0].start] + _put(fits[0], fresh[0]) + old[fits[0].end :] if len(fits) == 1 else None


def _values(text: str) -> list[_Value]:
    return [_Value(str(match.lastgroup), *match.span(), match[0]) for match in _VALUES.finditer(text)]


def _fit(old: _Value, new: _Value) -> bool:
    """Of one kind, and counted in one unit; a number by itself may be a number of anything."""
    if {old.kind, new.kind} <= _COUNTED:
        return "number" in (old.kind, new.kind) or _unit(old) == _unit(new)
    return old.kind == new.kind or (new.kind == "number" and old.kind == "time")


def _unit(value: _Value) -> str:
    return keys.root(re.sub(r"[\d.,\s]", "", value.text).lower())


def _put(old: _Value, new: _Value) -> str:
    """A number keeps the unit that was told with the old one."""
    if new.kind == "number" and old.kind in _COUNTED:
        return re.sub(_NUMBER, lambda _: new.text, old.text, count=1)
    return new.text


def _is_fragment(new: str, value: _Value, old: str) -> bool:
    """A word of its own may be what the value is given to; what is said to be not so is no matter of a value alone."""
    rest = words(f"{new[: value.start]} {new[value.end :]}")
    told = keys.content_roots(old)
    subject = rivals.saying(new).attribute - {"new"}
    if subject and subject.isdisjoint(told):
        return False  # "my deadline is Monday" is said of a deadline, whatever else was on a Friday
    return (told | _CHANGES).issuperset(keys.telling(rest)) and not keys.negated(rest) and not keys.negated(words(old))
