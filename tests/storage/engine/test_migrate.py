"""One history for both databases, and it leads to what `tables.py` says."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from acumen.errors import BadSettings
from acumen.operate import prepare
from acumen.settings import Settings
from acumen.storage.engine import migrate
from acumen.storage.memories.candidates import postgres_schema
from acumen.storage.store import Store, connect
from acumen.storage.tables import metadata
from tests.world import Template


@pytest.fixture
def empty(template: Template, tmp_path) -> Iterator[Settings]:
    """A database without any table, beside that of `store`."""
    if template.postgres is None:
        yield Settings(data=tmp_path / "empty")
        return
    url = template.postgres.create()
    yield Settings(data=tmp_path, database_url=url)
    template.postgres.drop(url)


@pytest.fixture
def empty_store(empty: Settings) -> Iterator[Store]:
    opened = Store(connect(empty))
    yield opened
    opened.close()


@pytest.fixture
def unreleased_store(empty_store: Store) -> Store:
    """At the last schema before the first release, with a row of everything; dumped from that version."""
    with empty_store.database.engine().begin() as conn:
        for statement in (UNRELEASED / f"{empty_store.database.name}.sql").read_text().splitlines():
            conn.execute(sa.text(statement))
        conn.execute(sa.text("CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL PRIMARY KEY)"))
        conn.execute(sa.text("INSERT INTO alembic_version VALUES ('0010')"))
        for name, rows in _unreleased_rows().items():
            table = sa.Table(name, sa.MetaData(), autoload_with=conn)
            conn.execute(sa.insert(table), [{**row, **_bytes(row)} for row in rows])
        _restart_numbering(conn)
    return empty_store


UNRELEASED = Path(__file__).parent / "schema_0010"
RENAMED_TABLES = {"review_marks": "review_states", "aggregation_marks": "aggregation_bookmarks"}
# What later versions added, with the value of rows that were there before.
NEW_COLUMNS: dict[str, dict[str, Any]] = {"jobs": {"user_id": "", "ready": 0, "turns": 0}}
RENAMED_COLUMNS = {"fact": "event", "watched_generation": "scanned_generation", "watched_seq": "scanned_seq"}


def _unreleased_rows() -> dict[str, list[dict[str, Any]]]:
    rows: dict[str, list[dict[str, Any]]] = json.loads((UNRELEASED / "rows.json").read_text())
    return rows


def _bytes(row: Mapping[str, Any]) -> dict[str, bytes]:
    return {"vector": bytes.fromhex(row["vector"])} if row.get("vector") else {}


def _restart_numbering(conn: sa.Connection) -> None:
    """As if Postgres had given the ids."""
    if conn.dialect.name == "postgresql":
        conn.execute(sa.text("SELECT setval(pg_get_serial_sequence('jobs', 'job_id'), 1)"))


def _rows(store: Store, tables: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
    with store.database.engine().connect() as conn:
        reflected = {name: sa.Table(name, sa.MetaData(), autoload_with=conn) for name in tables}
        return {
            name: [dict(row) for row in conn.execute(sa.select(table)).mappings()] for name, table in reflected.items()
        }


def test_an_empty_database_migrated_equals_the_tables(store: Store):
    with store.database.engine().connect() as conn:
        options = {"compare_type": True, "compare_server_default": True, "include_name": _is_ours}
        context = MigrationContext.configure(conn, opts=options)

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


@pytest.mark.parametrize(
    "damage, missing",
    [
        ("DROP TABLE memory_flags", "table memory_flags"),
        ("ALTER TABLE profiles DROP COLUMN source_span", "column profiles.source_span"),
    ],
)
def test_a_database_that_does_not_match_its_stamp_is_refused(empty_store: Store, empty: Settings, damage, missing):
    migrate.migrate(empty_store.database)
    with empty_store.database.engine().begin() as conn:
        conn.execute(sa.text(damage))

    with pytest.raises(BadSettings, match=f"schema {migrate.HEAD} but does not match it: missing {missing}. Restore"):
        prepare(empty_store, empty)


def test_tables_and_columns_of_others_are_no_reason_to_refuse(empty_store: Store, empty: Settings):
    migrate.migrate(empty_store.database)
    with empty_store.database.engine().begin() as conn:
        conn.execute(sa.text("CREATE TABLE notes_of_an_operator (text VARCHAR(9))"))

    prepare(empty_store, empty)


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


def test_a_database_of_the_last_unreleased_schema_is_upgraded_with_its_data(unreleased_store: Store, store: Store):
    before = _rows(unreleased_store, _unreleased_rows())

    migrate.migrate(unreleased_store.database)

    migrate.check_schema(unreleased_store.database)
    assert not migrate.needed(unreleased_store.database)
    assert _schema(unreleased_store) == _schema(store)
    renamed = {RENAMED_TABLES.get(table, table): rows for table, rows in before.items()}
    assert _rows(unreleased_store, renamed) == {
        table: [
            {
                **{RENAMED_COLUMNS.get(name, name): value for name, value in row.items() if name != "wishes"},
                **NEW_COLUMNS.get(table, {}),
            }
            for row in rows
        ]
        for table, rows in renamed.items()
    }


def test_new_rows_are_numbered_after_those_of_the_last_unreleased_schema(unreleased_store: Store):
    migrate.migrate(unreleased_store.database)
    with unreleased_store.database.engine().begin() as conn:
        job = {"org_id": "acme", "scope": "ada", "event": "published", "state": "waiting", "attempts": 0, "run_at": 1}
        conn.execute(sa.insert(metadata.tables["jobs"]), {**job, "created_at": 1, "updated_at": 1})

        assert conn.execute(sa.text("SELECT max(job_id) FROM jobs")).scalar() == 2


def test_a_database_that_does_not_match_the_stamp_it_is_upgraded_from_is_refused(unreleased_store: Store):
    with unreleased_store.database.engine().begin() as conn:
        conn.execute(sa.text("DROP TABLE review_marks"))

    with pytest.raises(
        BadSettings, match=r"schema 0010 but does not match it: upgrading it failed with: .*review_marks"
    ):
        migrate.migrate(unreleased_store.database)

    with unreleased_store.database.engine().connect() as conn:
        assert migrate.current(conn) == "0010"


def test_a_database_older_than_the_last_unreleased_schema_is_refused(unreleased_store: Store):
    with unreleased_store.database.engine().begin() as conn:
        conn.execute(sa.text("UPDATE alembic_version SET version_num = '0007'"))

    with pytest.raises(BadSettings, match="schema 0007, from before the first release"):
        migrate.needed(unreleased_store.database)


# Revisions that have landed, by the checksum of their text. A landed revision is never edited: add a new one.
LANDED = {
    "0011_first_release.py": "ee20aa41ccfcdea4",
    "0012_standing_indexes.py": "c176dff5891f4bd9",
    "0013_fair_jobs.py": "351990715c3d903e",
}


def test_no_landed_revision_is_edited():
    files = sorted((Path(migrate.__file__).parent.parent / "migrations" / "versions").glob("*.py"))

    assert {file.name: hashlib.sha256(file.read_bytes()).hexdigest()[:16] for file in files} == LANDED


# The schema of the last release: servers of that version run while a database is upgraded, and go on after it.
RELEASED = "0011"


def test_since_the_last_release_the_schema_has_only_grown(unreleased_store: Store):
    """Else servers of that version would fail until they are replaced. What is to go goes one release later."""
    with unreleased_store.database.engine().begin() as conn:
        conn.execute(sa.text("DELETE FROM alembic_version"))
        migrate.apply_history(conn, RELEASED)
    released = _schema(unreleased_store)
    was_unique = _unique(unreleased_store)

    migrate.migrate(unreleased_store.database)

    grown = _schema(unreleased_store)
    for table, columns in released["columns"].items():
        assert columns.items() <= grown["columns"][table].items(), f"a column of {table} was dropped or changed"
        new = set(grown["columns"][table]) - set(columns)
        assert new <= _left_out_by_others(unreleased_store, table), f"a new column of {table} has no default"
    assert {table: grown["keys"][table] for table in released["keys"]} == released["keys"]
    assert {index for index in _unique(unreleased_store) if index[0] in released["columns"]} == was_unique


def _left_out_by_others(store: Store, table: str) -> set[str]:
    """Columns that an INSERT need not name."""
    columns = sa.inspect(store.database.engine()).get_columns(table)
    return {column["name"] for column in columns if column["nullable"] or column["default"] is not None}


def _unique(store: Store) -> set[tuple[str, str]]:
    inspector = sa.inspect(store.database.engine())
    return {
        (table, str(index["name"]))
        for table in inspector.get_table_names()
        for index in inspector.get_indexes(table)
        if index["unique"]
    }


def _is_ours(name: str | None, kind: str, _parents: Any) -> bool:
    return name not in {"table": postgres_schema.TABLES, "index": postgres_schema.INDEXES}.get(kind, ())


def _schema(store: Store) -> dict[str, Any]:
    engine = store.database.engine()
    inspector = sa.inspect(engine)
    tables = sorted(set(inspector.get_table_names()) - {"alembic_version", *postgres_schema.TABLES})
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
    "postgres": "SELECT indexdef FROM pg_indexes WHERE schemaname = 'public' "
    f"AND tablename NOT IN {('alembic_version', *postgres_schema.TABLES)} "
    f"AND indexname NOT IN {tuple(postgres_schema.INDEXES)}",
}
