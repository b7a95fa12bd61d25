"""`acumen failures`, `proposals`, `tail`, `outcomes` and `purge`."""

import json
import subprocess
import time
from typing import Any

import httpx
import pytest

from tests.cli.conftest import ACUMEN, Run, Served
from tests.faults.server import wait_until


def send(server: Served, *operations: dict[str, Any]) -> None:
    reply = httpx.post(f"{server.url}/api/record_operations", json={"operations": list(operations)})
    assert reply.json()["rejected"] == 0


def failing(endpoint: str, session: str, **more: Any) -> dict[str, Any]:
    given = {"source": "cli", "endpoint": endpoint, "status": "error", "session_id": session}
    return {**given, "error_type": "TimeoutError", "error_message": "it timed out after 3s", **more}


@pytest.fixture
def lesson(server: Served, request: pytest.FixtureRequest) -> dict[str, Any]:
    """A call that fails in two sessions, and the lesson that came of it."""
    endpoint = request.node.name[:60]
    send(server, *(failing(endpoint, f"s{number % 2}", duration_ms=number) for number in range(4)))
    found: list[dict[str, Any]] = []

    def proposed() -> bool:
        reply = httpx.post(f"{server.url}/api/get_proposals", json={"limit": 1000}).json()["proposals"]
        found[:] = [one for one in reply if one["endpoint"] == endpoint]
        return bool(found)

    wait_until(proposed, 30, "the lesson to be proposed")
    return found[0]


def test_failures_are_listed_and_told_in_full(ask: Run, lesson: dict[str, Any]):
    listed = ask("failures")
    told = ask("failures", lesson["group_id"])
    as_json = ask("failures", lesson["group_id"], "--json").json

    assert lesson["group_id"] in listed.out
    assert "4 times in 2 sessions" in told.out
    assert "Lesson" in told.out
    assert as_json["group"]["count"] == 4


def test_a_group_is_archived_and_reopened(ask: Run, lesson: dict[str, Any]):
    archived = ask("failures", lesson["group_id"], "--change", "archive")
    hidden = ask("failures", "--json").json["groups"]
    closed = ask("failures", "--closed", "--json").json["groups"]
    by_former_name = ask("failures", "--put-away", "--json").json["groups"]
    ask("failures", lesson["group_id"], "--change", "reopen")

    assert "archived" in archived.out
    assert lesson["group_id"] not in [one["group_id"] for one in hidden]
    assert lesson["group_id"] in [group["group_id"] for group in closed]
    assert by_former_name == closed
    assert ask("failures", "--change", "archive").code == 1


def test_a_lesson_is_edited_approved_and_rejected(ask: Run, lesson: dict[str, Any]):
    number = str(lesson["agent_playbook_id"])

    edited = ask("proposals", "edit", number, "--content", "Ask for less.")
    approved = ask("proposals", "approve", number)
    listed = ask("proposals", "--approval", "approved")
    rejected = ask("proposals", "reject", number, "--json").json

    assert "pending. Ask for less." in edited.out
    assert "approved" in approved.out
    assert "Ask for less." in listed.out
    assert rejected["proposal"]["approval"] == "rejected"
    assert ask("proposals", "approve", "987654").code == 1


def test_a_tail_shows_what_there_is_and_what_comes(server: Served):
    send(server, failing("tailed", "s", error_message="bad \x1b[31m\nnews"))
    words = [*ACUMEN, "tail", "--url", server.url, "--endpoint", "tailed"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            first = process.stdout.readline()
            send(server, failing("elsewhere", "s"), failing("tailed", "s", error_message="more"))
            second = process.stdout.readline()
        finally:
            process.terminate()

    assert "cli tailed error" in first
    assert "\x1b" not in first
    assert "more" in second


def test_outcomes_are_printed_as_json_lines(ask: Run, server: Served):
    send(
        server, {"source": "ci", "endpoint": "build", "status": "ok", "kind": "outcome", "op_id": f"o{time.time_ns()}"}
    )

    lines = [json.loads(line) for line in ask("outcomes").out.splitlines()]

    assert {line["kind"] for line in lines} == {"outcome"}


def test_a_source_is_purged(ask: Run, server: Served):
    send(server, {"source": "rogue", "endpoint": "x", "status": "ok"})

    told = ask("purge", "--source", "rogue")

    assert told.out.startswith("Deleted 1 operation,")
    assert ask("purge").code == 1
