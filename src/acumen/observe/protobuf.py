"""Read protobuf's wire format, as far as traces need it. Pure.

https://protobuf.dev/programming-guides/encoding/ – a message is a list of fields, each with a number and a wire type.
The library would add a compiler and generated code for one message of three levels.
"""

import struct
from collections.abc import Iterator

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
_MOST_SHIFT = 63
_SIGN = 1 << 63

# A number, or the bytes of a text or of a nested message.
Value = int | bytes


def fields(message: bytes) -> Iterator[tuple[int, Value]]:
    """Number and value of each field, in order, unknown fields included. ValueError for malformed bytes."""
    place, end = 0, len(message)
    while place < end:
        tag, place = _varint(message, place)
        number, wire = tag >> 3, tag & 7
        if not number:
            raise ValueError("a field without a number")
        if wire == VARINT:
            value, place = _varint(message, place)
            yield number, value
        elif wire in (FIXED64, FIXED32, BYTES):
            size, place = _varint(message, place) if wire == BYTES else (8 if wire == FIXED64 else 4, place)
            if size > end - place:
                raise ValueError("unexpected end")
            part = message[place : place + size]
            place += size
            yield number, part if wire == BYTES else int.from_bytes(part, "little")
        else:
            raise ValueError(f"wire type {wire} is not supported")


def _varint(message: bytes, place: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if place >= len(message) or shift > _MOST_SHIFT:
            raise ValueError("unterminated number")
        byte = message[place]
        value |= (byte & 0x7F) << shift
        place += 1
        if byte < 0x80:
            return value & 0xFFFF_FFFF_FFFF_FFFF, place
        shift += 7


def signed(value: Value) -> int:
    number = int_of(value)
    return number - (_SIGN << 1) if number & _SIGN else number


def double(value: Value) -> float:
    (number,) = struct.unpack("<d", int_of(value).to_bytes(8, "little"))
    return float(number)


def int_of(value: Value) -> int:
    if not isinstance(value, int):
        raise ValueError("a number was expected")  # noqa: TRY004 - callers expect one kind of error
    return value


def bytes_of(value: Value) -> bytes:
    if not isinstance(value, bytes):
        raise ValueError("bytes were expected")  # noqa: TRY004 - as above
    return value


def text(value: Value) -> str:
    return bytes_of(value).decode(errors="replace").replace("\x00", "")


def varint(number: int) -> bytes:
    """Encodes, for replies."""
    parts = []
    while number > 0x7F:
        parts.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*parts, number])
