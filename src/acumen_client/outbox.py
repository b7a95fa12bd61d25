"""Operations on their way to the server: sent in the background, in batches; on disk while the server is away."""

from __future__ import annotations

import atexit
import json
import logging
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, Full, Queue
from typing import Any

import httpx

from acumen_client.spool import Spool

log = logging.getLogger(__name__)

TIMEOUT_SECONDS = 10.0
LAST_FLUSH_SECONDS = 5.0


@dataclass
class Counts:
    """Counts of the operations by result: each one that is lost is counted here."""

    sent: int = 0
    refused: int = 0  # the server could not use them
    dropped: int = 0  # neither queue nor disk had room
    spooled: int = 0  # on disk, waiting for the server


class Outbox:
    """Keeps operations until the server has them. Nothing is sent, and no thread begun, before the first is put in."""

    def __init__(
        self,
        url: str,
        headers: dict[str, str],
        spool: Spool | None,
        *,
        room: int,
        batch_size: int,
        delay_seconds: float,
    ) -> None:
        self.counts = Counts()
        self._url, self._headers, self._spool = url, headers, spool
        self._queue: Queue[dict[str, Any]] = Queue(room)
        self._batch_size, self._delay = batch_size, delay_seconds
        self._stop = threading.Event()
        self._idle = threading.Event()
        self._idle.set()
        self._sender: threading.Thread | None = None
        self._lock = threading.Lock()

    def put(self, operation: dict[str, Any]) -> None:
        """Returns at once; what finds no room, or comes after the end, is counted as dropped."""
        if self._stop.is_set():
            self.counts.dropped += 1
            return
        self._idle.clear()
        try:
            self._queue.put_nowait(operation)
        except Full:
            self.counts.dropped += 1
        if self._sender is None or not self._sender.is_alive():
            self._begin()

    def flush(self, seconds: float = LAST_FLUSH_SECONDS) -> bool:
        """Waits until everything noted before this call is sent or on disk; False when that took too long."""
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

    def _begin(self) -> None:
        """A process that was forked has the queue, but not the thread."""
        with self._lock:
            if self._sender is None:
                atexit.register(self.close)
            if self._sender is None or not self._sender.is_alive():
                self._sender = threading.Thread(target=self._serve, name="acumen-observe", daemon=True)
                self._sender.start()

    def _serve(self) -> None:
        try:
            if self._spool is not None:  # an earlier process may have left some
                self.counts.spooled += self._spool.waiting()
            with httpx.Client(base_url=self._url, headers=self._headers, timeout=TIMEOUT_SECONDS) as http:
                while not self._stop.is_set():
                    self._send_some(http)
        except Exception:  # nothing waits for this thread; `close` stores what is left
            log.debug("observing ended", exc_info=True)
            self._idle.set()

    def _send_some(self, http: httpx.Client) -> None:
        batch = self._gathered()
        if batch:
            self._idle.clear()
        if batch and not self._send(http, batch):
            self._keep(batch)
            self._stop.wait(self._delay)
        elif self._queue.empty() and self._spool is not None and self.counts.spooled:
            self._unspool(self._spool, http)
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
            if reply.status_code == httpx.codes.REQUEST_ENTITY_TOO_LARGE and len(batch) > 1:
                middle = len(batch) // 2
                return self._send(http, batch[:middle]) and self._send(http, batch[middle:])
            return self._judged(reply, batch)
        except (httpx.TransportError, OSError):
            return False
        except (TypeError, ValueError, RecursionError):  # it cannot be encoded, or the reply is not ours
            self.counts.dropped += len(batch)
            return True

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
