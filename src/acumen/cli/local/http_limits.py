"""What uvicorn lacks: a limit on the headers of a request, and one packet for headers and body of a reply."""

import asyncio
from http import HTTPStatus
from typing import Any, ClassVar, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from acumen.cli.local.connections import Connections, Phase
from acumen.model.ids import fresh_id
from acumen.settings import Limits
from acumen_client.wire.shapes import ErrorBody

# More than one read from the socket returns, so that headers which arrive at once are never too long.
MAX_HEADER_BYTES = 512 * 1024


class BufferedTransport:
    """Sends everything written in one step of the event loop at once: headers and body leave in one packet."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._written: list[bytes] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        if not self._written:
            self._loop.call_soon(self._send)
        self._written.append(data)

    def close(self) -> None:
        self._send()
        self._transport.close()

    def _send(self) -> None:
        if self._written:
            self._transport.write(b"".join(self._written))
            self._written.clear()


class LimitedHttpProtocol(HttpToolsProtocol):
    """Refuses requests whose head is too long or which take too long, and closes the connection."""

    among: ClassVar[Connections]
    address = ""
    phase = Phase.IDLE
    since = 0.0
    _read = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(cast("asyncio.Transport", BufferedTransport(transport, self.loop)))
        self.address, self.since = self.client[0] if self.client else "", self.loop.time()
        if not self.among.add(self):
            self.end("Too many connections are open; try again shortly.", 503)

    def connection_lost(self, exc: Exception | None) -> None:
        self.among.remove(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.phase is Phase.IDLE:  # the first bytes of a head, whether or not they are its first line
            self._enter(Phase.HEAD)
        super().data_received(data)
        self._read += len(data)
        if self.phase is Phase.HEAD and self._read > MAX_HEADER_BYTES:
            self.send_400_response("The headers of the request are too long.")

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._read = 0
        if self.phase is not Phase.HEAD:
            self._enter(Phase.HEAD)

    def on_headers_complete(self) -> None:
        self._enter(Phase.BODY)
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """A reply may have come before the body was complete."""
        self._enter(Phase.IDLE if self.cycle.response_complete else Phase.REPLY)
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """The next request may be here already, whole or begun; then its own events say what is waited for."""
        if self.phase is Phase.REPLY and not self.pipeline:
            self._enter(Phase.IDLE)
        super().on_response_complete()

    def end(self, why: str, status: int | None) -> None:
        if status is not None and (self.phase is not Phase.BODY or not self.cycle.response_started):
            self._refuse(why, status)
        self.transport.close()

    def send_400_response(self, msg: str) -> None:
        self._refuse(msg, 400)
        self.transport.close()

    def _enter(self, phase: Phase) -> None:
        self.phase, self.since = phase, self.loop.time()

    def _refuse(self, why: str, status: int) -> None:
        """In the JSON shape of every other error."""
        code = {400: "bad_input", 408: "timeout", 503: "unavailable"}[status]
        body = ErrorBody(detail=why, code=code, request_id=fresh_id("http")).model_dump_json().encode()
        head = f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\nContent-Type: application/json\r\n"
        retry = "Retry-After: 1\r\n" if status == 503 else ""
        self.transport.write(f"{head}Content-Length: {len(body)}\r\n{retry}Connection: close\r\n\r\n".encode() + body)


def limited_protocol(limits: Limits) -> type[LimitedHttpProtocol]:
    """For one server: its connections share these limits."""
    return type("ServerProtocol", (LimitedHttpProtocol,), {"among": Connections(limits)})
