"""Sessions by signed cookie, and the key that signs the CSRF tokens of their forms."""

import hashlib
import hmac
import secrets

from acumen.auth.authenticator import Caller, KeyAuthenticator
from acumen.auth.headers import Scope, headers_of
from acumen.errors import NotAuthenticated
from acumen.model.ids import Millis
from acumen.model.times import HOUR_MS
from acumen.settings import Web

COOKIE = "acumen_session"
# The session of callers without a cookie: the local machine, or a key in a header.
NO_COOKIE = "none"


class Sessions:
    """Signs and verifies cookies. Nothing is stored: a cookie names a key and is valid as long as that key."""

    def __init__(self, settings: Web) -> None:
        self._secret = settings.secret.encode() or secrets.token_bytes(32)
        self.hours = settings.session_hours

    def open(self, key_id: str, at: Millis) -> str:
        """The value of a new cookie."""
        payload = f"{key_id}.{at + self.hours * HOUR_MS}.{secrets.token_urlsafe(9)}"
        return f"{payload}.{self._signed('session', payload)}"

    def key_of(self, cookie: str, at: Millis) -> str | None:
        """The id of its key; None when the signature is wrong or the session has expired."""
        payload, _, signature = cookie.rpartition(".")
        if not same_signature(signature, self._signed("session", payload)):
            return None
        key_id, until, _ = payload.split(".")
        return key_id if int(until) > at else None

    def csrf_token(self, session: str) -> str:
        """Goes into every form of a session."""
        return self._signed("form", session)

    def _signed(self, purpose: str, text: str) -> str:
        return hmac.new(self._secret, f"{purpose}:{text}".encode(), hashlib.sha256).hexdigest()


def same_signature(left: str, right: str) -> bool:
    """In constant time."""
    return hmac.compare_digest(left.encode(), right.encode())


async def visitor(scope: Scope, sessions: Sessions, keys: KeyAuthenticator, at: Millis) -> tuple[Caller, str]:
    """The caller and the session of their forms. NotAuthenticated when a key is needed."""
    cookie = cookie_of(scope)
    key_id = sessions.key_of(cookie, at) if cookie else None
    if key_id is not None and await keys.keys_exist():
        try:
            return await keys.holder_by_id(key_id), cookie
        except NotAuthenticated:
            raise NotAuthenticated("Your key was revoked or has expired. Sign in with another key.") from None
    return await keys.identify(scope), NO_COOKIE


def cookie_of(scope: Scope) -> str:
    for part in headers_of(scope).get("cookie", "").split(";"):
        name, _, value = part.strip().partition("=")
        if name == COOKIE:
            return value
    return ""
