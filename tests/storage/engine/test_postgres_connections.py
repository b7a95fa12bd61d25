"""Connections that break are replaced, and what had not been committed runs again."""

import asyncio

import psycopg
import pytest
import sqlalchemy as sa

from acumen.errors import AcumenError
from acumen.settings import Settings
from acumen.storage.engine import migrate
from acumen.storage.store import Store, Tx, connect
from acumen.storage.tables import orgs
from tests.world import ORG

_END_ALL = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> %s"


@pytest.fixture
def store(postgres_database: str):
    store = Store(connect(Settings(database_url=postgres_database)))
    migrate.migrate(store.database)
    yield store
    store.close()


def end_connections(url: str) -> None:
    with psycopg.connect(url) as conn:
        conn.execute(_END_ALL, (conn.info.backend_pid,))


def count(conn: sa.Connection) -> int:
    return conn.execute(sa.select(sa.func.count()).select_from(orgs)).scalar_one()


async def test_kept_connections_that_the_server_ended_fail_no_request(store: Store, postgres_database: str):
    await asyncio.gather(*(store.of(ORG).write(lambda tx: tx.orgs.ensure(), hold_org=False) for _ in range(8)))
    await asyncio.gather(*(store.read(count) for _ in range(8)))
    end_connections(postgres_database)

    await asyncio.gather(*(store.of(ORG).write(lambda tx: tx.orgs.ensure(), hold_org=False) for _ in range(8)))

    assert await asyncio.gather(*(store.read(count) for _ in range(8))) == [1] * 8


async def test_a_transaction_whose_connection_breaks_runs_again_from_its_beginning(
    store: Store, postgres_database: str
):
    runs: list[bool] = []

    def breaks_once(tx: Tx) -> None:
        tx.orgs.ensure()
        runs.append(tx.scope.conn.closed)
        if len(runs) == 1:
            end_connections(postgres_database)
        tx.usage.begin_metering(tx.at)

    await store.of(ORG).write(breaks_once)

    assert len(runs) == 2
    assert await store.read(count) == 1


async def test_what_fails_by_its_own_fault_is_not_repeated(store: Store):
    runs = []

    def fails(tx: Tx) -> None:
        runs.append(tx.at)
        tx.scope.insert(orgs, [{"config_version": 0, "search_seq": 0, "generation": 0}] * 2)

    with pytest.raises((sa.exc.IntegrityError, AcumenError)):
        await store.of(ORG).write(fails)

    assert len(runs) == 1
