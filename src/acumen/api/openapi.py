"""OpenAPI from the table of calls, and the page that shows it with assets of our own."""

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
from acumen.api.legacy.routes import OLDER, Older
from acumen_client.calls import ENDPOINTS
from acumen_client.endpoint import Endpoint
from acumen_client.wire.shapes import ErrorBody, Nothing, Role
from acumen_client.wire.system import ReadinessResponse

Shown = tuple[type[BaseModel], Literal["validation", "serialization"]]
STATIC = Path(__file__).parent / "static"
REFERENCE = "#/components/schemas/{model}"
FAILURES = {
    "400": "The request cannot be read.",
    "401": "No key, or one that is unknown, expired or revoked.",
    "403": "The key's role does not reach this far.",
    "404": "There is no such thing.",
    "409": "It contradicts what is stored.",
    "413": "The body is too large.",
    "415": "The body is not JSON.",
    "422": "A field cannot be used; the detail names it.",
    "503": "Cannot be answered right now; try again.",
    "507": "The disk is full.",
}


@cache
def document() -> dict[str, Any]:
    """Built when first asked for, since few starts ever need it."""
    asked: list[Shown] = [(e.request_model, "validation") for e in ENDPOINTS if not e.takes_nothing]
    answered: list[Shown] = [(e.answer_model, "serialization") for e in ENDPOINTS]
    failed: list[Shown] = [(ErrorBody, "serialization")]
    shown = list(dict.fromkeys(asked + answered + failed))
    refs, schema = models_json_schema(shown, ref_template=REFERENCE)
    paths: dict[str, Any] = {}
    for endpoint in ENDPOINTS:
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = _operation(endpoint, refs, schema["$defs"])
    for older in OLDER:
        paths.setdefault(older.path, {})[older.endpoint.method.lower()] = _older(older, refs, schema["$defs"])
    return {
        "openapi": "3.1.0",
        "info": {"title": "Acumen", "version": __version__, "description": "The learning layer beside AI agents."},
        "paths": paths,
        "components": {
            "schemas": schema["$defs"],
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(endpoint: Endpoint[..., Any], refs: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": endpoint.name,
        # The shapes of each room are in a file of its name.
        "tags": [endpoint.answer_model.__module__.rpartition(".")[2]],
        "summary": endpoint.summary,
        "responses": {
            str(endpoint.status): _content(
                "It worked." if endpoint.status == 200 else "It is begun.", refs[endpoint.answer_model, "serialization"]
            ),
            **{status: _content(why, refs[ErrorBody, "serialization"]) for status, why in FAILURES.items()},
        },
    }
    if endpoint.answer_model is ReadinessResponse:
        unwell = _content("Something required does not work.", refs[ReadinessResponse, "serialization"])
        operation["responses"]["503"] = unwell
    if endpoint.role is not Role.PUBLIC:
        operation["security"] = [{"key": []}, {}]
        operation["description"] = f"Needs the role {endpoint.role}."
    if endpoint.request_model is Nothing:
        return operation
    if endpoint.query_fields or endpoint.path_fields:
        operation["parameters"] = _parameters(endpoint, definitions)
    if endpoint.where == "body":
        operation["requestBody"] = {"required": True, **_content("", refs[endpoint.request_model, "validation"])}
        del operation["requestBody"]["description"]
    return operation


def _older(older: Older, refs: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    """What today's endpoint does, under the names of before, which the table of older names tells."""
    today = _operation(older.endpoint, refs, definitions)
    failures = {status: reply for status, reply in today["responses"].items() if status != "200"}
    body = {"requestBody": {"required": True, **_content("", {"type": "object"})}} if "requestBody" in today else {}
    renamed = ", ".join(f"{before} is {now}" for before, now in older.names.items())
    return {
        **{name: value for name, value in today.items() if name not in ("requestBody", "parameters")},
        **body,
        "operationId": f"older_{older.name}",
        "deprecated": True,
        "summary": f"The older name of {older.endpoint.path}.",
        "description": ". ".join(part for part in (today.get("description", "").rstrip("."), renamed) if part),
        "responses": {"200": _content("It worked.", {"type": "object"}), **failures},
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
    return [
        Route("/openapi.json", _openapi),
        Route("/docs", _docs),
        Mount("/static", StaticFiles(directory=STATIC, check_dir=False)),
    ]
