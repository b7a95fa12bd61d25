"""Patterns that are compiled when they are first used: nobody who starts waits for what is yet to be read."""

import re
from typing import Any, cast


def later(text: str, flags: int = 0) -> re.Pattern[str]:
    """As `re.compile`, only later. What is wrong with the text shows then, so a test must use it."""
    return cast("re.Pattern[str]", _Later(text, flags))


class _Later:
    def __init__(self, text: str, flags: int) -> None:
        self._given = text, flags

    def __getattr__(self, name: str) -> Any:
        """Asked once for each name: from then on it is an attribute like any other."""
        found = getattr(re.compile(*self._given), name)
        setattr(self, name, found)
        return found
