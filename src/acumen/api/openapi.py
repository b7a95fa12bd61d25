"""The OpenAPI document, from the table of endpoints, and the page that shows it."""

from functools import cache
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from acumen import __version__
from acumen.api.legacy.routes import LEGACY_ROUTES, LegacyRoute
from acumen.api.meanings import MEANINGS
from acumen.auth.roles import permit
from acumen_client.calls import ENDPOINTS
from acumen_client.endpoint import Endpoint
from acumen_client.wire.shapes import ErrorBody, Nothing, Role
from acumen_client.wire.system import ReadinessResponse

Shown = tuple[type[BaseModel], Literal["validation", "serialization"]]
STATIC = Path(__file__).parent / "static"
REFERENCE = "#/components/schemas/{model}"
FAILURES = {
    "400": "Malformed request.",
    "401": "No key, or an unknown, expired or revoked key.",
    "403": "The role of the key is not sufficient.",
    "404": "Not found.",
    "409": "Conflict with what is stored.",
    "413": "Request body too large.",
    "415": "The body is not JSON.",
    "422": "Invalid field; the detail names it.",
    "503": "Temporarily unavailable; try again.",
    "507": "The disk is full.",
}


@cache
def document() -> dict[str, Any]:
    """Built on first use: few processes ever need it."""
    requests: list[Shown] = [(e.request_model, "validation") for e in ENDPOINTS if not e.takes_nothing]
    answers: list[Shown] = [(e.answer_model, "serialization") for e in ENDPOINTS]
    failures: list[Shown] = [(ErrorBody, "serialization")]
    shown = list(dict.fromkeys(requests + answers + failures))
    refs, schema = models_json_schema(shown, ref_template=REFERENCE)
    for request, mode in requests:
        _describe_fields(refs[request, mode], schema["$defs"])
    paths: dict[str, Any] = {}
    for endpoint in ENDPOINTS:
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = _operation(endpoint, refs, schema["$defs"])
    for legacy in LEGACY_ROUTES:
        paths.setdefault(legacy.path, {})[legacy.endpoint.method.lower()] = _legacy(legacy, refs, schema["$defs"])
    return {
        "openapi": "3.1.0",
        "info": {"title": "Acumen", "version": __version__, "description": "The learning layer for AI agents."},
        "paths": paths,
        "components": {
            "schemas": schema["$defs"],
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
    }


def _describe_fields(part: Any, definitions: dict[str, Any]) -> None:
    """Adds what its fields mean to a shape of a request, and to the shapes inside."""
    if isinstance(part, list):
        for inner in part:
            _describe_fields(inner, definitions)
    elif isinstance(part, dict) and "$ref" in part:
        shape = definitions[part["$ref"].rpartition("/")[2]]
        for name, field in shape.get("properties", {}).items():
            if "description" not in field:
                meaning = MEANINGS.get(f"{shape['title']}.{name}") or MEANINGS.get(name)
                field.update({"description": meaning} if meaning else {})
                _describe_fields(field, definitions)
    elif isinstance(part, dict):
        _describe_fields(list(part.values()), definitions)


def _operation(endpoint: Endpoint[..., Any], refs: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": endpoint.name,
        "tags": [endpoint.answer_model.__module__.rpartition(".")[2]],
        "summary": endpoint.summary,
        "responses": {
            str(endpoint.status): _content(
                "Success." if endpoint.status == 200 else "Accepted.", refs[endpoint.answer_model, "serialization"]
            ),
            **{status: _content(why, refs[ErrorBody, "serialization"]) for status, why in FAILURES.items()},
        },
    }
    if endpoint.answer_model is ReadinessResponse:
        unhealthy = _content("A required check failed.", refs[ReadinessResponse, "serialization"])
        operation["responses"]["503"] = unhealthy
    if endpoint.role is not Role.PUBLIC:
        operation["security"] = [{"key": []}, {}]
        operation["description"] = f"Requires the role {endpoint.role}."
    if endpoint.request_model is Nothing:
        return operation
    if endpoint.query_fields or endpoint.path_fields:
        operation["parameters"] = _parameters(endpoint, definitions)
    if endpoint.where == "body":
        operation["requestBody"] = {"required": True, **_content("", refs[endpoint.request_model, "validation"])}
        del operation["requestBody"]["description"]
    return operation


def _legacy(legacy: LegacyRoute, refs: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    """The endpoint of today, with the legacy names in the description."""
    current = _operation(legacy.endpoint, refs, definitions)
    failures = {status: reply for status, reply in current["responses"].items() if status != "200"}
    body = {"requestBody": {"required": True, **_content("", {"type": "object"})}} if "requestBody" in current else {}
    renamed = ", ".join(f"{before} is {now}" for before, now in legacy.names.items())
    return {
        **{name: value for name, value in current.items() if name not in ("requestBody", "parameters")},
        **body,
        "operationId": f"legacy_{legacy.name}",
        "deprecated": True,
        "summary": f"Legacy name of {legacy.endpoint.path}.",
        "description": ". ".join(part for part in (current.get("description", "").rstrip("."), renamed) if part),
        "responses": {"200": _content("Success.", {"type": "object"}), **failures},
    }


def _parameters(endpoint: Endpoint[..., Any], definitions: dict[str, Any]) -> list[dict[str, Any]]:
    shape = definitions[endpoint.request_model.__name__]
    required = shape.get("required", ())
    places = [("path", endpoint.path_fields), ("query", endpoint.query_fields)]
    return [
        {"name": name, "in": place, "required": name in required, "schema": shape["properties"][name]}
        for place, names in places
        for name in sorted(names)
    ]


def _content(description: str, schema: Any) -> dict[str, Any]:
    return {"description": description, "content": {"application/json": {"schema": schema}}}


async def _openapi(_request: Request) -> Response:
    return JSONResponse(document())


async def _docs(_request: Request) -> Response:
    return HTMLResponse((STATIC / "docs.html").read_text(encoding="utf-8"))


def routes() -> list[BaseRoute]:
    permit("GET", "/openapi.json", Role.PUBLIC, "Read the API description.")
    permit("GET", "/docs", Role.PUBLIC, "Browse the API description.")
    permit("GET", "/static", Role.PUBLIC, "Load the files of `/docs`.")
    return [
        Route("/openapi.json", _openapi),
        Route("/docs", _docs),
        Mount("/static", StaticFiles(directory=STATIC, check_dir=False)),
    ]
