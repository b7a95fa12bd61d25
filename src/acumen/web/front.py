"""Routes between the dashboard and the API. Pages are imported at the first visit, to start the server faster."""

from functools import cache

from starlette.requests import Request
from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from acumen.app import App
from acumen.auth.authenticator import KeyAuthenticator
from acumen.auth.headers import NUL
from acumen.web.paths import ROOT


def with_dashboard(app: App, keys: KeyAuthenticator, api: ASGIApp) -> ASGIApp:
    @cache
    def pages() -> ASGIApp:
        from acumen.web.server import site  # noqa: PLC0415 - see above

        return site(app, keys)

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        path = scope.get("path", "")
        if (path == ROOT or path.startswith(f"{ROOT}/")) and NUL not in path:
            await pages()(scope, receive, send)
        elif path == "/" and scope.get("method") == "GET" and prefers_html(Request(scope).headers.get("accept", "")):
            await RedirectResponse(ROOT, 303, {"Vary": "Accept"})(scope, receive, send)
        else:
            await api(scope, receive, send)

    return serve


def prefers_html(accept: str) -> bool:
    """Whether HTML is accepted and JSON is not preferred."""
    weights: dict[str, float] = {}
    for part in accept.split(","):
        kind, _, params = part.strip().lower().partition(";")
        weight = params.strip().removeprefix("q=")
        weights[kind.strip()] = float(weight) if weight.replace(".", "", 1).isdecimal() else 1.0
    return weights.get("text/html", 0.0) > 0 and weights["text/html"] >= weights.get("application/json", 0.0)
