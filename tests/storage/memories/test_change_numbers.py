"""Search finds every committed change, whoever commits first, and writers for different users do not wait."""

import asyncio
import itertools
import threading
from collections.abc import Iterator

import psycopg
import pytest
import sqlalchemy as sa

from acumen.index.live_indexes import MemoryIndex
from acumen.model.ids import Kind, UserId
from acumen.model.memories.search import SearchRow
from acumen.settings import Settings
from acumen.storage.engine.scope import LockOrderViolated
from acumen.storage.memories import change_numbers
from acumen.storage.memories.change_numbers import BY_TRANSACTION, FIRST_OF_TRANSACTIONS
from acumen.storage.store import Store, Tx, connect
from acumen.storage.tables import aggregation_bookmarks, orgs, search_rows
from tests.world import ORG, a_profile, keep

MODEL = "m"
only_postgres = pytest.mark.parametrize("database", ["postgres"], indirect=True, scope="session")


@pytest.fixture
def other(settings: Settings) -> Iterator[Store]:
    """A second server on the same database."""
    opened = Store(connect(settings))
    yield opened
    opened.close()


class Paused:
    """A write that has done its work and waits before COMMIT."""

    def __init__(self, text: str, user: str = "ada") -> None:
        self._text, self._user = text, user
        self._go_on, self._done = threading.Event(), threading.Event()

    def __call__(self, tx: Tx) -> None:
        keep(tx, a_profile(self._text, self._user), words=self._text)
        self._done.set()
        assert self._go_on.wait(10)

    async def before_commit(self) -> None:
        assert await asyncio.to_thread(self._done.wait, 10)

    def commit(self) -> None:
        self._go_on.set()


async def texts(store: Store, index: MemoryIndex) -> list[str]:
    """Of what the index holds once it has been brought up to date."""

    def read(tx: Tx) -> list[str]:
        index.refresh(tx, MODEL)
        found = tx.profiles.get_many(list(index.rows))
        return sorted(profile.content for profile in found.values())

    return await store.of(ORG).read(read)


def write(store: Store, text: str, user: str = "ada"):
    return store.of(ORG).write_for_user(user, lambda tx: keep(tx, a_profile(text, user), words=text))


async def ready(store: Store) -> None:
    await store.of(ORG).write(lambda tx: tx.orgs.ensure())


@only_postgres
async def test_writers_for_different_users_do_not_wait_for_each_other(store: Store, other: Store):
    await ready(store)
    slow = Paused("one", "ada")
    task = asyncio.create_task(store.of(ORG).write_for_user("ada", slow))
    await slow.before_commit()

    await asyncio.wait_for(write(other, "two", "bob"), 5)
    waiting = asyncio.create_task(write(other, "three", "ada"))
    finished, _ = await asyncio.wait([waiting], timeout=0.3)
    slow.commit()
    await asyncio.gather(task, waiting)

    assert not finished
    assert await texts(store, MemoryIndex(Kind.PROFILE, None)) == ["one", "three", "two"]


@only_postgres
async def test_a_writer_of_the_whole_org_waits_for_writers_of_users(store: Store, other: Store):
    await ready(store)
    slow = Paused("one")
    task = asyncio.create_task(store.of(ORG).write_for_user("ada", slow))
    await slow.before_commit()

    whole = asyncio.create_task(other.of(ORG).write(lambda tx: tx.profiles.get_many(["none"])))
    finished, _ = await asyncio.wait([whole], timeout=0.3)
    slow.commit()
    await asyncio.gather(task, whole)

    assert not finished


@only_postgres
async def test_a_change_that_is_committed_late_is_found_and_none_is_read_twice(store: Store, other: Store):
    """The transaction that began first commits last: its number is below one that was already read."""
    await ready(store)
    index = MemoryIndex(Kind.PROFILE, None)
    slow = Paused("first")
    task = asyncio.create_task(store.of(ORG).write_for_user("ada", slow))
    await slow.before_commit()
    await write(other, "second", "bob")

    while_open = await texts(store, index)
    again = await texts(store, index)
    held = len(index.rows)
    slow.commit()
    await task

    assert while_open == again == ["second"]
    assert held == 1
    assert await texts(store, index) == ["first", "second"]


async def test_an_older_snapshot_does_not_take_back_what_a_newer_one_has_shown(store: Store, other: Store):
    await ready(store)
    await write(store, "before")
    index = MemoryIndex(Kind.PROFILE, None)

    def older(tx: Tx) -> int:
        tx.index_version  # noqa: B018 - the snapshot begins here
        asyncio.run_coroutine_threadsafe(_newer(), loop).result(10)
        index.refresh(tx, MODEL)
        return len(index.rows)

    async def _newer() -> None:
        await write(other, "after")
        await texts(other, index)

    loop = asyncio.get_running_loop()

    assert await store.of(ORG).read(older) == 2
    assert await texts(store, index) == ["after", "before"]


async def test_a_page_never_ends_within_a_transaction(store: Store):
    await ready(store)
    rows = [SearchRow(Kind.PROFILE, f"p{place}", "ada", "words", "w1") for place in range(7)]
    await store.of(ORG).write(lambda tx: tx.search_rows.upsert(rows[:2]))
    await store.of(ORG).write(lambda tx: tx.search_rows.upsert(rows[2:]))

    def pages(tx: Tx) -> list[str]:
        seq, found = 0, []
        while page := tx.search_rows.find_since(Kind.PROFILE, None, seq, 3):
            found += [row.entity_id for row, _, _ in page]
            seq = page[-1][1]
        return found

    def changed(tx: Tx) -> list[str]:
        seq, more, found = 0, True, []
        while more:
            page, more = tx.search_rows.find_changed_after(seq, [Kind.PROFILE], 3)
            found += [entity for _, entity, _ in page]
            seq = page[-1][2] if page else seq
        return found

    assert sorted(await store.of(ORG).read(pages)) == [row.entity_id for row in rows]
    assert sorted(await store.of(ORG).read(changed)) == [row.entity_id for row in rows]


async def test_a_writer_for_one_user_cannot_change_what_belongs_to_the_org(store: Store):
    await ready(store)
    with pytest.raises(LockOrderViolated):
        await store.of(ORG).write_for_user("ada", lambda tx: tx.search_rows.delete_user("ada"))


@only_postgres
async def test_while_servers_of_the_first_version_are_connected_changes_are_counted(store: Store, settings: Settings):
    await ready(store)
    _set_counted(store)
    index = MemoryIndex(Kind.PROFILE, None)
    await write(store, "counted")
    with psycopg.connect(settings.database_url, application_name="acumen"):
        change_numbers.stop_counting(store.database)
        still = await store.of(ORG).read(lambda tx: tx.search_rows.get_version().seq)
        assert await texts(store, index) == ["counted"]

    await _disconnected(settings, "acumen")
    change_numbers.stop_counting(store.database)
    await write(store, "by transaction")

    assert still == 1
    assert await store.of(ORG).read(lambda tx: tx.search_rows.get_version().seq) > FIRST_OF_TRANSACTIONS
    assert await texts(store, index) == ["by transaction", "counted"]


@only_postgres
async def test_a_dump_restored_into_a_younger_cluster_is_searched_like_before(store: Store):
    """Its numbers are higher than any transaction of the new cluster."""
    await ready(store)
    await write(store, "restored")
    with store.database.engine().begin() as conn:
        conn.execute(sa.update(search_rows).values(seq=FIRST_OF_TRANSACTIONS + 10**9))
        read_so_far = {"agent_version": "1", "last_id": 1, "seq": FIRST_OF_TRANSACTIONS + 10**9, "duration_ms": 1.0}
        at = {"org_id": ORG, "created_at": 1, "updated_at": 1}
        conn.execute(sa.insert(aggregation_bookmarks), {**read_so_far, **at, "basis": "b"})

    change_numbers.stop_counting(store.database)
    index = MemoryIndex(Kind.PROFILE, UserId("ada"))
    before = await texts(store, index)
    await write(store, "new")

    assert before == ["restored"]
    assert await texts(store, index) == ["new", "restored"]
    highest = await store.of(ORG).read(lambda tx: tx.search_rows.find_since(Kind.PROFILE, None, 0)[0][1])
    bookmark = await store.read(lambda conn: conn.execute(sa.select(aggregation_bookmarks.c.seq)).scalar_one())
    assert highest < FIRST_OF_TRANSACTIONS
    assert bookmark < FIRST_OF_TRANSACTIONS, "an aggregation would not see what changes from now on"


@only_postgres
async def test_rows_that_another_server_writes_while_this_one_starts_are_not_taken_for_restored_ones(store: Store):
    await ready(store)
    writing = asyncio.create_task(_write_often(store))
    for _ in range(20):
        await asyncio.to_thread(change_numbers.stop_counting, store.database)
    writing.cancel()

    with store.database.engine().begin() as conn:
        assert conn.execute(sa.select(orgs.c.generation)).scalar_one() == 0


async def _write_often(store: Store) -> None:
    for number in itertools.count():
        await write(store, f"text {number}", f"user{number}")


def _set_counted(store: Store) -> None:
    with store.database.engine().begin() as conn:
        assert conn.execute(sa.select(orgs.c.search_seq)).scalar_one() == BY_TRANSACTION
        conn.execute(sa.update(orgs).values(search_seq=0))


async def _disconnected(settings: Settings, name: str) -> None:
    """A connection that was closed is listed for a moment longer."""
    listed = "SELECT count(*) FROM pg_stat_activity WHERE application_name = %s"
    with psycopg.connect(settings.database_url, application_name="watcher", autocommit=True) as conn:
        for _ in range(200):
            if conn.execute(listed, [name]).fetchone() == (0,):
                return
            await asyncio.sleep(0.05)
    raise AssertionError(f"still connected: {name}")
