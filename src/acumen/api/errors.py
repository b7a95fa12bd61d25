"""Errors as JSON replies."""

from starlette.responses import Response

from acumen.auth.failures import Failure, failure_of
from acumen.errors import OperationInTheWay
from acumen_client.wire.shapes import ErrorBody, OperationInTheWayBody

RETRY_AFTER_SECONDS = "1"


def reply(error: Exception, request_id: str) -> Response:
    failure = failure_of(error, request_id)
    body = _body(error, failure, request_id)
    headers = {"X-Request-ID": request_id}
    if failure.status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    if failure.status in (503, 507):
        headers["Retry-After"] = RETRY_AFTER_SECONDS
    return Response(body.model_dump_json(), failure.status, headers, media_type="application/json")


def _body(error: Exception, failure: Failure, request_id: str) -> ErrorBody:
    body = ErrorBody(detail=failure.detail, code=failure.code, request_id=request_id)
    if not isinstance(error, OperationInTheWay):
        return body
    return OperationInTheWayBody(**body.model_dump(), message=failure.detail, operation_id=error.operation_id)
