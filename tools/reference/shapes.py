"""Tables of fields, from the schemas of the OpenAPI document."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from acumen.api.openapi import document
from tools.reference.markdown import table


def definition(name: str) -> dict[str, Any]:
    schemas = document()["components"]["schemas"]
    return dict(schemas.get(name) or schemas[f"{name}-Input"])


def fields_of(shape: Mapping[str, Any], shapes: dict[str, None], in_query: Iterable[str] = ()) -> Iterator[str]:
    yield shape.get("description", "")
    required = shape.get("required", ())
    rows = [
        (
            f"`{name}`",
            _type(field, shapes) + (" (query)" if name in in_query else ""),
            "required" if name in required else _default(field.get("default")),
            field.get("description", ""),
        )
        for name, field in shape["properties"].items()
    ]
    yield table(("field", "type", "default", "meaning"), rows) if rows else ""


def _default(value: Any) -> str:
    return "" if value in (None, "", [], {}) or isinstance(value, dict | list) else f"`{json.dumps(value)}`"


def _type(schema: Mapping[str, Any], shapes: dict[str, None]) -> str:
    if "$ref" in schema:
        return _reference(schema["$ref"].rpartition("/")[2], shapes)
    if "anyOf" in schema:
        parts = [_type(part, shapes) for part in schema["anyOf"] if part and part.get("type") != "null"]
        return " or ".join(dict.fromkeys(parts))
    if "enum" in schema or "const" in schema:
        return ", ".join(f"`{value}`" for value in schema.get("enum") or [schema["const"]])
    if schema.get("type") == "array":
        return f"list of {_type(schema['items'], shapes)}"
    return str(schema.get("type", "any"))


def _reference(name: str, shapes: dict[str, None]) -> str:
    shape = definition(name)
    if "enum" in shape:
        return _type({"enum": shape["enum"]}, shapes)
    if not all("description" in field for field in shape["properties"].values()):
        return "object"  # a section of the configuration that older clients send and nothing reads
    shapes[shape["title"]] = None
    return f"[{shape['title']}](#{shape['title'].lower()})"


def with_inner(shapes: dict[str, None]) -> list[str]:
    """Shapes, and those that appear only inside them."""
    count = -1
    while count != len(shapes):
        count = len(shapes)
        for name in list(shapes):
            list(fields_of(definition(name), shapes))
    return list(shapes)
