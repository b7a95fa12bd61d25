"""One table from error to status, and the one place where failures become replies."""

import logging

from pydantic import ValidationError
from starlette.responses import Response

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
from acumen_client.wire.shapes import ErrorBody

log = logging.getLogger(__name__)

# The first that fits counts, so narrower errors stand before wider ones.
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
RETRY_AFTER_SECONDS = "1"


def reply(error: Exception, request_id: str) -> Response:
    """What a caller can act on, told in a sentence; everything else goes to the log."""
    if isinstance(error, ValidationError):
        return _response(422, "bad_input", in_words(error), request_id)
    for kind, status, code in STATUS:
        if isinstance(error, kind):
            return _response(status, code, str(error), request_id)
    log.error("request %s failed", request_id, exc_info=error)
    detail = f"Something went wrong on our side. The log tells what, under request id {request_id}."
    return _response(500, "server_failed", detail, request_id)


def _response(status: int, code: str, detail: str, request_id: str) -> Response:
    body = ErrorBody(detail=detail, code=code, request_id=request_id)
    headers = {"X-Request-ID": request_id}
    if status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    if status in (503, 507):
        headers["Retry-After"] = RETRY_AFTER_SECONDS
    return Response(body.model_dump_json(), status, headers, media_type="application/json")
