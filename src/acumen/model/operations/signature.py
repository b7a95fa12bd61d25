"""What failures are grouped by. Pure."""

import hashlib

from msgspec import Struct

# A change to how failures are grouped changes this; groups of an older version keep their ids.
VERSION = "g4"
ANY = "<*>"


def hashed(*parts: str) -> str:
    return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()[:40]


class Signature(Struct, frozen=True):
    """All that a failure is grouped by. `key` is exact; `tokens` are for the template."""

    key: str
    source: str
    endpoint: str
    error_type: str
    tokens: tuple[str, ...]
    exact: bool  # the caller said which failures are one, so no template is looked for

    @property
    def bucket(self) -> str:
        return hashed("bucket", self.source, self.endpoint, self.error_type)

    @property
    def leaf(self) -> str:
        """Where the tree is entered: bucket, length, first word."""
        first = self.tokens[0]
        return hashed("leaf", self.bucket, str(len(self.tokens)), ANY if "<" in first else first)


class GroupCandidate(Struct, frozen=True):
    group_id: str
    template: str
