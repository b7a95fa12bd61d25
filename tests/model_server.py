"""A model on a loopback port that speaks the OpenAI protocol and behaves as a test says: well, badly, or not at all."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

Behaviour = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
MODEL = "pretend-1"


@dataclass(frozen=True)
class Received:
    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    raw: bytes

    @property
    def text(self) -> str:
        """All that the model was told."""
        return "\n".join(str(message["content"]) for message in self.body.get("messages", ()))


@dataclass
class ModelServer:
    """Behaves once as each of `behaviours` says, then always as the last."""

    behaviours: list[Behaviour]
    url: str = ""
    asked: list[Received] = field(default_factory=list)
    names: list[str] = field(default_factory=lambda: [MODEL])
    talks: set[asyncio.Task[Any]] = field(default_factory=set)
    listed: int = 0  # how often it was asked what it serves
    lists: asyncio.Event = field(default_factory=asyncio.Event)  # cleared: it is slow to tell

    _news: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def asked_by_now(self, times: int) -> None:
        """Waits until it has been asked so often."""
        async with self._news:
            await self._news.wait_for(lambda: len(self.asked) >= times)

    def then(self, *behaviours: Behaviour) -> None:
        self.behaviours = list(behaviours)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self.talks.add(task)
        try:
            await self._serve(reader, writer)
        finally:
            self.talks.discard(task)
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            while not writer.is_closing():
                received = await _read(reader)
                if received.path.endswith("/models"):
                    self.listed += 1
                    await self.lists.wait()
                    await _reply(writer, 200, json.dumps({"data": [{"id": name} for name in self.names]}).encode())
                    continue
                async with self._news:
                    self.asked.append(received)
                    self._news.notify_all()
                behaviour = self.behaviours.pop(0) if len(self.behaviours) > 1 else self.behaviours[0]
                await behaviour(reader, writer)


@asynccontextmanager
async def model_server(*behaviours: Behaviour) -> AsyncIterator[ModelServer]:
    server = ModelServer(list(behaviours))
    server.lists.set()
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    server.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/v1"
    try:
        yield server
    finally:
        listening.close()
        for task in server.talks:
            task.cancel()
        await asyncio.gather(*server.talks, return_exceptions=True)


async def _read(reader: asyncio.StreamReader) -> Received:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:] if line)}
    raw = await reader.readexactly(int(headers.get("content-length", 0)))
    return Received(head[0].split(" ")[1], headers, json.loads(raw) if raw else {}, raw)


async def _reply(writer: asyncio.StreamWriter, status: int, body: bytes, **headers: str) -> None:
    more = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
    head = f"HTTP/1.1 {status} So\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n{more}\r\n"
    writer.write(head.encode() + body)
    await writer.drain()


# --- ways to behave ------------------------------------------------------------------------------------------------


def completion(content: str | None, *, usage: dict[str, int] | None = None) -> bytes:
    used = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110} if usage is None else usage
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": content}}
    body = {"id": "1", "object": "chat.completion", "created": 1, "model": MODEL, "choices": [choice]}
    return json.dumps({**body, **({"usage": used} if used else {})}).encode()


def says(content: Any, **more: Any) -> Behaviour:
    """The answer, as text or as JSON."""
    text = content if isinstance(content, str) or content is None else json.dumps(content)
    return replies(completion(text, **more))


def replies(body: bytes, status: int = 200, **headers: str) -> Behaviour:
    async def behave(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await _reply(writer, status, body, **headers)

    return behave


def refuses(status: int, **headers: str) -> Behaviour:
    return replies(b'{"error": {"message": "no", "type": "x", "code": null}}', status, **headers)


async def hangs(reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
    """Until the other side has had enough."""
    await reader.read()


async def drips(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """A byte at a time, without end."""
    writer.write(b"HTTP/1.1 200 So\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n{")
    while True:
        writer.write(b" ")
        await writer.drain()
        await asyncio.sleep(0.02)


async def resets(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.transport.abort()


async def breaks_off(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Promises more bytes than it sends."""
    body = completion('{"worth_reading": true}')
    writer.write(
        f"HTTP/1.1 200 So\r\nContent-Type: application/json\r\nContent-Length: {len(body) * 2}\r\n\r\n".encode()
    )
    writer.write(body)
    await writer.drain()
    writer.close()


def overflows(megabytes: int = 3) -> Behaviour:
    return replies(completion("x" * megabytes * 1024 * 1024))


def waits_for(let_go: asyncio.Event, then: Behaviour) -> Behaviour:
    async def behave(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await let_go.wait()
        await then(reader, writer)

    return behave
