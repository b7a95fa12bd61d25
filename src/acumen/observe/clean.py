"""Redact secrets in an operation before it is stored. Pure."""

from functools import lru_cache
from operator import attrgetter
from typing import Any

from acumen.model.operations.operation import Operation
from acumen.model.secrets import redact
from acumen_client.secret_names import is_secret


def cleaned(operation: Operation) -> Operation:
    """The same object when nothing is redacted."""
    fields = endpoint, error_type, message, inputs, returned, arguments, attributes = _FIELDS(operation)
    redacted = (
        _name(endpoint),
        error_type and _name(error_type),
        message and redact(message),
        inputs and redact(inputs),
        returned and redact(returned),
        arguments and _without_secrets(arguments),
        attributes and _without_secrets(attributes),
    )
    return operation if redacted == fields else operation._replace(**dict(zip(_FREE, redacted, strict=True)))


def _without_secrets(value: Any) -> Any:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, list):
        return [_without_secrets(inner) for inner in value]
    if isinstance(value, dict):
        return {
            name: "[redacted]" if _tells(inner) and is_secret(name) else _without_secrets(inner)
            for name, inner in value.items()
        }
    return value


def _tells(value: Any) -> bool:
    """Whether a secret exists is not a secret."""
    return value is not None and not isinstance(value, bool)


# An endpoint may be a URL with a password. There are few endpoints, so they are cached.
_name = lru_cache(4096)(redact)
_FREE = ("endpoint", "error_type", "error_message", "input_summary", "output_summary", "arguments", "attributes")
_FIELDS = attrgetter(*_FREE)
