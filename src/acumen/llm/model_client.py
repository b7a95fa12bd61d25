"""How models are spoken to: all that knows the library (pydantic-ai). Loaded only when there is a model."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TypeVar

import httpx2
from msgspec import Struct
from pydantic import BaseModel
from pydantic_ai import Agent, NativeOutput, PromptedOutput, ToolOutput
from pydantic_ai.exceptions import (
    ModelAPIError,
    ModelQuotaExceededError,
    ModelRateLimitError,
    ModelRequestRejectedError,
    ModelRequestTimeout,
    ModelTimeoutError,
    UnexpectedModelBehavior,
)
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, UserPromptPart
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.output import OutputSpec
from pydantic_ai.providers.azure import AzureProvider
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider
from pydantic_ai.settings import ModelSettings
from pydantic_ai.usage import RequestUsage

from acumen.errors import ModelFailed, ModelUnusable
from acumen.llm.gateway import Tally
from acumen.llm.prompt import ModelQuestion
from acumen.llm.providers import PROVIDERS, ModelEndpoint, Route
from acumen.llm.public_network import PublicNetwork
from acumen.llm.tokens import count_tokens
from acumen.model.metering.llm_call import CallOutcome, ModelRole
from acumen.settings import LlmSettings

T = TypeVar("T", bound=BaseModel)

# No answer of ours is worth more; a server that sends more is broken or hostile.
MOST_BYTES = 1024 * 1024
PLAIN = "identity"
CONNECT_SECONDS = 5.0
LONGEST_PAUSE = 20.0
# What a model that always thinks may use for it.
THINKING_TOKENS = 2_000
UNNAMED = "default"
# How a server says that it does not know what a schema is. Any other refusal (a wrong key, an unknown model) is final.
NOT_UNDERSTOOD = frozenset({400, 422})
# What reading a reply ends in when it is JSON, but not shaped or bounded as the protocol says. The library looks into
# some of it before it has checked it.
MISSHAPEN = (LookupError, AttributeError, TypeError, ValueError, RecursionError)
# No model reads or writes more in one request; a server that reports more is wrong.
MOST_TOKENS = 10_000_000
# Each brace in a text may open an answer; with more than these it holds none, and trying all would take minutes.
MOST_OPENINGS = 1_000


# --- the way to a model --------------------------------------------------------------------------------------------


class ModelConnection(Struct):
    """A way to one model. `schemas` turns False when the endpoint turns out not to know them."""

    model: Model
    schemas: bool = True
    client: httpx2.AsyncClient | None = None
    nameless: ModelEndpoint | None = None  # given by its URL alone: which model it serves is still to be asked
    lookup: asyncio.Task[None] | None = None  # the asking, while it lasts

    async def name(self) -> str:
        """Concurrent callers wait for the same lookup, also when the first one is cancelled."""
        if self.nameless is not None and self.client is not None:
            if self.lookup is None:
                self.lookup = asyncio.create_task(self._look_up(self.nameless, self.client))
            await asyncio.shield(self.lookup)
        return self.model.model_name

    async def _look_up(self, endpoint: ModelEndpoint, client: httpx2.AsyncClient) -> None:
        try:
            found = await _first_served(endpoint, client)
            if found is not None:
                self.model, self.nameless = _model(endpoint, found, client), None
        finally:
            self.lookup = None


def connect(endpoint: ModelEndpoint, name: str, _role: ModelRole) -> ModelConnection:
    known, client = PROVIDERS.get(endpoint.provider), _client(public_only=endpoint.public_only)
    model = _model(endpoint, name or UNNAMED, client)
    return ModelConnection(model, known is None or known.schemas, client, None if name else endpoint)


async def hang_up(line: ModelConnection) -> None:
    if line.lookup is not None:
        line.lookup.cancel()
        await asyncio.gather(line.lookup, return_exceptions=True)
    if line.client is not None:
        await line.client.aclose()


def _model(endpoint: ModelEndpoint, name: str, client: httpx2.AsyncClient) -> Model:
    if endpoint.provider == "anthropic":
        return _anthropic(endpoint, name, client)
    if endpoint.azure:
        azure = AzureProvider(
            azure_endpoint=endpoint.url, api_version=endpoint.azure, api_key=endpoint.key, http_client=client
        )
        return OpenAIChatModel(name, provider=azure)
    if endpoint.provider == "openai":
        return OpenAIChatModel(name, provider=OpenAIProvider(endpoint.url, endpoint.key, http_client=client))
    compatible = OpenAICompatibleProvider(
        endpoint.provider, base_url=endpoint.url, api_key=endpoint.key or None, http_client=client
    )
    return OpenAIChatModel(name, provider=compatible)


def _anthropic(endpoint: ModelEndpoint, name: str, client: httpx2.AsyncClient) -> Model:
    try:
        from pydantic_ai.models.anthropic import AnthropicModel  # noqa: PLC0415 - an extra that few install
        from pydantic_ai.providers.anthropic import AnthropicProvider  # noqa: PLC0415
    except ImportError:
        raise ModelFailed("Anthropic's models need a package more: pip install 'acumen[anthropic]'.") from None
    provider = AnthropicProvider(api_key=endpoint.key, base_url=endpoint.url, http_client=client)
    return AnthropicModel(name, provider=provider)


async def _first_served(endpoint: ModelEndpoint, client: httpx2.AsyncClient) -> str | None:
    """None when the endpoint does not say; most that serve one model only take any name for it."""
    headers = {"Authorization": f"Bearer {endpoint.key}"} if endpoint.key else {}
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            reply = await client.get(f"{endpoint.url}/models", headers=headers)
        return str(reply.raise_for_status().json()["data"][0]["id"])
    except (httpx2.HTTPError, TimeoutError, LookupError, TypeError, ValueError):
        return None


def _client(*, public_only: bool) -> httpx2.AsyncClient:
    """Goes to the configured address and nowhere else: follows no redirect, asks no proxy.

    It waits for a reply as long as its caller does: `llm.request_seconds` is the only limit.
    """
    for teller in ("httpx2", "openai", "anthropic"):  # they would tell the address, which may hold a secret
        logging.getLogger(teller).setLevel(logging.WARNING)
    timeout = httpx2.Timeout(None, connect=CONNECT_SECONDS)
    plain = {"Accept-Encoding": PLAIN}  # what is packed has no length until it is unpacked
    return httpx2.AsyncClient(
        transport=_Bounded(public_only=public_only),
        headers=plain,
        timeout=timeout,
        follow_redirects=False,
        trust_env=False,
    )


class _Bounded(httpx2.AsyncHTTPTransport):
    """Reads no more of a reply than a reply may have, and connects to no private address where it may not."""

    def __init__(self, *, public_only: bool) -> None:
        super().__init__()
        if public_only:
            self._pool._network_backend = PublicNetwork()  # noqa: SLF001 - the library has no public way to set it

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await super().handle_async_request(request)
        if response.headers.get("Content-Encoding", PLAIN) != PLAIN:
            await response.aclose()
            raise TooMuch("a packed reply, though a plain one was asked for")
        response.stream = _BoundedStream(response.stream)  # type: ignore[arg-type]
        return response


class _BoundedStream(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        read = 0
        async for piece in self._stream:
            read += len(piece)
            if read > MOST_BYTES:
                raise TooMuch(f"more than {MOST_BYTES} bytes")
            yield piece

    async def aclose(self) -> None:
        await self._stream.aclose()


class TooMuch(httpx2.ReadError):
    """The model's reply does not end, or its end cannot be found."""


# --- a question ----------------------------------------------------------------------------------------------------


async def converse(
    line: ModelConnection, where: Route, question: ModelQuestion[T], settings: LlmSettings, tally: Tally
) -> T:
    """Asks until there is an answer of the right shape. ModelFailed or ModelUnusable when there will be none."""
    with _translated_errors(tally):
        tally.model = await line.name()
        try:
            return await _run(line, where, question, settings, tally)
        except ModelRequestRejectedError as refusal:
            if not line.schemas or tally.completion_tokens or not _is_not_understood(refusal):
                raise
            return await _in_words(line, where, question, settings, tally)


async def _in_words(
    line: ModelConnection, where: Route, question: ModelQuestion[T], settings: LlmSettings, tally: Tally
) -> T:
    """Many servers know the protocol but not its schemas: then the prompt must do."""
    line.schemas = False
    try:
        return await _run(line, where, question, settings, tally)
    except ModelRequestRejectedError:
        line.schemas = True  # it refuses this question with any schema
        raise


def _is_not_understood(refusal: ModelRequestRejectedError) -> bool:
    return getattr(refusal, "status_code", None) in NOT_UNDERSTOOD


async def _run(
    line: ModelConnection, where: Route, question: ModelQuestion[T], settings: LlmSettings, tally: Tally
) -> T:
    agent = Agent(
        _Patient(line.model, settings, where.request_seconds, tally),
        output_type=_output(line, question),
        instructions=question.instructions,
        retries={"output": settings.repairs},
        model_settings=_settings(line.model, question),
    )
    return (await agent.run(question.shown)).output


def _settings(model: Model, question: ModelQuestion[T]) -> ModelSettings:
    """As much thinking as cannot be switched off, paid for on top of the answer; no chance where that can be chosen."""
    thinks = bool(model.profile.get("thinking_always_enabled"))
    most = question.writes + (THINKING_TOKENS if thinks else 0)
    settings = ModelSettings(max_tokens=most, max_retries=0, thinking=False)
    picky = thinks or model.profile.get("anthropic_disallows_sampling_settings")
    return settings if picky else ModelSettings(**settings, temperature=0.0)


def _output(line: ModelConnection, question: ModelQuestion[T]) -> OutputSpec[T]:
    if line.model.system == "anthropic":
        return ToolOutput(question.shape, name="answer")
    return NativeOutput(question.shape, name="answer") if line.schemas else PromptedOutput(question.shape)


class _Patient(WrapperModel):
    """Asks again when the model is busy or broken; counts every request; finds the JSON among the words."""

    def __init__(self, wrapped: Model, settings: LlmSettings, seconds: float, tally: Tally) -> None:
        super().__init__(wrapped)
        self._limits = settings
        self._seconds = seconds
        self._tally = tally
        self._failures = 0

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        while True:
            self._tally.attempts += 1
            try:
                async with asyncio.timeout(self._seconds):
                    response = await self.wrapped.request(messages, model_settings, model_request_parameters)
            except (ModelAPIError, UnexpectedModelBehavior) as failure:
                await self._pause(failure)
            except MISSHAPEN as failure:
                await self._pause(UnexpectedModelBehavior(f"its reply is misshapen ({type(failure).__name__})"))
            except TimeoutError:
                self._tally.prompt_tokens += _estimate(messages)  # it was read, and will be billed
                await self._pause(ModelRequestTimeout(self.model_name, self._seconds))
            except asyncio.CancelledError:
                self._tally.prompt_tokens += _estimate(messages)
                raise
            else:
                self._count(response.usage, messages, response)
                return _tidied(response)

    async def _pause(self, failure: ModelAPIError | UnexpectedModelBehavior) -> None:
        """Raises the failure when asking again is no use, or would come too late."""
        self._failures += 1
        self._tally.wait = getattr(failure, "retry_after", None)
        if self._failures >= self._limits.attempts or not _passes(failure):
            raise failure
        pause = self._tally.wait or self._limits.backoff_seconds * 2 ** (self._failures - 1)
        if pause > LONGEST_PAUSE:
            raise failure
        await asyncio.sleep(pause)

    def _count(self, usage: RequestUsage, messages: list[ModelMessage], response: ModelResponse) -> None:
        """Some servers do not say what they used, or what cannot be; then we count ourselves."""
        self._tally.prompt_tokens += _credible(usage.input_tokens) or _estimate(messages)
        self._tally.completion_tokens += _credible(usage.output_tokens) or count_tokens(response.text or "")


def _credible(tokens: int) -> int:
    return tokens if tokens <= MOST_TOKENS else 0


def _passes(failure: Exception) -> bool:
    """Whether the same request may succeed later."""
    if isinstance(failure, ModelRequestRejectedError | ModelQuotaExceededError):
        return False
    return not any(isinstance(cause, TooMuch) for cause in _causes(failure))


def _causes(failure: BaseException | None) -> Iterator[BaseException]:
    while failure is not None:
        yield failure
        failure = failure.__cause__ or failure.__context__


def _estimate(messages: list[ModelMessage]) -> int:
    texts = [message.instructions or "" for message in messages if isinstance(message, ModelRequest)]
    parts = [part for message in messages if isinstance(message, ModelRequest) for part in message.parts]
    texts += [str(part.content) for part in parts if isinstance(part, UserPromptPart)]
    return count_tokens("\n".join(texts))


# --- what comes back -----------------------------------------------------------------------------------------------


def _tidied(response: ModelResponse) -> ModelResponse:
    """Text without the words around its JSON, and without lone surrogates, which cannot be encoded."""
    parts = [
        replace(part, content=_sound(json_within(part.content))) if isinstance(part, TextPart) else part
        for part in response.parts
    ]
    return replace(response, parts=parts)


def _sound(text: str) -> str:
    return text.encode(errors="replace").decode()


def json_within(text: str) -> str:
    """The last JSON object in the text that is not part of another; the text itself when there is none."""
    found, start = None, text.find("{")
    decoder = json.JSONDecoder()
    for _ in range(MOST_OPENINGS):
        if start == -1:
            break
        try:
            value, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):  # not JSON, or nested without end
            end = start + 1
        else:
            found = value
        start = text.find("{", end)
    return text if found is None else json.dumps(found, ensure_ascii=False)


@contextmanager
def _translated_errors(tally: Tally) -> Iterator[None]:
    """Raises errors of the provider's library as ours, and sets the outcome."""
    try:
        yield
    except UnexpectedModelBehavior as failure:
        tally.outcome = CallOutcome.UNUSABLE
        raise ModelUnusable(f"The language model's answer cannot be used: {_short(failure)}.") from None
    except ModelAPIError as failure:
        tally.outcome = _outcome(failure)
        kind = ModelUnusable if tally.outcome is CallOutcome.UNUSABLE else ModelFailed
        raise kind(f"The language model gave no answer ({tally.outcome}): {_short(failure)}.") from None


def _outcome(failure: ModelAPIError) -> CallOutcome:
    if any(isinstance(cause, TooMuch | UnicodeDecodeError | json.JSONDecodeError) for cause in _causes(failure)):
        return CallOutcome.UNUSABLE
    if isinstance(failure, ModelRequestTimeout | ModelTimeoutError):
        return CallOutcome.TIMED_OUT
    if isinstance(failure, ModelRateLimitError):
        return CallOutcome.LIMITED
    rejected = isinstance(failure, ModelRequestRejectedError | ModelQuotaExceededError)
    return CallOutcome.REFUSED if rejected else CallOutcome.FAILED


def _short(failure: Exception) -> str:
    """Enough to know what happened. Neither a question nor an answer: those may contain personal data."""
    endless = next((cause for cause in _causes(failure) if isinstance(cause, TooMuch)), None)
    if endless is not None:
        return str(endless)
    status = getattr(failure, "status_code", None)
    said = f"status {status}" if status else str(getattr(failure, "message", failure)).partition("\n")[0]
    return said[:200].removesuffix(".")
