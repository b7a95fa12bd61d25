"""A million memories within minutes: rows as learning would leave them, written past the server.

Lessons are put together from a few hundred statements, in numbers: every word is frequent but the ticket's, meanings
lie in clusters, and a part of the rows fits each filter. Lineage is left out, no search reads it.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import sqlalchemy as sa
from msgspec import Struct
from numpy.typing import NDArray

from acumen.index.documents import ANALYSER
from acumen.index.tokenizer import terms
from acumen.llm.embedding import NAME
from acumen.model.ids import Kind, now
from acumen.model.times import DAY_MS
from acumen.storage.engine.database import Database
from acumen.storage.tables import orgs, search_rows, user_playbooks

Vectors = NDArray[np.float32]

ROWS_AT_ONCE = 20_000
DAYS = 90
LESSON_COLUMNS = (
    *("playbook_id", "org_id", "user_id", "content", "status", "agent_version", "tags", "created_at", "updated_at"),
    *("request_id", "name", "subject", "value", "engine", "model", "prompt_hash", "category"),
    *("mentions", "version", "confidence", "standing"),
)
LESSON_REST = ("", "", "", "", "rules", "", "", "fact", 1, 1, 1.0, False)
ROW_COLUMNS = (
    *("org_id", "kind", "entity_id", "user_id", "seq", "gone", "analyser", "terms", "model", "vector"),
    *("created_at", "updated_at"),
)


class Parts(Struct, frozen=True):
    """What lessons are put together from: statements with the vectors of their meanings."""

    texts: Sequence[str]
    vectors: Vectors


class Owners(Struct, frozen=True):
    """The first `large` lessons are those of `user-0`; the others have `of_each` of their own."""

    large: int
    of_each: int = 1_000

    def __call__(self, number: int) -> str:
        return "user-0" if number < self.large else f"user-{1 + (number - self.large) // self.of_each}"


def fill(database: Database, org: str, parts: Parts, count: int, owners: Owners) -> None:
    """So many user playbooks of a new org."""
    with database.engine().begin() as conn:
        first = -1 if database.name == "postgres" else count
        stamps = {"created_at": now(), "updated_at": now(), "config": {}, "config_version": 0}
        names = set(orgs.c.keys())
        row = {name: value for name, value in stamps.items() if name in names}
        conn.execute(sa.insert(orgs).values(org_id=org, search_seq=first, generation=0, **row))
        for lessons, rows in _batches(org, parts, count, owners):
            _copy(conn, user_playbooks, LESSON_COLUMNS, lessons)
            _copy(conn, search_rows, ROW_COLUMNS, rows)
    _analyse(database)


def _analyse(database: Database) -> None:
    """As autovacuum would have done since."""
    with database.engine().connect().execution_options(isolation_level="AUTOCOMMIT") as conn:
        statement = "VACUUM (ANALYZE) search_rows, user_playbooks" if database.name == "postgres" else "ANALYZE"
        conn.exec_driver_sql(statement)


Rows = list[tuple[Any, ...]]


def _batches(org: str, parts: Parts, count: int, owners: Owners) -> Iterator[tuple[Rows, Rows]]:
    random, words = np.random.default_rng(count), [" ".join(terms(text)) for text in parts.texts]
    for start in range(0, count, ROWS_AT_ONCE):
        many = min(ROWS_AT_ONCE, count - start)
        first, second = random.integers(0, len(parts.texts), (2, many))
        stored = _mixed(parts.vectors, first, second, random).astype(np.float16)
        ages = random.integers(0, DAYS * DAY_MS, many)
        # Of a hundred: 10 archived; 30 and 1 with a tag; 19 and 1 of other versions.
        percent = random.integers(0, 100, (3, many))
        lessons, rows = [], []
        for place in range(many):
            number, a, b = start + place, int(first[place]), int(second[place])
            at, user, ticket = now() - int(ages[place]), owners(number), f"TICKET-{number}"
            status = "archived" if percent[0, place] < 10 else "current"
            tags = '["rare"]' if percent[1, place] < 1 else '["usual"]' if percent[1, place] < 31 else None
            version = "v3" if percent[2, place] < 1 else "v2" if percent[2, place] < 20 else "v1"
            text = f"{parts.texts[a]} {parts.texts[b]} See {ticket}."
            lessons.append((number + 1, org, user, text, status, version, tags, at, at, *LESSON_REST))
            found_by = f"{words[a]} {words[b]} {' '.join(terms(ticket))}"
            rows.append(
                (
                    *(org, str(Kind.USER_PLAYBOOK), str(number + 1), user, number + 1, False, ANALYSER, found_by, NAME),
                    *(stored[place].tobytes(), at, at),
                )
            )
        yield lessons, rows


def _mixed(vectors: Vectors, first: Any, second: Any, random: np.random.Generator) -> Vectors:
    """The meaning of the first statement leads, and no two memories mean quite the same."""
    share = random.uniform(0.55, 0.85, (len(first), 1)).astype(np.float32)
    noise = random.standard_normal((len(first), vectors.shape[1]), np.float32) * np.float32(0.015)
    mixed = share * vectors[first] + (1 - share) * vectors[second] + noise
    lengths: Vectors = np.linalg.norm(mixed, axis=1, keepdims=True)
    unit: Vectors = mixed / lengths
    return unit


def _copy(conn: sa.Connection, table: sa.Table, columns: Sequence[str], rows: Rows) -> None:
    driver: Any = conn.connection.driver_connection
    names = ", ".join(columns)
    if conn.dialect.name == "postgresql":
        with driver.cursor() as cursor, cursor.copy(f"COPY {table.name} ({names}) FROM STDIN") as copy:
            for row in rows:
                copy.write_row(row)
    else:
        gaps = ", ".join("?" * len(columns))
        driver.executemany(f"INSERT INTO {table.name} ({names}) VALUES ({gaps})", rows)
