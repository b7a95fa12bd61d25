"""Three servers and three workers on one Postgres, with kill -9 and crashes of Postgres: see `chaos.py`.

Shortened here; `make bench ARGS=chaos` runs it for two minutes.
"""

from pathlib import Path
from typing import LiteralString

import psycopg

from tests import postgres as pg
from tests.faults import chaos

SECONDS = 25.0
# What the checks must notice.
DAMAGES: tuple[LiteralString, ...] = (
    "DELETE FROM interactions WHERE interaction_id = (SELECT max(interaction_id) FROM interactions)",
    "DELETE FROM operations WHERE op_id = (SELECT min(op_id) FROM operations WHERE group_id IS NULL)",
    "UPDATE profiles SET content = 'the same', interaction_ids = '[1]', status = 'current'",
    "UPDATE jobs SET state = 'dead' WHERE event = 'hour'",
)


def test_nothing_is_lost_or_doubled_while_processes_are_killed_and_postgres_crashes(tmp_path: Path) -> None:
    with pg.running(durable=False) as server:
        url = chaos.migrated(server)
        outcome = chaos.run(server, url, tmp_path, SECONDS, seed=1)
        problems = outcome.check()
        with psycopg.connect(url) as conn:
            for damage in DAMAGES:
                conn.execute(damage)
        noticed = outcome.check()

    assert problems == {}
    assert set(noticed) == {
        "requests lost",
        "operations lost",
        "operations counted wrongly",
        "learned twice",
        "dead jobs",
    }
    assert sum(outcome.faults.values()) >= 5
    assert all(outcome.acknowledged.values()), outcome.acknowledged
