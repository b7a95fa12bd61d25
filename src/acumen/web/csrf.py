"""CSRF protection: a form must come from a page of ours, with the token of its session."""

from urllib.parse import urlsplit

from acumen.auth.headers import Scope, headers_of
from acumen.errors import NotAllowed
from acumen.web.session import Sessions, same_signature


def check_csrf(scope: Scope, sessions: Sessions, session: str, token: str) -> None:
    """Raises NotAllowed."""
    if not from_own_page(scope):
        raise NotAllowed("This form was sent from another site. Nothing was changed.")
    if not same_signature(token, sessions.csrf_token(session)):
        raise NotAllowed("This page is out of date. Reload it and try again.")


def from_own_page(scope: Scope) -> bool:
    """By the Origin or Sec-Fetch-Site header; False without both."""
    headers = headers_of(scope)
    origin = headers.get("origin")
    if origin is None:
        return headers.get("sec-fetch-site") == "same-origin"
    try:
        return urlsplit(origin).netloc == headers.get("host", "")
    except ValueError:
        return False
