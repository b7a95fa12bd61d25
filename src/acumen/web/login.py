"""Signing in with a key, and out again."""

from urllib.parse import urlsplit

from starlette.responses import RedirectResponse, Response

from acumen.errors import AcumenError, NotAuthenticated
from acumen.web.page import Visit, page
from acumen.web.paths import ROOT
from acumen.web.session import COOKIE
from acumen_client.wire.shapes import Role

OVER = "Your session is over, or your key no longer counts: sign in again."


@page("/login", Role.PUBLIC)
async def ask(visit: Visit) -> Response:
    return _asked(visit, _inside(visit.asked("next")), OVER if visit.asked("over") else "")


@page("/login", Role.PUBLIC, "POST")
async def sign_in(visit: Visit) -> Response:
    following = _inside(visit.form.get("next"))
    try:
        caller = await _holder(visit)
    except AcumenError as wrong:
        return _asked(visit, following, str(wrong), status=401)
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
    """The id of the key that was shown."""
    if not await visit.keys.keys_exist():
        raise NotAuthenticated("There are no keys, so only this machine is served: make one with `acumen keys create`.")
    caller = await visit.keys.holder_of(visit.form.get("key"))
    return caller.key_id or ""


@page("/logout", Role.READER, "POST")
async def sign_out(_visit: Visit) -> Response:
    reply = RedirectResponse(f"{ROOT}/login", 303)
    reply.delete_cookie(COOKIE, path=ROOT)
    return reply


def _asked(visit: Visit, following: str, why: str, status: int = 200) -> Response:
    return visit.html("login.html", status, next=following, why=why)


def _inside(asked: str) -> str:
    """Only a page of ours: nobody is led elsewhere by a link to our login."""
    where = urlsplit(asked)
    ours = not where.scheme and not where.netloc and (where.path == ROOT or where.path.startswith(f"{ROOT}/"))
    return asked if ours and "\\" not in asked and not asked.startswith("//") else ROOT
