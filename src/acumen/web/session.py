"""Who is looking: a signed cookie, given for a key; and proof that a form comes from our own pages."""

import hashlib
import hmac
import secrets
from urllib.parse import urlsplit

from acumen.auth.authenticator import Caller, KeyAuthenticator
from acumen.auth.headers import Scope, headers_of
from acumen.errors import NotAllowed, NotAuthenticated
from acumen.model.ids import Millis
from acumen.model.times import HOUR_MS
from acumen.settings import Web

COOKIE = "acumen_session"
# Whoever needs no cookie (this very machine, or the holder of a key in a header) has this for a session.
NO_COOKIE = "none"


class Sessions:
    """Signs and reads cookies. Nothing is stored: a cookie names a key, and lasts as long as that key counts."""

    def __init__(self, settings: Web) -> None:
        self._secret = settings.secret.encode() or secrets.token_bytes(32)
        self.hours = settings.session_hours

    def open(self, key_id: str, at: Millis) -> str:
        """The value of a new cookie."""
        said = f"{key_id}.{at + self.hours * HOUR_MS}.{secrets.token_urlsafe(9)}"
        return f"{said}.{self._signed('session', said)}"

    def key_of(self, cookie: str, at: Millis) -> str | None:
        """The id of the key that it was given for; None when it is not ours or its time is over."""
        said, _, signature = cookie.rpartition(".")
        if not _same(signature, self._signed("session", said)):
            return None
        key_id, until, _ = said.split(".")
        return key_id if int(until) > at else None

    def token(self, session: str) -> str:
        """What every form of a session carries: no other site can know it."""
        return self._signed("form", session)

    def check_form(self, scope: Scope, session: str, token: str) -> None:
        if not from_own_page(scope):
            raise NotAllowed("This form was sent from another site, so nothing was done.")
        if not _same(token, self.token(session)):
            raise NotAllowed("This page is too old to act from: load it again, and try once more.")

    def _signed(self, purpose: str, text: str) -> str:
        return hmac.new(self._secret, f"{purpose}:{text}".encode(), hashlib.sha256).hexdigest()


async def visitor(scope: Scope, sessions: Sessions, keys: KeyAuthenticator, at: Millis) -> tuple[Caller, str]:
    """Who is looking, and the session that their forms belong to. NotAuthenticated when they must show a key."""
    cookie = cookie_of(scope)
    key_id = sessions.key_of(cookie, at) if cookie else None
    if key_id is not None and await keys.keys_exist():
        try:
            return await keys.holder_by_id(key_id), cookie
        except NotAuthenticated:
            raise NotAuthenticated("Your key was revoked or has expired: sign in with another.") from None
    return await keys.identify(scope), NO_COOKIE


def cookie_of(scope: Scope) -> str:
    for part in headers_of(scope).get("cookie", "").split(";"):
        name, _, value = part.strip().partition("=")
        if name == COOKIE:
            return value
    return ""


def from_own_page(scope: Scope) -> bool:
    """By the browser's own word; a browser that says nothing is not believed."""
    headers = headers_of(scope)
    origin = headers.get("origin")
    if origin is None:
        return headers.get("sec-fetch-site") == "same-origin"
    try:
        return urlsplit(origin).netloc == headers.get("host", "")
    except ValueError:
        return False


def _same(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode(), other.encode())
