"""What counting, timing and naming every request costs, as a share of a search."""

import asyncio
import json
import time
from collections.abc import Iterator
from typing import Any

from starlette.types import ASGIApp

from acumen.api.instrumented import InstrumentedApp
from acumen.api.server import web_app
from acumen.app import App
from acumen.telemetry import traces
from bench import places
from bench.figures import Figure, Run, at_most, median
from bench.search import as_served, fill, questions

Scope = dict[str, Any]
ROUNDS = 9


def measure(run: Run) -> Iterator[Figure]:
    rows, calls = run.many(1_000, 20), run.many(20_000, 50)
    with places.sqlite(run) as place:
        asyncio.run(fill(place, rows))
        app = App(place.settings)
        added_us = as_served(_added(app, calls))
        search_ms = as_served(_search(app, run.many(300, 5)))
        yield Figure(
            "added to a request", added_us, "µs of CPU", note="metrics, request id and log context; traces off"
        )
        yield Figure("a search of 3 × 1,000 in process", search_ms, "ms of CPU")
        yield Figure("share of a search", 100 * added_us / 1000 / search_ms, "%", at_most(2))
        yield Figure("a span that is off", _span_ns(calls), "ns of CPU", note="six to ten of them in a search")


async def _added(app: App, calls: int) -> float:
    """Instrumented and plain in turns, so that both see the same machine; the median of the differences."""

    async def answer(_scope: Any, _receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"x-request-id", b"r1")]})
        await send({"type": "http.response.body", "body": b""})

    instrumented = InstrumentedApp(answer, app)
    differences = [await _cpu_us(instrumented, calls) - await _cpu_us(answer, calls) for _ in range(ROUNDS)]
    return median(differences)


async def _cpu_us(served: ASGIApp, calls: int) -> float:
    began = time.process_time()
    for _ in range(calls):
        await served(_scope(), _nothing, _swallow)
    return (time.process_time() - began) / calls * 1e6


async def _search(app: App, count: int) -> float:
    api = web_app(app)
    bodies = [json.dumps(body).encode() for _, body in questions(count, seed=1)]
    for body in bodies[: count // 3]:
        await _call(api, body)
    began = time.process_time()
    for body in bodies[count // 3 :]:
        await _call(api, body)
    return (time.process_time() - began) / len(bodies[count // 3 :]) * 1000


async def _call(api: ASGIApp, body: bytes) -> None:
    sent = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Any:
        return sent.pop()

    await api(_scope(), receive, _swallow)


def _span_ns(calls: int) -> float:
    began = time.process_time()
    for _ in range(calls):
        with traces.transaction("db read", _scope):
            pass
    return (time.process_time() - began) / calls * 1e9


def _scope() -> Scope:
    headers = [(b"host", b"127.0.0.1:8061"), (b"content-type", b"application/json"), (b"accept", b"*/*")]
    return {
        "type": "http",
        "method": "POST",
        "path": "/api/search",
        "query_string": b"",
        "headers": headers,
        "client": ("127.0.0.1", 50_000),
    }


async def _nothing() -> Any:
    return {"type": "http.request", "body": b"", "more_body": False}


async def _swallow(_message: Any) -> None:
    pass
