"""The gateway to language models: every call is bounded in time and tokens, typed, retried, and billed."""

import asyncio
import hashlib
import importlib
import logging
import math
import time
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any, Generic, Protocol, TypeVar

from msgspec import Struct
from pydantic import BaseModel

from acumen.errors import ModelFailed, ModelOverBudget, ModelResting, ModelUnavailable
from acumen.llm.circuit_breaker import CircuitBreaker
from acumen.llm.prices import Prices
from acumen.llm.prompt import ModelQuestion
from acumen.llm.providers import ModelEndpoint, Route, check, route
from acumen.model.memories.base import Origin
from acumen.model.metering.llm_call import CallOutcome, LlmCall, ModelRole
from acumen.model.metering.llm_choice import LlmChoice
from acumen.model.plural import counted
from acumen.settings import LlmSettings
from acumen.telemetry import traces

log = logging.getLogger(__name__)
T = TypeVar("T", bound=BaseModel)


class Answer(Struct, Generic[T], frozen=True):
    value: T
    origin: Origin


class Tally(Struct):
    """What a question has used so far: it counts however the question ends."""

    model: str = ""
    attempts: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    wait: float | None = None  # how long the model asked to be left alone
    error: str | None = None
    outcome: CallOutcome = CallOutcome.STOPPED


class Ledger(Protocol):
    """Where an org's calls are written down."""

    async def spent_today(self) -> int:
        """Tokens, since midnight UTC."""
        ...

    async def note(self, call: LlmCall) -> None: ...


# Opens a way to one model. Building one costs a few milliseconds, so each is kept.
Connect = Callable[[ModelEndpoint, str, ModelRole], Any]


class Gateway:
    """One per process. Knows every endpoint that was asked, and how it behaved."""

    def __init__(
        self,
        settings: LlmSettings,
        connect: Connect | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        check(settings)
        self.settings = settings
        self.prices = Prices.of(settings.prices)
        self._connect = connect
        self._clock = clock
        self._lines: dict[tuple[ModelEndpoint, str, ModelRole], Any] = {}
        self._circuit_breakers: dict[ModelEndpoint, CircuitBreaker] = {}
        self.reported: Mapping[str, str] = {}  # `problems` of the process that runs the jobs
        self._turns: dict[ModelEndpoint, asyncio.Semaphore] = {}
        self._connecting = asyncio.Lock()
        self._loading: asyncio.Task[ModuleType] | None = None

    def of(self, choice: LlmChoice, ledger: Ledger) -> "Llm | None":
        """The model as one org may use it; None when there is none."""
        found = route(self.settings, choice)
        return None if found is None else Llm(self, found, ledger)

    def warm_up(self) -> None:
        """Loads the library in the background, so that the first question need not wait for it."""
        self._library()

    async def load(self, within: float | None) -> ModuleType:
        """The module that knows the library; the model is not to blame for the time that takes."""
        try:
            return await asyncio.wait_for(asyncio.shield(self._library()), within)
        except TimeoutError:
            raise ModelFailed("The language model's library is still being loaded.") from None
        except ImportError as missing:
            raise ModelFailed(f"The language model's library cannot be loaded: {missing}.") from None

    def _library(self) -> asyncio.Task[ModuleType]:
        """It takes seconds to load, which only those with a model pay, off the event loop."""
        if self._loading is None:
            loading = asyncio.to_thread(importlib.import_module, "acumen.llm.model_client")
            self._loading = asyncio.create_task(loading)
        return self._loading

    async def close(self) -> None:
        if self._loading is not None:
            await asyncio.gather(self._loading, return_exceptions=True)
        for line in self._lines.values():
            await (await self.load(None)).hang_up(line)
        self._lines.clear()

    def circuit_breaker(self, endpoint: ModelEndpoint) -> CircuitBreaker:
        if endpoint not in self._circuit_breakers:
            allowed, rest = self.settings.breaker_failures, self.settings.breaker_seconds
            self._circuit_breakers[endpoint] = CircuitBreaker(allowed, rest, self._clock)
        return self._circuit_breakers[endpoint]

    @property
    def problem(self) -> str | None:
        """What is wrong with the server's own model, if anything is; an org's own is the org's affair."""
        own = route(self.settings, LlmChoice())
        return None if own is None else self.problem_of(own.endpoint)

    def problem_of(self, endpoint: ModelEndpoint) -> str | None:
        """How the last questions failed, and when it is tried again; None while it answers."""
        breaker = self.circuit_breaker(endpoint)
        if not breaker.failures:
            return self.reported.get(_fingerprint(endpoint))
        failed = f"{endpoint.host} failed {counted(breaker.failures, 'time')} in a row ({breaker.why})"
        if breaker.resting:
            rests = "it is paused (circuit breaker)" if breaker.spent else "it asked for a pause"
            return f"{failed}; {rests} and is tried again in {math.ceil(breaker.resting)} s"
        return f"{failed}; the next call tries it" if breaker.spent else failed

    def problems(self) -> dict[str, str]:
        """By the fingerprint of their endpoint, for another process to show."""
        return {_fingerprint(end): problem for end in self._circuit_breakers if (problem := self.problem_of(end))}

    async def talk_to(self, talk: ModuleType, where: Route, question: ModelQuestion[T], tally: Tally) -> T:
        """The answer, or a ModelUnavailable. Waits for its turn first."""
        turns = self._turns.setdefault(where.endpoint, asyncio.Semaphore(self.settings.concurrency))
        async with turns:
            line = await self._line(talk, where.endpoint, where.models[question.role], question.role)
            return await talk.converse(line, where, question, self.settings, tally)  # type: ignore[no-any-return]

    async def _line(self, talk: ModuleType, endpoint: ModelEndpoint, name: str, role: ModelRole) -> Any:
        """Off the event loop: a provider's client may take seconds to load, and certificates some of one."""
        key = (endpoint, name, role)
        async with self._connecting:
            if key not in self._lines:
                self._lines[key] = await asyncio.to_thread(self._connect or talk.connect, endpoint, name, role)
        return self._lines[key]


def _fingerprint(endpoint: ModelEndpoint) -> str:
    """The same in every process, without the key that the endpoint contains."""
    parts = f"{endpoint.provider}\x1f{endpoint.url}\x1f{endpoint.key}\x1f{endpoint.azure}"
    return hashlib.sha256(parts.encode()).hexdigest()


class Llm(Struct, frozen=True):
    """The model as one org may use it."""

    gateway: Gateway
    route: Route
    ledger: Ledger

    @property
    def prices(self) -> Prices:
        return self.gateway.prices

    async def ask(self, question: ModelQuestion[T]) -> Answer[T]:
        """A typed answer, or a ModelUnavailable that says why there is none. Nothing waits longer than it may."""
        tally = Tally()
        with traces.child(f"model {question.role}") as span:
            try:
                return await self._ask(question, tally)
            finally:
                span.set(
                    gen_ai__request__model=tally.model,
                    gen_ai__usage__input_tokens=tally.prompt_tokens,
                    gen_ai__usage__output_tokens=tally.completion_tokens,
                    acumen__model__attempts=tally.attempts,
                    acumen__model__outcome=tally.outcome,
                )

    async def _ask(self, question: ModelQuestion[T], tally: Tally) -> Answer[T]:
        talk = await self.gateway.load(question.within)
        await self._admit()
        began = time.perf_counter()
        seconds = min(question.within or self.route.total_seconds, self.route.total_seconds)
        try:
            async with asyncio.timeout(seconds):
                value = await self.gateway.talk_to(talk, self.route, question, tally)
        except TimeoutError:
            tally.outcome, tally.error = CallOutcome.TIMED_OUT, f"no answer within {seconds:g} s"
            raise ModelFailed(f"The language model gave {tally.error}.") from None
        except ModelUnavailable as failure:
            tally.error = str(failure)
            tally.outcome = CallOutcome.FAILED if tally.outcome is CallOutcome.STOPPED else tally.outcome
            raise
        else:
            tally.outcome = CallOutcome.ANSWERED
            return Answer(value, Origin("model", tally.model, question.prompt_hash))
        finally:
            await self._settle(question, tally, (time.perf_counter() - began) * 1000)

    @property
    def problem(self) -> str | None:
        """Why rules are used instead, as far as is known without a query to the database."""
        return self.gateway.problem_of(self.route.endpoint)

    def over_budget(self, spent: int) -> str | None:
        """The message for a daily token budget that is used up."""
        most = self.route.daily_tokens
        return f"the {most} tokens of today are spent" if most and spent >= most else None

    async def _admit(self) -> None:
        if self.route.daily_tokens and self.over_budget(await self.ledger.spent_today()):
            raise ModelOverBudget(f"The {self.route.daily_tokens} tokens of this day are spent.")
        if not self.gateway.circuit_breaker(self.route.endpoint).admits():
            raise ModelResting(f"The language model is paused (circuit breaker): {self.problem}.")

    async def _settle(self, question: ModelQuestion[T], tally: Tally, duration_ms: float) -> None:
        """Report the outcome to the circuit breaker and log the call, also when it is cancelled meanwhile."""
        breaker = self.gateway.circuit_breaker(self.route.endpoint)
        if tally.outcome is CallOutcome.ANSWERED:
            breaker.worked()
        elif tally.outcome is CallOutcome.STOPPED or not tally.attempts:
            breaker.dropped()  # it was never asked, or had no time to answer: that says nothing about it
        else:
            breaker.failed(tally.wait, (tally.error or str(tally.outcome)).removesuffix("."))
        await asyncio.shield(self._note(_call(question, tally, duration_ms, self.prices)))

    async def _note(self, call: LlmCall) -> None:
        try:
            await self.ledger.note(call)
        except Exception:  # the answer was paid for: it is used even when it cannot be counted
            log.exception("a call to a language model could not be written down")


def _call(question: ModelQuestion[Any], tally: Tally, duration_ms: float, prices: Prices) -> LlmCall:
    return LlmCall(
        role=question.role,
        model=tally.model,
        prompt_hash=question.prompt_hash,
        outcome=tally.outcome,
        attempts=tally.attempts,
        prompt_tokens=tally.prompt_tokens,
        completion_tokens=tally.completion_tokens,
        duration_ms=duration_ms,
        cost_usd=prices.cost(tally.model, tally.prompt_tokens, tally.completion_tokens),
        error=tally.error,
        user_id=question.user_id,
        request_id=question.request_id,
    )
