"""The observer beside an agent: it sees everything, changes nothing and never raises."""

import asyncio
import json
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from acumen_client.observe import Observer
from acumen_client.watched import summary
from tests.cli.conftest import Served, serving
from tests.faults.server import free_port, wait_until

NOWHERE = "http://127.0.0.1:9"
FORKED = """
import os, sys
from acumen_client.observe import Observer

observer = Observer("forked", sys.argv[1], delay_seconds=0.05)
with observer.operation("parent"):
    pass
assert observer.flush(10)
child = os.fork()
if not child:
    with observer.operation("child"):
        pass
    os._exit(0 if observer.flush(10) else 1)
assert os.waitpid(child, 0)[1] == 0
"""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("observed")) as server:
        yield server


@pytest.fixture
def observer(served: Served, request: pytest.FixtureRequest) -> Iterator[Observer]:
    watching = Observer(request.node.name[:100], served.url, delay_seconds=0.05)
    yield watching
    watching.close()


def stored(served: Served, observer: Observer) -> list[dict[str, Any]]:
    assert observer.flush(10)
    reply = httpx.post(f"{served.url}/api/get_operations", json={"source": observer.source, "limit": 1000})
    return list(reversed(reply.json()["operations"]))


def test_a_watched_function_returns_what_it_did_and_is_seen(served: Served, observer: Observer):
    @observer.watch
    def add(one: int, max_tokens: int = 9, two: int = 3, password: str = "hidden") -> int:
        """Adds."""
        return one + two

    result = add(4, 9, password="hunter2")
    (found,) = stored(served, observer)

    assert (result, add.__name__, add.__doc__) == (7, "add", "Adds.")
    assert (found["endpoint"], found["status"], found["arguments"]) == ("add", "ok", {"one": 4, "max_tokens": 9})
    assert "hunter2" not in str(found)


def test_what_it_raises_goes_on_and_is_told(served: Served, observer: Observer):
    @observer.watch(endpoint="read", agent_version="2")
    def broken(path: str) -> None:
        raise KeyError(path)

    with pytest.raises(KeyError, match="/x"):
        broken("/x")
    (found,) = stored(served, observer)

    assert (found["endpoint"], found["status"], found["error_type"]) == ("read", "error", "KeyError")
    assert (found["agent_version"], found["error_message"]) == ("2", "'/x'")


def test_async_functions_are_watched_too(served: Served, observer: Observer):
    @observer.watch
    async def slow(seconds: float) -> str:
        await asyncio.sleep(seconds)
        return "done"

    async def cancelled() -> None:
        task = asyncio.create_task(slow(60))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    assert asyncio.run(slow(0.02)) == "done"
    asyncio.run(cancelled())
    first, second = stored(served, observer)

    assert first["duration_ms"] >= 20
    assert (second["status"], second["error_type"]) == ("cancelled", "CancelledError")


def test_what_yields_is_watched_to_its_end(served: Served, observer: Observer):
    @observer.watch
    def parts() -> Iterator[int]:
        yield 1
        raise KeyError("second")

    @observer.watch
    async def later_parts() -> AsyncIterator[int]:
        yield 1
        await asyncio.sleep(0.02)
        yield 2

    async def gathered() -> list[int]:
        return [part async for part in later_parts()]

    with pytest.raises(KeyError):
        list(parts())
    assert asyncio.run(gathered()) == [1, 2]
    first, second = stored(served, observer)

    assert (first["status"], first["error_type"]) == ("error", "KeyError")
    assert (second["status"], second["duration_ms"] >= 20) == ("ok", True)


def test_a_context_tells_what_was_set_in_it(served: Served, observer: Observer):
    with observer.operation("deploy", session_id="s1", arguments={"region": "eu"}) as op:
        op.output_summary = "3 pods"
    (found,) = stored(served, observer)

    assert (found["session_id"], found["arguments"], found["output_summary"]) == ("s1", {"region": "eu"}, "3 pods")


class Odd:
    def __repr__(self) -> str:
        raise RuntimeError("no words for it")


def test_nothing_that_is_observed_can_break_the_caller(observer: Observer):
    @observer.watch
    def take(thing: Any) -> str:
        return "fine"

    loop: dict[str, Any] = {}
    loop["self"] = loop
    results = [take(thing) for thing in (Odd(), loop, b"\xff", object(), "\ud800", float("nan"), "x" * 10**6)]
    observer.record(None, "ok")  # type: ignore[arg-type]
    observer.record("x", "ok", attributes=loop)

    assert results == ["fine"] * 7
    assert observer.flush(10)


def test_operations_wait_on_disk_while_the_server_is_away(tmp_path: Path):
    port = free_port()
    observer = Observer("spooled", f"http://127.0.0.1:{port}", spool=tmp_path / "spool", delay_seconds=0.05)
    for number in range(300):
        observer.record("step", "ok", attributes={"n": number})
    wait_until(lambda: observer.counts.spooled == 300, 20, "the operations to be on disk")

    with serving(tmp_path / "data", "--port", str(port)) as server:
        wait_until(lambda: observer.counts.sent == 300, 30, "the operations to be sent")
        told = httpx.get(f"{server.url}/stats").json()
    observer.close()

    assert told["by_source"] == {"spooled": 300}
    assert (observer.counts.dropped, observer.counts.spooled, list((tmp_path / "spool").iterdir())) == (0, 0, [])


def test_what_fits_nowhere_is_dropped_and_counted():
    observer = Observer("dropped", NOWHERE, queue_size=10, delay_seconds=0.01)

    for _ in range(500):
        observer.record("step", "ok")
    observer.close()

    counts = observer.counts
    assert (counts.sent, counts.spooled, counts.dropped) == (0, 0, 500)


def test_what_is_put_in_after_the_end_is_counted(observer: Observer):
    observer.close()
    with observer.operation("late"):
        pass

    assert observer.counts.dropped == 1


def test_a_forked_process_sends_what_it_notes(served: Served, tmp_path: Path):
    program = tmp_path / "forked.py"
    program.write_text(FORKED)

    subprocess.run([sys.executable, str(program), served.url], check=True, timeout=30)

    reply = httpx.post(f"{served.url}/api/get_operations", json={"source": "forked", "limit": 10})
    assert sorted(one["endpoint"] for one in reply.json()["operations"]) == ["child", "parent"]


def test_what_was_noted_last_is_not_lost_when_the_process_ends(served: Served, tmp_path: Path):
    program = (
        "from acumen_client.observe import Observer\n"
        f"observer = Observer('ended', {served.url!r})\n"
        "for number in range(50): observer.record('step', 'ok')\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)

    assert httpx.get(f"{served.url}/stats").json()["by_source"]["ended"] == 50


def test_it_can_be_turned_off(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ACUMEN_OBSERVE", "off")
    observer = Observer("off", NOWHERE)

    assert observer.watch(lambda: 5)() == 5
    assert observer.flush(0.1)


def test_an_observed_call_is_judged_by_its_status_and_its_body(
    served: Served, observer: Observer, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("GATEWAY_URL", served.url)
    fine = observer.observed("/api/get_failures", {}, "list failures")
    refused = observer.observed(f"{served.url}/api/search", {"nonsense": 1})
    with pytest.raises(httpx.ConnectError):
        observer.observed(NOWHERE, {})
    first, second, third = stored(served, observer)

    assert (fine.status_code, first["status"], first["input_summary"]) == (200, "ok", "list failures")
    assert (refused.status_code, second["status"], second["error_type"]) == (422, "error", "HTTP 422")
    assert (third["status"], third["error_type"]) == ("error", "ConnectError")


@pytest.mark.parametrize(
    "body,told",
    [
        ({"sql_matches": [1, 2], "results": [1]}, "hybrid: 2 sql -> 1 results"),
        ({"rows": [1, 2, 3]}, "3 rows"),
        ({"rows": [], "row_count": 9}, "9 rows"),
        ({"answer": "x" * 200}, "x" * 80),
        ({"answer": 7}, "7"),
        ({"sources": [1]}, "1 sources"),
        (None, "null"),
        ([1] * 100, json.dumps([1] * 100)[:100]),
    ],
)
def test_a_reply_is_told_in_a_few_words(body: Any, told: str):
    assert summary(body) == told


def test_a_server_that_does_not_answer_holds_nobody_up(monkeypatch: pytest.MonkeyPatch):
    answer = threading.Event()

    def wait(*args: Any, **kwargs: Any) -> None:
        answer.wait(60)
        raise httpx.ConnectError("away")

    monkeypatch.setattr(httpx.Client, "post", wait)
    observer = Observer("slow", NOWHERE)
    call: Callable[[], int] = observer.watch(lambda: 1)

    results = [call() for _ in range(1000)]
    answered = answer.is_set()
    answer.set()
    observer.close()

    assert (results, answered) == ([1] * 1000, False)


def test_what_an_earlier_process_left_on_disk_is_sent(served: Served, tmp_path: Path):
    earlier = Observer("earlier", NOWHERE, spool=tmp_path, delay_seconds=0.01)
    earlier.record("step", "ok")
    earlier.close()

    later = Observer("later", served.url, spool=tmp_path, delay_seconds=0.01)
    later.record("step", "ok")
    assert later.flush(20)
    later.close()

    assert (later.counts.sent, later.counts.spooled) == (2, 0)
    assert httpx.get(f"{served.url}/stats").json()["by_source"]["earlier"] == 1


def test_what_one_program_does_is_one_session_unless_it_says_otherwise(served: Served, observer: Observer):
    observer.record("step", "ok")
    observer.record("step", "ok")
    observer.record("step", "ok", session_id="monday")

    sessions = [one["session_id"] for one in stored(served, observer)]

    assert sessions[0] == sessions[1] != ""
    assert sessions[2] == "monday"
