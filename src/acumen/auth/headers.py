"""The headers of a request, decoded once."""

import re
from collections.abc import MutableMapping
from typing import Any

from acumen.model.ids import fresh_id

# The mapping that an ASGI server passes for each request.
Scope = MutableMapping[str, Any]

# In no name that we give; neither files nor databases take it.
NUL = "\0"

# The key in the scope under which the decoded headers are cached.
_CACHE = "acumen.headers"
_REQUEST_ID = "acumen.request_id"
_VALID_ID = re.compile(r"[A-Za-z0-9._:-]{1,128}")


def headers_of(scope: Scope) -> dict[str, str]:
    """By lower-case name; of duplicates the first."""
    headers: dict[str, str] | None = scope.get(_CACHE)
    if headers is None:
        pairs = reversed(scope["headers"])
        headers = scope[_CACHE] = {name.decode("latin-1"): value.decode("latin-1") for name, value in pairs}
    return headers


def request_id_of(scope: Scope) -> str:
    """The caller's X-Request-ID if it is safe to log, else a new one; the same for the whole request."""
    request_id: str | None = scope.get(_REQUEST_ID)
    if request_id is None:
        sent = headers_of(scope).get("x-request-id", "")
        request_id = scope[_REQUEST_ID] = sent if _VALID_ID.fullmatch(sent) else fresh_id("http")
    return request_id


def bearer_of(scope: Scope) -> str | None:
    scheme, _, secret = headers_of(scope).get("authorization", "").partition(" ")
    return secret.strip() if scheme.lower() == "bearer" and secret.strip() else None
