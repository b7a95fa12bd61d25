"""Observe what your agent does, without standing in its way.

```python
from acumen_client.observe import Observer

observer = Observer(source="my-agent")

@observer.watch                     # or @observer.watch(endpoint="read", agent_version="2")
def read_file(path): ...

with observer.operation("deploy", session_id="s1", arguments={"region": "eu"}) as op:
    op.output_summary = "3 pods"
```

What is watched behaves as if nobody looked: it returns and raises what it did before, and nothing here ever raises.
Operations travel in the background, in batches. When the server is away they wait on disk; what does not fit is
dropped and counted. The ids are made here, so whatever is sent twice is stored once.
"""

import atexit
import functools
import inspect
import json
import logging
import os
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, Full, Queue
from typing import Any, ParamSpec, TypeVar, overload

import httpx

from acumen_client.client import DEFAULT_URL
from acumen_client.spool import Spool
from acumen_client.watched import Watched
from acumen_client.wire.operations import fresh_operation_id

P = ParamSpec("P")
R = TypeVar("R")
log = logging.getLogger(__name__)

QUEUE, BATCH, DELAY_SECONDS = 2048, 512, 1.0
SPOOL_BYTES = 64 * 1024 * 1024
TIMEOUT_SECONDS = 10.0
LAST_FLUSH_SECONDS = 5.0
# Names of values that never leave this process.
_SECRET_NAMES = ("password", "passwd", "secret", "token", "api_key", "apikey", "authorization", "credential", "cookie")
_LONGEST = 2_000


@dataclass(slots=True)
class Counts:
    """What became of the operations: none is lost without being counted here."""

    sent: int = 0
    refused: int = 0  # the server could not use them
    dropped: int = 0  # neither queue nor disk had room
    spooled: int = 0  # on disk, waiting for the server


class Observer:
    """Keeps operations until the server has them. Without arguments it reads ACUMEN_URL and ACUMEN_KEY.

    ACUMEN_OBSERVE=off turns it off: what is watched runs, and nothing is kept.
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
        self.counts = Counts()
        self.enabled = os.environ.get("ACUMEN_OBSERVE", "on").lower() not in ("off", "0", "false", "no")
        self._about = about
        self._url = url or os.environ.get("ACUMEN_URL") or DEFAULT_URL
        self._headers = _headers(key)
        self._spool = Spool(spool, SPOOL_BYTES) if spool is not None else None
        self._queue: Queue[dict[str, Any]] = Queue(queue_size)
        self._batch_size, self._delay = batch_size, delay_seconds
        self._stop = threading.Event()
        self._idle = threading.Event()
        self._idle.set()
        self._sender: threading.Thread | None = None
        self._lock = threading.Lock()

    # --- what callers use ------------------------------------------------------------------------------------------

    def record(self, endpoint: str, status: str, **said: Any) -> None:
        """Notes one operation. Returns at once; never raises."""
        if not self.enabled:
            return
        try:
            made = {"op_id": fresh_operation_id(), "source": self.source, "endpoint": endpoint[:255], "status": status}
            self._note({**made, **self._about, **{name: value for name, value in said.items() if value is not None}})
        except Exception:  # noqa: BLE001 - whatever is wrong with an observation, the caller goes on
            self.counts.dropped += 1

    def operation(self, endpoint: str, **said: Any) -> Watched:
        """A context: what happens inside is one operation. Its attributes can be set until it ends."""
        return Watched(self.record, endpoint, said)

    @overload
    def watch(self, function: Callable[P, R]) -> Callable[P, R]: ...
    @overload
    def watch(self, *, endpoint: str | None = None, **said: Any) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
    def watch(self, function: Any = None, *, endpoint: str | None = None, **said: Any) -> Any:
        """Every call of the function, sync or async, is an operation named after it."""
        if function is None:
            return functools.partial(self._watched, endpoint=endpoint, said=said)
        return self._watched(function, endpoint=endpoint, said=said)

    def _watched(self, function: Callable[..., Any], endpoint: str | None, said: Mapping[str, Any]) -> Any:
        name = endpoint or str(getattr(function, "__name__", "call"))

        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def awaited(*args: Any, **kwargs: Any) -> Any:
                with self._of_call(name, function, args, kwargs, said):
                    return await function(*args, **kwargs)

            return awaited

        @functools.wraps(function)
        def called(*args: Any, **kwargs: Any) -> Any:
            with self._of_call(name, function, args, kwargs, said):
                return function(*args, **kwargs)

        return called

    def _of_call(
        self, name: str, function: Callable[..., Any], args: Any, kwargs: Any, said: Mapping[str, Any]
    ) -> Watched:
        given = {"arguments": _arguments(function, args, kwargs), **said} if self.enabled else {}
        return Watched(self.record, name, given)

    def observed(self, endpoint: str, body: Any, description: str = "", **said: Any) -> httpx.Response:
        """POSTs JSON to an address and notes how it went: status, time, what came back. Returns the reply as it is."""
        with self.operation(endpoint, input_summary=description or None, **said) as op:
            reply = httpx.post(endpoint, json=body, timeout=TIMEOUT_SECONDS)
            op.judge(reply)
            return reply

    def flush(self, seconds: float = LAST_FLUSH_SECONDS) -> bool:
        """Waits until everything noted so far is sent or on disk; False when that took too long."""
        give_up_at = time.monotonic() + seconds
        while not (self._queue.empty() and self._idle.is_set()):
            if time.monotonic() > give_up_at:
                return False
            time.sleep(0.01)
        return True

    def close(self) -> None:
        """Sends what is left, for a few seconds at most; what cannot be sent goes to disk, or is counted."""
        self.flush()
        self._stop.set()
        sender = self._sender
        if sender is not None:
            sender.join(LAST_FLUSH_SECONDS)
        self._put_away()

    # --- the background --------------------------------------------------------------------------------------------

    def _note(self, operation: dict[str, Any]) -> None:
        self._idle.clear()
        try:
            self._queue.put_nowait(operation)
        except Full:
            self.counts.dropped += 1
        if self._sender is None:
            self._begin()

    def _begin(self) -> None:
        with self._lock:
            if self._sender is None:
                self._sender = threading.Thread(target=self._serve, name="acumen-observe", daemon=True)
                self._sender.start()
                atexit.register(self.close)

    def _serve(self) -> None:
        try:
            if self._spool is not None:  # an earlier process may have left some
                self.counts.spooled += self._spool.waiting()
            with httpx.Client(base_url=self._url, headers=self._headers, timeout=TIMEOUT_SECONDS) as http:
                while not self._stop.is_set():
                    self._send_some(http)
        except Exception:  # the thread is nobody's; what is left is put away by `close`
            log.debug("observing ended", exc_info=True)
            self._idle.set()

    def _send_some(self, http: httpx.Client) -> None:
        batch = self._gathered()
        if not batch:
            self._idle.set()
            if self._spool is not None and self.counts.spooled:
                self._unspool(self._spool, http)
            return
        self._idle.clear()
        if not self._send(http, batch):
            self._keep(batch)
            self._stop.wait(self._delay)
        if self._queue.empty():
            self._idle.set()

    def _gathered(self) -> list[dict[str, Any]]:
        """Waits for one, then takes what comes with it."""
        try:
            batch = [self._queue.get(timeout=min(self._delay, 0.2))]
        except Empty:
            return []
        with suppress(Empty):
            while len(batch) < self._batch_size:
                batch.append(self._queue.get_nowait())
        return batch

    def _send(self, http: httpx.Client, batch: list[dict[str, Any]]) -> bool:
        """False when the server is away or has no room, and it may work later."""
        try:
            content = json.dumps({"operations": batch}, default=str)
            headers = {"Content-Type": "application/json"}
            reply = http.post("/api/record_operations", content=content, headers=headers)
        except (httpx.TransportError, OSError):
            return False
        except (TypeError, ValueError, RecursionError):
            self.counts.dropped += len(batch)
            return True
        return self._judged(reply, batch)

    def _judged(self, reply: httpx.Response, batch: list[dict[str, Any]]) -> bool:
        if reply.status_code in (429, 500, 502, 503, 504, 507):
            return False
        if not reply.is_success:
            self.counts.refused += len(batch)
            return True
        rejected = int(reply.json().get("rejected", 0))
        self.counts.refused += rejected
        self.counts.sent += len(batch) - rejected
        return True

    def _keep(self, batch: list[dict[str, Any]]) -> None:
        """On disk, or counted as dropped."""
        if self._spool is not None and self._spool.add(batch):
            self.counts.spooled += len(batch)
        else:
            self.counts.dropped += len(batch)

    def _unspool(self, spool: Spool, http: httpx.Client) -> None:
        for path, batch in spool.batches():
            if self._stop.is_set() or not self._queue.empty() or not self._send(http, batch):
                self._stop.wait(self._delay)
                return
            path.unlink(missing_ok=True)
            self.counts.spooled = max(0, self.counts.spooled - len(batch))

    def _put_away(self) -> None:
        rest = []
        with suppress(Empty):
            while True:
                rest.append(self._queue.get_nowait())
        for start in range(0, len(rest), self._batch_size):
            self._keep(rest[start : start + self._batch_size])


def _headers(key: str | None) -> dict[str, str]:
    key = key or os.environ.get("ACUMEN_KEY")
    return {"Authorization": f"Bearer {key}"} if key else {}


def _arguments(function: Callable[..., Any], args: Any, kwargs: Any) -> dict[str, Any] | None:
    """By name, short enough to be told; secrets and `self` are left out."""
    with suppress(Exception):
        bound = _signature(function).bind(*args, **kwargs).arguments
        told = {
            name: _short(value)
            for name, value in bound.items()
            if name not in ("self", "cls") and not any(secret in name.lower() for secret in _SECRET_NAMES)
        }
        return told or None
    return None


@functools.lru_cache(maxsize=1024)
def _signature(function: Callable[..., Any]) -> inspect.Signature:
    return inspect.signature(function)


def _short(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | float):
        return value
    return (value if isinstance(value, str) else repr(value))[:_LONGEST]
