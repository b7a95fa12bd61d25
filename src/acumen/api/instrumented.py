"""Around the whole web application: counts, times, traces and logs every request, and returns its id."""

import logging
import time
from contextlib import AbstractContextManager

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from acumen.app import App
from acumen.auth.headers import headers_of, request_id_of
from acumen.telemetry import logs, traces
from acumen.telemetry.metrics import METHODS, UNMATCHED
from acumen.telemetry.traces import TraceSpan

access = logging.getLogger("acumen.access")

# Not traced: a server that traces to itself would never come to an end.
OTLP = "/v1/traces"


class InstrumentedApp:
    def __init__(self, inner: ASGIApp, app: App) -> None:
        self._inner = inner
        self._metrics = app.metrics
        self._access_log = app.settings.access_log

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

        logging_context = logs.work.set(lambda: {"request_id": request_id_of(scope), "route": route_of(scope)})
        try:
            with _span(scope) as span:
                try:
                    await self._inner(scope, receive, observing_send)
                finally:
                    self._record(scope, status, time.perf_counter() - began, span)
        finally:
            logs.work.reset(logging_context)

    def _record(self, scope: Scope, status: int, seconds: float, span: TraceSpan) -> None:
        method, route = method_of(scope), route_of(scope)
        self._metrics.request(route, method, status, seconds)
        span.rename(f"{method} {route}")
        span.set(http__request__method=method, http__route=route, http__response__status_code=status)
        if self._access_log:
            fields = {"method": method, "status": status, "duration_ms": round(seconds * 1000, 2)}
            access.info("%s %s %s %.1f ms", method, route, status, seconds * 1000, extra={"fields": fields})


def method_of(scope: Scope) -> str:
    return scope["method"] if scope["method"] in METHODS else "other"


def route_of(scope: Scope) -> str:
    """The template of the route, which holds nothing that the caller chose."""
    return getattr(scope.get("route"), "path", UNMATCHED)


def _span(scope: Scope) -> AbstractContextManager[TraceSpan]:
    return traces.OFF if scope["path"] == OTLP else traces.root(method_of(scope), headers_of(scope))


def _with_request_id(headers: list[tuple[bytes, bytes]], scope: Scope) -> list[tuple[bytes, bytes]]:
    if any(name == b"x-request-id" for name, _ in headers):
        return headers
    return [*headers, (b"x-request-id", request_id_of(scope).encode())]
