"""The load generator: every request once, each answer timed when all of it is there."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import pytest

from bench import client
from bench.client import Seen, as_bytes, whole

Pieces = Sequence[bytes | float]
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"


def test_an_answer_is_whole_when_its_length_is_there() -> None:
    assert whole(ANSWER) == ANSWER
    assert [whole(ANSWER[:size]) for size in range(len(ANSWER))] == [None] * len(ANSWER)


async def test_every_request_is_sent_once_whatever_the_number_of_connections() -> None:
    got: list[bytes] = []

    def answer(request: bytes) -> Pieces:
        got.append(request)
        return [ANSWER]

    seen = await _served(answer, 20, connections=3)

    assert sorted(got) == sorted(_requests(20))
    assert len(seen.latencies_ms) == 20


async def test_an_answer_in_pieces_is_one_answer() -> None:
    seen = await _served(lambda _: [ANSWER[:10], ANSWER[10:-2], ANSWER[-2:]], 3, connections=1)

    assert len(seen.latencies_ms) == 3


async def test_waiting_counts_until_the_last_piece() -> None:
    seen = await _served(lambda _: [ANSWER[:-1], 0.05, ANSWER[-1:]], 2, connections=1)

    assert min(seen.latencies_ms) >= 50


async def test_anything_but_a_200_ends_the_run() -> None:
    with pytest.raises(RuntimeError, match="503"):
        await _served(lambda _: [ANSWER.replace(b"200 OK", b"503 Busy")], 5, connections=2)


def _requests(count: int) -> list[bytes]:
    return [as_bytes("/somewhere", {"number": number}) for number in range(count)]


async def _served(answer: Callable[[bytes], Pieces], count: int, connections: int) -> Seen:
    """Runs the generator against a server that writes these pieces, pausing where a number of seconds stands."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := await reader.readuntil(b"\r\n\r\n") if not reader.at_eof() else b"":
            length = int(head.rpartition(b"Content-Length: ")[2])
            for piece in answer(head + await reader.readexactly(length)):
                if isinstance(piece, float):
                    await asyncio.sleep(piece)
                else:
                    writer.write(piece)
                    await writer.drain()

    server = await asyncio.start_server(_quietly(serve), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    try:
        return await asyncio.wait_for(client.run(port, _requests(count), connections), 10)
    finally:
        server.close()


Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def _quietly(serve: Serve) -> Serve:
    """A generator that hangs up in the middle is what some of these tests are about."""

    async def quietly(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await serve(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    return quietly
