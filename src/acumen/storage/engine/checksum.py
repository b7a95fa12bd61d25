"""A checksum of rows that both databases agree on: of their values, in no particular order."""

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

Values = Sequence[Any]

_BYTES = 16


class Checksum:
    """How many rows there were, and the sum of their hashes; rows are values without a type of their own."""

    def __init__(self, rows: Iterable[Values] = ()) -> None:
        self.rows = 0
        self._sum = 0
        self._encode = msgspec.msgpack.Encoder().encode
        for row in rows:
            self.add(row)

    def add(self, row: Values) -> None:
        # SQLite does not know a negative zero.
        encoded = self._encode([0.0 if value == 0.0 and type(value) is float else value for value in row])
        self._sum += int.from_bytes(hashlib.blake2b(encoded, digest_size=_BYTES).digest())
        self.rows += 1

    @property
    def digest(self) -> str:
        return f"{self._sum % 256**_BYTES:0{2 * _BYTES}x}"

    def agrees_with(self, other: "Checksum") -> bool:
        return (self.rows, self.digest) == (other.rows, other.digest)
