"""`acumen rerun`, `versions` and `runs`, against a server that runs."""

import pytest

from tests.cli.conftest import Run

TALK = ("user: I live in Paris.", "assistant: Noted.", "user: No, always use us-west-2, never us-east-1.")


def learned(ask: Run, user: str) -> None:
    assert ask("publish", "--user", user, "--wait", *TALK).code == 0


@pytest.mark.parametrize("what, service", [("profiles", "profile_generation"), ("playbooks", "playbook_generation")])
def test_a_rerun_is_waited_for_promoted_and_rolled_back(ask: Run, what: str, service: str):
    user = f"rerun-{what}"
    learned(ask, user)

    rerun = ask("rerun", what, "--user", user, "--wait", "--json").json
    up = ask("versions", "promote", what, "--user", user)
    down = ask("versions", "rollback", what, "--user", user)

    assert (rerun["status"], rerun["service_name"], rerun["processed_user_ids"]) == ("completed", service, [user])
    assert rerun["stats"]["generated"] >= 1
    assert up.out.startswith("Promoted ")
    assert " 0 promoted" not in up.out
    assert down.out.startswith("Archived ")
    assert " 0 restored" not in down.out


def test_a_rerun_that_nobody_waits_for_says_where_to_look(ask: Run):
    learned(ask, "later")

    result = ask("rerun", "profiles", "--user", "later", "--since", "2020-01-01")
    ended = ask("runs", "status", "profile_generation", "--wait")

    assert result.code == 0
    assert "acumen runs status profile_generation" in result.out
    assert ended.code == 0
    assert "completed" in ended.out


def test_runs_are_listed_and_cancelled(ask: Run):
    learned(ask, "listed")
    ask("rerun", "profiles", "--user", "listed", "--wait")

    listed = ask("runs", "status")
    told = ask("runs", "status", "--json").json["operations"]
    cancelled = ask("runs", "cancel")

    assert "profile_generation" in listed.out
    assert "profile_generation" in {one["service_name"] for one in told}
    assert cancelled.out == "Nothing is running.\n"


@pytest.mark.parametrize(
    "words, told",
    [
        (("rerun", "profiles", "--name", "nobody"), "There is no extractor 'nobody'"),
        (("rerun", "profiles", "--agent-version", "v1"), "no agent version"),
        (("versions", "promote", "profiles", "--name", "x"), "no agent version and no name"),
        (("runs", "status", "brewing"), "No run of service 'brewing'. Services: profile_generation, "),
    ],
    ids=lambda words: " ".join(words) if isinstance(words, tuple) else None,
)
def test_what_cannot_be_is_told_in_one_sentence(ask: Run, words: tuple[str, ...], told: str):
    result = ask(*words)

    assert result.code == 1
    assert told in result.err
    assert result.err.count("\n") == 1
