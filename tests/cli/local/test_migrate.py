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
    assert result.json == {"before": None, "after": None, "newest": HEAD, "advice": None, "needed": True}
    assert not (tmp_path / "new").exists()


def test_migrating_says_from_where_to_where(run: Run, tmp_path: Path):
    first = run("migrate", "--data", str(tmp_path))
    again = run("migrate", "--data", str(tmp_path))

    assert f"from schema none to {HEAD}" in first.out
    assert "Nothing to do" in again.out


def test_moving_a_store_shows_its_progress_and_its_end(run: Run, tmp_path: Path):
    there, here = str(tmp_path / "there"), f"sqlite:///{tmp_path / 'here' / 'acumen.db'}"
    run("keys", "create", "laptop", "--data", there)

    planned = run("migrate", "--to", here, "--dry-run", "--data", there)
    untouched = not (tmp_path / "here").exists()
    moved = run("migrate", "--to", here, "--data", there)
    refused = run("migrate", "--to", here, "--data", there)

    assert "api_keys  1     0" in planned.out
    assert untouched
    assert "copy   api_keys                            1 of 1" in moved.err
    assert "counts and checksums are equal" in moved.out
    assert (refused.code, "The target has data already: api_keys (1)" in refused.err) == (1, True)


def test_a_target_without_a_suffix_becomes_a_data_folder_that_only_its_owner_reads(run: Run, tmp_path: Path):
    there, here = str(tmp_path / "there"), tmp_path / "here"
    run("keys", "create", "laptop", "--data", there)

    moved = run("migrate", "--to", f"sqlite:///{here}", "--data", there)
    listed = run("keys", "list", "--data", str(here))

    assert (moved.code, "laptop" in listed.out) == (0, True)
    assert [oct(path.stat().st_mode & 0o777) for path in (here, here / "acumen.db")] == ["0o700", "0o600"]


@pytest.mark.parametrize(
    "options, wrong",
    [
        (["--dry-run"], "--dry-run goes with --from or --to"),
        (["--check", "--to", "sqlite:////tmp/none/acumen.db"], "--check is about the schema"),
        (["--to", "/tmp/none"], "Name a database by its URL"),
        (["--from", "sqlite:////nowhere/acumen.db"], "There is no database at /nowhere/acumen.db"),
    ],
)
def test_what_cannot_be_moved_is_refused(run: Run, tmp_path: Path, options: list[str], wrong: str):
    result = run("migrate", *options, "--data", str(tmp_path / "data"))

    assert result.code == 1
    assert wrong in result.err
    assert not (tmp_path / "data").exists()


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
