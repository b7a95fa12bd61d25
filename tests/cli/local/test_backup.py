"""`acumen backup`: a copy that can be trusted, of what is in use."""

from pathlib import Path

from acumen.settings import load
from acumen.storage.engine import backup
from tests.cli.conftest import Run


def test_a_copy_is_whole_private_and_remembered(run: Run, tmp_path: Path):
    data, copy = tmp_path / "data", tmp_path / "elsewhere" / "acumen.db"
    copy.parent.mkdir()
    run("keys", "create", "laptop", "--data", str(data))

    made = run("backup", str(copy), "--data", str(data), "--json")
    (tmp_path / "restored").mkdir()
    (tmp_path / "restored" / "acumen.db").write_bytes(copy.read_bytes())

    last = backup.last(load({"ACUMEN_DATA": str(data)}))
    assert "laptop" in run("keys", "list", "--data", str(tmp_path / "restored")).out
    assert made.json["bytes"] == copy.stat().st_size
    assert copy.stat().st_mode & 0o077 == 0
    assert (last.path, last.at, last.exists) == (str(copy), made.json["at"], True)
    assert list(copy.parent.iterdir()) == [copy]


def test_nothing_is_written_over_and_nothing_made_of_nothing(run: Run, tmp_path: Path):
    taken = tmp_path / "taken.db"
    taken.write_text("mine")
    run("migrate", "--data", str(tmp_path / "data"))

    over = run("backup", str(taken), "--data", str(tmp_path / "data"))
    of_nothing = run("backup", str(tmp_path / "new.db"), "--data", str(tmp_path / "none"))

    assert (over.code, "exists already" in over.err, taken.read_text()) == (1, True, "mine")
    assert (of_nothing.code, "no database" in of_nothing.err) == (1, True)
    assert not (tmp_path / "none").exists()


def test_a_folder_that_does_not_exist_is_named(run: Run, tmp_path: Path):
    run("migrate", "--data", str(tmp_path / "data"))

    result = run("backup", str(tmp_path / "nowhere" / "x.db"), "--data", str(tmp_path / "data"))

    assert result.err == f"acumen: Folder {tmp_path / 'nowhere'} does not exist.\n"
