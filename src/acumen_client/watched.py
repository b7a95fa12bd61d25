"""One operation under way, and what its reply comes down to."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

import httpx
from typing_extensions import Self

_LONGEST = 2_000


@dataclass
class Watched:
    """One operation under way. Values set here are sent when it ends; the status is derived unless it is set."""

    record: Callable[..., None]
    endpoint: str
    said: dict[str, Any] = field(default_factory=dict)
    status: str | None = None
    output_summary: str | None = None
    error_type: str | None = None
    error_message: str | None = None
    _began: float = 0.0
    _at: float = 0.0

    def __enter__(self) -> Self:
        self._at, self._began = time.time(), time.perf_counter()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        """Never swallows what was raised."""
        took = (time.perf_counter() - self._began) * 1000
        with suppress(Exception):
            if kind is not None:
                self.status = self.status or ("error" if issubclass(kind, Exception) else "cancelled")
                self.error_type = self.error_type or kind.__name__
                self.error_message = self.error_message or str(error)[:20_000]
            ended = {
                "started_at": self._at,
                "duration_ms": took,
                "output_summary": self.output_summary,
                "error_type": self.error_type,
                "error_message": self.error_message,
            }
            self.record(self.endpoint, self.status or "ok", **{**self.said, **ended})

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.__exit__(kind, error, trace)

    def judge(self, reply: httpx.Response) -> None:
        """By the status first, then by what the body says; a body that cannot be read changes nothing."""
        with suppress(Exception):
            body = _json(reply)
            self.output_summary = summary(body)
            said = body.get("error") if isinstance(body, dict) else None
            if not reply.is_success or said:
                self.status = "error"
                self.error_type = f"HTTP {reply.status_code}" if not reply.is_success else "error"
                self.error_message = str(said or reply.text)[:20_000]


def summary(body: Any) -> str:
    """What came back, in a few words."""
    if isinstance(body, dict):
        if isinstance(body.get("sql_matches"), (list, int)) and "results" in body:
            return f"hybrid: {_many(body['sql_matches'])} sql -> {_many(body['results'])} results"
        if "rows" in body:
            return f"{body.get('row_count') or _many(body['rows'])} rows"
        if "answer" in body:
            return str(body["answer"])[:80]
        if "sources" in body:
            return f"{_many(body['sources'])} sources"
    return json.dumps(body, default=str)[:100]


def _many(value: Any) -> int:
    return value if isinstance(value, int) else len(value)


def _json(reply: httpx.Response) -> Any:
    try:
        return reply.json()
    except ValueError:
        return reply.text[:_LONGEST]
