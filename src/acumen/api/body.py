"""Read request bodies: JSON of bounded size, plain or gzip."""

import json
import re
import zlib
from typing import Any

from pydantic_core import from_json
from starlette.requests import ClientDisconnect, Request

from acumen.auth.headers import headers_of
from acumen.errors import BadInput, TooLarge, WrongMediaType

# Makes zlib expect a gzip header.
GZIP = 16 + zlib.MAX_WBITS
# Half of a surrogate pair, escaped in JSON.
SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")

# Where the JSON parser stopped.
PLACE = re.compile(r"(.+) at line (\d+) column (\d+)")


async def json_of(request: Request, limit_bytes: int) -> Any:
    """None for an empty body. A body above the limit, compressed or not, is refused before it is in memory."""
    headers = headers_of(request.scope)
    raw = await _read(request, limit_bytes)
    if not raw:
        return None
    if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise WrongMediaType
    try:
        return _parsed(_decompressed(raw, headers.get("content-encoding", ""), limit_bytes))
    except ValueError as error:
        raise BadInput(f"The body is not valid JSON: {_json_error(str(error))}.") from None


def _json_error(text: str) -> str:
    """Of the parser, without the name of the token that it expected."""
    match = PLACE.fullmatch(text)
    if match is None:
        return text
    problem = "unexpected character" if match[1].startswith("expected") else match[1]
    return f"{problem} at line {match[2]}, column {match[3]}"


async def bytes_of(request: Request, limit_bytes: int) -> bytes:
    """Uncompressed."""
    raw = await _read(request, limit_bytes)
    return _decompressed(raw, headers_of(request.scope).get("content-encoding", ""), limit_bytes) if raw else raw


def _parsed(text: bytes) -> Any:
    """Accepts halves of surrogate pairs: the model that refuses them can name the field."""
    try:
        return from_json(text, allow_inf_nan=False)
    except ValueError:
        if not SURROGATE.search(text):
            raise
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("recursion limit exceeded") from None


async def _read(request: Request, limit_bytes: int) -> bytes:
    if _announced(request) > limit_bytes:
        raise _too_large(limit_bytes)
    parts, size = [], 0
    try:
        async for part in request.stream():
            size += len(part)
            if size > limit_bytes:
                raise _too_large(limit_bytes)
            parts.append(part)
    except ClientDisconnect:
        raise BadInput("The connection was closed before the body was complete.") from None
    return b"".join(parts)


def _decompressed(raw: bytes, encoding: str, limit_bytes: int) -> bytes:
    if encoding in ("", "identity"):
        return raw
    if encoding != "gzip":
        raise WrongMediaType(f"Content-Encoding {encoding[:40]!r} is not supported; send gzip or none.")
    decompressor = zlib.decompressobj(GZIP)
    try:
        content = decompressor.decompress(raw, limit_bytes + 1)
    except zlib.error:
        raise BadInput("The body is not valid gzip.") from None
    if len(content) > limit_bytes:
        raise _too_large(limit_bytes)
    if not decompressor.eof:
        raise BadInput("The gzip body is truncated.")
    return content


def _announced(request: Request) -> int:
    text = headers_of(request.scope).get("content-length", "")
    return int(text[:20]) if text.isascii() and text.isdigit() else 0  # twenty digits exceed every limit


def _too_large(limit_bytes: int) -> TooLarge:
    return TooLarge(f"The request body is larger than {limit_bytes} bytes.")
