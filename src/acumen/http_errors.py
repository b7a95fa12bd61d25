"""One table from error to HTTP status, and the message for the caller."""

import logging

from msgspec import Struct
from pydantic import ValidationError

from acumen.errors import (
    AcumenError,
    BadInput,
    Conflict,
    NotAllowed,
    NotAuthenticated,
    NotFound,
    StorageFull,
    TooLarge,
    Unavailable,
    WrongMediaType,
)
from acumen_client.errors import in_words

log = logging.getLogger(__name__)

# The first match counts, so subclasses come first.
STATUS: tuple[tuple[type[AcumenError], int, str], ...] = (
    (BadInput, 422, "bad_input"),
    (NotAuthenticated, 401, "not_authenticated"),
    (NotAllowed, 403, "not_allowed"),
    (NotFound, 404, "not_found"),
    (Conflict, 409, "conflict"),
    (TooLarge, 413, "too_large"),
    (WrongMediaType, 415, "wrong_media_type"),
    (StorageFull, 507, "storage_full"),
    (Unavailable, 503, "unavailable"),
)


class HttpError(Struct, frozen=True):
    status: int
    code: str
    detail: str


def http_error(error: Exception, request_id: str) -> HttpError:
    """Errors that a caller can act on keep their message; all others go to the log."""
    if isinstance(error, ValidationError):
        return HttpError(422, "bad_input", in_words(error))
    for kind, status, code in STATUS:
        if isinstance(error, kind):
            return HttpError(status, code, str(error))
    log.error("request %s failed", request_id, exc_info=error)
    detail = f"Internal server error. The log has the details under request id {request_id}."
    return HttpError(500, "server_failed", detail)
