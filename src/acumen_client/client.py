"""Two clients, one list of calls: `Client` blocks, `AsyncClient` awaits, and only `send` differs."""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Generic, ParamSpec, Self, TypeVar, overload

import httpx
from pydantic import BaseModel, ValidationError

from acumen_client import calls
from acumen_client.calls import Endpoint
from acumen_client.errors import AcumenError, BadInput, ServerFailed, Unavailable, error_for, in_words
from acumen_client.session import AsyncSession, Session
from acumen_client.wire.observe import PublishUserInteractionRequest, PublishUserInteractionResponse
from acumen_client.wire.shapes import ErrorBody

P = ParamSpec("P")
A = TypeVar("A", bound=BaseModel)

DEFAULT_URL = "http://127.0.0.1:8061"
# Long enough for a publish that waits for its learning.
DEFAULT_TIMEOUT = 60.0


class Bound(Generic[P, A]):
    """An endpoint as a method: its parameters are the fields of the request, its result is the answer."""

    def __init__(self, endpoint: Endpoint[P, A]) -> None:
        self.endpoint = endpoint
        self.__doc__ = endpoint.summary

    @overload
    def __get__(self, client: None, owner: type) -> Self: ...
    @overload
    def __get__(self, client: "Client", owner: type) -> Callable[P, A]: ...
    @overload
    def __get__(self, client: "AsyncClient", owner: type) -> Callable[P, Awaitable[A]]: ...
    def __get__(self, client: "Client | AsyncClient | None", owner: type) -> Any:
        if client is None:
            return self

        def call(*args: P.args, **kwargs: P.kwargs) -> A | Awaitable[A]:
            return client.send(self.endpoint, build(self.endpoint, *args, **kwargs))

        call.__doc__ = self.__doc__
        call.__name__ = self.endpoint.name
        return call


def bind(endpoint: Endpoint[P, A]) -> Bound[P, A]:
    return Bound(endpoint)


class Calls:
    """The methods of both clients, each bound once."""

    publish = bind(calls.publish_interaction)
    finalize_session = bind(calls.finalize_session)
    learning_status = bind(calls.learning_status)
    requests = bind(calls.get_requests)
    interactions = bind(calls.get_interactions)
    all_interactions = bind(calls.get_all_interactions)

    rerun_profiles = bind(calls.rerun_profile_generation)
    rerun_playbooks = bind(calls.rerun_playbook_generation)
    generate_profiles = bind(calls.manual_profile_generation)
    generate_playbooks = bind(calls.manual_playbook_generation)
    upgrade_profiles = bind(calls.upgrade_all_profiles)
    downgrade_profiles = bind(calls.downgrade_all_profiles)
    upgrade_user_playbooks = bind(calls.upgrade_all_user_playbooks)
    downgrade_user_playbooks = bind(calls.downgrade_all_user_playbooks)
    operation_status = bind(calls.get_operation_status)
    cancel_operation = bind(calls.cancel_operation)
    provenance = bind(calls.get_learning_provenance)
    provenance_by_address = bind(calls.read_learning_provenance)
    profile_change_log = bind(calls.profile_change_log)
    record_operations = bind(calls.record_operations)
    event = bind(calls.event)
    stats = bind(calls.stats)
    operations = bind(calls.get_operations)
    export_outcomes = bind(calls.export_outcomes)
    record_verdict = bind(calls.record_verdict)
    verdict_history = bind(calls.verdict_history)
    failures = bind(calls.get_failures)
    failure = bind(calls.get_failure)
    change_failure = bind(calls.change_failure)
    proposals = bind(calls.get_proposals)
    decide_proposal = bind(calls.decide_proposal)
    lesson_effect = bind(calls.lesson_effect)
    alerts = bind(calls.get_alerts)
    purge_operations = bind(calls.purge_operations)

    search = bind(calls.search)
    search_profiles = bind(calls.search_profiles)
    search_user_playbooks = bind(calls.search_user_playbooks)
    search_agent_playbooks = bind(calls.search_agent_playbooks)
    search_interactions = bind(calls.search_interactions)

    profiles = bind(calls.get_profiles)
    all_profiles = bind(calls.get_all_profiles)
    profile_statistics = bind(calls.get_profile_statistics)
    user_playbooks = bind(calls.get_user_playbooks)
    agent_playbooks = bind(calls.get_agent_playbooks)
    add_profiles = bind(calls.add_user_profile)
    add_user_playbooks = bind(calls.add_user_playbook)
    add_agent_playbooks = bind(calls.add_agent_playbook)
    update_profile = bind(calls.update_user_profile)
    update_user_playbook = bind(calls.update_user_playbook)
    update_agent_playbook = bind(calls.update_agent_playbook)
    update_agent_playbook_status = bind(calls.update_agent_playbook_status)
    delete_profile = bind(calls.delete_profile)
    delete_interaction = bind(calls.delete_interaction)
    delete_request = bind(calls.delete_request)
    delete_session = bind(calls.delete_session)
    delete_agent_playbook = bind(calls.delete_agent_playbook)
    delete_user_playbook = bind(calls.delete_user_playbook)
    delete_requests = bind(calls.delete_requests_by_ids)
    delete_profiles = bind(calls.delete_profiles_by_ids)
    delete_agent_playbooks = bind(calls.delete_agent_playbooks_by_ids)
    delete_user_playbooks = bind(calls.delete_user_playbooks_by_ids)
    delete_all_interactions = bind(calls.delete_all_interactions)
    delete_all_profiles = bind(calls.delete_all_profiles)
    delete_all_playbooks = bind(calls.delete_all_playbooks)
    delete_all_user_playbooks = bind(calls.delete_all_user_playbooks)
    delete_all_agent_playbooks = bind(calls.delete_all_agent_playbooks)
    clear_user_data = bind(calls.clear_user_data)
    storage_stats = bind(calls.storage_stats)

    run_playbook_aggregation = bind(calls.run_playbook_aggregation)
    submit_playbook_aggregation = bind(calls.submit_playbook_aggregation)
    playbook_aggregation_operation = bind(calls.get_playbook_aggregation_operation)
    playbook_aggregation_changes = bind(calls.playbook_aggregation_change_logs)

    injection_stats = bind(calls.get_injection_stats)
    memory_review = bind(calls.get_memory_review)

    state_outcome = bind(calls.session_outcome)
    session_outcomes = bind(calls.get_session_outcomes)
    evaluation_results = bind(calls.get_agent_success_evaluation_results)
    grade_on_demand = bind(calls.grade_on_demand)
    regenerate_evaluations = bind(calls.regenerate_evaluations)
    evaluation_regeneration = bind(calls.get_evaluation_regeneration)
    cancel_evaluation_regeneration = bind(calls.cancel_evaluation_regeneration)
    recent_shadow_comparisons = bind(calls.recent_shadow_comparisons)
    evaluation_overview = bind(calls.get_evaluation_overview)
    dashboard_stats = bind(calls.get_dashboard_stats)

    review_memories = bind(calls.review_memories)
    undo_review = bind(calls.undo_review)
    review_actions = bind(calls.get_review_actions)
    memory_duplicates = bind(calls.get_memory_duplicates)
    playbook_application_stats = bind(calls.get_playbook_application_stats)
    memory_costs = bind(calls.get_memory_costs)
    memory_lift = bind(calls.get_memory_lift)
    injection = bind(calls.get_injection)
    compare_injection = bind(calls.compare_injection)
    retrieval_experiments = bind(calls.list_retrieval_experiments)
    start_retrieval_experiment = bind(calls.start_retrieval_experiment)
    stop_retrieval_experiment = bind(calls.stop_retrieval_experiment)
    retrieval_experiment_results = bind(calls.get_retrieval_experiment_results)

    config = bind(calls.get_config)
    set_config = bind(calls.set_config)
    update_config = bind(calls.update_config)

    whoami = bind(calls.whoami)
    my_config = bind(calls.my_config)
    status = bind(calls.status)
    keys = bind(calls.list_keys)
    create_key = bind(calls.create_key)
    revoke_key = bind(calls.revoke_key)
    version = bind(calls.version)
    welcome = bind(calls.welcome)
    health = bind(calls.health)
    health_live = bind(calls.health_live)
    health_ready = bind(calls.health_ready)
    healthz = bind(calls.healthz)


class Client(Calls):
    """Talks to a server and waits for its answers. Without arguments it reads ACUMEN_URL and ACUMEN_KEY."""

    def __init__(
        self,
        url: str | None = None,
        key: str | None = None,
        *,
        timeout: float = DEFAULT_TIMEOUT,
        retry: "Retry | None" = None,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self.url = _address(url or os.environ.get("ACUMEN_URL") or DEFAULT_URL)
        self._retry = retry or Retry()
        self._http = httpx.Client(base_url=self.url, headers=_headers(key), timeout=timeout, transport=transport)

    def send(self, endpoint: Endpoint[..., A], request: BaseModel) -> A:
        """Send a request that is already built."""
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
        """One conversation of one user; `about` may give `source` and `agent_version`."""
        return Session(self, user_id, session_id, **about)

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncClient(Calls):
    """The same, for code that awaits."""

    def __init__(
        self,
        url: str | None = None,
        key: str | None = None,
        *,
        timeout: float = DEFAULT_TIMEOUT,
        retry: "Retry | None" = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self.url = _address(url or os.environ.get("ACUMEN_URL") or DEFAULT_URL)
        self._retry = retry or Retry()
        self._http = httpx.AsyncClient(base_url=self.url, headers=_headers(key), timeout=timeout, transport=transport)

    async def send(self, endpoint: Endpoint[..., A], request: BaseModel) -> A:
        """Send a request that is already built."""
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
        """One conversation of one user; `about` may give `source` and `agent_version`."""
        return AsyncSession(self, user_id, session_id, **about)

    async def close(self) -> None:
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


# --- what both share -----------------------------------------------------------------------------------------------

_UNAVAILABLE = 503
# Nothing reached the server, so even a call that must not be repeated may be tried again.
_NEVER_ARRIVED = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)


@dataclass(frozen=True, slots=True)
class Retry:
    """When to try again: `attempts` in all, waiting as the server says, or else longer each time (seconds)."""

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


def _headers(key: str | None) -> dict[str, str]:
    key = key or os.environ.get("ACUMEN_KEY")
    return {"Authorization": f"Bearer {key}"} if key else {}


def build(endpoint: Endpoint[P, Any], /, *args: P.args, **kwargs: P.kwargs) -> BaseModel:
    """The request, or `BadInput` before anything is sent."""
    try:
        return endpoint.request(*args, **kwargs)
    except ValidationError as wrong:
        raise BadInput(in_words(wrong), code="bad_input") from wrong


def _message(http: httpx.Client | httpx.AsyncClient, endpoint: Endpoint[..., Any], request: BaseModel) -> httpx.Request:
    return http.build_request(
        endpoint.method, endpoint.path_of(request), params=endpoint.query_of(request), json=endpoint.body_of(request)
    )


def _answer(endpoint: Endpoint[..., A], request: BaseModel, outcome: httpx.Response | httpx.TransportError) -> A:
    if isinstance(outcome, httpx.TransportError):
        raise Unavailable(f"No answer from {outcome.request.url}: {outcome}", code="unreachable") from outcome
    if not outcome.is_success:
        raise _error(outcome)
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


def _error(reply: httpx.Response) -> AcumenError:
    kind = error_for(reply.status_code)
    try:
        body = ErrorBody.model_validate_json(reply.content)
    except ValidationError:
        body = ErrorBody(detail=f"{reply.request.method} {reply.url} was answered with {reply.status_code}")
    request_id = body.request_id or reply.headers.get("X-Correlation-ID", "")
    return kind(body.detail, code=body.code, request_id=request_id, status=reply.status_code)
