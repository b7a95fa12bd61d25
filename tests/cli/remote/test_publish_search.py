"""`acumen publish`, `search`, `status`, `memory-review` and `stats`, against a server that runs."""

import io
import json
import time
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run

CORRECTION = (
    "user: Deploy the api.",
    "assistant: Deploying to us-east-1.",
    "user: No. We never deploy production to us-east-1, always use us-west-2.",
)


def test_what_is_published_with_wait_shows_what_was_learned(ask: Run):
    result = ask("publish", "--user", "wait", "--session", "s1", "--wait", *CORRECTION)

    assert result.code == 0
    assert "Stored 3 turns of session s1" in result.out
    assert "user playbook" in result.out
    assert "us-west-2" in result.out


def test_what_was_learned_is_found_and_its_context_can_be_piped(ask: Run):
    ask("publish", "--user", "pipe", "--wait", *CORRECTION)

    hits = ask("search", "which region do I deploy to", "--user", "pipe", "--json").json
    context = ask("search", "which region do I deploy to", "--user", "pipe", "--context-only").out

    assert "us-west-2" in hits["user_playbooks"][0]["content"]
    assert context.strip() == hits["context"]


def test_a_search_prints_scores_and_context(ask: Run):
    ask("publish", "--user", "table", "--wait", *CORRECTION)

    result = ask("search", "which region do I deploy to", "--user", "table")

    assert result.out.startswith("SCORE")
    assert "<acumen-context>" in result.out


def test_a_search_prints_a_context_of_standing_memories_only(ask: Run):
    ask("publish", "--user", "standing", "--wait", "user: I prefer short answers.")

    result = ask("search", "zebra", "--user", "standing")

    assert result.out.startswith("No relevant memories found; the context has 1 memory.")
    assert "I prefer short answers." in result.out


def test_a_search_counts_the_standing_memories_of_its_context(ask: Run):
    ask("publish", "--user", "both", "--wait", "user: I prefer short answers.", "user: We keep kelp in the green shed.")

    answer = ask("search", "where is the kelp shed", "--user", "both", "--json").json

    assert answer["msg"] == "Found 1 memory; the context has 2 memories"


def test_an_empty_query_is_refused(ask: Run):
    assert ask("search", " ").err == "acumen: The query is empty.\n"


def test_an_unknown_role_is_stored_as_text_with_a_warning(ask: Run):
    result = ask("publish", "--user", "roles", "bob: hello", "note: https://example.org")

    assert "Warning: 'bob' is not a role, so the turn was stored as text of the user" in result.out
    assert "Warning: 'note' is not a role" in result.out
    assert "Warning" not in ask("publish", "--user", "roles", "user: hello", "https://example.org").out


def test_a_new_session_without_a_user_turn_is_published_with_a_warning(ask: Run):
    result = ask("publish", "--user", "silent", "assistant: Done.", "--json")
    continued = ask("publish", "--user", "silent", "--session", "s", "assistant: Done.", "--json")

    assert "No user turn found" in result.json["warnings"][0]
    assert continued.json["warnings"] == []


def test_the_context_fits_the_budget_and_says_what_it_left_out(ask: Run):
    ask("publish", "--user", "tight", "--wait", *CORRECTION)

    result = ask("search", "which region do I deploy to", "--user", "tight", "--max-tokens", "5", "--json")

    assert result.json["context_tokens"] <= 5
    assert result.json["left_out"]


def test_nothing_relevant_is_an_answer(ask: Run):
    result = ask("search", "how tall is the Eiffel tower", "--user", "a stranger")

    assert result.code == 0
    assert "relevant" in result.out


def test_turns_come_from_standard_input(ask: Run, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("user: Always answer in Spanish.\nassistant: Claro.\n"))

    result = ask("publish", "--user", "stdin", "--stdin", "--wait", "--json")

    assert result.json["playbooks_added"] == 1
    assert "Spanish" in result.json["learned"][0]["content"]


def test_turns_come_from_a_file_of_json_lines(ask: Run, tmp_path: Path):
    file = tmp_path / "turns.jsonl"
    file.write_text("\n".join(json.dumps({"role": "User", "content": f"Turn {n}"}) for n in range(3)))

    result = ask("publish", "--user", "file", "--file", str(file))

    assert result.code == 0
    assert "Stored 3 turns" in result.out


def test_a_whole_body_brings_its_own_user_and_the_command_line_wins(ask: Run, tmp_path: Path):
    turns = [{"role": "User", "content": "Always use tabs."}]
    file = tmp_path / "body.json"
    file.write_text(json.dumps({"user_id": "theirs", "session_id": "own", "interaction_data_list": turns}))

    as_is = ask("publish", "--file", str(file), "--json").json
    changed = ask("publish", "--file", str(file), "--user", "mine", "--json").json

    assert (as_is["user_id"], as_is["session_id"]) == ("theirs", "own")
    assert (changed["user_id"], changed["session_id"]) == ("mine", "own")


def test_the_same_request_is_stored_once_and_another_under_its_id_is_refused(ask: Run):
    first = ask("publish", "--user", "twice", "--session", "s", "--request-id", "r-1", "user: hello")
    again = ask("publish", "--user", "twice", "--session", "s", "--request-id", "r-1", "user: hello")
    other = ask("publish", "--user", "twice", "--session", "s", "--request-id", "r-1", "user: goodbye")

    assert (first.code, again.code, other.code) == (0, 0, 1)
    assert other.err.count("\n") == 1


@pytest.mark.parametrize(
    "words",
    [
        ("publish", "--user", "u"),
        ("publish", "user: hello"),
        ("publish", "--user", "u", "--file", "/does/not/exist"),
        ("publish", "--user", "u", "--stdin", "user: hello"),
        ("memory-review",),
    ],
    ids=" ".join,
)
def test_what_is_not_said_is_asked_for_in_one_sentence(ask: Run, words: tuple[str, ...]):
    result = ask(*words)

    assert result.code == 1
    assert result.out == ""
    assert result.err.startswith("acumen: ")
    assert result.err.count("\n") == 1


def test_the_status_counts_what_is_stored(ask: Run):
    ask("publish", "--user", "counted", "--wait", *CORRECTION, "I work in the Lisbon office.")

    text, told = ask("status").out, ask("status", "--json").json

    assert "interaction" in text
    assert "Model       No model (rules)" in text
    assert told["model"]["configured"] is False
    assert {one["kind"] for one in told["memories"]} >= {"profile", "user_playbook", "interaction"}
    assert told["dead_letter_count"] == 0


def test_showing_a_memory_is_counted_unless_it_was_only_a_look(ask: Run):
    ask("publish", "--user", "meter", "--wait", *CORRECTION)
    lesson = ask("search", "deploy region", "--user", "meter", "--no-count", "--json").json["user_playbooks"][0]
    before = ask("stats", "injections", "--limit", "1000", "--json").json

    ask("search", "deploy region", "--user", "meter")
    after = ask("stats", "injections", "--limit", "1000", "--json").json

    name = ("user_playbook", str(lesson["user_playbook_id"]))
    assert name not in {(one["entity_type"], one["entity_id"]) for one in before["stats"]}
    assert name in {(one["entity_type"], one["entity_id"]) for one in after["stats"]}


def test_a_review_says_that_it_has_not_watched_for_long_enough(ask: Run):
    result = ask("memory-review", "--all-users")

    assert result.code == 0
    assert "insufficient_history" in result.out


# --- how sessions end ----------------------------------------------------------------------------------------------


def until_listed(ask: Run, user: str) -> list[Any]:
    give_up_at = time.monotonic() + 30
    while not (found := ask("sessions", "--user", user, "--json").json["agent_success_evaluation_results"]):
        assert time.monotonic() < give_up_at, "no session was judged in time"
        time.sleep(0.05)
    return found


def test_sessions_are_listed_with_how_they_ended_and_why(ask: Run):
    ask("publish", "--user", "ends", "--session", "bad", "--finish", *CORRECTION)

    (found,) = until_listed(ask, "ends")
    listed = ask("sessions", "--user", "ends").out

    assert (found["session_id"], found["is_success"]) == ("bad", False)
    assert "failure" in listed
    assert "TURNS TO RESOLUTION" in " ".join(ask("sessions", "--user", "ends").out.split())
    assert "never deploy production to us-east-1" in " ".join(listed.split())


def test_nobodys_sessions_say_when_there_will_be_some(ask: Run):
    assert "after 10 minutes without a request" in ask("sessions", "--user", "a stranger").out


def test_an_outcome_that_is_stated_goes_before_the_verdict(ask: Run):
    ask("publish", "--user", "stated", "--session", "stated-1", "--finish", *CORRECTION)
    until_listed(ask, "stated")

    told = ask("outcome", "stated-1", "success", "--label", "deployed")
    again = ask("outcome", "stated-1", "success", "--json").json

    listed = ask("sessions", "--user", "stated").out
    assert "Recorded outcome success for session stated-1 of user stated." in told.out
    assert again["outcome_revision"] == 2
    assert "success" in listed
    assert "caller, not rules" in " ".join(listed.split())


def test_an_outcome_of_a_session_that_is_not_there_is_refused(ask: Run):
    result = ask("outcome", "nowhere", "success")

    assert (result.code, result.out) == (1, "")
    assert "There is no session 'nowhere'" in result.err
