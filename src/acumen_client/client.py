"""Two clients, one list of calls: `Client` blocks, `AsyncClient` awaits, and only `send` differs."""

from __future__ import annotations

import asyncio
import os
import time
from dataclasses import dataclass
from typing import Any, TypeVar

import httpx
from pydantic import BaseModel, ValidationError
from typing_extensions import Self

from acumen_client.calls import Calls
from acumen_client.endpoint import Endpoint
from acumen_client.errors import AcumenError, BadInput, ServerFailed, Unavailable, error_for
from acumen_client.session import AsyncSession, Session
from acumen_client.wire.observe import PublishUserInteractionRequest, PublishUserInteractionResponse
from acumen_client.wire.shapes import ErrorBody

A = TypeVar("A", bound=BaseModel)

DEFAULT_URL = "http://127.0.0.1:8061"
# Long enough for a publish that waits for its learning.
DEFAULT_TIMEOUT = 60.0


class Client(Calls):
    """The blocking client. Without arguments it reads ACUMEN_URL and ACUMEN_KEY."""

    def __init__(
        self,
        url: str | None = None,
        key: str | None = None,
        *,
        timeout: float = DEFAULT_TIMEOUT,
        retry: Retry | None = None,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self.url = _address(url or os.environ.get("ACUMEN_URL") or DEFAULT_URL)
        self._retry = retry or Retry()
        self._http = httpx.Client(base_url=self.url, headers=headers_of(key), timeout=timeout, transport=transport)

    def send(self, endpoint: Endpoint[..., A], request: BaseModel) -> A:
        """Send a request model to an endpoint and return the answer. Raises `AcumenError`."""
        message = _message(self._http, endpoint, request)
        for attempt in range(self._retry.attempts):
            try:
                outcome: httpx.Response | httpx.TransportError = self._http.send(message)
            except httpx.TransportError as failure:
                outcome = failure
            wait = self._retry.wait_before_next(attempt, endpoint, outcome)
            if wait is None:
                break
            time.sleep(wait)
        return _answer(endpoint, request, outcome)

    def session(self, user_id: str, session_id: str | None = None, **about: str) -> Session:
        """Start or continue a session of a user. `about` takes `source` and `agent_version`."""
        return Session(self, user_id, session_id, **about)

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncClient(Calls):
    """The async client: the same methods as coroutines."""

    def __init__(
        self,
        url: str | None = None,
        key: str | None = None,
        *,
        timeout: float = DEFAULT_TIMEOUT,
        retry: Retry | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self.url = _address(url or os.environ.get("ACUMEN_URL") or DEFAULT_URL)
        self._retry = retry or Retry()
        self._http = httpx.AsyncClient(base_url=self.url, headers=headers_of(key), timeout=timeout, transport=transport)

    async def send(self, endpoint: Endpoint[..., A], request: BaseModel) -> A:
        """Send a request model to an endpoint and return the answer. Raises `AcumenError`."""
        message = _message(self._http, endpoint, request)
        for attempt in range(self._retry.attempts):
            try:
                outcome: httpx.Response | httpx.TransportError = await self._http.send(message)
            except httpx.TransportError as failure:
                outcome = failure
            wait = self._retry.wait_before_next(attempt, endpoint, outcome)
            if wait is None:
                break
            await asyncio.sleep(wait)
        return _answer(endpoint, request, outcome)

    def session(self, user_id: str, session_id: str | None = None, **about: str) -> AsyncSession:
        """Start or continue a session of a user. `about` takes `source` and `agent_version`."""
        return AsyncSession(self, user_id, session_id, **about)

    async def close(self) -> None:
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


# --- what both share -----------------------------------------------------------------------------------------------

_NOT_FOUND, _UNAVAILABLE = 404, 503
# Nothing reached the server, so even a call that must not be repeated may be tried again.
_NEVER_ARRIVED = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)


@dataclass(frozen=True)
class Retry:
    """When to retry: at most `attempts` attempts, waiting as the server says, or else twice as long each time
    (seconds).
    """

    attempts: int = 4
    first_wait: float = 0.2
    longest_wait: float = 10.0

    def __post_init__(self) -> None:
        if self.attempts < 1:
            raise ValueError("attempts must be at least 1")

    def wait_before_next(
        self, attempt: int, endpoint: Endpoint[..., Any], outcome: httpx.Response | httpx.TransportError
    ) -> float | None:
        """How long to wait before the next attempt, or None when this outcome is final."""
        if attempt + 1 >= self.attempts or not _worth_another(endpoint, outcome):
            return None
        growing = self.first_wait * 2**attempt
        return min(_asked_to_wait(outcome, or_else=growing), self.longest_wait)


def _worth_another(endpoint: Endpoint[..., Any], outcome: httpx.Response | httpx.TransportError) -> bool:
    if isinstance(outcome, _NEVER_ARRIVED):
        return True
    refused = isinstance(outcome, httpx.Response) and outcome.status_code == _UNAVAILABLE
    lost = isinstance(outcome, httpx.TransportError) and not isinstance(outcome, httpx.UnsupportedProtocol)
    return endpoint.repeatable and (refused or lost)


def _asked_to_wait(outcome: httpx.Response | httpx.TransportError, *, or_else: float) -> float:
    if isinstance(outcome, httpx.TransportError):
        return or_else
    asked = outcome.headers.get("Retry-After", "")
    return float(asked) if asked.isdecimal() else or_else


def _address(url: str) -> str:
    if not url.startswith(("http://", "https://")):
        raise BadInput(f"The server's address {url!r} must begin with http:// or https://, as {DEFAULT_URL} does.")
    return url


def headers_of(key: str | None) -> dict[str, str]:
    key = key or os.environ.get("ACUMEN_KEY")
    return {"Authorization": f"Bearer {key}"} if key else {}


def _message(http: httpx.Client | httpx.AsyncClient, endpoint: Endpoint[..., Any], request: BaseModel) -> httpx.Request:
    return http.build_request(
        endpoint.method, endpoint.path_of(request), params=endpoint.query_of(request), json=endpoint.body_of(request)
    )


def _answer(endpoint: Endpoint[..., A], request: BaseModel, outcome: httpx.Response | httpx.TransportError) -> A:
    if isinstance(outcome, httpx.TransportError):
        raise Unavailable(f"No answer from {outcome.request.url}: {outcome}", code="unreachable") from outcome
    if not outcome.is_success:
        raise _error(endpoint, outcome)
    try:
        answer = endpoint.answer_model.model_validate_json(outcome.content)
    except ValidationError as strange:
        detail = f"{outcome.url} answered with something that is not {endpoint.answer_model.__name__}"
        raise ServerFailed(detail, code="bad_answer", status=outcome.status_code) from strange
    _add_own_warnings(request, answer)
    return answer


def _add_own_warnings(request: BaseModel, answer: BaseModel) -> None:
    """What was left out before sending, the server cannot know of."""
    if isinstance(request, PublishUserInteractionRequest) and isinstance(answer, PublishUserInteractionResponse):
        answer.warnings = [*answer.warnings, *request.warnings()]


def _no_api_at(endpoint: Endpoint[..., Any], reply: httpx.Response) -> str:
    base = str(reply.url.copy_with(query=None)).removesuffix(endpoint.path)
    return f"No Acumen API at {base} ({reply.status_code}). Use the base URL, such as {DEFAULT_URL}."


def _error(endpoint: Endpoint[..., Any], reply: httpx.Response) -> AcumenError:
    kind = error_for(reply.status_code)
    try:
        body = ErrorBody.model_validate_json(reply.content)
    except ValidationError:
        body = ErrorBody(detail=f"{reply.request.method} {reply.url} was answered with {reply.status_code}")
        if reply.status_code == _NOT_FOUND:
            body = ErrorBody(detail=_no_api_at(endpoint, reply))
    if body.detail == f"Not found: {reply.url.path}":
        body.detail = _no_api_at(endpoint, reply)
    request_id = body.request_id or reply.headers.get("X-Request-ID") or reply.headers.get("X-Correlation-ID", "")
    return kind(body.detail, code=body.code, request_id=request_id, status=reply.status_code)
