"""One history for both databases, and it leads to what `tables.py` says."""

from collections.abc import Iterator
from typing import Any

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from acumen.app import prepare
from acumen.errors import BadSettings
from acumen.settings import Settings
from acumen.storage import migrate
from acumen.storage.store import Store, connect
from acumen.storage.tables import metadata
from tests.world import Template


@pytest.fixture
def empty(template: Template, tmp_path) -> Iterator[Settings]:
    """A database without any table."""
    if template.postgres is None:
        yield Settings(data=tmp_path)
        return
    url = template.postgres.create()
    yield Settings(data=tmp_path, database_url=url)
    template.postgres.drop(url)


@pytest.fixture
def empty_store(empty: Settings) -> Iterator[Store]:
    opened = Store(connect(empty))
    yield opened
    opened.close()


def test_an_empty_database_migrated_equals_the_tables(store: Store):
    with store.database.engine().connect() as conn:
        context = MigrationContext.configure(conn, opts={"compare_type": True, "compare_server_default": True})

        differences = compare_metadata(context, metadata)

    assert differences == []


def test_migrating_and_creating_lead_to_the_same_columns_and_indexes(store: Store, empty_store: Store):
    """Also what Alembic does not compare: the condition of an index, numbers that are never given twice."""
    metadata.create_all(empty_store.database.engine())

    assert _schema(store) == _schema(empty_store)


def test_head_is_the_newest_entry_of_the_history():
    assert ScriptDirectory.from_config(migrate.config()).get_heads() == [migrate.HEAD]


def test_a_database_of_a_newer_version_is_refused(store: Store, settings: Settings):
    with store.database.engine().begin() as conn:
        conn.execute(sa.text("UPDATE alembic_version SET version_num = '9999'"))

    with pytest.raises(BadSettings, match="newer than this version"):
        prepare(store, settings)


def test_sqlite_is_brought_up_to_date_at_start_and_postgres_by_hand(empty_store: Store, empty: Settings):
    if empty.database_url:
        with pytest.raises(BadSettings, match="acumen migrate"):
            prepare(empty_store, empty)
    else:
        prepare(empty_store, empty)

        assert not migrate.needed(empty_store.database)


def test_migrating_twice_changes_nothing(store: Store):
    before = _schema(store)

    migrate.migrate(store.database)

    assert _schema(store) == before


def _schema(store: Store) -> dict[str, Any]:
    engine = store.database.engine()
    inspector = sa.inspect(engine)
    tables = sorted(set(inspector.get_table_names()) - {"alembic_version"})
    with engine.connect() as conn:
        return {
            "columns": {table: _columns(inspector, table) for table in tables},
            "keys": {table: inspector.get_pk_constraint(table) for table in tables},
            "indexes": sorted(conn.execute(sa.text(_INDEXES[store.database.name])).scalars()),
        }


def _columns(inspector: sa.Inspector, table: str) -> dict[str, tuple[str, bool, bool]]:
    """Order does not count, for a later migration can only add at the end."""
    return {
        column["name"]: (str(column["type"]), column["nullable"], bool(column.get("autoincrement")))
        for column in inspector.get_columns(table)
    }


# As the database itself tells them, conditions included.
_INDEXES = {
    "sqlite": "SELECT sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL "
    "UNION SELECT name || ' never gives a number twice' FROM sqlite_master WHERE sql LIKE '%AUTOINCREMENT%'",
    "postgres": "SELECT indexdef FROM pg_indexes WHERE schemaname = 'public' AND tablename <> 'alembic_version'",
}
