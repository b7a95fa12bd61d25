"""`acumen aggregate` and `acumen shared-lessons`, as they are typed."""

import uuid

import pytest

from acumen_client.client import Client
from tests.cli.conftest import Run, Served

TESTS_FIRST = ("Always run the tests before committing.", "Run the test suite before you commit anything.")


@pytest.fixture
def version(server: Served) -> str:
    """An agent version for which two users teach the same."""
    name = f"v-{uuid.uuid4().hex[:8]}"
    with Client(server.url) as client:
        client.add_user_playbooks(
            user_playbooks=[
                {"user_id": f"{name}-{number}", "agent_version": name, "content": content, "trigger": "committing code"}
                for number, content in enumerate(TESTS_FIRST)
            ]
        )
    return name


def test_an_aggregation_is_begun_or_waited_for(ask: Run, version: str):
    begun = ask("aggregate", "--agent-version", f"{version}-none")
    waited = ask("aggregate", "--agent-version", version, "--wait")
    again = ask("aggregate", "--agent-version", version, "--wait", "--json")

    assert begun.out.startswith("Started as aggr_")
    assert "2 user playbooks, 1 clusters: 1 lessons added" in waited.out
    assert (again.json["status"], again.json["result"]["unchanged"]) == ("succeeded", 1)


def test_nothing_to_share_is_said(ask: Run):
    told = ask("aggregate", "--agent-version", "nobody-uses-this", "--wait")

    assert (told.code, told.out) == (
        0,
        "Nothing to share: no current user playbooks of this version and name.\n",
    )


def test_lessons_are_listed_approved_and_rejected(ask: Run, version: str):
    ask("aggregate", "--agent-version", version, "--wait")
    (lesson,) = ask("shared-lessons", "--agent-version", version, "--json").json["agent_playbooks"]
    number = str(lesson["agent_playbook_id"])

    approved = ask("shared-lessons", "approve", number)
    listed = ask("shared-lessons", "--agent-version", version, "--approval", "approved")
    rejected = ask("shared-lessons", "reject", number, "--json")
    left = ask("shared-lessons", "--agent-version", version, "--approval", "approved")

    assert approved.out == f"Lesson {number}: approved.\n"
    assert lesson["content"] in listed.out
    assert rejected.json == {"agent_playbook_ids": [int(number)], "playbook_status": "rejected"}
    assert left.out == "No shared lessons.\n"


def test_what_changed_is_told(ask: Run, version: str):
    ask("aggregate", "--agent-version", version, "--wait")

    told = ask("shared-lessons", "changes", "--agent-version", version)
    nothing = ask("shared-lessons", "changes", "--agent-version", "nobody-uses-this")

    assert any(f": {content}" in told.out for content in TESTS_FIRST)
    assert "  + " in told.out
    assert nothing.out.startswith("No aggregation changed lessons 'playbook' of version 'nobody-uses-this' yet;")


def test_a_lesson_that_does_not_exist_is_told(ask: Run):
    missing = ask("shared-lessons", "approve", "999999999")

    assert missing.code == 1
    assert "999999999" in missing.err
