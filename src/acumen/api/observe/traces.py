"""OTLP over HTTP: traces in protobuf or JSON, as OpenTelemetry's exporters send them.

It is not in the table of endpoints: its bodies and its answers are OpenTelemetry's, not ours.
"""

import json
from collections.abc import Sequence

from pydantic_core import from_json
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from acumen.api import body, error_reply
from acumen.app import App
from acumen.auth.authenticator import KeyAuthenticator
from acumen.auth.headers import headers_of, request_id_of
from acumen.auth.roles import permit
from acumen.deps import Deps
from acumen.errors import BadInput, WrongMediaType
from acumen.model.operations.operation import Stored
from acumen.observe import operations, otlp_decoding, traces
from acumen.observe.otlp_decoding import Span
from acumen.observe.protobuf import varint
from acumen_client.wire.shapes import Role

PATH = "/v1/traces"
PROTOBUF, JSON = "application/x-protobuf", "application/json"
AT_ONCE = 1_000


def routes(app: App, keys: KeyAuthenticator) -> list[Route]:
    permission = permit("POST", PATH, Role.AGENT, "Record traces by OTLP.")

    async def export(request: Request) -> Response:
        request_id = request_id_of(request.scope)
        try:
            with app.traffic.caller():
                caller = await keys.identify(request.scope)
                permission.require(caller.role)
                kind, spans = await _spans(request, app)
                rejected = await _store(spans, await app.deps_for(caller.org))
                app.wake_worker()
                return _answer(kind, rejected)
        except Exception as error:  # noqa: BLE001 - every failure becomes a reply, and the unknown ones a log entry
            reply = error_reply.reply(error, request_id)
            reply.status_code = 400 if isinstance(error, BadInput) else reply.status_code  # the protocol's word for it
            return reply

    return [Route(PATH, export, methods=["POST"], name="otlp_traces")]


async def _spans(request: Request, app: App) -> tuple[str, list[Span]]:
    headers = headers_of(request.scope)
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in (PROTOBUF, JSON):
        raise WrongMediaType(f"Send traces as {PROTOBUF} or {JSON}.")
    raw = await body.bytes_of(request, app.settings.limits.body_bytes)
    try:
        return kind, otlp_decoding.from_protobuf(raw) if kind == PROTOBUF else otlp_decoding.from_json(
            from_json(raw or b"{}")
        )
    except ValueError as wrong:
        raise BadInput(f"The body is not an OTLP trace export: {wrong}.") from None


async def _store(spans: Sequence[Span], deps: Deps) -> list[str]:
    """Why some were refused, one reason each."""
    new, refused = traces.operations(spans, deps.now(), content=deps.settings.observe.otlp_content)
    for start in range(0, len(new), AT_ONCE):
        receipts = await operations.record(new[start : start + AT_ONCE], deps)
        refused += ["another span has these ids" for receipt in receipts if receipt.stored is Stored.CONFLICT]
    return refused


def _answer(kind: str, rejected: Sequence[str]) -> Response:
    """Partial success names how many were refused and why; a whole one says nothing."""
    why = rejected[0] if rejected else ""
    if kind == JSON:
        answer = {"partialSuccess": {"rejectedSpans": str(len(rejected)), "errorMessage": why}} if rejected else {}
        return Response(json.dumps(answer), media_type=JSON)
    message = why.encode()
    partial = b"\x08" + varint(len(rejected)) + b"\x12" + varint(len(message)) + message
    return Response(b"\x0a" + varint(len(partial)) + partial if rejected else b"", media_type=PROTOBUF)
