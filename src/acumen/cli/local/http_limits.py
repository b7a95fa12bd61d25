"""What uvicorn lacks: a limit on the headers of a request, and one packet for headers and body of a reply."""

import asyncio
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from acumen.model.ids import fresh_id
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
    """Refuses a request whose path, query and headers are too long, and closes the connection."""

    _in_headers = False
    _read = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(cast("asyncio.Transport", BufferedTransport(transport, self.loop)))

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._read += len(data)
        if self._in_headers and self._read > MAX_HEADER_BYTES:
            self.send_400_response("The headers of the request are too long.")

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_headers, self._read = True, 0

    def on_headers_complete(self) -> None:
        self._in_headers = False
        super().on_headers_complete()

    def send_400_response(self, msg: str) -> None:
        """In the JSON shape of every other error."""
        body = ErrorBody(detail=msg, code="bad_input", request_id=fresh_id("http")).model_dump_json().encode()
        head = f"HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        self.transport.write(f"{head}Connection: close\r\n\r\n".encode() + body)
        self.transport.close()
