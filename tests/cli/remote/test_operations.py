"""`acumen failures`, `proposals`, `tail`, `outcomes` and `purge`."""

import io
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

    edited = ask("proposals", "edit", number, "--content", "Ask for less.", "--rationale", "Large pages time out.")
    approved_json = ask("proposals", "approve", number, "--json").json
    listed = ask("proposals", "--approval", "approved")
    rejected = ask("proposals", "reject", number, "--json").json

    assert "pending. Ask for less." in edited.out
    assert approved_json["proposal"]["rationale"] == "Large pages time out."
    assert approved_json["proposal"]["approval"] == "approved"
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

    assert "outcome" in {line["kind"] for line in lines}


def test_outcomes_include_those_reported_of_sessions_and_evaluations(ask: Run):
    ask("publish", "--user", "exported", "--session", "exported-1", "--finish", "user: Deploy the api.")
    ask("outcome", "exported-1", "failure", "--user", "exported")

    lines = [json.loads(line) for line in ask("outcomes").out.splitlines()]

    kinds = {line["kind"]: line for line in lines if line.get("session_id") == "exported-1"}
    assert kinds["session_outcome"]["outcome"] == "failure"
    assert kinds["session_evaluation"]["is_success"] is False


def test_a_source_is_purged(ask: Run, server: Served):
    send(server, {"source": "rogue", "endpoint": "x", "status": "ok"})

    told = ask("purge", "--source", "rogue", "--yes")

    assert told.out.startswith("Deleted 1 operation,")
    assert ask("purge").code == 1


def test_a_purge_is_previewed_and_confirmed(ask: Run, server: Served, monkeypatch: pytest.MonkeyPatch):
    send(server, {"source": "kept", "endpoint": "x", "status": "ok"})
    monkeypatch.setattr("sys.stdin", io.StringIO("n\n"))

    previewed = ask("purge", "--source", "kept", "--dry-run")
    declined = ask("purge", "--source", "kept")
    remaining = ask("tail", "--source", "kept", "--no-follow")

    assert previewed.out == "Would delete 1 operation and everything derived from them.\n"
    assert declined.code == 1
    assert remaining.out.count("kept x ok") == 1


@pytest.mark.parametrize("option", ["--dry-run", "--yes"])
def test_an_operation_that_does_not_exist_is_not_purged(ask: Run, option: str):
    result = ask("purge", "--operation", "nowhere", option)

    assert (result.code, result.out) == (1, "")
    assert "No operation 'nowhere'" in result.err


def test_nothing_to_list_is_said(ask: Run):
    assert ask("tail", "--source", "silent", "--no-follow").out == "No tool calls yet.\n"
    assert ask("proposals", "--approval", "rejected", "--flagged").out == "No proposals.\n"


@pytest.mark.parametrize(
    "words, told",
    [
        (("failures", "g1", "--change", "merge"), "--change merge requires --into GROUP."),
        (("failures", "g1", "--change", "resolve", "--into", "g2"), "--into can only be used with --change merge."),
        (("proposals", "edit", "1"), "Pass --content, --trigger, --rationale or --pitfall."),
    ],
)
def test_a_missing_option_is_named(ask: Run, words: tuple[str, ...], told: str):
    assert told in ask(*words).err
