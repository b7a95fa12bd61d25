"""The headers of a request, read once."""

import re
from collections.abc import MutableMapping
from typing import Any

from acumen.model.ids import fresh_id

# A request before any framework: the mapping that every ASGI server hands over.
Scope = MutableMapping[str, Any]

# Under this name the scope of a request keeps them.
_READ = "acumen.headers"
_CALLERS_ID = re.compile(r"[A-Za-z0-9._:-]{1,128}")


def headers_of(scope: Scope) -> dict[str, str]:
    """By their names in small letters; of those sent twice, the first."""
    read: dict[str, str] | None = scope.get(_READ)
    if read is None:
        sent = reversed(scope["headers"])
        read = scope[_READ] = {name.decode("latin-1"): value.decode("latin-1") for name, value in sent}
    return read


def request_id_of(scope: Scope) -> str:
    """The caller's own, if it is one that can stand in a log."""
    given = headers_of(scope).get("x-request-id", "")
    return given if _CALLERS_ID.fullmatch(given) else fresh_id("http")
