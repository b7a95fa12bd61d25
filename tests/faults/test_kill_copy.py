"""kill -9 in the middle of `acumen migrate --from … --to …`: the next run goes on, and the copy is whole."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from acumen.operate import migrate_database
from acumen.settings import Settings
from acumen.storage.store import connect
from acumen.storage.tables import interactions

# Several batches, the last of which no kill can wait for.
TURNS = 24_000
TURN = {
    **dict.fromkeys(("shadow_content", "expert_content", "user_action", "user_action_description"), ""),
    "org_id": "acme",
    "user_id": "ada",
    "session_id": "s1",
    "request_id": "r1",
    "role": "User",
    "image_url": "",
    "image_encoding": "",
    "created_at": 1,
    "updated_at": 1,
}


@pytest.fixture
def source(tmp_path: Path) -> Settings:
    settings = Settings(data=tmp_path / "source")
    migrate_database(settings)
    database = connect(settings)
    with database.engine().begin() as conn:
        conn.execute(sa.insert(interactions), [{**TURN, "content": f"turn {number}"} for number in range(TURNS)])
    database.close()
    return settings


def test_a_copy_that_is_killed_goes_on_and_is_whole(source: Settings, postgres_database: str) -> None:
    with copying(source, postgres_database) as first:
        assert first.stderr is not None
        reached = next(line for line in first.stderr if line.startswith("copy   interactions"))
        first.kill()
    planned = finished(copying(source, postgres_database, "--dry-run"))
    served = subprocess.run(
        [sys.executable, "-m", "acumen.cli.main", "serve", "--port", "0"],
        env={**os.environ, "ACUMEN_DATABASE_URL": postgres_database},
        capture_output=True,
        text=True,
        check=False,
    )
    done = finished(copying(source, postgres_database))

    assert "of 24,000" in reached
    assert 0 < planned["copied"]["interactions"] < TURNS
    assert "unfinished copy" in served.stderr
    assert done["rows"] == {"interactions": TURNS}
    assert stored(postgres_database) == {(number + 1, f"turn {number}") for number in range(TURNS)}


def copying(source: Settings, target: str, *options: str) -> "subprocess.Popen[str]":
    words = [sys.executable, "-m", "acumen.cli.main", "migrate", "--json", *options]
    ends = ["--from", f"sqlite:///{source.sqlite_path}", "--to", target]
    return subprocess.Popen([*words, *ends], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finished(process: "subprocess.Popen[str]") -> Any:
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return json.loads(out)


def stored(url: str) -> set[tuple[int, str]]:
    database = connect(Settings(database_url=url))
    with database.engine().connect() as conn:
        query = sa.select(interactions.c.interaction_id, interactions.c.content)
        rows = {(row.interaction_id, row.content) for row in conn.execute(query)}
    database.close()
    return rows
