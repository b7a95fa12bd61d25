"""One history for both databases, and it leads to what `tables.py` says."""

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from acumen.errors import BadSettings
from acumen.model.ids import Millis, OrgId
from acumen.model.metering.usage import CITED, SHOWN, UNRESOLVED, UsageEvent
from acumen.operate import prepare
from acumen.settings import Settings
from acumen.storage.engine import migrate
from acumen.storage.store import Store, connect
from acumen.storage.tables import metadata
from tests.world import ADA, Template, a_request, a_turn


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


def test_what_was_counted_before_is_summed_by_day(empty_store: Store):
    """0003 brings the sums by user, 0006 the running counters of memories; before them there were only events."""
    old = "event_id, org_id, user_id, pipeline, entity_type, entity_id, event_name, event_category, caller_type, "
    old += "count_value, prompt_tokens, completion_tokens, billing_input_tokens, platform_llm, platform_storage, "
    old += "metadata_json, created_at, updated_at"
    day = 86_400_000
    events = [
        ("e1", "profile", "p1", "learning_injection", 7, day),
        ("e2", "profile", "p1", "learning_injection", 5, day + 1),
        ("e3", "profile", "p1", "learning_citation", 0, 2 * day),
        ("e4", None, None, "learning_applied", 0, day),
    ]
    with empty_store.database.engine().begin() as conn:
        command.upgrade(migrate.config(conn), "0002")
        for name, kind, memory, event, tokens, at in events:
            conn.execute(
                sa.text(
                    f"INSERT INTO usage_events ({old}) VALUES (:name, 'o', 'ada', 'search', :kind, :memory, :event, "
                    "'retrieval', 'production_agent', 1, :tokens, 0, 0, false, false, '{}', :at, :at)"
                ),
                {"name": name, "kind": kind, "memory": memory, "event": event, "tokens": tokens, "at": at},
            )
        command.upgrade(migrate.config(conn), "0008")

    with empty_store.database.engine().begin() as conn:
        memories = conn.execute(sa.text("SELECT day, shown, tokens, citations FROM memory_days ORDER BY day")).all()
        users = conn.execute(sa.text("SELECT day, user_id, searches, zero_hits, shown FROM user_days")).all()
        totals = conn.execute(sa.text("SELECT shown, tokens, citations, first_at, last_at FROM memory_totals")).all()
    assert [tuple(row) for row in memories] == [(1, 0, 0, 0), (2, 2, 12, 0)]  # as they stood when the day began
    assert [tuple(row) for row in totals] == [(2, 12, 1, day, day + 1)]
    assert [tuple(row) for row in users] == [(1, "ada", 1, 1, 2)]


def test_turns_of_superseded_memories_become_searchable_and_forgotten_ones_stay_hidden(empty_store: Store):
    """Up to 0007 both were hidden."""
    turn = dict.fromkeys("role content shadow_content expert_content user_action user_action_description".split(), "x")
    turn |= dict.fromkeys("session_id request_id image_url image_encoding".split(), "r")
    memory = dict.fromkeys("content subject value engine model prompt_hash ttl".split(), "x")
    memory |= dict.fromkeys("expires_at mentions version confidence".split(), 1) | {"request_id": "r"}
    row = {"kind": "turn", "gone": True} | dict.fromkeys("analyser terms model".split(), "")
    with empty_store.database.engine().begin() as conn:
        command.upgrade(migrate.config(conn), "0007")
        for number, status in ((1, "superseded"), (2, "forgotten")):
            of = {"org_id": "o", "user_id": "ada", "created_at": 5, "updated_at": 5}
            _insert(conn, "interactions", turn | of | {"interaction_id": number})
            told = {"profile_id": str(number), "status": status, "interaction_ids": f"[{number}]"}
            _insert(conn, "profiles", memory | of | told)
            _insert(conn, "search_rows", row | of | {"entity_id": str(number), "seq": number})

    migrate.migrate(empty_store.database)

    with empty_store.database.engine().begin() as conn:
        rows = conn.execute(sa.text("SELECT entity_id FROM search_rows WHERE gone")).all()
        said = conn.execute(sa.text("SELECT DISTINCT said_at FROM profiles")).all()
    assert [row.entity_id for row in rows] == ["2"]
    assert [row.said_at for row in said] == [5]


DAY = 86_400_000


async def test_citations_that_no_agent_made_are_counted_out_as_if_they_had_never_been(store: Store):
    """Up to 0008 `retrieved_learnings` counted as citations. 0009 changes counts only, so it runs on today's tables."""
    cited = [{"kind": "playbook", "real_id": " 7 "}]  # the older word for a user playbook
    turns = {}
    for org in ("mixed", "real"):
        turns[org] = await _published(store, org, cited, [], [])
    await _add_usage(store, "mixed", [*_injections(), *_citations(*turns["mixed"])])
    await _add_usage(store, "real", [*_injections(), *_citations(*turns["real"])[:1]])
    assert _counts(store, "mixed") != _counts(store, "real")

    for _ in range(2):  # what is left is left alone
        with store.database.engine().begin() as conn:
            command.stamp(migrate.config(conn), "0008")
            command.upgrade(migrate.config(conn), "0009")

        assert _counts(store, "mixed") == _counts(store, "real")
    left = _rows(store, "SELECT entity_id FROM usage_events WHERE event_name LIKE '%citation%' AND org_id = 'mixed'")
    assert left == [("7",)]
    assert _rows(store, "SELECT agent_version, since FROM citing_versions WHERE org_id = 'mixed'") == [("v1", DAY + 5)]
    assert await store.of(OrgId("mixed")).read(lambda tx: tx.usage.get_cited_since()) == DAY + 5


async def test_where_nothing_was_really_cited_no_agent_cites(store: Store):
    await _add_usage(store, "o", [*_injections(), *_citations(1, 2, 3)])  # turns that do not exist any more

    with store.database.engine().begin() as conn:
        command.stamp(migrate.config(conn), "0008")
        command.upgrade(migrate.config(conn), "0009")

    assert await store.of(OrgId("o")).read(lambda tx: tx.usage.get_cited_since()) is None
    uses = _rows(store, "SELECT shown, cited_shown, judged_shown, citations FROM memory_totals ORDER BY shown")
    assert uses == [(1, 0, 0, 0), (4, 0, 0, 0)]


async def _published(store: Store, org: str, *citations: list[dict[str, str]]) -> list[int]:
    """A turn for each; their ids."""
    request = a_request(f"r-{org}")
    answers = [a_turn("Done.", request, role="assistant", citations=cited) for cited in citations]
    await store.of(OrgId(org)).write(lambda tx: tx.conversations.add(request, answers))
    return [turn.id for turn in await store.of(OrgId(org)).read(lambda tx: tx.conversations.find_newest(ADA, None))]


def _injections() -> list[UsageEvent]:
    lesson, fact = {"kind": "user_playbook", "memory_id": "7"}, {"kind": "profile", "memory_id": "p"}
    return [
        _use("i1", SHOWN, DAY + 1, session_id="s1", agent_version="v1", tokens=10, **lesson),
        _use("i2", SHOWN, DAY + 9, session_id="s2", agent_version="v1", tokens=10, **lesson),
        _use("i3", SHOWN, 2 * DAY, session_id="s3", agent_version="v2", tokens=10, **lesson),
        _use("i4", SHOWN, 2 * DAY, agent_version="v2", tokens=10, **lesson),
        _use("i5", SHOWN, 2 * DAY, session_id="s3", agent_version="v2", tokens=4, **fact),
    ]


def _citations(explicit: int, automatic: int, later: int) -> list[UsageEvent]:
    """The first by an agent; the others from what a session had retrieved."""
    lesson, fact = {"kind": "user_playbook", "memory_id": "7"}, {"kind": "profile", "memory_id": "p"}
    return [
        _use("c1", CITED, DAY + 5, session_id="s1", detail={"interaction_id": explicit}, **lesson),
        _use("c2", CITED, DAY + 12, session_id="s2", detail={"interaction_id": automatic}, **lesson),
        _use("c3", CITED, 2 * DAY + 1, session_id="s3", detail={"interaction_id": later}, **lesson),
        _use("c4", CITED, 2 * DAY + 2, session_id="s3", detail={"interaction_id": later}, **fact),
        _use("c5", CITED, 2 * DAY + 3, session_id="s4", detail={"interaction_id": later}, **lesson),
        _use("c6", UNRESOLVED, 2 * DAY, session_id="s3", detail={"interaction_id": later}, **fact),
    ]


def _use(name: str, event: str, at: int, **about: Any) -> UsageEvent:
    return UsageEvent(name, event, Millis(at), "ada", **about)


async def _add_usage(store: Store, org: str, events: Sequence[UsageEvent]) -> None:
    """As they happened, one after the other."""
    for event in sorted(events, key=lambda event: event.at):
        await store.of(OrgId(org)).write(lambda tx, event=event: tx.usage.add([event]))


_USES = "shown, tokens, cited_shown, cited_tokens, judged_shown, judged_tokens, citations"


def _counts(store: Store, org: str) -> dict[str, Any]:
    return {
        "totals": _rows(store, f"SELECT kind, entity_id, {_USES}, last_at, last_cited_at FROM memory_totals", org),
        "days": _rows(store, f"SELECT kind, entity_id, day, {_USES} FROM memory_days", org),
        "users": _rows(
            store, "SELECT user_id, agent_version, day, shown, cited_shown, cited_tokens FROM user_days", org
        ),
        "injections": _rows(store, "SELECT event_id, cited_at FROM usage_events", org, "AND event_id LIKE 'i%'"),
        "citing": _rows(store, "SELECT agent_version, since FROM citing_versions", org),
    }


def _rows(store: Store, query: str, org: str | None = None, more: str = "") -> list[tuple[Any, ...]]:
    where = "" if org is None else f" WHERE org_id = '{org}' {more}"
    with store.database.engine().connect() as conn:
        rows = [tuple(row) for row in conn.execute(sa.text(query + where))]
    return rows if org is None else sorted(rows, key=repr)


def _insert(conn: sa.Connection, table: str, values: dict[str, Any]) -> None:
    names = ", ".join(values)
    given = ", ".join(f":{name}" for name in values)
    conn.execute(sa.text(f"INSERT INTO {table} ({names}) VALUES ({given})"), values)


def test_the_history_leads_to_the_same_schema_as_creating_does(empty_store: Store, store: Store):
    with empty_store.database.engine().begin() as conn:
        migrate.apply_history(conn)

    assert _schema(empty_store) == _schema(store)


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
