"""What uvicorn leaves open about heads: how long they may be, how a bad one is refused, when a reply goes out."""

import asyncio
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from acumen.model.ids import fresh_id
from acumen_client.wire.shapes import ErrorBody

# More than one read from the socket brings, so that a head which arrives in one piece is never too long.
MOST_BYTES = 512 * 1024


class InOnePiece:
    """A transport that sends what is written in one step of the loop at once: a head does not go ahead of its body."""

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


class BoundedHeads(HttpToolsProtocol):
    """Hangs up on a request whose path, query and headers do not come to an end."""

    _in_head = False
    _read = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(cast("asyncio.Transport", InOnePiece(transport, self.loop)))

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._read += len(data)
        if self._in_head and self._read > MOST_BYTES:
            self.send_400_response("The head of the request is too long.")

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_head, self._read = True, 0

    def on_headers_complete(self) -> None:
        self._in_head = False
        super().on_headers_complete()

    def send_400_response(self, msg: str) -> None:
        """In the shape of every other refusal."""
        body = ErrorBody(detail=msg, code="bad_input", request_id=fresh_id("http")).model_dump_json().encode()
        head = f"HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        self.transport.write(f"{head}Connection: close\r\n\r\n".encode() + body)
        self.transport.close()
