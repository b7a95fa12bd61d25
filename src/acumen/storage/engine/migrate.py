"""Brings a database to the schema this version was written for."""

from pathlib import Path
from typing import Any

import sqlalchemy as sa

from acumen.errors import BadSettings
from acumen.storage.engine.database import Database, Lock
from acumen.storage.tables import metadata

# The newest revision. A test keeps it true; as a constant, it spares the start from loading Alembic.
HEAD = "0013"
# The last revision before the first release, where the history begins.
LAST_UNRELEASED = "0010"

# In place of the revision, while the rows of another database are copied in.
COPYING = f"copying {HEAD}"

# Tables and columns that a refusal names.
MOST_NAMED = 5

_HISTORY = Path(__file__).parent.parent / "migrations"


def current(conn: sa.Connection) -> str | None:
    """The revision the database is at; None for an empty one."""
    if not sa.inspect(conn).has_table("alembic_version"):
        return None
    version = conn.execute(sa.text("SELECT version_num FROM alembic_version")).scalar()
    return None if version is None else str(version)


def stamp(conn: sa.Connection, revision: str) -> None:
    conn.execute(sa.text("UPDATE alembic_version SET version_num = :revision"), {"revision": revision})


def needed(database: Database) -> bool:
    with database.engine().connect() as conn:
        at = current(conn)
    if at == COPYING:
        raise BadSettings(
            "The database holds an unfinished copy of another one: wait for `acumen migrate --from … --to …`, "
            "or run it again to go on."
        )
    if at is not None and at > HEAD:
        raise BadSettings(
            f"The database is at schema {at}, newer than this version of Acumen knows ({HEAD}): use a newer Acumen."
        )
    if at is not None and at < LAST_UNRELEASED:
        raise BadSettings(
            f"The database is at schema {at}, from before the first release; only {LAST_UNRELEASED} can be upgraded. "
            "Configure an empty database (ACUMEN_DATA or ACUMEN_DATABASE_URL), or use the version that made it."
        )
    return at != HEAD


def check_schema(database: Database) -> None:
    """Refuses a database that lacks a table or column of the revision it is stamped with; others may be there."""
    with database.engine().connect() as conn:
        stored = database.columns(conn)
    missing = _missing(stored)
    if missing:
        listed = ", ".join(missing[:MOST_NAMED]) + (
            f" and {len(missing) - MOST_NAMED} more" * (len(missing) > MOST_NAMED)
        )
        raise BadSettings(_mismatch(HEAD, f"missing {listed}"))


def _mismatch(stamp: str, why: str) -> str:
    return (
        f"The database is stamped with schema {stamp} but does not match it: {why}. "
        "Restore a backup of this database, or configure another one (ACUMEN_DATA or ACUMEN_DATABASE_URL)."
    )


def _missing(stored: set[tuple[str, str]]) -> list[str]:
    """Tables, and columns of the tables that are there."""
    tables = {table for table, _ in stored}
    missing = []
    for table in metadata.sorted_tables:
        if table.name not in tables:
            missing.append(f"table {table.name}")
        else:
            missing += [f"column {table.name}.{c.name}" for c in table.c if (table.name, c.name) not in stored]
    return missing


def migrate(database: Database) -> None:
    """All or nothing: a migration that is killed half-way has not happened."""
    with database.engine().begin() as conn:
        database.lock(conn, Lock("migrate"))
        at = current(conn)
        if at is None:
            _create(conn)
            return
        if at == LAST_UNRELEASED:  # what Alembic calls the base
            conn.execute(sa.text("DELETE FROM alembic_version"))
        try:
            apply_history(conn)
        except sa.exc.DBAPIError as error:
            raise BadSettings(_mismatch(at, f"upgrading it failed with: {error.orig}")) from error


def _create(conn: sa.Connection) -> None:
    """An empty database needs no history: a test proves that both ways lead to the same schema."""
    metadata.create_all(conn, checkfirst=False)
    conn.execute(sa.text("CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL PRIMARY KEY)"))
    conn.execute(sa.text("INSERT INTO alembic_version VALUES (:head)"), {"head": HEAD})


def apply_history(conn: sa.Connection, to: str = "head") -> None:
    from alembic import command  # noqa: PLC0415 - a start that needs no migration should not pay for Alembic

    command.upgrade(config(conn), to)


def config(conn: sa.Connection | None = None) -> Any:
    from alembic.config import Config  # noqa: PLC0415 - as above

    made = Config()
    made.set_main_option("script_location", str(_HISTORY).replace("%", "%%"))
    made.attributes["connection"] = conn
    return made
