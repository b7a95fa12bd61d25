"""From an HTTP request to a handler and back, the same way for every endpoint."""

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from acumen.api import config, error_reply, system  # noqa: F401 - importing a module registers its handlers
from acumen.api.body import json_of
from acumen.api.call import HANDLERS, Call, Handler
from acumen.api.learn import aggregation, evaluations, runs  # noqa: F401
from acumen.api.legacy import events  # noqa: F401
from acumen.api.legacy.routes import LEGACY_ROUTES, LegacyRoute
from acumen.api.meter import overview, usage  # noqa: F401
from acumen.api.observe import conversations, operations, verdicts  # noqa: F401
from acumen.api.recall import experiments, search  # noqa: F401
from acumen.api.review import alerts, changes, erasure, failures, memories, proposals, queue  # noqa: F401
from acumen.app import App
from acumen.auth.authenticator import KEY_IGNORED, Caller, KeyAuthenticator
from acumen.auth.headers import request_id_of
from acumen.auth.roles import Permission, permit
from acumen.errors import BadInput
from acumen.model.config import OrgConfig
from acumen.model.ids import LOCAL_ORG
from acumen_client.calls import ENDPOINTS
from acumen_client.endpoint import Endpoint
from acumen_client.errors import in_words
from acumen_client.wire.observe import PublishUserInteractionResponse
from acumen_client.wire.shapes import Role
from acumen_client.wire.system import ReadinessResponse

_NO_QUERY: Mapping[str, str] = {}
# Sent with the answer to a publish while learning is late; in seconds.
LEARNING_DELAY = "Acumen-Learning-Delay"
KEY_WARNING = "The key was ignored: this server has no keys and answers programs on its machine as admin."
ANONYMOUS = Caller(LOCAL_ORG, Role.PUBLIC)


def routes(app: App, keys: KeyAuthenticator) -> list[Route]:
    current = [_route(endpoint, HANDLERS[endpoint.name], app, keys) for endpoint in ENDPOINTS]
    return [*current, *(_route(old.endpoint, HANDLERS[old.endpoint.name], app, keys, old) for old in LEGACY_ROUTES)]


def _route(
    endpoint: Endpoint[..., Any], handler: Handler, app: App, keys: KeyAuthenticator, legacy: LegacyRoute | None = None
) -> Route:
    path, name = (legacy.path, legacy.name) if legacy else (endpoint.path, endpoint.name)
    permission = permit(endpoint.method, path, endpoint.role, endpoint.summary)

    async def answer(request: Request) -> Response:
        request_id = request_id_of(request.scope)
        try:
            with app.traffic.caller():
                caller = await _caller(permission, keys, request)
                body = await _parse(endpoint, app, request, legacy)
                deps = app.deps(caller.org, OrgConfig()) if caller is ANONYMOUS else await app.deps_for(caller.org)
                answer_model = await handler(body, Call(app, keys, caller, deps))
                return _reply(endpoint, answer_model, _headers(request, request_id), legacy)
        except Exception as error:  # noqa: BLE001 - every failure becomes a reply, unknown ones are logged
            return error_reply.reply(error, request_id)

    return Route(path, answer, methods=[endpoint.method], name=name)


async def _caller(permission: Permission, keys: KeyAuthenticator, request: Request) -> Caller:
    if permission.role is Role.PUBLIC:
        return ANONYMOUS
    caller = await keys.identify(request.scope)
    permission.require(caller.role)
    return caller


async def _parse(endpoint: Endpoint[..., Any], app: App, request: Request, legacy: LegacyRoute | None) -> Any:
    body = None
    if endpoint.method != "GET":
        body = await json_of(request, app.settings.limits.body_bytes)
        if body is None and endpoint.reads_body:
            raise BadInput("A JSON body is required.")
    if legacy is None:
        query = request.query_params if request.scope["query_string"] else _NO_QUERY
        try:
            return endpoint.parse(query, body, request.path_params)
        except ValidationError as error:
            raise BadInput(in_words(error, shape=endpoint.request_model)) from None
    return legacy.parse(dict(request.query_params), body)


def _headers(request: Request, request_id: str) -> dict[str, str]:
    ignored = {"X-Acumen-Warning": KEY_WARNING} if KEY_IGNORED in request.scope else {}
    return {"X-Request-ID": request_id, **ignored}


def _reply(endpoint: Endpoint[..., Any], answer: Any, headers: dict[str, str], legacy: LegacyRoute | None) -> Response:
    unhealthy = isinstance(answer, ReadinessResponse) and answer.status == "unhealthy"
    if isinstance(answer, PublishUserInteractionResponse) and answer.learning_delay_seconds is not None:
        headers[LEARNING_DELAY] = str(answer.learning_delay_seconds)
    reply = endpoint.dump(answer)
    body = legacy.rename_reply(reply) if legacy else reply
    return Response(body, 503 if unhealthy else endpoint.status, headers, media_type="application/json")
