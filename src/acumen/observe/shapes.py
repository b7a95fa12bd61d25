"""The shape of a call's arguments: names and types, without values. Pure."""

import hashlib
from typing import Any

# Deeper levels are data, not the call.
DEEPEST = 3


def shape(arguments: dict[str, Any]) -> dict[str, Any]:
    return {name: _kind(value, 1) for name, value in sorted(arguments.items())}


def way_key(source: str, endpoint: str, arguments: dict[str, Any] | None) -> str | None:
    """None for a call without arguments: its pattern teaches nothing."""
    if not arguments:
        return None
    key = "\x1f".join((source, endpoint, repr(shape(arguments))))
    return f"way_{hashlib.sha256(key.encode()).hexdigest()[:24]}"


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
