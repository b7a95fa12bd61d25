"""Secrets leave an operation before it is stored. Pure."""

from dataclasses import replace
from typing import Any

from acumen.model.operation import Operation
from acumen.model.secrets import redact

_TEXTS = ("error_message", "input_summary", "output_summary")
# Values under such a name are secret whatever they look like.
_SECRET_NAMES = ("password", "passwd", "secret", "token", "api_key", "apikey", "authorization", "credential", "cookie")
_NOT_SECRET = ("tokens", "max_tokens", "token_count")


def cleaned(operation: Operation) -> Operation:
    changed: dict[str, Any] = {}
    for name in _TEXTS:
        text = getattr(operation, name)
        if text and (clean := redact(text)) != text:
            changed[name] = clean
    for name in ("arguments", "attributes"):
        value = getattr(operation, name)
        if value and (without := _without_secrets(value)) != value:
            changed[name] = without
    return replace(operation, **changed) if changed else operation


def _without_secrets(value: Any) -> Any:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, list):
        return [_without_secrets(inner) for inner in value]
    if isinstance(value, dict):
        return {
            name: "[redacted]" if _is_secret(name, inner) else _without_secrets(inner) for name, inner in value.items()
        }
    return value


def _is_secret(name: str, value: Any) -> bool:
    lowered = name.lower()
    named = isinstance(value, str) and any(secret in lowered for secret in _SECRET_NAMES)
    return named and not lowered.endswith(_NOT_SECRET)
