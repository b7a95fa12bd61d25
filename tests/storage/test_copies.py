"""A copy of a store has every row of it, in either database, and can be interrupted anywhere."""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa
from msgspec import Struct
from pysqlite3 import dbapi2

from acumen.errors import BadInput, BadSettings, Conflict, NotFound
from acumen.llm.embedding import Embedder
from acumen.operate import CopyStep, copy_store, database_name, plan_copy, prepare
from acumen.settings import Settings
from acumen.storage.engine import copy_store as copying
from acumen.storage.engine import migrate
from acumen.storage.store import Store, connect
from acumen.storage.tables import aggregation_bookmarks, jobs, metadata, orgs, search_rows
from tests.world import Org, Template, local, make_app, running, said

ROWS = 7
# Their numbers of changes become those of the target.
RENUMBERED = {table.name for table in (orgs, search_rows, aggregation_bookmarks)}


class Stopped(Exception):
    """As if the copy had been killed."""


class Ends(Struct, frozen=True):
    """A store, and an empty database of the other kind."""

    source: Settings
    target: Settings

    def copy(self, report: Callable[[CopyStep], None] = lambda step: None) -> dict[str, int]:
        return copy_store(*self.urls, report).rows

    def copy_until(self, action: str, table: str) -> None:
        def report(step: CopyStep) -> None:
            if (step.action, step.table) == (action, table):
                raise Stopped

        with pytest.raises(Stopped):
            self.copy(report)

    def steps(self) -> list[tuple[str, str, int]]:
        """Of a copy of everything that is missing."""
        seen: list[tuple[str, str, int]] = []
        self.copy(lambda step: seen.append((step.action, step.table, step.rows)))
        return seen

    @property
    def urls(self) -> tuple[str, str]:
        return database_name(self.source), database_name(self.target)

    def run(self, settings: Settings, *statements: Any) -> list[Any]:
        """What the last one returns."""
        with opened(settings) as conn:
            results = [conn.execute(sa.text(one) if isinstance(one, str) else one) for one in statements]
            return list(results[-1]) if results[-1].returns_rows else []

    def stored(self, settings: Settings) -> dict[str, list[Any]]:
        tables = [table for table in metadata.sorted_tables if table.name not in RENUMBERED]
        with opened(settings) as conn:
            return {table.name: sorted(map(tuple, conn.execute(sa.select(table))), key=repr) for table in tables}


@contextmanager
def opened(settings: Settings) -> Iterator[sa.Connection]:
    database = connect(settings)
    try:
        with database.engine().begin() as conn:
            yield conn
    finally:
        database.close()


@pytest.fixture
def ends(settings: Settings, template: Template, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Ends]:
    if template.postgres is not None:
        yield Ends(settings, Settings(data=tmp_path / "target"))
        return
    url = request.getfixturevalue("postgres_database")
    yield Ends(settings, Settings(database_url=url))


@pytest.fixture
def filled(ends: Ends) -> Ends:
    """With rows in every table."""
    rows = [(table, number) for table in metadata.sorted_tables for number in range(ROWS)]
    ends.run(ends.source, *(sa.insert(table).values(a_row(table, number)) for table, number in rows))
    return ends


def a_row(table: sa.Table, number: int) -> dict[str, Any]:
    """Every second row leaves out what it may."""
    columns = [column for column in table.c if column is not table.autoincrement_column]
    return {column.name: a_value(column, number) for column in columns if not (column.nullable and number % 2)}


def a_value(column: sa.Column[Any], number: int) -> Any:
    values: dict[type[Any], Any] = {
        sa.Text: f"Zoë’s 'n° {number}'\t\\N\n\u2028 \U0001f600",
        sa.BigInteger: 2**40 + number,
        sa.Integer: -number,
        sa.Float: (-0.0, 0.1, 1e300, 3.0)[number % 4],
        sa.Boolean: number % 3 == 0,
        sa.JSON: {"b": [1.50, None, "ü\\u0041"], "a": {"n": number}},
        sa.LargeBinary: bytes(range(256)) * number,
    }
    return values[type(column.type)]


def test_every_row_of_every_table_is_in_the_target(filled: Ends):
    rows = filled.copy()

    assert rows == {table.name: ROWS for table in metadata.sorted_tables}
    assert filled.stored(filled.target) == filled.stored(filled.source)
    store = Store(connect(filled.target))
    prepare(store, filled.target)
    store.close()


def test_a_copy_of_the_copy_has_the_same_checksums(filled: Ends, tmp_path: Path):
    there = copy_store(*filled.urls, lambda step: None)
    third = Settings(data=tmp_path / "third")

    again = copy_store(filled.urls[1], database_name(third), lambda step: None)

    there.checksums.pop("orgs"), again.checksums.pop("orgs")  # each counts its changes in its own way
    assert again.checksums == there.checksums
    assert filled.stored(third) == filled.stored(filled.source)


def test_no_number_is_given_twice(filled: Ends):
    """Not even that of a row that was deleted before the copy."""
    last = filled.run(filled.source, sa.select(sa.func.max(jobs.c.job_id)))[0][0]
    filled.run(filled.source, sa.delete(jobs).where(jobs.c.job_id == last))

    filled.copy()

    filled.run(filled.target, sa.insert(jobs).values(a_row(jobs, ROWS)))
    assert filled.run(filled.target, sa.select(sa.func.max(jobs.c.job_id)))[0][0] == last + 1


@pytest.mark.parametrize("action", ["copy", "verify"])
def test_an_interrupted_copy_goes_on_with_what_is_missing(filled: Ends, action: str):
    filled.copy_until(action, "profiles")

    steps = filled.steps()

    assert ("check", "profiles", ROWS) in steps
    assert ("copy", "profiles", ROWS) not in steps
    assert (("copy", "usage_events", ROWS) in steps) == (action == "copy")
    assert filled.stored(filled.target) == filled.stored(filled.source)


def test_a_copy_goes_on_within_a_table(filled: Ends, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(copying, "BATCH_ROWS", 3)
    filled.copy_until("copy", "profiles")

    copied = [rows for action, table, rows in filled.steps() if (action, table) == ("copy", "profiles")]

    assert copied == [6, 7]
    assert filled.stored(filled.target) == filled.stored(filled.source)


@pytest.mark.parametrize("end", ["source", "target"])
def test_what_changed_since_a_copy_was_interrupted_is_copied_again(filled: Ends, end: str):
    filled.copy_until("copy", "profiles")
    filled.run(getattr(filled, end), "UPDATE profiles SET content = 'other' WHERE mentions = -3")

    steps = filled.steps()

    assert ("copy", "profiles", ROWS) in steps
    assert ("copy", "alerts", ROWS) not in steps
    assert filled.stored(filled.target) == filled.stored(filled.source)


def test_a_copy_that_differs_at_the_end_is_not_taken_for_whole(filled: Ends):
    def damage(step: CopyStep) -> None:
        if (step.action, step.table) == ("verify", "profiles"):
            filled.run(filled.target, "UPDATE profiles SET content = 'other' WHERE mentions = -3")

    with pytest.raises(Conflict, match=r"Table profiles differs: 7 rows .* Run this again"):
        filled.copy(damage)
    with pytest.raises(BadSettings, match="unfinished copy"):
        migrate.needed(database := connect(filled.target))
    database.close()
    filled.copy()

    assert filled.stored(filled.target) == filled.stored(filled.source)


def test_a_target_with_data_of_its_own_is_refused_and_left_alone(filled: Ends):
    filled.copy()
    before = filled.stored(filled.target)
    filled.run(filled.source, "DELETE FROM profiles")

    with pytest.raises(Conflict, match=r"The target has data already: action_items \(7\), .*nothing was changed"):
        filled.copy()

    assert plan_copy(*filled.urls).in_the_way["profiles"] == ROWS
    assert filled.stored(filled.target) == before


def test_a_source_in_use_is_refused(filled: Ends):
    """By a connection that has nothing to do, as most of a server's."""
    server = connect(filled.source)
    with server.engine().connect() as conn:
        conn.execute(sa.select(orgs)).all()
        conn.rollback()

        with pytest.raises(Conflict, match="The source is in use"):
            filled.copy()
    server.close()

    assert plan_copy(*filled.urls).copied == {}


def test_while_a_store_is_copied_nobody_can_write_to_it(filled: Ends):
    refused: list[str] = []

    def write(step: CopyStep) -> None:
        if (step.action, step.table) == ("copy", "alerts"):
            with pytest.raises((dbapi2.OperationalError, psycopg.OperationalError)) as error:
                write_at_once(filled.source)
            refused.append(str(error.value))

    filled.copy(write)

    assert len(refused) == 1
    assert "lock" in refused[0]


def write_at_once(settings: Settings) -> None:
    """Or fail, without waiting."""
    if settings.database_url:
        with psycopg.connect(settings.database_url, options="-c lock_timeout=50") as conn:
            conn.execute("DELETE FROM profiles")
    else:
        with closing(dbapi2.connect(str(settings.sqlite_path), timeout=0.05)) as conn:
            conn.execute("DELETE FROM profiles")


def test_a_plan_counts_and_changes_nothing(filled: Ends):
    plan = plan_copy(*filled.urls)
    filled.copy_until("copy", "profiles")
    on_the_way = plan_copy(*filled.urls)

    assert plan.rows == {table.name: ROWS for table in metadata.sorted_tables}
    assert (plan.copied, plan.in_the_way) == ({}, {})
    assert (on_the_way.copied["profiles"], on_the_way.in_the_way) == (ROWS, {})
    assert filled.target.database_url or filled.target.sqlite_path.exists()


def test_a_source_of_another_schema_is_refused(filled: Ends):
    filled.run(filled.source, "UPDATE alembic_version SET version_num = '0001'")

    with pytest.raises(BadSettings, match=f"The source is at schema 0001, this version needs {migrate.HEAD}"):
        filled.copy()


def test_wrong_urls_are_refused(tmp_path: Path):
    there = f"sqlite:///{tmp_path}"
    with pytest.raises(BadInput, match="by its URL"):
        copy_store(str(tmp_path), there, lambda step: None)
    with pytest.raises(BadInput, match="the same database"):
        copy_store(there, f"{there}/acumen.db", lambda step: None)
    with pytest.raises(NotFound, match=r"no database at .*acumen\.db"):
        copy_store(there, f"{there}/other.db", lambda step: None)
    assert list(tmp_path.iterdir()) == []


FACTS = {"ada": ("I live in Lisbon.", "My dog is called Rex."), "bob": ("I live in Oslo.", "My cat is called Tom.")}
QUESTIONS = (
    ("ada", "where do I live"),
    ("ada", "what is my dog called"),
    ("bob", "which pet"),
    (None, "deploy to which region"),
)


async def test_a_server_on_the_copy_answers_as_before_and_learns_on(ends: Ends, embedder: Embedder):
    async with running(make_app(ends.source, embedder), work=False) as app:
        org = local(app)
        for user, facts in FACTS.items():
            await org.sdk.publish(**said(*facts, "Always deploy to us-west-2, never to us-east-1.", user=user))
        await org.learn()
        await org.sdk.add_agent_playbooks(
            agent_playbooks=[{"content": "Deploy to the region of the customer", "playbook_status": "approved"}]
        )
        await org.send("POST", "/api/clear_user_data", {"user_id": "gone"})  # begins a generation
        before = [await context(org, *question) for question in QUESTIONS]

    ends.copy()

    async with running(make_app(ends.target, embedder), work=False) as app:
        org = local(app)
        after = [await context(org, *question) for question in QUESTIONS]
        await org.sdk.publish(**said("I have moved to Porto.", "My parrot is called Kiki.", user="ada"))
        await org.learn()
        learned = await context(org, "ada", "what is my parrot called")
    async with running(make_app(ends.target, embedder), work=False) as another:
        read_again = await context(local(another), "ada", "what is my parrot called")

    assert all(before)
    assert after == before
    assert "Kiki" in learned
    assert read_again == learned


async def context(org: Org, user: str | None, query: str) -> str:
    asked = {"query": query, "user_id": user, "top_k": 5, "max_tokens": 300}
    text: str = (await org.send("POST", "/api/search", asked)).json()["context"]
    return text
