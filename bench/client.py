"""A load generator that costs little: one process, plain sockets kept open, one request at a time on each.

`python -m bench.client PORT CONNECTIONS` reads requests from stdin, one `[path, body]` in JSON a line, shares them
among the connections, and writes what it saw to stdout as JSON. Run beside the server, not inside it.
"""

import asyncio
import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any, cast

from msgspec import Struct
from msgspec.structs import asdict

LONGEST_SECONDS = 600

Request = tuple[str, dict[str, Any]]

_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_END_OF_HEAD = b"\r\n\r\n"


class Seen(Struct, frozen=True):
    """What the callers saw: how long each waited, in the order of the answers, and how long it took in all."""

    latencies_ms: list[float]
    seconds: float

    @property
    def per_second(self) -> float:
        return len(self.latencies_ms) / self.seconds


def send(port: int, requests: Sequence[Request], connections: int) -> Seen:
    """Sends all of them from another process; an answer other than 200 is an error here."""
    done = subprocess.run(
        [sys.executable, "-m", "bench.client", str(port), str(connections)],
        input="\n".join(map(json.dumps, requests)),
        capture_output=True,
        text=True,
        timeout=LONGEST_SECONDS,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"The load generator gave up: {done.stderr.strip()[-2000:]}")
    return Seen(**json.loads(done.stdout))


class Connection(asyncio.Protocol):
    """Sends the next request when the last one is answered."""

    def __init__(self, requests: Iterator[bytes], latencies_ms: list[float], ended: "asyncio.Future[None]") -> None:
        self._requests = requests
        self._latencies_ms = latencies_ms
        self._ended = ended
        self._buffer = b""
        self._sent_at = 0.0
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's own is one in all but name
        self._send_next()

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        answer = whole(self._buffer)
        if answer is None:
            return
        self._latencies_ms.append((time.perf_counter() - self._sent_at) * 1000)
        self._buffer = b""
        if answer.startswith(b"HTTP/1.1 200"):
            self._send_next()
        else:
            self._stop(RuntimeError(f"not a 200: {answer[:2000]!r}"))

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop(exc or ConnectionError("the server closed the connection"))

    def _send_next(self) -> None:
        assert self._transport is not None
        request = next(self._requests, None)
        if request is None:
            self._stop(None)
            return
        self._sent_at = time.perf_counter()
        self._transport.write(request)

    def _stop(self, error: Exception | None) -> None:
        if self._ended.done():
            return
        if error is None:
            self._ended.set_result(None)
        else:
            self._ended.set_exception(error)
        if self._transport is not None:
            self._transport.close()


def whole(buffer: bytes) -> bytes | None:
    """The answer, once all of it is there. There is never a second one: the next request is not yet sent."""
    head, end, body = buffer.partition(_END_OF_HEAD)
    if not end:
        return None
    length = _LENGTH.search(head)
    if length is None:
        raise ValueError(f"an answer without a length: {head!r}")
    return buffer if len(body) >= int(length[1]) else None


async def run(port: int, requests: Sequence[bytes], connections: int) -> Seen:
    """All requests, each sent once."""
    loop = asyncio.get_running_loop()
    waiting, latencies_ms = iter(requests), list[float]()
    ended = [loop.create_future() for _ in range(connections)]
    began = time.perf_counter()
    for one in ended:
        await loop.create_connection(lambda one=one: Connection(waiting, latencies_ms, one), "127.0.0.1", port)  # type: ignore[misc]
    await asyncio.gather(*ended)
    return Seen(latencies_ms, time.perf_counter() - began)


def as_bytes(path: str, body: dict[str, Any]) -> bytes:
    content = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(content)}\r\n\r\n".encode() + content


def main() -> None:
    """The process that `send` starts."""
    import uvloop  # noqa: PLC0415 - only here, where the cost of the loop would be counted as the server's

    port, connections = map(int, sys.argv[1:])
    requests = [as_bytes(*json.loads(line)) for line in sys.stdin]
    seen = uvloop.run(run(port, requests, connections))
    json.dump(asdict(seen), sys.stdout)


if __name__ == "__main__":
    main()
