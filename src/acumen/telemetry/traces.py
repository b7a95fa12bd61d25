"""OpenTelemetry traces of our own work: requests, jobs and their steps, model calls, transactions.

Off unless `telemetry.traces_url` is set, and then a span costs a function call. Attributes hold names of ours, numbers
and the request id, never a text, a user or an organization; of an error the type.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Protocol

from acumen.errors import BadSettings
from acumen.settings import TelemetrySettings

Value = str | int | float | bool


class TraceSpan(Protocol):
    def set(self, **attributes: Value) -> None:
        """Two underscores in a name are a dot."""
        ...

    def rename(self, name: str) -> None: ...


class NoSpan:
    def set(self, **attributes: Value) -> None:
        pass

    def rename(self, name: str) -> None:
        pass


class Backend(Protocol):
    """What opens spans once traces are on."""

    def root(self, name: str, headers: Mapping[str, str] | None) -> AbstractContextManager[TraceSpan]: ...

    def child(self, name: str) -> AbstractContextManager[TraceSpan]: ...

    def close(self) -> None: ...


OFF = nullcontext[TraceSpan](NoSpan())
_backend: Backend | None = None


def root(name: str, headers: Mapping[str, str] | None = None) -> AbstractContextManager[TraceSpan]:
    """A request, which continues the trace that its `traceparent` names, or a job."""
    return OFF if _backend is None else _backend.root(name, headers)


def child(name: str) -> AbstractContextManager[TraceSpan]:
    """Part of the span under way; nothing outside of one."""
    return OFF if _backend is None else _backend.child(name)


def transaction(name: str, fn: Callable[..., Any]) -> AbstractContextManager[TraceSpan]:
    """A transaction, with the name of the code that it runs."""
    return OFF if _backend is None else _transaction(_backend, name, fn)


@contextmanager
def _transaction(backend: Backend, name: str, fn: Callable[..., Any]) -> Iterator[TraceSpan]:
    with backend.child(name) as span:
        span.set(code__function__name=_code_name(fn))
        yield span


def start(settings: TelemetrySettings, version: str) -> Callable[[], None]:
    """Turns traces on where the settings say so. Returns what sends the last spans and turns them off again."""
    global _backend  # noqa: PLW0603 - spans are opened all over the code; one process has one destination
    if not settings.traces_url:
        return lambda: None
    try:
        from acumen.telemetry.otel import OpenTelemetry  # noqa: PLC0415 - an extra, and slow to import
    except ImportError as missing:
        raise BadSettings(
            f"telemetry.traces_url needs OpenTelemetry, which is not installed ({missing.name}): "
            "install acumen[otel], or leave the setting empty."
        ) from None
    backend = _backend = OpenTelemetry(settings.traces_url, settings.traces_ratio, version)

    def stop() -> None:
        global _backend  # noqa: PLW0603 - as above
        _backend = None if _backend is backend else _backend
        backend.close()

    return stop


def _code_name(fn: Callable[..., Any]) -> str:
    """Of a function or a lambda: where it is written."""
    name = getattr(fn, "__qualname__", type(fn).__qualname__).replace(".<locals>", "").replace(".<lambda>", "")
    return f"{fn.__module__.removeprefix('acumen.')}.{name}"
