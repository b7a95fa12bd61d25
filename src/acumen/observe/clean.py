"""Redact secrets in an operation before it is stored. Pure."""

from functools import lru_cache
from operator import attrgetter

from acumen.model.operations.operation import Operation
from acumen.model.redaction import Redactor
from acumen.model.secrets import redact


def cleaned(operation: Operation) -> Operation:
    """The same object when nothing is redacted."""
    fields = endpoint, error_type, message, inputs, returned, arguments, attributes = _FIELDS(operation)
    redacted = (
        _name(endpoint),
        error_type and _name(error_type),
        message and redact(message),
        inputs and redact(inputs),
        returned and redact(returned),
        arguments and _JSON.value(arguments),
        attributes and _JSON.value(attributes),
    )
    return operation if redacted == fields else operation._replace(**dict(zip(_FREE, redacted, strict=True)))


# An endpoint may be a URL with a password. There are few endpoints, so they are cached.
_name = lru_cache(4096)(redact)
_JSON = Redactor()
_FREE = ("endpoint", "error_type", "error_message", "input_summary", "output_summary", "arguments", "attributes")
_FIELDS = attrgetter(*_FREE)
