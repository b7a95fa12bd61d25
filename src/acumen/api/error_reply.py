"""Errors as JSON replies."""

from starlette.responses import Response

from acumen.errors import OperationInTheWay
from acumen.http_errors import HttpError, http_error
from acumen_client.wire.shapes import ErrorBody, OperationInTheWayBody

RETRY_AFTER_SECONDS = "1"


def reply(error: Exception, request_id: str) -> Response:
    failed = http_error(error, request_id)
    body = _body(error, failed, request_id)
    headers = {"X-Request-ID": request_id}
    if failed.status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    if failed.status in (503, 507):
        headers["Retry-After"] = RETRY_AFTER_SECONDS
    return Response(body.model_dump_json(), failed.status, headers, media_type="application/json")


def _body(error: Exception, failed: HttpError, request_id: str) -> ErrorBody:
    body = ErrorBody(detail=failed.detail, code=failed.code, request_id=request_id)
    if not isinstance(error, OperationInTheWay):
        return body
    return OperationInTheWayBody(**body.model_dump(), message=failed.detail, operation_id=error.operation_id)
