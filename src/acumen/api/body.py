"""Reading a request's body: JSON, of bounded size, whatever it was packed into."""

import json
import re
import zlib
from typing import Any

from pydantic_core import from_json
from starlette.requests import ClientDisconnect, Request

from acumen.auth.headers import headers_of
from acumen.errors import BadInput, TooLarge, WrongMediaType

# zlib's way of saying: expect a gzip header.
GZIP = 16 + zlib.MAX_WBITS
# One half of a pair, as JSON spells it.
SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


async def json_of(request: Request, most_bytes: int) -> Any:
    """None for an empty body. Too much, unpacked or packed, is refused before it is held."""
    headers = headers_of(request.scope)
    raw = await _read(request, most_bytes)
    if not raw:
        return None
    if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise WrongMediaType
    try:
        return _parsed(_unpacked(raw, headers.get("content-encoding", ""), most_bytes))
    except ValueError as wrong:
        raise BadInput(f"The body is not valid JSON: {wrong}.") from None


async def bytes_of(request: Request, most_bytes: int) -> bytes:
    """The body as it was before it was packed."""
    raw = await _read(request, most_bytes)
    return _unpacked(raw, headers_of(request.scope).get("content-encoding", ""), most_bytes) if raw else raw


def _parsed(text: bytes) -> Any:
    """Lets halves of surrogate pairs pass: the shape that refuses them can name the field they are in."""
    try:
        return from_json(text, allow_inf_nan=False)
    except ValueError:
        if not SURROGATE.search(text):
            raise
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("recursion limit exceeded") from None


async def _read(request: Request, most_bytes: int) -> bytes:
    if _announced(request) > most_bytes:
        raise _too_large(most_bytes)
    parts, size = [], 0
    try:
        async for part in request.stream():
            size += len(part)
            if size > most_bytes:
                raise _too_large(most_bytes)
            parts.append(part)
    except ClientDisconnect:
        raise BadInput("The connection ended before the body did.") from None
    return b"".join(parts)


def _unpacked(raw: bytes, encoding: str, most_bytes: int) -> bytes:
    if encoding in ("", "identity"):
        return raw
    if encoding != "gzip":
        raise WrongMediaType(f"Content-Encoding {encoding[:40]!r} is not understood; send gzip or none.")
    unpacker = zlib.decompressobj(GZIP)
    try:
        unpacked = unpacker.decompress(raw, most_bytes + 1)
    except zlib.error:
        raise BadInput("The body is not valid gzip.") from None
    if len(unpacked) > most_bytes:
        raise _too_large(most_bytes)
    if not unpacker.eof:
        raise BadInput("The gzip body ends too early.")
    return unpacked


def _announced(request: Request) -> int:
    text = headers_of(request.scope).get("content-length", "")
    return int(text[:20]) if text.isascii() and text.isdigit() else 0  # twenty digits are too many, whatever follows


def _too_large(most_bytes: int) -> TooLarge:
    return TooLarge(f"The request body is larger than {most_bytes} bytes.")
