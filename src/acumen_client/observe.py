"""Record what your agent does.

```python
from acumen_client.observe import Observer

observer = Observer(source="my-agent")

@observer.watch                     # or @observer.watch(endpoint="read", agent_version="2")
def read_file(path): ...

with observer.operation("deploy", session_id="s1", arguments={"region": "eu"}) as op:
    op.output_summary = "3 pods"
```

A watched function returns and raises what it did before, and nothing here ever raises. Operations are sent in the
background, in batches. While the server is unreachable they wait on disk; what does not fit is dropped and counted.
The client generates their ids, so a retry stores nothing twice.
"""

from __future__ import annotations

import functools
import inspect
import os
import uuid
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar, overload

import httpx
from typing_extensions import ParamSpec, Self

from acumen_client.client import DEFAULT_URL, headers_of
from acumen_client.compat import aclosing
from acumen_client.outbox import LAST_FLUSH_SECONDS, TIMEOUT_SECONDS, Counts, Outbox
from acumen_client.secret_names import is_secret
from acumen_client.spool import Spool
from acumen_client.watched import Watched
from acumen_client.wire.operations import fresh_operation_id

P = ParamSpec("P")
R = TypeVar("R")

QUEUE, BATCH, DELAY_SECONDS = 2048, 512, 1.0
SPOOL_BYTES = 64 * 1024 * 1024
_LONGEST = 2_000


class Observer:
    """Records operations in the background. Without arguments it reads ACUMEN_URL and ACUMEN_KEY.

    While the server is unreachable, operations wait in `spool`, if it is set. ACUMEN_OBSERVE=off records nothing.
    """

    def __init__(
        self,
        source: str,
        url: str | None = None,
        key: str | None = None,
        *,
        spool: Path | None = None,
        queue_size: int = QUEUE,
        batch_size: int = BATCH,
        delay_seconds: float = DELAY_SECONDS,
        **about: Any,
    ) -> None:
        self.source = source
        self.enabled = os.environ.get("ACUMEN_OBSERVE", "on").lower() not in ("off", "0", "false", "no")
        # What a program does from its start to its end belongs together, unless it says what does.
        self._about = {"session_id": f"run_{uuid.uuid4().hex[:16]}", **about}
        self._outbox = Outbox(
            url or os.environ.get("ACUMEN_URL") or DEFAULT_URL,
            headers_of(key),
            Spool(spool, SPOOL_BYTES) if spool is not None else None,
            room=queue_size,
            batch_size=batch_size,
            delay_seconds=delay_seconds,
        )

    @property
    def counts(self) -> Counts:
        return self._outbox.counts

    def record(self, endpoint: str, status: str, **fields: Any) -> None:
        """Record one operation. Returns at once; never raises."""
        if not self.enabled:
            return
        try:
            made = {"op_id": fresh_operation_id(), "source": self.source, "endpoint": endpoint[:255], "status": status}
            self._outbox.put(
                {**made, **self._about, **{name: value for name, value in fields.items() if value is not None}}
            )
        except Exception:  # noqa: BLE001 - an observation that fails must not stop the caller
            self.counts.dropped += 1

    def operation(self, endpoint: str, **fields: Any) -> Watched:
        """A context manager: what happens inside is one operation. Its attributes can be set until it ends."""
        return Watched(self.record, endpoint, fields)

    @overload
    def watch(self, function: Callable[P, R]) -> Callable[P, R]: ...
    @overload
    def watch(self, *, endpoint: str | None = None, **fields: Any) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
    def watch(self, function: Any = None, *, endpoint: str | None = None, **fields: Any) -> Any:
        """Record every call of a function, sync or async, as an operation; that of a generator lasts until its end."""
        if function is None:
            return functools.partial(self._watched, endpoint=endpoint, fields=fields)
        return self._watched(function, endpoint=endpoint, fields=fields)

    def _watched(self, function: Callable[..., Any], endpoint: str | None, fields: Mapping[str, Any]) -> Any:
        name = endpoint or str(getattr(function, "__name__", "call"))

        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def awaited(*args: Any, **kwargs: Any) -> Any:
                with self._of_call(name, function, args, kwargs, fields):
                    return await function(*args, **kwargs)

            return awaited

        if inspect.isasyncgenfunction(function):

            @functools.wraps(function)
            async def streamed(*args: Any, **kwargs: Any) -> Any:
                with self._of_call(name, function, args, kwargs, fields):
                    async with aclosing(function(*args, **kwargs)) as parts:
                        async for part in parts:
                            yield part

            return streamed

        if inspect.isgeneratorfunction(function):

            @functools.wraps(function)
            def yielded(*args: Any, **kwargs: Any) -> Any:
                with self._of_call(name, function, args, kwargs, fields):
                    return (yield from function(*args, **kwargs))

            return yielded

        @functools.wraps(function)
        def called(*args: Any, **kwargs: Any) -> Any:
            with self._of_call(name, function, args, kwargs, fields):
                return function(*args, **kwargs)

        return called

    def _of_call(
        self, name: str, function: Callable[..., Any], args: Any, kwargs: Any, fields: Mapping[str, Any]
    ) -> Watched:
        given = {"arguments": _arguments(function, args, kwargs), **fields} if self.enabled else {}
        return Watched(self.record, name, given)

    def observed(self, endpoint: str, body: Any, description: str = "", **fields: Any) -> httpx.Response:
        """POST JSON to an address and record status, duration and result. Returns the response unchanged.

        A path alone is relative to `GATEWAY_URL`.
        """
        with self.operation(endpoint, input_summary=description or None, **fields) as op:
            gateway = os.environ.get("GATEWAY_URL", "").rstrip("/") if endpoint.startswith("/") else ""
            reply = httpx.post(gateway + endpoint, json=body, timeout=TIMEOUT_SECONDS)
            op.judge(reply)
            return reply

    def flush(self, seconds: float = LAST_FLUSH_SECONDS) -> bool:
        """Wait until everything is sent or on disk; False after `seconds`."""
        return self._outbox.flush(seconds)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_ended: object) -> None:
        self.close()

    def close(self) -> None:
        """Send the rest, within a few seconds; what cannot be sent goes to disk, or is counted as dropped."""
        self._outbox.close()


def _arguments(function: Callable[..., Any], args: Any, kwargs: Any) -> dict[str, Any] | None:
    """By name, truncated; secrets and `self` are left out."""
    with suppress(Exception):
        bound = _signature(function).bind(*args, **kwargs).arguments
        arguments = {
            name: _short(value) for name, value in bound.items() if name not in ("self", "cls") and not is_secret(name)
        }
        return arguments or None
    return None


@functools.lru_cache(maxsize=1024)
def _signature(function: Callable[..., Any]) -> inspect.Signature:
    return inspect.signature(function)


def _short(value: Any) -> Any:
    if value is None or isinstance(value, (bool, int, float)):
        return value
    return (value if isinstance(value, str) else repr(value))[:_LONGEST]
