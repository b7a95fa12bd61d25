"""Scheduled backups: made by a job, checked, rotated; a failure is an alert and in /health."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from acumen.errors import BadSettings
from acumen.settings import load
from tests.world import Clock, Org, Start, local, once, profile


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "backups"


@pytest.fixture
def full_folder(folder: Path) -> tuple[list[Path], list[Path]]:
    """Files that are the schedule's, oldest first, and files that are not."""
    folder.mkdir()
    ours = [folder / f"acumen-2020010{day}T000000Z.db" for day in range(1, 5)]
    others = [folder / name for name in ("acumen-mine.db", "notes.txt", "acumen-20200101T000000Z.db.gz")]
    for path in (*ours, *others):
        path.write_text("x")
    return ours, others


@pytest.fixture
def blocked_folder(folder: Path) -> Path:
    """A file is where the folder should be."""
    folder.write_text("x")
    return folder


def backups(folder: Path) -> list[Path]:
    return sorted(folder.glob("acumen-*.db"))


def unblock(folder: Path) -> None:
    folder.rename(f"{folder}.txt")


async def health(org: Org) -> dict[str, str]:
    return (await org.send("GET", "/health")).json()["checks"]["backup"]


@once
async def test_a_backup_is_made_at_the_first_start_and_then_every_so_many_hours(
    start: Start, clock: Clock, folder: Path
):
    org = local(await start(backup={"folder": str(folder), "every_hours": 6}))
    await org.sdk.add_profiles(user_profiles=[profile("Lives in Paris")])
    await org.learn()
    (made,) = backups(folder)
    with closing(sqlite3.connect(made)) as conn:
        assert conn.execute("SELECT content FROM profiles").fetchall() == [("Lives in Paris",)]

    await org.learn()
    assert backups(folder) == [made]
    clock.forward(hours=7)
    made.rename(folder / "acumen-20200101T000000Z.db")  # names have seconds, and this test takes less
    await org.learn()

    assert len(backups(folder)) == 2
    assert (await health(org))["status"] == "passed"
    assert "last backup" in (await health(org))["reason"]


@once
async def test_the_oldest_are_deleted_and_no_other_file(
    start: Start, folder: Path, full_folder: tuple[list[Path], list[Path]]
):
    ours, others = full_folder
    org = local(await start(backup={"folder": str(folder), "keep": 2}))

    await org.learn()

    assert [path.exists() for path in ours] == [False, False, False, True]
    assert all(path.exists() for path in others)


@once
async def test_a_backup_that_fails_is_an_alert_until_one_succeeds(start: Start, clock: Clock, blocked_folder: Path):
    org = local(await start(backup={"folder": str(blocked_folder)}, jobs={"attempts": 2, "backoff_seconds": 0.01}))
    for _ in range(2):
        await org.learn()
        clock.forward(seconds=30)
    clock.forward(minutes=6)
    await org.learn()

    failed, alerts = await health(org), (await org.send("GET", "/api/status")).json()["alerts"]
    unblock(blocked_folder)
    clock.forward(hours=25)
    await org.learn()

    assert (failed["status"], failed["required"]) == ("failed", False)
    assert "File exists" in failed["reason"]
    assert [alert["kind"] for alert in alerts] == ["backup_failing"]
    assert (await health(org))["status"] == "passed"
    assert len(backups(blocked_folder)) == 1


def test_a_folder_with_postgres_stops_the_start_with_a_sentence():
    with pytest.raises(BadSettings, match=r"^backup\.folder is for SQLite; .*pg_dump\.$"):
        load({"ACUMEN_BACKUP__FOLDER": "/backups", "ACUMEN_DATABASE_URL": "postgresql://127.0.0.1/canary"})
