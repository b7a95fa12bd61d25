"""`acumen restore`: a checked backup in the place of the database, or nothing is changed."""

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from acumen_client.calls import Calls
from tests.cli.conftest import Run
from tests.faults.server import Server
from tests.world import profile


@pytest.fixture
def data(run: Run, tmp_path: Path) -> Path:
    """With a key, and a backup next to it that was made before a second key."""
    folder = tmp_path / "data"
    run("keys", "create", "first", "--data", str(folder))
    run("backup", str(tmp_path / "copy.db"), "--data", str(folder))
    run("keys", "create", "second", "--data", str(folder))
    return folder


@pytest.fixture
def copy(data: Path) -> Path:
    return data.parent / "copy.db"


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if not path.name.endswith("-shm")}


def keys(run: Run, folder: Path) -> set[str]:
    out = run("keys", "list", "--data", str(folder)).out
    return {name for name in ("first", "second") if name in out}


def test_a_backup_replaces_the_database_which_is_kept_under_another_name(run: Run, data: Path, copy: Path):
    done = run("restore", str(copy), "--overwrite", "--data", str(data), "--json").json

    assert keys(run, data) == {"first"}
    assert done["counts"]["orgs"] == 1
    replaced, again = Path(done["replaced"]), data.parent / "again"
    again.mkdir()
    shutil.copy(replaced, again / "acumen.db")
    assert keys(run, again) == {"first", "second"}
    assert {path.name for path in data.iterdir() if ".restore" in path.name} == set()


def test_a_backup_is_restored_into_a_new_folder(run: Run, copy: Path, tmp_path: Path):
    result = run("restore", str(copy), "--data", str(tmp_path / "new"))

    assert "It holds 1 orgs" in result.out
    assert keys(run, tmp_path / "new") == {"first"}
    assert (tmp_path / "new" / "acumen.db").stat().st_mode & 0o077 == 0


def test_a_database_that_was_copied_with_its_log_keeps_its_newest_writes(run: Run, tmp_path: Path):
    live = tmp_path / "live.db"
    with closing(sqlite3.connect(live)) as conn:
        run("migrate", "--data", str(tmp_path / "m"))
        shutil.copy(tmp_path / "m" / "acumen.db", live)
        conn.execute("PRAGMA journal_mode=WAL")
        row = "INSERT INTO orgs (org_id, created_at, updated_at, config_version, search_seq, generation, scanned_seq)"
        conn.execute(f"{row} VALUES ('in-the-log', 0, 0, 0, 0, 0, 0)")
        conn.commit()
        for suffix in ("", "-wal"):
            shutil.copy(f"{live}{suffix}", tmp_path / f"copied.db{suffix}")

    done = run("restore", str(tmp_path / "copied.db"), "--data", str(tmp_path / "new"), "--json")

    assert done.json["counts"]["orgs"] == 1


def _flip(path: Path) -> None:
    page = bytearray(path.read_bytes())
    page[8192:12288] = bytes(4096)
    path.write_bytes(page)


def _stamp(revision: str) -> Callable[[Path], None]:
    def stamp(path: Path) -> None:
        with closing(sqlite3.connect(path)) as conn:
            conn.execute("UPDATE alembic_version SET version_num = ?", (revision,))
            conn.commit()

    return stamp


def _other(path: Path) -> None:
    path.unlink()
    with closing(sqlite3.connect(path)) as conn:
        conn.execute("CREATE TABLE notes (text)")
        conn.commit()


@pytest.mark.parametrize(
    "spoil,said",
    [
        (_flip, "damaged|cannot be read"),
        (lambda path: path.write_text("not a database, but long enough to have a header" * 9), "cannot be read"),
        (_other, "not a database of Acumen"),
        (_stamp("9999"), "schema 9999"),
        (_stamp("0001"), "schema 0001"),
        (lambda path: path.unlink(), "There is no file"),
    ],
    ids=["damaged", "text", "other", "newer", "older", "missing"],
)
def test_what_cannot_be_restored_is_refused_and_nothing_is_changed(
    run: Run, data: Path, copy: Path, spoil: Callable[[Path], None], said: str
):
    spoil(copy)
    before = contents(data)

    result = run("restore", str(copy), "--overwrite", "--data", str(data))

    assert result.code == 1
    assert any(words in result.err for words in said.split("|")), result.err
    assert contents(data) == before


def test_a_database_is_not_overwritten_unless_asked_nor_by_itself(run: Run, data: Path, copy: Path):
    before = contents(data)

    refused = run("restore", str(copy), "--data", str(data))
    itself = run("restore", str(data / "acumen.db"), "--overwrite", "--data", str(data))

    assert (refused.code, "--overwrite" in refused.err) == (1, True)
    assert (itself.code, "is the database itself" in itself.err) == (1, True)
    assert contents(data) == before


def test_postgres_is_restored_with_its_own_tools(run: Run, copy: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ACUMEN_DATABASE_URL", "postgresql://127.0.0.1:1/x")

    assert "pg_restore" in run("restore", str(copy)).err


def test_the_database_of_a_running_server_is_left_alone_and_a_stopped_one_serves_the_restored(run: Run, tmp_path: Path):
    server = Server(tmp_path / "data", tmp_path / "log").start()
    server.call(Calls.add_profiles, {"user_profiles": [profile("Lives in Paris")]})
    run("backup", str(tmp_path / "copy.db"), "--data", str(server.data))
    server.call(Calls.add_profiles, {"user_profiles": [profile("Lives in Lyon")]})
    words = ("restore", str(tmp_path / "copy.db"), "--overwrite", "--data", str(server.data))

    while_running = run(*words)
    server.kill()
    after_a_kill = run(*words)
    server.start()

    stored = server.call(Calls.profiles, {"user_id": "ada"}).json["user_profiles"]
    server.stop()
    assert (while_running.code, "is in use" in while_running.err) == (1, True)
    assert after_a_kill.code == 0
    assert [each["content"] for each in stored] == ["Lives in Paris"]
