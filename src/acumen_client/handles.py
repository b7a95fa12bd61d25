"""Handles such as `[m48217]` in an answer, by which an agent cites lines of its context."""

import re

_HANDLES = re.compile(r"\[\s*([mt]\d{1,12}(?:\s*[,;]\s*[mt]\d{1,12})*)\s*\]")
_BEFORE = re.compile(rf"[ \t]*{_HANDLES.pattern}")


def handles_in(text: str) -> list[str]:
    """Every handle in square brackets, in order, each once."""
    groups = (re.split(r"\s*[,;]\s*", match.group(1)) for match in _HANDLES.finditer(text))
    return list(dict.fromkeys(handle for group in groups for handle in group))


def strip_handles(text: str) -> str:
    """The text without its handles and the space before them, to show to an end user."""
    return _BEFORE.sub("", text)
