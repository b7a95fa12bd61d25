"""Health tells what a load balancer has to know: that commits do not reach the disk, or that the file is damaged."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from acumen_client.calls import Calls
from tests.faults.conftest import StartServer
from tests.faults.server import Server, wait_until

PAGE_BYTES = 4096


def can_trace() -> bool:
    """Containers may forbid it."""
    command = ["strace", "-f", "-o", os.devnull, "true"]
    if shutil.which("strace") is None:
        return False
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


@contextmanager
def failing_syncs(pid: int) -> Iterator[None]:
    """Every sync of the process fails with an I/O error."""
    syncs = "fsync,fdatasync"
    command = ["strace", "-f", "-qq", "-o", os.devnull, "-e", f"trace={syncs}", "-e", f"inject={syncs}:error=EIO"]
    tracer = subprocess.Popen([*command, "-p", str(pid)])
    try:
        yield
    finally:
        tracer.terminate()
        tracer.wait(30)


def is_healthy(server: Server) -> bool:
    return server.call(Calls.health).status == 200


def doctor(server: Server) -> dict[str, str]:
    """What fails, by subject."""
    command = [sys.executable, "-m", "acumen.cli.main", "doctor", "--json", "--data", str(server.data)]
    ended = subprocess.run([*command, "--port", str(server.port)], capture_output=True, text=True, check=False)
    return {check["about"]: check["says"] for check in json.loads(ended.stdout)["checks"] if check["level"] == "fail"}


def fill(server: Server) -> None:
    turns = [{"role": "User", "content": f"I like tea number {number}. " * 40} for number in range(100)]
    asked = {"request_id": "r1", "user_id": "ada", "session_id": "s1", "interaction_data_list": turns}
    assert server.call(Calls.publish, asked).ok
    wait_until(lambda: server.call(Calls.learning_status, {"request_id": "r1"}).json["status"] == "done", 60, "it")


@pytest.mark.skipif(not can_trace(), reason="strace cannot run here")
def test_health_is_not_ok_while_syncs_fail_and_is_again_when_they_work(start_server: StartServer):
    server = start_server()
    assert is_healthy(server)

    with failing_syncs(server.pid):
        wait_until(lambda: not is_healthy(server), 60, "health to notice")
        checks = server.call(Calls.health_ready).json["checks"]
        found = doctor(server)

    assert checks["database"]["status"] == "failed"
    assert "a commit failed" in checks["database"]["reason"]
    assert "not healthy: database: a commit failed" in found["Port"]
    wait_until(lambda: is_healthy(server), 60, "health to recover")


def test_health_is_not_ok_while_the_file_is_damaged(start_server: StartServer):
    server = start_server()
    fill(server)
    server.stop()
    root = server.rows("SELECT rootpage FROM sqlite_schema WHERE name = 'interactions'")[0][0]
    with server.database.open("r+b") as file:
        file.seek((root - 1) * PAGE_BYTES)
        whole = file.read(PAGE_BYTES)
        file.seek((root - 1) * PAGE_BYTES)
        file.write(os.urandom(PAGE_BYTES))

    found_stopped = doctor(server)
    server.start()
    wait_until(lambda: not is_healthy(server), 60, "health to notice")
    reason = server.call(Calls.health_ready).json["checks"]["database"]["reason"]
    found = doctor(server)
    server.kill()

    assert "Integrity" in found_stopped
    assert "damaged" in reason
    assert {"Integrity", "Port"} <= found.keys()
    with server.database.open("r+b") as file:
        file.seek((root - 1) * PAGE_BYTES)
        file.write(whole)
