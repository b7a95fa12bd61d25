"""Sign in with an API key, and sign out."""

from urllib.parse import urlsplit

from starlette.responses import RedirectResponse, Response

from acumen.errors import AcumenError, NotAuthenticated
from acumen.web.page import Visit, page
from acumen.web.paths import ROOT
from acumen.web.session import COOKIE
from acumen_client.wire.shapes import Role

EXPIRED = "Your session has expired or your key was revoked. Sign in again."


@page("/login", Role.PUBLIC)
async def ask(visit: Visit) -> Response:
    return _form(visit, _inside(visit.param("next")), EXPIRED if visit.param("over") else "")


@page("/login", Role.PUBLIC, "POST")
async def sign_in(visit: Visit) -> Response:
    following = _inside(visit.form.get("next"))
    try:
        caller = await _holder(visit)
    except AcumenError as error:
        return _form(visit, following, str(error), status=401)
    reply = RedirectResponse(following, 303)
    reply.set_cookie(
        COOKIE,
        visit.sessions.open(caller, visit.deps.now()),
        max_age=visit.sessions.hours * 3600,
        path=ROOT,
        secure=visit.request.url.scheme == "https",
        httponly=True,
        samesite="strict",
    )
    return reply


async def _holder(visit: Visit) -> str:
    """The id of the key."""
    if not await visit.keys.keys_exist():
        raise NotAuthenticated(
            "There are no API keys; only this machine has access. Create a key with `acumen keys create`."
        )
    caller = await visit.keys.holder_of(visit.form.get("key"))
    return caller.key_id or ""


@page("/logout", Role.READER, "POST")
async def sign_out(_visit: Visit) -> Response:
    reply = RedirectResponse(f"{ROOT}/login", 303)
    reply.delete_cookie(COOKIE, path=ROOT)
    return reply


def _form(visit: Visit, following: str, why: str, status: int = 200) -> Response:
    return visit.html("login.html", status, next=following, why=why)


def _inside(target: str) -> str:
    """Only a page of the dashboard: no open redirect."""
    where = urlsplit(target)
    ours = not where.scheme and not where.netloc and (where.path == ROOT or where.path.startswith(f"{ROOT}/"))
    return target if ours and "\\" not in target and not target.startswith("//") else ROOT
