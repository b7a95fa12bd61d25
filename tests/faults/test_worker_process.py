"""Background jobs run in a process that the server starts, restarts and takes with it."""

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from acumen.jobs.child_process import STOP
from acumen_client.calls import Calls
from tests.faults.conftest import StartServer
from tests.faults.server import Server, wait_until

RULE = "We never deploy to us-east-1, always use us-west-2."


def test_the_server_learns_in_another_process_and_answers_who_waits_for_it(start_server: StartServer) -> None:
    server = start_server(jobs__processes=1)

    reply = publish(server, "r1")

    assert (reply["learning_status"], reply["playbooks_added"]) == ("done", 1)
    assert worker(server)["reason"] == f"running in process {child_of(server)}"


def test_a_worker_that_is_killed_is_restarted_while_the_server_goes_on(start_server: StartServer) -> None:
    server = start_server(jobs__processes=1)
    publish(server, "r1")
    killed = child_of(server)

    os.kill(killed, signal.SIGKILL)
    wait_until(lambda: worker(server)["status"] == "failed", 10, "the death to be noticed")
    ready = server.call(Calls.health_ready)
    learned = publish(server, "r2", "We never commit to main directly, always open a pull request.")

    assert ready.ok
    assert learned["learning_status"] == "done"
    assert worker(server)["status"] == "passed"
    assert child_of(server) != killed
    assert f"worker process {killed} ended" in server.log


def test_a_worker_ends_with_a_server_that_is_killed(start_server: StartServer) -> None:
    server = start_server(jobs__processes=1)
    publish(server, "r1")
    child = child_of(server)

    server.kill()

    wait_until(lambda: not is_running(child), 20, "the worker to end")


# A worker that was asked to stop, in a step that does not yield.
STUCK = """
import asyncio, time
from acumen.cli.local.child_worker import _listen

async def main():
    stop = asyncio.Event()
    _listen(lambda: None, stop, asyncio.Event())
    await stop.wait()
    print("stopping", flush=True)
    time.sleep(60)

asyncio.run(main())
"""


def test_a_worker_that_does_not_finish_ends_with_a_server_that_is_gone() -> None:
    with subprocess.Popen([sys.executable, "-c", STUCK], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as worker:
        assert worker.stdin is not None
        assert worker.stdout is not None
        worker.stdin.write(STOP)
        worker.stdin.flush()
        assert worker.stdout.readline() == b"stopping\n"

        worker.stdin.close()

        assert worker.wait(20) == 1


def test_jobs_run_in_the_server_where_it_starts_no_process(start_server: StartServer) -> None:
    server = start_server(jobs__processes=0)

    assert publish(server, "r1")["learning_status"] == "done"
    assert children_of(server) == []


def publish(server: Server, request: str, said: str = RULE) -> Any:
    turn = {"role": "User", "content": said}
    body = {"request_id": request, "user_id": "ada", "session_id": "s1", "interaction_data_list": [turn]}
    reply = server.call(Calls.publish, body, "?wait_for_response=true")
    assert reply.ok, reply
    return reply.json


def worker(server: Server) -> dict[str, str]:
    check: dict[str, str] = server.call(Calls.health).json["checks"]["worker"]
    return check


def child_of(server: Server) -> int:
    (child,) = children_of(server)
    return child


def children_of(server: Server) -> list[int]:
    return [int(pid) for pid in Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text().split()]


def is_running(pid: int) -> bool:
    """A process that has ended and that nobody waited for does not run."""
    with suppress(FileNotFoundError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False
