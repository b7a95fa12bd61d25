"""Transactions: what is read is not written, what is written is committed, and one failure is nobody else's."""

import asyncio
import threading
from collections.abc import Iterator

import pytest
import sqlalchemy as sa

from acumen.errors import AcumenError, Unavailable
from acumen.model.ids import OrgId, SessionId, UserId
from acumen.model.jobs.events import LessonsGrew, SessionQuiet
from acumen.settings import Settings
from acumen.storage.engine.scope import LockOrderViolated
from acumen.storage.store import Store, Tx, connect
from acumen.storage.tables import orgs
from tests.world import ORG


async def names(store: Store) -> list[str]:
    return await store.read(lambda conn: list(conn.execute(sa.select(orgs.c.org_id).order_by(orgs.c.org_id)).scalars()))


def make(store: Store, name: str):
    return store.of(OrgId(name)).write(lambda tx: tx.orgs.ensure())


class Held:
    """A write that keeps the only writer of SQLite busy, so that others gather behind it."""

    def __init__(self) -> None:
        self._go_on = threading.Event()
        self._begun = threading.Event()

    def __call__(self, tx: Tx) -> None:
        self._begun.set()
        self._go_on.wait(10)

    async def begun(self) -> None:
        await asyncio.to_thread(self._begun.wait, 10)

    def release(self) -> None:
        self._go_on.set()


@pytest.fixture
def commits(store: Store) -> Iterator[list[sa.Connection]]:
    """Grows by one with every commit."""
    seen: list[sa.Connection] = []
    engine = store.database.engine()

    def note(conn: sa.Connection) -> None:
        seen.append(conn)

    sa.event.listen(engine, "commit", note)
    yield seen
    sa.event.remove(engine, "commit", note)


async def test_a_read_cannot_write(store: Store):
    with pytest.raises((AcumenError, sa.exc.DBAPIError)):
        await store.of(ORG).read(lambda tx: tx.orgs.ensure())

    assert await names(store) == []


async def test_a_connection_that_read_can_still_not_write_and_one_that_failed_can_still_read(store: Store):
    for _ in range(20):
        with pytest.raises((AcumenError, sa.exc.DBAPIError)):
            await store.of(ORG).read(lambda tx: tx.orgs.ensure())

    assert await names(store) == []


async def test_a_read_sees_one_moment(store: Store):
    await make(store, "first")
    counted, written = threading.Event(), threading.Event()

    def look(conn: sa.Connection) -> tuple[int, int]:
        count = sa.select(sa.func.count()).select_from(orgs)
        before = conn.execute(count).scalar_one()
        counted.set()
        written.wait(10)
        return before, conn.execute(count).scalar_one()

    reading = asyncio.create_task(store.read(look))
    await asyncio.to_thread(counted.wait, 10)
    await make(store, "second")
    written.set()

    assert await reading == (1, 1)


async def test_what_is_written_is_read_once_write_returns(store: Store):
    await make(store, "acme")

    assert await names(store) == ["acme"]


async def test_a_failed_write_leaves_nothing_behind(store: Store):
    def half(tx: Tx) -> None:
        tx.orgs.ensure()
        raise ValueError("changed my mind")

    with pytest.raises(ValueError, match="changed my mind"):
        await store.of(ORG).write(half)

    assert await names(store) == []


async def test_writes_that_wait_share_a_commit_and_one_that_fails_takes_nobody_along(store: Store, commits: list):
    held = Held()
    first = asyncio.create_task(store.of(ORG).write(held))
    await held.begun()

    def fail(tx: Tx) -> None:
        tx.orgs.ensure()
        raise ValueError("only mine")

    def clash(tx: Tx) -> None:
        tx.scope.insert(orgs, [{"config_version": 0, "search_seq": 0, "generation": 0}] * 2)

    waiting = [
        asyncio.create_task(make(store, "before")),
        asyncio.create_task(store.of(OrgId("failing")).write(fail)),
        asyncio.create_task(store.of(OrgId("clashing")).write(clash)),
        asyncio.create_task(make(store, "after")),
    ]
    await asyncio.sleep(0.05)
    held.release()
    await first
    outcomes = await asyncio.gather(*waiting, return_exceptions=True)

    assert [type(outcome) for outcome in outcomes] == [type(None), ValueError, sa.exc.IntegrityError, type(None)]
    assert await names(store) == ["after", "before"]
    if store.database.name == "sqlite":
        assert len(commits) == 2


async def test_a_hundred_writers_at_once_all_get_their_write(store: Store, commits: list):
    await asyncio.gather(*(make(store, f"org-{number:03}") for number in range(100)))

    assert await names(store) == [f"org-{number:03}" for number in range(100)]
    if store.database.name == "sqlite":
        assert len(commits) < 20


async def test_a_write_that_breaks_its_whole_commit_does_not_stop_the_writer(store: Store):
    """As SQLite does by itself when the disk is full: the transaction is gone, for all who shared it."""

    def break_it(tx: Tx) -> None:
        raw = tx.scope.conn.connection.dbapi_connection
        assert raw is not None
        raw.rollback()
        raise ValueError("broken")

    with pytest.raises((ValueError, Unavailable)):
        await asyncio.wait_for(store.of(ORG).write(break_it), 5)

    await asyncio.wait_for(make(store, "next"), 5)
    assert await names(store) == ["next"]


async def test_more_writes_than_may_wait_are_refused_rather_than_held(settings: Settings):
    small = settings.model_copy(update={"limits": settings.limits.model_copy(update={"waiting_writes": 2})})
    store = Store(connect(small))
    held = Held()
    first = asyncio.create_task(store.of(ORG).write(held))
    await held.begun()

    waiting = [asyncio.create_task(make(store, f"org-{number}")) for number in range(5)]
    await asyncio.sleep(0.05)
    held.release()
    outcomes = await asyncio.gather(first, *waiting, return_exceptions=True)
    store.close()

    refused = [outcome for outcome in outcomes if isinstance(outcome, Unavailable)]
    assert len(refused) in {3, 4}, outcomes
    assert len([outcome for outcome in outcomes if outcome is None]) == 6 - len(refused)


async def test_closing_finishes_what_was_handed_in(settings: Settings):
    store = Store(connect(settings))
    handed_in = [asyncio.create_task(make(store, f"org-{number}")) for number in range(10)]
    await asyncio.sleep(0)

    await asyncio.to_thread(store.close)
    await asyncio.gather(*handed_in)

    again = Store(connect(settings))
    assert len(await names(again)) == 10
    again.close()


async def test_a_transaction_that_did_not_begin_with_the_orgs_lock_cannot_change_what_search_reads(store: Store):
    await make(store, ORG)

    with pytest.raises(LockOrderViolated):
        await store.of(ORG).write(lambda tx: tx.search_rows.begin_generation(), hold_org=False)


async def test_users_are_locked_in_one_call_and_those_that_are_held_may_be_named_again(store: Store):
    def two_calls(tx: Tx) -> None:
        tx.scope.lock_users({"ada", "bob"})
        tx.scope.lock_user("ada")
        tx.scope.lock_user("eve")

    with pytest.raises(LockOrderViolated):
        await store.of(ORG).write(two_calls)


async def test_transactions_of_an_org_run_one_after_the_other_and_publishing_waits_for_none_of_them(settings: Settings):
    """As two servers would; SQLite, which has one writer, makes publishing wait as well."""
    one, other = Store(connect(settings)), Store(connect(settings))
    held, order = Held(), []
    first = asyncio.create_task(one.of(ORG).write(held))
    await held.begun()
    second = asyncio.create_task(other.of(ORG).write(lambda tx: order.append("second")))
    published = asyncio.create_task(other.of(ORG).write(lambda tx: order.append("published"), hold_org=False))
    if settings.database_url:
        await published
    held.release()
    await asyncio.gather(first, second, published)
    one.close()
    other.close()

    assert sorted(order) == ["published", "second"]
    assert order[0] == "published" or not settings.database_url


class Turns:
    """A transaction that publishes for a user and goes on until it is released."""

    def __init__(self, held: Held) -> None:
        self._held = held

    def __call__(self, tx: Tx) -> None:
        tx.scope.lock_turns(["ada"])
        self._held(tx)


async def test_publishing_and_learning_of_a_user_go_on_at_once_and_erasing_waits_for_both(settings: Settings):
    """As two servers would; SQLite has one writer."""
    if not settings.database_url:
        pytest.skip("SQLite has one writer")
    one, other = Store(connect(settings)), Store(connect(settings))
    publishing, learning = Held(), Held()
    tasks = [asyncio.create_task(one.of(ORG).write(Turns(publishing), hold_org=False))]
    await publishing.begun()
    tasks.append(asyncio.create_task(other.of(ORG).write_for_user("ada", learning)))
    await asyncio.wait_for(learning.begun(), 5)

    waiting = [
        asyncio.create_task(other.of(ORG).write(lambda tx: tx.scope.lock_turns(["ada", "bob"]), hold_org=False)),
        asyncio.create_task(one.of(ORG).write_for_user("ada", lambda _: None)),
        asyncio.create_task(one.of(ORG).write(lambda tx: tx.scope.lock_user("ada"))),
    ]
    finished, _ = await asyncio.wait(waiting, timeout=0.3)
    publishing.release()
    learning.release()
    await asyncio.gather(*tasks, *waiting)
    one.close()
    other.close()

    assert not finished


async def test_jobs_are_inserted_after_everything_else_and_in_one_order(store: Store):
    facts = [SessionQuiet(UserId("eve"), SessionId("s")), LessonsGrew("2"), LessonsGrew("1")]

    def add(tx: Tx) -> int:
        for fact in facts:
            tx.jobs.add(fact)
        return len(tx.jobs.find_by_event(LessonsGrew.name))

    inserted_meanwhile = await store.of(ORG).write(add)
    jobs = await store.of(ORG).read(
        lambda tx: [*tx.jobs.find_by_event(LessonsGrew.name), *tx.jobs.find_by_event(SessionQuiet.name)]
    )

    assert inserted_meanwhile == 0
    assert [job.scope for job in sorted(jobs, key=lambda job: job.id)][:2] == ["1", "2"]
