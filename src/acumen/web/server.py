"""The web application of the dashboard: routing, authentication, errors and static files."""

import mimetypes
from functools import cache
from pathlib import Path
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, ExceptionHandler

import acumen.web.pages  # noqa: F401 - registers the pages
from acumen.app import App
from acumen.auth.authenticator import Caller, KeyAuthenticator
from acumen.auth.headers import request_id_of
from acumen.auth.roles import permit
from acumen.errors import NotAuthenticated, NotFound
from acumen.http_errors import HttpError, http_error
from acumen.model.config import OrgConfig
from acumen.model.ids import LOCAL_ORG
from acumen.web.csrf import check_csrf
from acumen.web.form import form_of
from acumen.web.page import HERE, PAGES, Page, Visit
from acumen.web.paths import ROOT
from acumen.web.session import Sessions, visitor
from acumen_client.wire.shapes import Role

STATIC = HERE / "static"
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # With `no-referrer` the Origin of our own forms would be "null".
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Vary": "HX-Request",
}
UNCACHED = {"Cache-Control": "no-store"}
NOBODY = Caller(LOCAL_ORG, Role.PUBLIC)


def site(app: App, keys: KeyAuthenticator) -> ASGIApp:
    sessions = Sessions(app.settings.web)
    unrouted = _unrouted(app, keys, sessions)
    return Starlette(routes=site_routes(app, keys, sessions), exception_handlers={HTTPException: unrouted})


def site_routes(app: App, keys: KeyAuthenticator, sessions: Sessions) -> list[Route]:
    permit("GET", f"{ROOT}/static/{{name:path}}", Role.PUBLIC, "Load styles and scripts.")
    pages = [_route(page, app, keys, sessions) for page in PAGES]
    return [Route(f"{ROOT}/static/{{name:path}}", _asset), *pages]


def _route(page: Page, app: App, keys: KeyAuthenticator, sessions: Sessions) -> Route:
    async def answer(request: Request) -> Response:
        try:
            visit = await _visit(page, app, keys, sessions, request)
            response = await page.handler(visit)
        except Exception as error:  # noqa: BLE001 - every error becomes a page; unknown ones are logged
            response = await _failed(app, keys, sessions, request, error)
        for name, value in (HEADERS | UNCACHED).items():
            response.headers.setdefault(name, value)
        return response

    return Route(f"{ROOT}{page.path}", answer, methods=[page.method])


async def _visit(page: Page, app: App, keys: KeyAuthenticator, sessions: Sessions, request: Request) -> Visit:
    at = app.deps(LOCAL_ORG, OrgConfig()).now()
    caller, session = NOBODY, "none"
    if page.permission.role is not Role.PUBLIC:
        caller, session = await visitor(request.scope, sessions, keys, at)
        page.permission.require(caller.role)
    deps = await app.deps_for(caller.org)
    visit = Visit(app, keys, sessions, deps, caller, request, sessions.csrf_token(session))
    if page.method == "GET":
        return visit
    form = await form_of(request)
    check_csrf(request.scope, sessions, session, form.get("token"))
    return Visit(app, keys, sessions, deps, caller, request, visit.token, form)


# --- errors -----------------------------------------------------------------------------------------------


async def _failed(app: App, keys: KeyAuthenticator, sessions: Sessions, request: Request, error: Exception) -> Response:
    partial = request.headers.get("hx-request") == "true"
    if isinstance(error, NotAuthenticated):
        return _to_login(request, partial=partial)
    failure = http_error(error, request_id_of(request.scope))
    visit = await _error_visit(app, keys, sessions, request)
    template = "part/notice.html" if partial else "error.html"
    return visit.html(template, failure.status, failure=failure, title=TITLES.get(failure.status, "Error"))


TITLES = {
    403: "Not allowed",
    404: "Page not found",
    409: "Conflict",
    422: "Invalid request",
    503: "Unavailable",
    507: "Disk full",
}


async def _error_visit(app: App, keys: KeyAuthenticator, sessions: Sessions, request: Request) -> Visit:
    """For error pages: without data of an org; a signed-in caller keeps the forms."""
    caller, session = NOBODY, "none"
    deps = app.deps(LOCAL_ORG, OrgConfig())
    try:
        caller, session = await visitor(request.scope, sessions, keys, deps.now())
    except Exception:  # noqa: BLE001 - the database may be the cause
        caller = NOBODY
    return Visit(app, keys, sessions, deps, caller, request, sessions.csrf_token(session))


def _to_login(request: Request, *, partial: bool) -> Response:
    target = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    where = f"{ROOT}/login?next={quote(target if request.method == 'GET' and not partial else ROOT)}"
    if "cookie" in request.headers:
        where += "&over=1"
    return Response(status_code=401, headers={"HX-Redirect": where}) if partial else RedirectResponse(where, 303)


def _unrouted(app: App, keys: KeyAuthenticator, sessions: Sessions) -> ExceptionHandler:
    async def reply(request: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 500
        missing = NotFound(f"There is no page at {request.url.path[:200]}.")
        failure = http_error(missing, "") if status == 404 else HttpError(status, "not_possible", str(error))
        visit = await _error_visit(app, keys, sessions, request)
        response = visit.html("error.html", status, failure=failure, title=TITLES.get(status, "Not possible"))
        response.headers.update(HEADERS | UNCACHED)
        return response

    return reply


# --- files ---------------------------------------------------------------------------------------------------------


async def _asset(request: Request) -> Response:
    path = _files().get(str(request.path_params["name"]))
    if path is None:
        raise HTTPException(404)
    body, kind = _read(path)
    # The URL contains the version of the server.
    cached = {"Cache-Control": "public, max-age=86400" if "v" in request.query_params else "no-cache"}
    return Response(body, headers=HEADERS | cached, media_type=kind)


@cache
def _files() -> dict[str, Path]:
    """All there are: a name that callers make up is only looked up."""
    return {path.relative_to(STATIC).as_posix(): path for path in STATIC.rglob("*") if path.is_file()}


@cache
def _read(path: Path) -> tuple[bytes, str]:
    return path.read_bytes(), mimetypes.guess_type(path.name)[0] or "application/octet-stream"
