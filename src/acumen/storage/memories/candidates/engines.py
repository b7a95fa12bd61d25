"""Which engine finds candidates in this database, and what is missing where none does."""

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from acumen.model.ids import Kind
from acumen.storage.engine.database import Database
from acumen.storage.engine.scope import OrgScope
from acumen.storage.memories.candidates import postgres_schema
from acumen.storage.memories.candidates.engine import CandidateEngine
from acumen.storage.memories.candidates.postgres import PostgresCandidates
from acumen.storage.memories.candidates.postgres_schema import Progress
from acumen.storage.memories.memory_rows import MemoryRows


def install(database: Database, progress: Progress) -> None:
    """Creates and fills what finding candidates needs, where the server has it; may be run again at any time."""
    if database.name == "postgres":
        postgres_schema.install(database, progress)


def advice(database: Database, conn: sa.Connection) -> str | None:
    """What a person has to do so that the database can search large scopes; None: nothing."""
    return postgres_schema.problem(conn) if database.name == "postgres" else None


def engine_of(scope: OrgScope, rows: Mapping[Kind, MemoryRows[Any]]) -> CandidateEngine | None:
    """None where every scope has to be read into memory."""
    if scope.db.name != "postgres" or postgres_schema.problem(scope.conn):
        return None
    return PostgresCandidates(scope, rows)
