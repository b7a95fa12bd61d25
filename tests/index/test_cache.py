"""What search holds in memory is in step with what is committed, whoever wrote it."""

import asyncio
import tracemalloc

import numpy as np
import pytest
from msgspec.structs import replace

from acumen.index.cache import BYTES_PER_INDEX, IndexCache
from acumen.index.documents import ANALYSER
from acumen.index.live_indexes import MemoryIndex, TurnIndex
from acumen.index.partition import RankQuery
from acumen.llm.embedding import DIMS
from acumen.model.ids import Kind, UserId
from acumen.model.memories.search import TURN, Filter, RankingMode, SearchRow
from acumen.storage.store import OrgStore
from tests.world import (
    ADA,
    JUST_BECAUSE,
    Org,
    Start,
    a_profile,
    a_request,
    a_turn,
    keep,
    local,
    profile,
    said,
)

MODEL = "model-a"
VECTOR = np.ones(DIMS, np.float16).tobytes()


def found_by(words: str, **more: object) -> SearchRow:
    return SearchRow(Kind.PROFILE, "", "ada", words, ANALYSER, **more)  # type: ignore[arg-type]


async def caught_up(store: OrgStore, held: MemoryIndex | TurnIndex, model: str = MODEL) -> set[str]:
    def read(tx) -> set[str]:
        held.refresh(tx, model)
        return set(held.rows)

    return await store.read(read)


# --- memories ------------------------------------------------------------------------------------------------------


async def test_it_holds_what_was_added_and_lets_go_of_what_was_deleted(org_store: OrgStore):
    held = MemoryIndex(Kind.PROFILE, ADA)
    first, second = [await org_store.write(lambda tx, n=n: keep(tx, a_profile(n))) for n in ("one", "two")]
    await org_store.write(lambda tx: keep(tx, a_profile("bob's", user="bob")))
    before = await caught_up(org_store, held)
    await org_store.write(lambda tx: tx.memories.delete(Kind.PROFILE, [first.id], JUST_BECAUSE))

    after = await caught_up(org_store, held)

    assert (before, after) == ({first.id, second.id}, {second.id})


async def test_a_whole_org_is_held_beside_each_of_its_users(org_store: OrgStore):
    refs = [await org_store.write(lambda tx, user=user: keep(tx, a_profile(user=user))) for user in ("ada", "bob")]

    assert await caught_up(org_store, MemoryIndex(Kind.PROFILE, None)) == {ref.id for ref in refs}
    assert await caught_up(org_store, MemoryIndex(Kind.PROFILE, ADA)) == {refs[0].id}


async def test_an_erased_user_is_forgotten(org_store: OrgStore):
    held = MemoryIndex(Kind.PROFILE, ADA)
    await org_store.write(lambda tx: keep(tx, a_profile()))
    before = await caught_up(org_store, held)

    def erase(tx) -> None:
        tx.profiles.delete(list(before))
        tx.search_rows.delete_user("ada")

    await org_store.write(erase)

    assert len(before) == 1
    assert await caught_up(org_store, held) == set()


async def test_one_too_many_to_ask_for_by_id_are_read_all_the_same(org_store: OrgStore):
    held = MemoryIndex(Kind.PROFILE, ADA)

    def add(tx) -> None:
        for number in range(501):
            keep(tx, a_profile(f"number {number}"))

    await org_store.write(add)

    assert len(await caught_up(org_store, held)) == 501


async def test_words_of_an_older_analyser_are_analysed_anew(org_store: OrgStore):
    memory = a_profile("Likes zebras")
    row = replace(found_by("words of long ago"), analyser="w0")
    await org_store.write(lambda tx: tx.memories.add(Kind.PROFILE, memory, row, JUST_BECAUSE))
    held = MemoryIndex(Kind.PROFILE, ADA)
    await caught_up(org_store, held)

    assert [hit.entity_id for hit in held.rows.rank(RankQuery.of("zebras"), 10)] == [memory.id]
    assert held.rows.rank(RankQuery.of("long ago"), 10) == []


@pytest.mark.parametrize("model, known", [("model-a", True), ("model-b", False)])
async def test_a_vector_of_another_model_is_not_compared(org_store: OrgStore, model: str, known: bool):
    row = found_by("zebra", vector=VECTOR, model=MODEL)
    await org_store.write(lambda tx: tx.memories.add(Kind.PROFILE, a_profile(), row, JUST_BECAUSE))
    held = MemoryIndex(Kind.PROFILE, ADA)
    await caught_up(org_store, held, model)

    hits = held.rows.rank(RankQuery.of("", np.ones(DIMS, np.float32), RankingMode.VECTOR), 10)

    assert bool(hits) == known


# --- turns ---------------------------------------------------------------------------------------------------------


async def test_turns_are_held_from_the_moment_they_are_published(org_store: OrgStore):
    held = TurnIndex(ADA)
    for name in ("r1", "r2"):
        request = a_request(name)
        await org_store.write(lambda tx, request=request: tx.conversations.add(request, [a_turn("hello", request)]))
        seen = await caught_up(org_store, held)

    other = a_request("r3", user="bob")
    await org_store.write(lambda tx: tx.conversations.add(other, [a_turn("hello", other)]))
    assert len(seen) == 2
    assert await caught_up(org_store, held) == seen


async def test_a_turn_that_was_deleted_does_not_come_back_with_its_vector(org_store: OrgStore):
    held = TurnIndex(ADA)
    request = a_request()
    await org_store.write(lambda tx: tx.conversations.add(request, [a_turn("one", request), a_turn("two", request)]))
    first, second = sorted(await caught_up(org_store, held), key=int)

    def delete(tx) -> None:
        tx.conversations.delete_turn(ADA, int(first))
        tx.search_rows.mark_deleted(TURN, {first: "ada"})

    await org_store.write(delete)
    vector = SearchRow(TURN, second, "ada", "two", ANALYSER, VECTOR, MODEL)
    await org_store.write(lambda tx: tx.search_rows.upsert([vector]))

    assert await caught_up(org_store, held) == {second}
    assert await caught_up(org_store, TurnIndex(ADA)) == {second}


# --- the shelf -----------------------------------------------------------------------------------------------------


async def test_the_least_recently_asked_are_put_away_when_there_is_no_room(org_store: OrgStore):
    users = ["ada", "bob", "cyd"]
    for user in users:
        await org_store.write(lambda tx, user=user: keep(tx, a_profile(user=user)))
    shelf = IndexCache(most_bytes=2 * BYTES_PER_INDEX)

    def ask(tx, user: str) -> MemoryIndex:
        with shelf.memories(tx, Kind.PROFILE, user, MODEL) as held:
            return held

    first = await org_store.read(lambda tx: ask(tx, "ada"))
    same = await org_store.read(lambda tx: ask(tx, "ada"))
    await org_store.read(lambda tx: ask(tx, "bob"))
    again = await org_store.read(lambda tx: ask(tx, "ada"))

    assert first is same
    assert again is not first
    assert len(again.rows) == 1


def add_many(tx, users: int, of_each: int) -> None:
    vectors = np.random.default_rng(1).standard_normal((users * of_each, DIMS)).astype(np.float16)
    for number, vector in enumerate(vectors):
        memory = a_profile(f"number {number}", user=f"user-{number % users}")
        row = SearchRow(Kind.PROFILE, "", memory.user_id, f"number {number}", ANALYSER, vector.tobytes(), MODEL)
        tx.memories.add(Kind.PROFILE, memory, row, JUST_BECAUSE)


def use(cache: IndexCache, tx, user: str) -> None:
    with cache.memories(tx, Kind.PROFILE, UserId(user), MODEL) as index:
        index.rank(tx, RankQuery.of("number 7", np.ones(DIMS, np.float32)), 5, Filter(user_id=UserId(user)))


@pytest.mark.parametrize("users, of_each", [(1, 300), (30, 3)])
async def test_it_counts_the_bytes_that_it_takes(org_store: OrgStore, users: int, of_each: int):
    cache = IndexCache(most_bytes=2**30)
    await org_store.write(lambda tx: add_many(tx, users, of_each))

    def measure(tx) -> int:
        use(IndexCache(2**30), tx, "user-0")  # so that code and statements are loaded
        tracemalloc.start()
        before, _ = tracemalloc.get_traced_memory()
        for number in range(users):
            use(cache, tx, f"user-{number}")
        after, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return after - before

    taken = await org_store.read(measure)

    assert cache.statistics.bytes == pytest.approx(taken, rel=0.25)


async def test_many_users_who_are_each_asked_for_once_do_not_take_more_than_the_limit(org_store: OrgStore):
    cache = IndexCache(most_bytes=5 * BYTES_PER_INDEX)
    await org_store.write(lambda tx: add_many(tx, users=20, of_each=1))

    def ask_all(tx) -> list[int]:
        sizes = []
        for number in range(20):
            use(cache, tx, f"user-{number}")
            with cache.turns(tx, UserId(f"user-{number}"), MODEL):
                pass
            sizes.append(cache.statistics.bytes)
        return sizes

    sizes = await org_store.read(ask_all)

    assert 0 < min(sizes) <= max(sizes) <= 5 * BYTES_PER_INDEX


# --- seen from outside ---------------------------------------------------------------------------------------------


async def test_what_one_process_changes_another_finds_at_once(start: Start):
    """Two apps on one database, as `acumen serve` and `acumen worker` are."""
    one, other = local(await start()), local(await start())
    await one.sdk.add_profiles(user_profiles=[profile("Likes zebras", profile_id="p1")])
    added = await other.sdk.search(query="zebras", user_id="ada")
    await one.sdk.update_profile(user_id="ada", profile_id="p1", content="Pays by invoice")
    edited = [await other.sdk.search(query=word, user_id="ada", search_mode="fts") for word in ("zebras", "invoice")]
    await one.sdk.publish(**said("The giraffe escaped"))
    turn = await other.sdk.search_interactions(user_id="ada", query="giraffe")
    await one.sdk.clear_user_data(user_id="ada")
    cleared = await other.sdk.search(query="invoice", user_id="ada")
    no_turn = await other.sdk.search_interactions(user_id="ada", query="giraffe")

    assert len(added.profiles) == 1
    assert [len(found.profiles) for found in edited] == [0, 1]
    assert (len(turn.interactions), no_turn.interactions) == (1, [])
    assert cleared.profiles == []


async def test_whoever_adds_finds_what_they_added_however_many_do_it_at_once(org: Org):
    async def add_and_find(number: int) -> list[str]:
        word = f"zebra{number}x"
        await org.sdk.add_profiles(user_profiles=[profile(f"Likes {word}", f"user-{number % 3}")])
        found = await org.sdk.search_profiles(user_id=f"user-{number % 3}", query=word, search_mode="fts")
        return [hit.content for hit in found.user_profiles]

    found = await asyncio.gather(*(add_and_find(number) for number in range(30)))

    assert found == [[f"Likes zebra{number}x"] for number in range(30)]
