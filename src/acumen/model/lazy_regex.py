"""Regular expressions that are compiled at their first use, so that a start does not wait for them."""

import re
from typing import Any, cast


def lazy_regex(text: str, flags: int = 0) -> re.Pattern[str]:
    """Like `re.compile`, at the first use. An error in the pattern is raised then, so a test must use it."""
    return cast("re.Pattern[str]", _LazyRegex(text, flags))


class _LazyRegex:
    def __init__(self, text: str, flags: int) -> None:
        self._arguments = text, flags

    def __getattr__(self, name: str) -> Any:
        """Called once per name: the result is stored as an attribute."""
        value = getattr(re.compile(*self._arguments), name)
        setattr(self, name, value)
        return value
