"""`acumen demo`: a day through the whole loop, told from what the server answers."""

from pathlib import Path

import pytest

from acumen.cli.day import DAY, PAST, WEEKS
from tests.cli.conftest import Result, Run


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo") / "day"


@pytest.fixture
def summary(run: Run, played: Path, cache: dict[Path, Result]) -> Result:
    """Played once; every test looks at the same day."""
    if played not in cache:
        cache[played] = run("demo", "--json", "--data", str(played))
    return cache[played]


@pytest.fixture(scope="module")
def cache() -> dict[Path, Result]:
    return {}


def test_the_day_teaches_recalls_costs_and_flags(summary: Result):
    told = summary.json

    assert summary.code == 0
    assert told["learned"] > 10
    assert told["recalled"] > 5
    assert told["tokens"] > 100
    assert told["flagged"] > 0
    assert told["sessions"] == len(PAST) + len(WEEKS) + len(DAY)


def test_what_is_flagged_is_old_and_unused_or_costs_and_is_never_cited(summary: Result):
    flagged = summary.json["review"]

    stale = {one["title"] for one in flagged if one["signals"] == ["stale"]}
    costly = {one["title"] for one in flagged if one["signals"] == ["high_cost_low_cite"]}
    assert len(stale) + len(costly) == len(flagged)
    assert any("BLOOM15" in title for title in stale)
    assert any("British spelling" in title for title in costly)


def test_what_failed_and_what_helped_is_proposed(summary: Result):
    proposed = {one["about"]: one for one in summary.json["proposed"]}

    assert {"failure", "recovery"} <= proposed.keys()
    assert "query_ledger" in proposed["recovery"]["content"] + proposed["recovery"]["trigger"]
    assert all(one["approval"] == "pending" for one in proposed.values())


def test_the_region_that_changed_is_the_one_recalled(summary: Result):
    context = summary.json["example"]["context"]

    assert "eu-central-1" in context
    assert "always uses us-west-2" not in context
    assert summary.json["replaced"] >= 1


def test_what_came_back_as_an_echo_was_not_learned_again(summary: Result):
    contents = [memory["content"] for memory in summary.json["memories"]]

    assert len(contents) == len(set(contents))


def test_the_day_is_kept_and_not_played_over(summary: Result, run: Run, played: Path):
    again = run("demo", "--data", str(played))

    assert (played / "acumen.db").exists()
    assert again.code == 1
    assert "not empty" in again.err


def test_the_story_shows_each_verb_and_where_to_look(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    titles = ("Morning deploy", "A new endpoint", "The region moves")
    monkeypatch.setattr("acumen.cli.demo.PAST", ())
    monkeypatch.setattr("acumen.cli.demo.WEEKS", ())
    monkeypatch.setattr("acumen.cli.demo.DAY", [session for session in DAY if session.title in titles])

    story = run("demo", "--data", str(tmp_path / "day")).out

    told = ("learns", "recalls", "cites", "echoes", "replaces", "spent", "Flagged for review", "acumen serve --data")
    assert [word for word in told if word not in story] == []
