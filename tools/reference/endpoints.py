"""Pages of endpoints, one per verb: fields, and an example that a real server has answered."""

import inspect
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlencode

from acumen.api.call import HANDLERS
from acumen.api.legacy.routes import LEGACY_ROUTES
from acumen.api.openapi import FAILURES
from acumen_client import errors
from acumen_client.calls import Calls
from acumen_client.endpoint import Endpoint
from acumen_client.wire.shapes import Role
from tools.reference.markdown import GENERATED, table
from tools.reference.scenario import Example
from tools.reference.shapes import definition, fields_of, with_inner

# Verb: what its endpoints do, and the page to read first.
VERBS = {
    "observe": ("Publish conversations, record operations and verdicts.", "[Observe](../observe.md)"),
    "learn": ("Rebuild memories, share lessons, evaluate sessions.", "[Learn](../learn.md)"),
    "recall": ("Search memories, run experiments.", "[Recall](../recall.md)"),
    "meter": ("Usage, cost, citations and lift.", "[Meter](../meter.md)"),
    "review": ("Memories, review queue, failures, proposals, erasure.", "[Review](../../guides/review-memories.md)"),
    "operate": ("Configuration, keys, status, health.", "[Settings](../settings.md)"),
}
CALLED = {endpoint.name: name for name, endpoint in vars(Calls).items() if isinstance(endpoint, Endpoint)}
ENDPOINTS = {endpoint.name: endpoint for endpoint in vars(Calls).values() if isinstance(endpoint, Endpoint)}
SCALARS_SHOWN = 3
PLAIN_LIST = re.compile(r"\[\s+([^][{}]*?)\s+\]")
# The legacy routes have names of their own for the same endpoints.
LEGACY = "legacy"

INTRODUCTION = """\
The server describes itself at `/openapi.json`, and shows the description at `/docs`. Requests and responses are JSON.

- **Keys**: `Authorization: Bearer KEY`. A server without keys answers callers on the same machine only. Each role
  includes the ones before it: `reader`, `agent`, `reviewer`, `admin`.
- **Times** in responses are epoch seconds (UTC). Requests take ISO 8601 or epoch seconds, as the field says.
- **Retries**: sending a request with the same `request_id` or `op_id` again stores nothing twice.
- **Examples** on these pages are played through a real server. Times and ids are replaced by fixed values, fractions
  are rounded, and long lists are cut: objects to the first, other values to the first three.
- Traces arrive by OTLP at `/v1/traces`: see [observe](observe.md).
- Metrics for Prometheus are at `/metrics`: see [monitoring](../operate/monitoring.md)."""
ERRORS = (
    "A failure has a body with `detail` (a sentence), `code` and `request_id`; the log has the rest under the same id."
)
LEGACY_ROUTES_ARE = "These keep older clients working. They take and return the older names."


def _place(endpoint: Endpoint[..., Any]) -> tuple[str, str]:
    """The verb and the module of an endpoint: those of its handler."""
    folder, _, module = HANDLERS[endpoint.name].__module__.removeprefix("acumen.api.").partition(".")
    return (folder, module) if module else ("operate", folder)


def of_verb(verb: str) -> dict[str, list[Endpoint[..., Any]]]:
    modules: dict[str, list[Endpoint[..., Any]]] = {}
    for endpoint in ENDPOINTS.values():
        folder, module = _place(endpoint)
        if folder == verb:
            modules.setdefault(module, []).append(endpoint)
    return modules


def contents() -> str:
    parts = ["# Endpoints", GENERATED, INTRODUCTION]
    for verb, (summary, _) in VERBS.items():
        rows = [
            (f"[`{e.method} {e.path}`](endpoints/{verb}.md#{e.name})", e.role, e.summary)
            for endpoints in of_verb(verb).values()
            for e in endpoints
        ]
        parts += [f"## {verb.capitalize()}", summary, table(("endpoint", "role", ""), rows)]
    failures = [(status, why, errors.error_for(int(status)).__name__) for status, why in FAILURES.items()]
    parts += ["## Errors", ERRORS, table(("status", "meaning", "in the SDK"), failures)]
    events = [(f"`{e.method} {e.path}`", e.summary) for e in ENDPOINTS.values() if _place(e)[0] == LEGACY]
    same = [(f"`{old.endpoint.method} {old.path}`", f"The same as `{old.endpoint.path}`.") for old in LEGACY_ROUTES]
    names = {before: now for old in LEGACY_ROUTES for before, now in old.names.items()}
    renamed = ", ".join(f"`{before}` for `{now}`" for before, now in names.items())
    legacy = [LEGACY_ROUTES_ARE, table(("route", ""), [*events, *same]), f"The older names are {renamed}."]
    return "\n\n".join([*parts, "## Legacy routes", *legacy])


def verb_page(verb: str, examples: Mapping[str, Example]) -> str:
    summary, link = VERBS[verb]
    head = f"{summary} {link} explains the concepts; [Endpoints](../endpoints.md) lists conventions, roles and errors."
    parts = [f"# Endpoints: {verb}", GENERATED, head]
    parts.append(" · ".join(f"[{e.name}](#{e.name})" for endpoints in of_verb(verb).values() for e in endpoints))
    shapes: dict[str, None] = {}
    for module, endpoints in of_verb(verb).items():
        parts.append(f"## {module.capitalize()}")
        for endpoint in endpoints:
            parts += _endpoint(endpoint, examples[endpoint.name], shapes)
    nested = [part for name in with_inner(shapes) for part in (f"### {name}", *fields_of(definition(name), shapes))]
    return "\n\n".join([*parts, *(["## Shapes", "Objects inside requests.", *nested] if nested else [])])


def _endpoint(endpoint: Endpoint[..., Any], example: Example, shapes: dict[str, None]) -> Iterator[str]:
    yield f"### {endpoint.name}"
    access = "No key needed" if endpoint.role is Role.PUBLIC else f"Role `{endpoint.role}`"
    yield f"`{endpoint.method} {endpoint.path}` · {access} · SDK `client.{CALLED[endpoint.name]}()`"
    yield endpoint.summary
    if not endpoint.takes_nothing:
        in_query = endpoint.query_fields if endpoint.where == "body" else frozenset()
        yield from fields_of(definition(endpoint.request_model.__name__), shapes, in_query)
    yield f"Request:\n\n{_request(endpoint, example.request)}"
    yield f"Response:\n\n{_json(_shortened(example.response))}"
    yield inspect.cleandoc(vars(endpoint.answer_model).get("__doc__") or "")


def _request(endpoint: Endpoint[..., Any], fields: Mapping[str, Any]) -> str:
    if endpoint.reads_body:
        sent = {name: value for name, value in fields.items() if name not in endpoint.query_fields}
        return _json(sent)
    query = urlencode({name: value for name, value in fields.items() if name in endpoint.query_fields})
    path = endpoint.path.format_map(fields) + (f"?{query}" if query else "")
    return f"```text\n{endpoint.method} {path}\n```"


def _json(value: Any) -> str:
    """Lists of plain values are on one line."""
    text = json.dumps(value, indent=2, ensure_ascii=False)
    joined = PLAIN_LIST.sub(lambda match: f"[{' '.join(match[1].split())}]", text)
    return f"```json\n{joined}\n```"


def _shortened(value: Any) -> Any:
    """Lists of objects show their first, lists of values their first three."""
    if isinstance(value, dict):
        return {name: _shortened(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_shortened(inner) for inner in value[: 1 if value and isinstance(value[0], dict) else SCALARS_SHOWN]]
    return value
