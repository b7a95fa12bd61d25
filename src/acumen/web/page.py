"""A visit to a page: the request with its caller, and how a page is registered and rendered."""

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from msgspec import Struct, field
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from acumen import __version__
from acumen.app import App
from acumen.auth.authenticator import Caller, KeyAuthenticator
from acumen.auth.roles import Permission, permit
from acumen.deps import Deps
from acumen.web import words
from acumen.web.form import Form
from acumen.web.paths import ROOT
from acumen.web.session import Sessions
from acumen_client.wire.shapes import Role

HERE = Path(__file__).parent
PER_PAGE = 50
# Lists end here: use filters to find older entries.
LAST_PAGE = 10_000

TEMPLATES = Environment(
    loader=FileSystemLoader(HERE / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
TEMPLATES.filters.update(words.FILTERS)
TEMPLATES.globals.update(words.GLOBALS, version=__version__, ROOT=ROOT)


class Visit(Struct, frozen=True):
    """A request after authentication."""

    app: App
    keys: KeyAuthenticator
    sessions: Sessions
    deps: Deps
    caller: Caller
    request: Request
    token: str
    form: Form = field(default_factory=lambda: Form({}))

    @property
    def query(self) -> QueryParams:
        return self.request.query_params

    @property
    def partial(self) -> bool:
        """Whether htmx asks for a part of the page."""
        return self.request.headers.get("hx-request") == "true"

    @property
    def path_id(self) -> str:
        return str(self.request.path_params["id"])

    def param(self, name: str) -> str:
        return self.query.get(name, "").strip()

    def choice(self, name: str, *allowed: str) -> str:
        """The parameter, or the first allowed value if it is none of them."""
        value = self.param(name)
        return value if value in allowed else allowed[0]

    def days(self, default: int) -> int:
        value = self.param("days")
        return min(max(int(value), 1), 365) if value.isdecimal() and len(value) < 6 else default

    @property
    def page(self) -> int:
        """Counted from 1."""
        value = self.param("page")
        return min(max(int(value), 1), LAST_PAGE) if value.isdecimal() and len(value) < 9 else 1

    @property
    def offset(self) -> int:
        return (self.page - 1) * PER_PAGE

    def html(self, template: str, status: int = 200, headers: dict[str, str] | None = None, **values: Any) -> Response:
        context = {
            "visit": self,
            "path": self.request.url.path,
            "now": self.deps.now(),
            "may_act": self.caller.role.allows(Role.REVIEWER),
            "may_rule": self.caller.role.allows(Role.ADMIN),
            **values,
        }
        return HTMLResponse(TEMPLATES.get_template(template).render(context), status, headers)

    def url_with(self, **changes: object) -> str:
        """The same page with other filters, at its first page; None removes a filter."""
        unchanged = [
            (name, value) for name, value in self.query.multi_items() if name not in changes and name != "page"
        ]
        changed = [(name, str(value)) for name, value in changes.items() if value is not None]
        query = urlencode([*unchanged, *changed])
        return f"{self.request.url.path}?{query}" if query else self.request.url.path

    def toast(self, message: str, path: str, undo_url: str = "", undo: str = "", count: int = 1) -> Response:
        """A message with an Undo button, and lists reload; without scripts a redirect to a page of the dashboard."""
        if not self.partial:
            return RedirectResponse(f"{ROOT}{path}", 303)
        headers = {"HX-Trigger": json.dumps({"acumen:changed": {"count": count}})}
        return self.html("part/toast.html", headers=headers, message=message, undo_url=undo_url, undo=undo)

    def done(self, message: str, path: str, action_id: str, count: int = 1) -> Response:
        """A toast about an action of the audit log; one without id cannot be undone."""
        return self.toast(message, path, f"{ROOT}/actions/{action_id}/undo" if action_id else "", "undo", count)


Handler = Callable[[Visit], Awaitable[Response]]


class Page(Struct, frozen=True):
    path: str
    method: str
    permission: Permission
    handler: Handler


PAGES: list[Page] = []


def page(path: str, role: Role = Role.READER, method: str = "GET") -> Callable[[Handler], Handler]:
    """Registers a page with the least role that may see it."""

    def register(handler: Handler) -> Handler:
        PAGES.append(Page(path, method, permit(method, f"{ROOT}{path}", role, _described(method, handler)), handler))
        return handler

    return register


def _described(method: str, handler: Handler) -> str:
    """For the role table: the page, and for a form what it does."""
    name = handler.__module__.rpartition(".")[2].replace("_", " ").capitalize()
    return f"{name}." if method == "GET" else f"{name}: {handler.__name__.replace('_', ' ')}."
