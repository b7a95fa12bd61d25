"""Secrets leave an operation before it is stored. Pure."""

from functools import lru_cache
from operator import attrgetter
from typing import Any

from acumen.model.operation import Operation
from acumen.model.secrets import redact

# Values under such a name are secret whatever they look like.
_SECRET_NAMES = ("password", "passwd", "secret", "token", "api_key", "apikey", "authorization", "credential", "cookie")
_NOT_SECRET = ("tokens", "max_tokens", "token_count")


def cleaned(one: Operation) -> Operation:
    """The very same one where there is nothing to take out."""
    said = endpoint, error_type, message, given, returned, arguments, attributes = _SAID(one)
    kept = (
        _name(endpoint),
        error_type and _name(error_type),
        message and redact(message),
        given and redact(given),
        returned and redact(returned),
        arguments and _without_secrets(arguments),
        attributes and _without_secrets(attributes),
    )
    return one if kept == said else one._replace(**dict(zip(_FREE, kept, strict=True)))


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


# A place may be an address with a password in it; there are few of them, and they come again and again.
_name = lru_cache(4096)(redact)
_FREE = ("endpoint", "error_type", "error_message", "input_summary", "output_summary", "arguments", "attributes")
_SAID = attrgetter(*_FREE)
