"""`acumen demo`: a day through the whole loop, printed from what the server answers."""

from pathlib import Path
from typing import Any

import pytest

from acumen.cli.demo.script import DAY, PAST, WEEKS, DemoSession, Review
from tests.cli.conftest import Result, Run


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo") / "day"


@pytest.fixture
def summary(run: Run, played: Path, cache: dict[Path, Result]) -> Result:
    """Played once; every test reads the same summary."""
    if played not in cache:
        cache[played] = run("demo", "--json", "--data", str(played))
    return cache[played]


@pytest.fixture(scope="module")
def cache() -> dict[Path, Result]:
    return {}


def _changes(summary: Result, kind: str, user: str) -> list[dict[str, Any]]:
    return [change for change in summary.json["changes"] if (change["change"], change.get("user_id")) == (kind, user)]


def _example(summary: Result, query: str) -> dict[str, Any]:
    (example,) = (example for example in summary.json["examples"] if example["query"] == query)
    return example


def test_the_day_teaches_recalls_costs_and_flags(summary: Result):
    report = summary.json

    assert summary.code == 0
    assert report["learned"] > 10
    assert report["injections"] > 5
    assert report["tokens"] > 100
    assert report["flagged"] > 0
    assert report["sessions"] == len(PAST) + len(WEEKS) + sum(isinstance(part, DemoSession) for part in DAY)


def test_flagged_memories_are_old_and_unused_or_cost_and_are_never_cited(summary: Result):
    flagged = summary.json["review"]

    stale = {candidate["title"] for candidate in flagged if candidate["signals"] == ["stale"]}
    costly = {candidate["title"] for candidate in flagged if candidate["signals"] == ["high_cost_low_cite"]}
    assert len(stale) + len(costly) == len(flagged)
    assert any("BLOOM15" in title for title in stale)
    assert any("British spelling" in title for title in costly)


def test_failures_and_the_call_that_helped_are_proposed(summary: Result):
    proposed = {lesson["about"]: lesson for lesson in summary.json["proposed"]}

    assert {"failure", "recovery"} <= proposed.keys()
    assert "query_ledger" in proposed["recovery"]["content"] + proposed["recovery"]["trigger"]
    assert all(lesson["approval"] == "pending" for lesson in proposed.values())


def test_a_standing_preference_reaches_a_prompt_about_something_else(summary: Result):
    example = _example(summary, "suggest a name for the new printer")

    assert "I prefer bullet points" in example["standing"]
    assert example["standing"] in example["context"]


def test_a_correction_becomes_a_lesson_with_the_mistake_and_a_newer_value_ends_it(summary: Result):
    lesson = next(memory for memory in summary.json["memories"] if "us-west-2" in memory["content"])
    (ended,) = _changes(summary, "superseded", "jonas")
    context = _example(summary, "which region do I deploy production to")["context"]

    assert "us-east-1" in lesson["pitfall"]
    assert lesson["status"] == "superseded"
    assert (ended["cause"], ended["id"]) == ("new_value", str(lesson["user_playbook_id"]))
    assert "Use eu-central-1 for production deploys." in context.split("User said:")[0]
    assert "us-west-2" not in context.split("User said:")[0]


def test_a_conflict_is_settled_for_the_newer_side(summary: Result):
    (conflict,) = _changes(summary, "conflict", "maya")
    (ended,) = _changes(summary, "superseded", "maya")
    memories = _example(summary, "when is our standup")["context"].split("User said:")[0]

    assert conflict["conflict_state"] == "settled"
    assert (ended["before"], ended["actor"]) == ("Our standup is at 9:30.", "local")
    assert "Our standup is at 10:00." in memories
    assert "9:30" not in memories


def test_a_forgotten_rule_is_restored_by_undo(summary: Result):
    (forgotten,) = _changes(summary, "forgotten", "theo")
    (restored,) = _changes(summary, "restored", "theo")
    context = _example(summary, "roll back the payment service")["context"]

    assert forgotten["quote"] == "Forget the rule about the on-call person."
    assert forgotten["undone_by"]
    assert restored["id"] == forgotten["id"]
    assert "Never roll back the payment service before the on-call person has agreed." in context


def test_nothing_is_learned_twice_from_an_echo(summary: Result):
    contents = [memory["content"] for memory in summary.json["memories"]]

    assert len(contents) == len(set(contents))


def test_the_day_is_stored_and_not_played_over(summary: Result, run: Run, played: Path):
    again = run("demo", "--data", str(played))

    assert (played / "acumen.db").exists()
    assert again.code == 1
    assert "not empty" in again.err


def test_the_output_shows_each_step_and_what_to_try_next(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    titles = ("Morning deploy", "Release notes", "The region moves", "The sprint plan")
    standup = next(session for session in PAST if session.title == "The mobile build")
    monkeypatch.setattr("acumen.cli.demo.player.PAST", (standup,))
    monkeypatch.setattr("acumen.cli.demo.player.WEEKS", ())
    reviewed = [part for part in DAY if part.title in titles or (isinstance(part, Review) and part.user == "maya")]
    monkeypatch.setattr("acumen.cli.demo.player.DAY", reviewed)

    output = run("demo", "--data", str(tmp_path / "day")).out

    verbs = ("learns", "recalls", "cites", "echoes", "ends", "conflict", "settles", "spent", "Flagged for review")
    assert [word for word in (*verbs, "acumen serve --data", "acumen changes") if word not in output] == []
