"""The neighbours, session, speaker and day of each turn."""

import time
from array import array
from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from acumen.index.arrays import Flags, Floats, Ints, RowIds
from acumen.index.days import CalendarDay
from acumen.index.tokenizer import prefix_of, terms
from acumen.model.conversation import AGENT_ROLES, USER_ROLES

NONE = -1
MONTHS = 12

# Roles that are no one's name.
NAMELESS = USER_ROLES | AGENT_ROLES | {""}


class Links(Struct, frozen=True):
    """For every row the one before and the one after it in its session, NONE at the ends."""

    before: Ints
    after: Ints
    session: Ints


class SessionLinks:
    """Sessions as chains of rows."""

    def __init__(self) -> None:
        self._sessions: dict[str, int] = {}
        self._last: list[int] = []
        self._session = array("i")
        self._before = array("i")
        self._after = array("i")

    @property
    def bytes(self) -> int:
        return len(self._session) * 12 + len(self._sessions) * 150

    def append(self, session: str, instead_of: int | None) -> None:
        """The next row, at the end of its session or in the place of a row that died."""
        number = self._sessions.setdefault(session, len(self._sessions))
        if number == len(self._last):
            self._last.append(NONE)
        row = len(self._session)
        self._session.append(number)
        self._before.append(NONE)
        self._after.append(NONE)
        if instead_of is not None and self._session[instead_of] == number:
            self._join(self._before[instead_of], row)
            self._join(row, self._after[instead_of])
            if self._last[number] == instead_of:
                self._last[number] = row
            return
        if instead_of is not None:
            self.cut(instead_of)
        self._join(self._last[number], row)
        self._last[number] = row

    def cut(self, row: int) -> None:
        """Take a row out; those around it become neighbours."""
        if self._last[self._session[row]] == row:
            self._last[self._session[row]] = self._before[row]
        self._join(self._before[row], self._after[row])

    def sweep(self, survivors: RowIds) -> None:
        """Only the rows in `survivors` go on, renumbered."""
        place = np.full(len(self._session) + 1, NONE, np.int32)  # the last one, at index -1, is for NONE itself
        place[survivors] = np.arange(len(survivors))
        links = self.links()
        self._before = array("i", place[links.before[survivors]].tobytes())
        self._after = array("i", place[links.after[survivors]].tobytes())
        self._session = array("i", links.session[survivors].tobytes())
        self._last = place[np.array(self._last, np.int32)].tolist()

    def links(self) -> Links:
        return Links(
            np.array(self._before, np.int32), np.array(self._after, np.int32), np.array(self._session, np.int32)
        )

    def _join(self, before: int, after: int) -> None:
        if before != NONE:
            self._after[before] = after
        if after != NONE:
            self._before[after] = before


class Speakers:
    """The speaker. A name comes from the role or, where the role is not a name, from a "Name:" before the text."""

    def __init__(self) -> None:
        self._names: dict[str, list[int]] = {}
        self._numbers: dict[str, int] = {}
        self._speaker = array("i")
        self._user = bytearray()

    def append(self, role: str, text: str) -> None:
        role = role.strip().casefold()
        self._user.append(role in USER_ROLES)
        name = prefix_of(text) if role in NAMELESS else role
        self._speaker.append(self._number(name) if name else NONE)

    def sweep(self, survivors: RowIds) -> None:
        self._speaker = array("i", np.array(self._speaker, np.int32)[survivors].tobytes())
        self._user = bytearray(np.array(self._user, np.uint8)[survivors].tobytes())

    def named(self, words: Sequence[str]) -> Flags:
        """The rows of a speaker that these words name."""
        named = {speaker for word in words for speaker in self._names.get(word, ())}
        if not named:
            return np.zeros(len(self._speaker), np.bool_)
        return np.isin(np.array(self._speaker, np.int32), list(named))

    def of_user(self) -> Flags:
        return np.array(self._user, np.bool_)

    def _number(self, name: str) -> int:
        number = self._numbers.get(name)
        if number is None:
            number = self._numbers[name] = len(self._numbers)
            for word in set(terms(name)):
                self._names.setdefault(word, []).append(number)
        return number


def is_agent(role: str) -> bool:
    return role.strip().casefold() in AGENT_ROLES


def name_in(role: str) -> list[str]:
    """The terms of a role that is someone's name; none of "user", "assistant" and the like."""
    return [] if role.strip().casefold() in NAMELESS else terms(role)


class Timestamps:
    """On what day each row was said (UTC)."""

    def __init__(self) -> None:
        self._month = array("i")  # months since year 0; 0 where the time is not known
        self._day = array("i")

    def append(self, at: int | None) -> None:
        month, day = _month_and_day(at)
        self._month.append(month)
        self._day.append(day)

    def sweep(self, survivors: RowIds) -> None:
        self._month = array("i", np.array(self._month, np.int32)[survivors].tobytes())
        self._day = array("i", np.array(self._day, np.int32)[survivors].tobytes())

    def match(self, days: Sequence[CalendarDay]) -> Floats:
        """1 for rows said on one of these days, one half for the same month, else 0."""
        matched = np.zeros(len(self._month), np.float32)
        if not days:
            return matched
        months, dates = np.array(self._month, np.int32), np.array(self._day, np.int32)
        for day in days:
            of_month = months % MONTHS == day.month % MONTHS
            if day.year is not None:
                of_month &= months == day.year * MONTHS + day.month
            of_month &= months > 0
            on_day = of_month & (dates == day.day) if day.day is not None else of_month & False
            matched = np.maximum(matched, 0.5 * of_month + 0.5 * on_day)
        return matched


def _month_and_day(at: int | None) -> tuple[int, int]:
    if at is None:
        return 0, 0
    try:
        moment = time.gmtime(at / 1000)
    except (OverflowError, OSError, ValueError):
        return 0, 0  # a time outside the calendar says nothing
    return moment.tm_year * MONTHS + moment.tm_mon, moment.tm_mday
