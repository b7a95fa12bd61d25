"""The web application: routes, and the headers of every reply."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from acumen.api import edge, error_reply, metrics, openapi
from acumen.api.observe import traces
from acumen.app import App
from acumen.auth.authenticator import KeyAuthenticator
from acumen.auth.headers import NUL, request_id_of
from acumen.errors import NotFound
from acumen_client.wire.shapes import ErrorBody

HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Content-Security-Policy": "default-src 'none'; connect-src 'self'; img-src 'self' data:; "
    "style-src 'self' 'unsafe-inline'; script-src 'self'; frame-ancestors 'none'; base-uri 'none'",
}
_RAW_HEADERS = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]


def web_app(app: App, keys: KeyAuthenticator | None = None) -> ASGIApp:
    @asynccontextmanager
    async def lifespan(_web: Starlette) -> AsyncIterator[None]:
        await app.start()
        yield
        await app.stop()

    routes = api_routes(app, keys or KeyAuthenticator(app.store, app.open_org))
    web = Starlette(
        routes=[*routes, *openapi.routes()],
        lifespan=lifespan,
        exception_handlers={HTTPException: _unrouted},
    )
    return DirectRouter(routes, SecurityHeaders(web))


def api_routes(app: App, keys: KeyAuthenticator) -> list[Route]:
    return [*edge.routes(app, keys), *traces.routes(app, keys), metrics.route(app, keys)]


class SecurityHeaders:
    """Adds the security headers to every reply."""

    def __init__(self, inner: ASGIApp) -> None:
        self._inner = inner

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *_RAW_HEADERS]
            await send(message)

        await self._inner(scope, receive, send_with_headers if scope["type"] == "http" else send)


class DirectRouter:
    """Bypasses Starlette's router for routes without path parameters; the others go through it.

    Endpoints turn their own failures into replies, so the layers in between would only cost a tenth of a publish.
    """

    def __init__(self, routes: Sequence[Route], router: ASGIApp) -> None:
        whole = [route for route in routes if not route.param_convertors]
        self._routes = {(method, route.path): route for route in whole for method in route.methods or ()}
        self._router = router

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        route = self._routes.get((scope.get("method", ""), scope.get("path", "")))
        if route is None and NUL in scope.get("path", ""):
            missing = NotFound(f"Not found: {scope['path'][:200]!r}")
            await error_reply.reply(missing, request_id_of(scope))(scope, receive, send)
        elif route is None:
            await self._router(scope, receive, send)
        else:
            scope["route"] = route
            response: Response = await route.endpoint(Request(scope, receive, send))
            headers = [*response.raw_headers, *_RAW_HEADERS]
            await send({"type": "http.response.start", "status": response.status_code, "headers": headers})
            await send({"type": "http.response.body", "body": response.body})


async def _unrouted(request: Request, error: Exception) -> Response:
    """No route, or not with this method: the same shape as every other error."""
    request_id = request_id_of(request.scope)
    if not isinstance(error, HTTPException):
        return error_reply.reply(error, request_id)
    if error.status_code == 404:
        return error_reply.reply(NotFound(f"Not found: {request.url.path[:200]}"), request_id)
    body = ErrorBody(detail=_method_not_allowed(request, error), code="method_not_allowed", request_id=request_id)
    return Response(body.model_dump_json(), error.status_code, error.headers, media_type="application/json")


def _method_not_allowed(request: Request, error: HTTPException) -> str:
    allowed = [method.strip() for method in (error.headers or {}).get("Allow", "").split(",")]
    methods = " or ".join(method for method in sorted(allowed) if method not in ("", "HEAD"))
    return f"{request.method} is not allowed on {request.url.path[:200]}; use {methods}."
