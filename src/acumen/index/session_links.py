"""The neighbours, session, speaker and day of each turn."""

import time
from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from acumen.index.arrays import Column, Flags, Floats, Ints, RowIds
from acumen.index.days import CalendarDay
from acumen.index.tokenizer import prefix_of, terms
from acumen.model.conversation import AGENT_ROLES, USER_ROLES

NONE = -1
MONTHS = 12

# A session or a speaker with its name and its entry in the dict.
BYTES_PER_SESSION = 200
BYTES_PER_SPEAKER = 400

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
        self._session = Column(np.int32)
        self._before = Column(np.int32)
        self._after = Column(np.int32)

    @property
    def bytes(self) -> int:
        columns = self._session.nbytes + self._before.nbytes + self._after.nbytes
        return columns + len(self._sessions) * BYTES_PER_SESSION

    def append(self, session: str, instead_of: int | None) -> None:
        """The next row, at the end of its session or in the place of a row that died."""
        number = self._sessions.setdefault(session, len(self._sessions))
        if number == len(self._last):
            self._last.append(NONE)
        row = len(self._session)
        self._session.append(number)
        self._before.append(NONE)
        self._after.append(NONE)
        if instead_of is not None and self._session.values[instead_of] == number:
            self._join(int(self._before.values[instead_of]), row)
            self._join(row, int(self._after.values[instead_of]))
            if self._last[number] == instead_of:
                self._last[number] = row
            return
        if instead_of is not None:
            self.cut(instead_of)
        self._join(self._last[number], row)
        self._last[number] = row

    def cut(self, row: int) -> None:
        """Take a row out; those around it become neighbours."""
        session, before = int(self._session.values[row]), int(self._before.values[row])
        if self._last[session] == row:
            self._last[session] = before
        self._join(before, int(self._after.values[row]))

    def sweep(self, survivors: RowIds) -> None:
        """Only the rows in `survivors` go on, renumbered."""
        place = np.full(len(self._session) + 1, NONE, np.int32)  # the last one, at index -1, is for NONE itself
        place[survivors] = np.arange(len(survivors))
        links = self.links()
        self._before.replace(place[links.before[survivors]])
        self._after.replace(place[links.after[survivors]])
        self._session.replace(links.session[survivors])
        self._last = place[np.array(self._last, np.int32)].tolist()

    def links(self) -> Links:
        return Links(self._before.values, self._after.values, self._session.values)

    def _join(self, before: int, after: int) -> None:
        if before != NONE:
            self._after.values[before] = after
        if after != NONE:
            self._before.values[after] = before


class Speakers:
    """The speaker. A name comes from the role or, where the role is not a name, from a "Name:" before the text."""

    def __init__(self) -> None:
        self._names: dict[str, list[int]] = {}
        self._numbers: dict[str, int] = {}
        self._speaker = Column(np.int32)
        self._user = Column(np.bool_)

    @property
    def bytes(self) -> int:
        return self._speaker.nbytes + self._user.nbytes + len(self._numbers) * BYTES_PER_SPEAKER

    def append(self, role: str, text: str) -> None:
        role = role.strip().casefold()
        self._user.append(role in USER_ROLES)
        name = prefix_of(text) if role in NAMELESS else role
        self._speaker.append(self._number(name) if name else NONE)

    def sweep(self, survivors: RowIds) -> None:
        self._speaker.replace(self._speaker.values[survivors])
        self._user.replace(self._user.values[survivors])

    def named(self, words: Sequence[str]) -> Flags:
        """The rows of a speaker that these words name."""
        named = {speaker for word in words for speaker in self._names.get(word, ())}
        if not named:
            return np.zeros(len(self._speaker), np.bool_)
        return np.isin(self._speaker.values, list(named))

    def of_user(self) -> Flags:
        return self._user.values

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
        self._month = Column(np.int32)  # months since year 0; 0 where the time is not known
        self._day = Column(np.int32)

    @property
    def bytes(self) -> int:
        return self._month.nbytes + self._day.nbytes

    def append(self, at: int | None) -> None:
        month, day = _month_and_day(at)
        self._month.append(month)
        self._day.append(day)

    def sweep(self, survivors: RowIds) -> None:
        self._month.replace(self._month.values[survivors])
        self._day.replace(self._day.values[survivors])

    def match(self, days: Sequence[CalendarDay]) -> Floats:
        """1 for rows said on one of these days, one half for the same month, else 0."""
        matched = np.zeros(len(self._month), np.float32)
        if not days:
            return matched
        months, dates = self._month.values, self._day.values
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
