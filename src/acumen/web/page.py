"""One visit to a page: what a page is given, how pages are found, and how one is rendered."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from msgspec import Struct, field
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from acumen import __version__
from acumen.app import App
from acumen.auth.authenticator import Caller, KeyAuthenticator
from acumen.deps import Deps
from acumen.web import words
from acumen.web.form import Form
from acumen.web.paths import ROOT
from acumen.web.session import Sessions
from acumen_client.wire.shapes import Role

HERE = Path(__file__).parent
PER_PAGE = 50
# No list is leafed through further than this: a filter finds it sooner.
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
    """A page's request, after it is known who asks."""

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
        """Whether a page that is open already asks for a part of itself."""
        return self.request.headers.get("hx-request") == "true"

    @property
    def path_id(self) -> str:
        return str(self.request.path_params["id"])

    def asked(self, name: str, default: str = "") -> str:
        return self.query.get(name, default).strip()

    def choice(self, name: str, *allowed: str) -> str:
        """One of the values that a filter has; the first of them when the URL says anything else."""
        found = self.asked(name)
        return found if found in allowed else allowed[0]

    def days(self, default: int) -> int:
        found = self.asked("days")
        return min(max(int(found), 1), 365) if found.isdecimal() and len(found) < 6 else default

    @property
    def page(self) -> int:
        """Counted from 1."""
        found = self.asked("page")
        return min(max(int(found), 1), LAST_PAGE) if found.isdecimal() and len(found) < 9 else 1

    @property
    def offset(self) -> int:
        return (self.page - 1) * PER_PAGE

    def html(self, template: str, status: int = 200, headers: dict[str, str] | None = None, **values: Any) -> Response:
        given = {
            "visit": self,
            "path": self.request.url.path,
            "now": self.deps.now(),
            "may_act": self.caller.role.allows(Role.REVIEWER),
            "may_rule": self.caller.role.allows(Role.ADMIN),
            **values,
        }
        return HTMLResponse(TEMPLATES.get_template(template).render(given), status, headers)

    def url_with(self, **changes: object) -> str:
        """The same page with other filters; None takes one away. A new filter starts at the first page."""
        kept = [(name, value) for name, value in self.query.multi_items() if name not in changes and name != "page"]
        new = [(name, str(value)) for name, value in changes.items() if value is not None]
        asked = urlencode([*kept, *new])
        return f"{self.request.url.path}?{asked}" if asked else self.request.url.path


Handler = Callable[[Visit], Awaitable[Response]]


class Page(Struct, frozen=True):
    path: str
    method: str
    role: Role
    handler: Handler


PAGES: list[Page] = []


def page(path: str, role: Role = Role.READER, method: str = "GET") -> Callable[[Handler], Handler]:
    """Says where a page is and who may see it."""

    def register(handler: Handler) -> Handler:
        PAGES.append(Page(path, method, role, handler))
        return handler

    return register
