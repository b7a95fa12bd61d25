"""Which engine finds candidates in this database, and what is missing where none does."""

from collections.abc import Mapping
from typing import Any
from weakref import WeakSet

import sqlalchemy as sa

from acumen.model.ids import Kind
from acumen.storage.engine.database import Database
from acumen.storage.engine.scope import OrgScope
from acumen.storage.memories.candidates import postgres_schema
from acumen.storage.memories.candidates.engine import SearchScope
from acumen.storage.memories.candidates.postgres import PostgresCandidates
from acumen.storage.memories.candidates.postgres_schema import Progress
from acumen.storage.memories.memory_rows import MemoryRows

ENGINE = "large scopes are searched by pgvector and full text"


def install(database: Database, progress: Progress) -> None:
    """Creates and fills what finding candidates needs, where the server has it; may be run again at any time."""
    if database.name == "postgres":
        postgres_schema.install(database, progress)


def advice(database: Database, conn: sa.Connection) -> str | None:
    """What a person has to do so that the database can search large scopes; None: nothing."""
    return postgres_schema.problem(conn) if database.name == "postgres" else None


def candidates_of(
    scope: OrgScope, search_scope: SearchScope, rows: Mapping[Kind, MemoryRows[Any]]
) -> PostgresCandidates | None:
    """None where the scope has to be searched in memory."""
    if scope.db.name != "postgres" or not _is_ready(scope):
        return None
    return PostgresCandidates(scope, search_scope, rows[Kind(search_scope.kind)])


def _is_ready(scope: OrgScope) -> bool:
    """Once the index is complete it stays so; until then it is looked up again."""
    if scope.db not in _READY and postgres_schema.problem(scope.conn) is None:
        _READY.add(scope.db)
    return scope.db in _READY


_READY: "WeakSet[Database]" = WeakSet()
