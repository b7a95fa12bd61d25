"""A million memories within minutes: rows as learning would leave them, written past the server.

Lessons are put together from a few hundred statements, in numbers: every word is frequent but the ticket's, meanings
lie in clusters, and a part of the rows fits each filter. Lineage is left out, no search reads it.
"""

from collections.abc import Sequence
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
from acumen.storage.tables import agent_playbooks, orgs, search_rows, user_playbooks

Vectors = NDArray[np.float32]

ROWS_AT_ONCE = 20_000
DAYS = 90
# The columns of a lesson that differ from row to row, and the others.
LESSON = ("playbook_id", "org_id", "user_id", "content", "status", "agent_version", "tags", "created_at", "updated_at")
SAME = {
    **dict.fromkeys(("request_id", "name", "subject", "value", "model", "prompt_hash"), ""),
    "engine": "rules",
    "category": "fact",
    "approval": "approved",
    "mentions": 1,
    "version": 1,
    "confidence": 1.0,
    "standing": False,
}
TABLES = {Kind.USER_PLAYBOOK: user_playbooks, Kind.AGENT_PLAYBOOK: agent_playbooks}
ROW = (
    *("org_id", "kind", "entity_id", "user_id", "seq", "gone", "analyser", "terms", "model", "vector"),
    *("created_at", "updated_at"),
)


class Parts(Struct, frozen=True):
    """What lessons are put together from: statements with the vectors of their meanings."""

    texts: Sequence[str]
    vectors: Vectors
    words: Sequence[str]

    @staticmethod
    def of(texts: Sequence[str], vectors: Vectors) -> "Parts":
        return Parts(texts, vectors, [" ".join(terms(text)) for text in texts])


class Owners(Struct, frozen=True):
    """The first `large` lessons are those of `user-0`; the others have `of_each` of their own."""

    large: int
    of_each: int = 1_000

    def __call__(self, number: int) -> str:
        return "user-0" if number < self.large else f"user-{1 + (number - self.large) // self.of_each}"


def make_org(database: Database, org: str) -> None:
    first = -1 if database.name == "postgres" else 0
    stamps = {"created_at": now(), "updated_at": now(), "config_version": 0, "generation": 0}
    with database.engine().begin() as conn:
        conn.execute(sa.insert(orgs).values(org_id=org, search_seq=first, **stamps))


def fill(database: Database, org: str, kind: Kind, parts: Parts, count: int, owners: Owners) -> None:
    """So many memories of a kind of which there are none yet in this database."""
    with database.engine().begin() as conn:
        for start in range(0, count, ROWS_AT_ONCE):
            lessons, rows = _batch(org, kind, parts, range(start, min(start + ROWS_AT_ONCE, count)), owners)
            _copy(conn, TABLES[kind], lessons)
            _copy(conn, search_rows, rows)
        if database.name == "postgres":  # as if it had given the ids
            sequence = f"pg_get_serial_sequence('{TABLES[kind].name}', 'playbook_id')"
            conn.exec_driver_sql(f"SELECT setval({sequence}, {count})")
        else:
            conn.execute(sa.update(orgs).where(orgs.c.org_id == org).values(search_seq=orgs.c.search_seq + count))
    _analyse(database)


def _analyse(database: Database) -> None:
    """As autovacuum would have done since."""
    tables = ", ".join(table.name for table in (*TABLES.values(), search_rows))
    with database.engine().connect().execution_options(isolation_level="AUTOCOMMIT") as conn:
        conn.exec_driver_sql(f"VACUUM (ANALYZE) {tables}" if database.name == "postgres" else "ANALYZE")


Columns = tuple[Sequence[str], list[tuple[Any, ...]]]


def _batch(org: str, kind: Kind, parts: Parts, numbers: range, owners: Owners) -> tuple[Columns, Columns]:
    """Of a hundred lessons 10 are archived, 30 and 1 have a tag, 19 and 1 are of other versions."""
    random, many = np.random.default_rng(numbers.start), len(numbers)
    first, second = random.integers(0, len(parts.texts), (2, many))
    vectors = _mixed(parts.vectors, first, second, random).astype(np.float16)
    ages, percent = random.integers(0, DAYS * DAY_MS, many), random.integers(0, 100, (3, many))
    lessons: list[tuple[Any, ...]] = []
    rows: list[tuple[Any, ...]] = []
    for place, number in enumerate(numbers):
        a, b, ticket = int(first[place]), int(second[place]), f"TICKET-{number}"
        at, user = now() - int(ages[place]), owners(number) if kind is Kind.USER_PLAYBOOK else ""
        status = "archived" if percent[0, place] < 10 else "current"
        tags = '["rare"]' if percent[1, place] < 1 else '["usual"]' if percent[1, place] < 31 else None
        version = "v3" if percent[2, place] < 1 else "v2" if percent[2, place] < 20 else "v1"
        text = f"{parts.texts[a]} {parts.texts[b]} See {ticket}."
        lessons.append((number + 1, org, user, text, status, version, tags, at, at))
        words = f"{parts.words[a]} {parts.words[b]} {' '.join(terms(ticket))}"
        found_by = (org, str(kind), str(number + 1), user, number + 1, False, ANALYSER, words, NAME)
        rows.append((*found_by, vectors[place].tobytes(), at, at))
    return (LESSON, lessons), (ROW, rows)


def _mixed(vectors: Vectors, first: Any, second: Any, random: np.random.Generator) -> Vectors:
    """The meaning of the first statement leads, and no two memories mean quite the same."""
    share = random.uniform(0.55, 0.85, (len(first), 1)).astype(np.float32)
    noise = random.standard_normal((len(first), vectors.shape[1]), np.float32) * np.float32(0.015)
    mixed = share * vectors[first] + (1 - share) * vectors[second] + noise
    lengths: Vectors = np.linalg.norm(mixed, axis=1, keepdims=True)
    unit: Vectors = mixed / lengths
    return unit


def _copy(conn: sa.Connection, table: sa.Table, columns: Columns) -> None:
    """Columns that the table does not have are left out, others that it needs are added."""
    names, rows = columns
    places = [place for place, name in enumerate(names) if name in table.c]
    same = {name: value for name, value in SAME.items() if name in table.c and name not in names}
    listed, values = ", ".join([*(names[place] for place in places), *same]), tuple(same.values())
    copied = [(*(row[place] for place in places), *values) for row in rows]
    driver: Any = conn.connection.driver_connection
    if conn.dialect.name == "postgresql":
        with driver.cursor() as cursor, cursor.copy(f"COPY {table.name} ({listed}) FROM STDIN") as copy:
            for row in copied:
                copy.write_row(row)
    else:
        gaps = ", ".join("?" * len(copied[0]))
        driver.executemany(f"INSERT INTO {table.name} ({listed}) VALUES ({gaps})", copied)
