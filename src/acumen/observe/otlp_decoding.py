"""Read OpenTelemetry traces, in protobuf or JSON, into spans. Pure."""

import base64
import binascii
import math
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct, field

from acumen.observe.protobuf import Value, bytes_of, double, fields, int_of, signed, text

# Deeper attributes are refused, to bound the cost of reading.
DEEPEST = 16
ERROR = 2


class SpanEvent(Struct, frozen=True):
    name: str
    attributes: dict[str, Any]


class Span(Struct, frozen=True):
    """Ids are hexadecimal, times are epoch nanoseconds; zero means missing."""

    trace_id: str = ""
    span_id: str = ""
    parent_span_id: str = ""
    name: str = ""
    start: int = 0
    end: int = 0
    attributes: dict[str, Any] = field(default_factory=dict)
    events: tuple[SpanEvent, ...] = ()
    status: int = 0
    message: str = ""
    resource: dict[str, Any] = field(default_factory=dict)
    scope: str = ""


# --- protobuf ------------------------------------------------------------------------------------------------------


def from_protobuf(message: bytes) -> list[Span]:
    """ValueError where it is no export of traces."""
    return [span for number, part in fields(message) if number == 1 for span in _resource_spans(bytes_of(part))]


def _resource_spans(message: bytes) -> Iterator[Span]:
    parts = list(fields(message))
    resource = _attributes([part for number, part in parts if number == 1 for part in _inside(part, 1)])
    for number, part in parts:
        if number == 2:
            yield from _scope_spans(bytes_of(part), resource)


def _scope_spans(message: bytes, resource: dict[str, Any]) -> Iterator[Span]:
    parts = list(fields(message))
    scope = next((text(name) for number, part in parts if number == 1 for name in _inside(part, 1)), "")
    for number, part in parts:
        if number == 2:
            yield _span(bytes_of(part), resource, scope)


def _span(message: bytes, resource: dict[str, Any], scope: str) -> Span:
    parts: dict[int, list[Value]] = {}
    for number, part in fields(message):
        parts.setdefault(number, []).append(part)
    status = dict(fields(bytes_of(parts[15][-1]))) if 15 in parts else {}
    ids = [bytes_of(parts[number][-1]).hex() if number in parts else "" for number in (1, 2, 4)]
    return Span(
        trace_id=ids[0],
        span_id=ids[1],
        parent_span_id=ids[2],
        name=text(parts[5][-1]) if 5 in parts else "",
        start=int_of(parts[7][-1]) if 7 in parts else 0,
        end=int_of(parts[8][-1]) if 8 in parts else 0,
        attributes=_attributes(parts.get(9, [])),
        events=tuple(_event(bytes_of(part)) for part in parts.get(11, [])),
        status=int_of(status.get(3, 0)),
        message=text(status.get(2, b"")),
        resource=resource,
        scope=scope,
    )


def _event(message: bytes) -> SpanEvent:
    parts = list(fields(message))
    name = next((text(part) for number, part in parts if number == 2), "")
    return SpanEvent(name, _attributes([part for number, part in parts if number == 3]))


def _inside(message: Value, field_number: int) -> list[Value]:
    return [part for number, part in fields(bytes_of(message)) if number == field_number]


def _attributes(pairs: list[Value], depth: int = 0) -> dict[str, Any]:
    attributes: dict[str, Any] = {}
    for pair in pairs:
        parts = dict(fields(bytes_of(pair)))
        if 1 in parts:
            attributes[text(parts[1])] = _value(bytes_of(parts.get(2, b"")), depth + 1)
    return attributes


def _value(message: bytes, depth: int) -> Any:
    if depth > DEEPEST:
        raise ValueError(f"attributes are nested deeper than {DEEPEST} levels")
    for number, part in fields(message):
        match number:
            case 1:
                return text(part)
            case 2:
                return bool(part)
            case 3:
                return signed(part)
            case 4:
                return _finite(double(part))
            case 5:
                return [_value(bytes_of(part_value), depth + 1) for part_value in _inside(part, 1)]
            case 6:
                return _attributes(_inside(part, 1), depth)
            case 7:
                return base64.b64encode(bytes_of(part)).decode()
    return None


def _finite(number: float) -> float | str:
    return number if math.isfinite(number) else str(number)


# --- JSON ----------------------------------------------------------------------------------------------------------


def from_json(body: Any) -> list[Span]:
    """ValueError where it is no export of traces. Unknown names are ignored, as the protocol requires."""
    try:
        return [
            _json_span(span, _json_attributes(_object(resource.get("resource"))), scope)
            for resource in map(_object, _object(body).get("resourceSpans") or ())
            for scope in map(_object, resource.get("scopeSpans") or ())
            for span in map(_object, scope.get("spans") or ())
        ]
    except (TypeError, AttributeError, KeyError, binascii.Error, OverflowError) as wrong:
        raise ValueError(str(wrong)) from None


def _object(value: Any) -> Mapping[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ValueError("an object was expected")  # noqa: TRY004 - callers expect one kind of error
    return value


def _json_span(span: Mapping[str, Any], resource: dict[str, Any], scope: Mapping[str, Any]) -> Span:
    status = _object(span.get("status"))
    return Span(
        trace_id=str(span.get("traceId") or "").lower(),
        span_id=str(span.get("spanId") or "").lower(),
        parent_span_id=str(span.get("parentSpanId") or "").lower(),
        name=_clean(span.get("name")),
        start=int(span.get("startTimeUnixNano") or 0),
        end=int(span.get("endTimeUnixNano") or 0),
        attributes=_json_attributes(span),
        events=tuple(
            SpanEvent(_clean(event.get("name")), _json_attributes(event))
            for event in map(_object, span.get("events") or ())
        ),
        status=ERROR if status.get("code") in (ERROR, "STATUS_CODE_ERROR") else 0,
        message=_clean(status.get("message")),
        resource=resource,
        scope=_clean(_object(scope.get("scope")).get("name")),
    )


def _json_attributes(holder: Mapping[str, Any], name: str = "attributes", depth: int = 0) -> dict[str, Any]:
    pairs = map(_object, holder.get(name) or ())
    return {_clean(pair.get("key")): _json_value(_object(pair.get("value")), depth + 1) for pair in pairs}


def _json_value(value: Mapping[str, Any], depth: int) -> Any:
    if depth > DEEPEST:
        raise ValueError(f"attributes are nested deeper than {DEEPEST} levels")
    for kind, content in value.items():
        match kind:
            case "stringValue" | "bytesValue":
                return _clean(content)
            case "boolValue":
                return bool(content)
            case "intValue":
                return int(content)
            case "doubleValue":
                return _finite(float(content))
            case "arrayValue":
                return [_json_value(_object(item), depth + 1) for item in _object(content).get("values") or ()]
            case "kvlistValue":
                return _json_attributes(_object(content), "values", depth)
    return None


def _clean(value: Any) -> str:
    """Text that every database can store."""
    return str(value or "").replace("\x00", "").encode(errors="replace").decode()
