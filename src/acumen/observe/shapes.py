"""The shape of a call's arguments: which names it has and of what kind their values are. Pure."""

import hashlib
from typing import Any

# Deeper than this it is data, not a call.
DEEPEST = 3


def shape(arguments: dict[str, Any]) -> dict[str, Any]:
    """Names and kinds, without the values."""
    return {name: _kind(value, 1) for name, value in sorted(arguments.items())}


def way_key(source: str, endpoint: str, arguments: dict[str, Any] | None) -> str | None:
    """None for a call without arguments: there is nothing to learn from how it was made."""
    if not arguments:
        return None
    told = "\x1f".join((source, endpoint, repr(shape(arguments))))
    return f"way_{hashlib.sha256(told.encode()).hexdigest()[:24]}"


def _kind(value: Any, depth: int) -> Any:
    if isinstance(value, dict):
        return {name: _kind(inner, depth + 1) for name, inner in sorted(value.items())} if depth < DEEPEST else "object"
    if isinstance(value, list):
        return "list"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    return "null" if value is None else "text"
