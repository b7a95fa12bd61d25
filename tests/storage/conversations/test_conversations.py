"""What was said, as rows: stored once, read in order, and how far each reader has come."""

import asyncio

import pytest

from acumen.errors import Conflict
from acumen.model.ids import InteractionId, RequestId, SessionId, UserId
from acumen.storage.store import OrgStore, Tx
from tests.world import ADA, Clock, a_request, a_turn


def add(name: str, *contents: str, **about: str | int):
    request = a_request(name, **about)
    return lambda tx: tx.conversations.add(request, [a_turn(content, request) for content in contents])


async def said(store: OrgStore, user: UserId = ADA) -> list[str]:
    return [turn.content for turn in await store.read(lambda tx: tx.conversations.find_newest(user, None))]


async def test_the_same_request_again_stores_nothing_and_says_so(org_store: OrgStore):
    assert await org_store.write(add("r1", "hello", "there")) is True

    assert await org_store.write(add("r1", "hello", "there")) is False

    assert await said(org_store) == ["hello", "there"]


async def test_another_request_under_the_same_id_is_a_conflict_and_stores_nothing(org_store: OrgStore):
    await org_store.write(add("r1", "hello"))

    with pytest.raises(Conflict, match="r1"):
        await org_store.write(add("r1", "something else", body_hash="other"))

    assert await said(org_store) == ["hello"]


async def test_the_same_request_from_many_at_once_is_stored_once(org_store: OrgStore):
    added = await asyncio.gather(*(org_store.write(add("r1", "hello")) for _ in range(20)))

    assert sorted(added) == [False] * 19 + [True]
    assert await said(org_store) == ["hello"]


async def test_turns_of_a_user_that_come_at_once_are_committed_in_the_order_of_their_ids(org_store: OrgStore):
    """A reader that has read up to an id must never find a lower one later."""
    seen: list[list[int]] = []

    async def look() -> None:
        for _ in range(20):
            turns = await org_store.read(lambda tx: tx.conversations.find_after(ADA, InteractionId(0)))
            seen.append([turn.id for turn in turns])

    await asyncio.gather(look(), *(org_store.write(add(f"r{number}", "a", "b", "c")) for number in range(30)))

    last = await org_store.read(lambda tx: [turn.id for turn in tx.conversations.find_after(ADA, InteractionId(0))])
    assert len(last) == 90
    assert all(ids == last[: len(ids)] for ids in seen)


async def test_a_reader_finds_what_came_after_its_bookmark_and_the_context_before_it(org_store: OrgStore):
    await org_store.write(add("r1", "one", "two", "three"))
    ids = [turn.id for turn in await org_store.read(lambda tx: tx.conversations.find_after(ADA, InteractionId(0)))]

    after, before = await org_store.read(
        lambda tx: (tx.conversations.find_after(ADA, ids[1]), tx.conversations.find_before(ADA, ids[1], 1))
    )

    assert [turn.content for turn in after] == ["three"]
    assert [turn.content for turn in before] == ["two"]


# --- bookmarks -----------------------------------------------------------------------------------------------------


async def ids_of(store: OrgStore) -> list[InteractionId]:
    await store.write(add("r1", "one", "two", "three"))
    return [turn.id for turn in await store.read(lambda tx: tx.conversations.find_after(ADA, InteractionId(0)))]


def move(seen: int, to: int):
    return lambda tx: tx.bookmarks.move(ADA, "profiles", InteractionId(seen), InteractionId(to))


async def test_a_bookmark_moves_from_where_it_was_seen(org_store: OrgStore):
    first, second, _ = await ids_of(org_store)

    await org_store.write(move(0, first))
    await org_store.write(move(first, second))

    assert await org_store.read(lambda tx: tx.bookmarks.get(ADA, "profiles")) == second


async def test_a_bookmark_that_somebody_moved_meanwhile_refuses_to_move(org_store: OrgStore):
    first, second, third = await ids_of(org_store)
    await org_store.write(move(0, second))

    for stale in (0, first):
        with pytest.raises(Conflict):
            await org_store.write(move(stale, third))

    assert await org_store.read(lambda tx: tx.bookmarks.get(ADA, "profiles")) == second


async def test_work_behind_a_refused_bookmark_is_not_stored(org_store: OrgStore):
    first, second, _ = await ids_of(org_store)
    await org_store.write(move(0, second))

    def work(tx: Tx) -> None:
        tx.sessions.finish(ADA, SessionId("s1"))
        move(0, first)(tx)

    with pytest.raises(Conflict):
        await org_store.write(work)

    assert not await org_store.read(lambda tx: tx.sessions.find_finished(ADA, [SessionId("s1")]))


async def test_two_readers_at_once_and_only_one_moves_the_bookmark(org_store: OrgStore):
    first, *_ = await ids_of(org_store)

    outcomes = await asyncio.gather(*(org_store.write(move(0, first)) for _ in range(5)), return_exceptions=True)

    assert [type(outcome) for outcome in outcomes].count(Conflict) == 4


async def test_a_user_erased_while_being_read_cannot_be_bookmarked(org_store: OrgStore):
    """Else what was learned from erased turns would be stored after the erasure."""
    first, second, _ = await ids_of(org_store)
    await org_store.write(move(0, first))
    await org_store.write(lambda tx: tx.conversations.delete_user(ADA))

    for seen in (0, first):
        with pytest.raises(Conflict):
            await org_store.write(move(seen, second))


# --- sessions ------------------------------------------------------------------------------------------------------


async def test_sessions_come_newest_first_with_all_their_requests_and_say_whether_more_follow(
    org_store: OrgStore, clock: Clock
):
    for name, session in (("r1", "old"), ("r2", "new"), ("r3", "new")):
        clock.forward(minutes=1)
        await org_store.write(add(name, "hi", session=session, created_at=clock()))

    pages = await org_store.read(
        lambda tx: [
            tx.conversations.page_sessions(tx.conversations.select_requests(), 1, offset) for offset in (0, 1, 2)
        ]
    )

    assert [([[request.id for request in session] for session in sessions], more) for sessions, more in pages] == [
        ([["r2", "r3"]], True),
        ([["r1"]], False),
        ([], False),
    ]


async def test_requests_of_one_millisecond_stand_in_the_order_in_which_they_came(org_store: OrgStore):
    for name in ("later by name", "earlier by name"):
        await org_store.write(add(name, name, created_at=1_000))

    requests, _ = await org_store.read(lambda tx: tx.conversations.get_session(ADA, SessionId("s1"), 10))
    pages, _ = await org_store.read(
        lambda tx: tx.conversations.page_sessions(tx.conversations.select_requests(user=ADA), 10, 0)
    )

    for found in (requests, pages[0]):
        assert [request.id for request in found] == ["later by name", "earlier by name"]


async def test_a_session_name_used_by_two_users_is_two_sessions(org_store: OrgStore):
    await org_store.write(add("r1", "mine", user="ada", session="main"))
    await org_store.write(add("r2", "yours", user="bob", session="main"))

    sessions, _ = await org_store.read(
        lambda tx: tx.conversations.page_sessions(tx.conversations.select_requests(), 10, 0),
    )

    assert sorted([request.id for request in session] for session in sessions) == [["r1"], ["r2"]]


async def test_deleting_a_request_takes_its_turns_and_nothing_else(org_store: OrgStore):
    await org_store.write(add("r1", "goes"))
    await org_store.write(add("r2", "stays"))

    gone = await org_store.write(lambda tx: tx.conversations.delete_requests([RequestId("r1"), RequestId("nothing")]))

    assert gone == 1
    assert await said(org_store) == ["stays"]
