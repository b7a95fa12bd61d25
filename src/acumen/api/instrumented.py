"""Around the whole web application: counts and times every request, and returns its id."""

import time

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from acumen.auth.headers import request_id_of
from acumen.telemetry.metrics import UNMATCHED, Metrics


class InstrumentedApp:
    def __init__(self, inner: ASGIApp, metrics: Metrics) -> None:
        self._inner = inner
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._inner(scope, receive, send)
            return
        began, status = time.perf_counter(), 500

        async def observing_send(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = _with_request_id(message["headers"], scope)
            await send(message)

        try:
            await self._inner(scope, receive, observing_send)
        finally:
            self._metrics.request(route_of(scope), scope["method"], status, time.perf_counter() - began)


def route_of(scope: Scope) -> str:
    """The template of the route, which holds nothing that the caller chose."""
    return getattr(scope.get("route"), "path", UNMATCHED)


def _with_request_id(headers: list[tuple[bytes, bytes]], scope: Scope) -> list[tuple[bytes, bytes]]:
    if any(name == b"x-request-id" for name, _ in headers):
        return headers
    return [*headers, (b"x-request-id", request_id_of(scope).encode())]
