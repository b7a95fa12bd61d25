"""`acumen migrate` and `acumen worker`, on the databases they are for."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from acumen.storage.engine.migrate import HEAD
from tests.cli.conftest import ACUMEN, PATIENCE_SECONDS, Run, serving


def test_checking_tells_and_makes_nothing(run: Run, tmp_path: Path):
    result = run("migrate", "--check", "--json", "--data", str(tmp_path / "new"))

    assert result.code == 0
    assert result.json == {"before": None, "after": None, "newest": HEAD, "needed": True}
    assert not (tmp_path / "new").exists()


def test_migrating_says_from_where_to_where(run: Run, tmp_path: Path):
    first = run("migrate", "--data", str(tmp_path))
    again = run("migrate", "--data", str(tmp_path))

    assert f"from schema none to {HEAD}" in first.out
    assert "Nothing to do" in again.out


def test_a_worker_on_sqlite_says_why_not(run: Run):
    result = run("worker")

    assert result.code == 1
    assert "Postgres" in result.err


def test_on_postgres_a_person_migrates_and_workers_share_the_work(
    run: Run, postgres_database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("ACUMEN_DATABASE_URL", postgres_database)
    too_early = run("serve", "--port", "0")
    migrated = run("migrate", "--json").json

    with serving(tmp_path, "--workers", "0") as served, _working() as worker:
        published = run("publish", "--url", served.url, "--user", "ana", "--wait", "--json", "user: Always use tabs.")
        worker.terminate()
        code = worker.wait(PATIENCE_SECONDS)

    assert "acumen migrate" in too_early.err
    assert (migrated["before"], migrated["after"]) == (None, HEAD)
    assert published.json["playbooks_added"] == 1
    assert code == 0


def _working() -> subprocess.Popen[str]:
    worker = subprocess.Popen([*ACUMEN, "worker", "--json"], stdout=subprocess.PIPE, text=True, env=dict(os.environ))
    assert worker.stdout is not None
    assert json.loads(worker.stdout.readline())["workers"] == 4
    return worker
