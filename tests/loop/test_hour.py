"""Once an hour, what is old is put away and what was missed is made good."""

import pytest

from acumen import loop
from acumen.model.jobs.events import Hour
from tests.world import Clock, Org, Start, local, profile, said


async def statuses(org: Org) -> dict[str, str]:
    return {row["content"]: row["status"] for row in (await org.rows())["profiles"]}


async def test_profiles_past_their_time_expire_within_the_hour(start: Start, clock: Clock):
    org = local(await start())
    await org.sdk.add_profiles(
        user_profiles=[profile("for a day", profile_time_to_live="one_day"), profile("for ever")]
    )
    clock.forward(hours=23)
    await org.learn()
    early = await statuses(org)
    clock.forward(hours=2)
    found = await org.sdk.search(query="for a day", user_id="ada")
    await org.learn()

    assert early == {"for a day": "current", "for ever": "current"}
    assert [hit.content for hit in found.profiles] == ["for ever"]  # even before the hour came
    assert await statuses(org) == {"for a day": "expired", "for ever": "current"}
    assert [event["op"] for event in (await org.rows())["lineage"]] == ["add", "add", "expired"]


async def test_an_hour_follows_the_other(start: Start, clock: Clock):
    org = local(await start())
    for _ in range(3):
        clock.forward(hours=1, minutes=1)
        await org.learn()

        (job,) = [job for job in (await org.rows())["jobs"] if job["event"] == "hour"]
        assert job["state"] == "waiting"
        assert 0 < job["run_at"] - clock() <= 3_600_000


async def test_an_hour_that_failed_for_good_does_not_stop_the_next(
    start: Start, clock: Clock, monkeypatch: pytest.MonkeyPatch
):
    org = local(await start(jobs={"attempts": 1}))

    async def broken(*_: object) -> None:
        raise ValueError("torn page")

    with monkeypatch.context() as patch:
        patch.setitem(loop.STEPS, Hour, (broken,))
        clock.forward(hours=1, minutes=1)
        await org.learn()
    await org.sdk.add_profiles(user_profiles=[profile("for a day", profile_time_to_live="one_day")])
    clock.forward(days=2)
    await org.learn()

    assert await statuses(org) == {"for a day": "expired"}


async def test_counts_older_than_they_are_kept_are_removed(start: Start, clock: Clock):
    org = local(await start(meter={"keep_days": 10}))
    await org.sdk.add_profiles(user_profiles=[profile("Likes zebras")])
    await org.sdk.search(query="zebras", user_id="ada")
    await org.app.flush_usage()
    clock.forward(days=11)
    await org.learn()

    left = await org.rows()

    assert (left["usage_events"], left["injections"]) == ([], [])


async def test_memories_stored_without_a_vector_get_one_when_there_is_a_model_again(start: Start, clock: Clock):
    without = local(await start(recall={"embeddings": False}))
    await without.sdk.add_profiles(user_profiles=[profile("Drives a red car to the office every morning")])
    await without.sdk.publish(**said("My daughter was born yesterday at the clinic"))
    await without.learn()
    org = local(await start())
    query = {"query": "commutes by automobile", "user_id": "ada", "search_mode": "vector"}
    before = await org.sdk.search(**query)

    clock.forward(hours=1, minutes=1)
    await org.learn()

    assert (await org.sdk.status()).coverage.memories_without_vector == 0
    assert (before.profiles, len((await org.sdk.search(**query)).profiles)) == ([], 1)


async def test_turns_stored_without_a_vector_get_one_when_there_is_a_model_again(start: Start, clock: Clock):
    without = local(await start(recall={"embeddings": False}))
    await without.sdk.publish(**said("My daughter was born yesterday at the clinic"))
    await without.learn()
    org = local(await start())

    clock.forward(hours=1, minutes=1)
    await org.learn()

    found = await org.sdk.search_interactions(user_id="ada", query="new baby in the family", search_mode="vector")
    assert len(found.interactions) == 1


async def test_a_memory_changed_while_it_gets_its_vector_keeps_its_new_words(
    start: Start, clock: Clock, monkeypatch: pytest.MonkeyPatch
):
    without = local(await start(recall={"embeddings": False}))
    await without.sdk.add_profiles(
        user_profiles=[profile("Likes zebras", profile_id="edited"), profile("Likes apples", profile_id="deleted")]
    )
    org = local(await start())
    index_rows = org.app.index.rows

    async def slow_rows(texts):
        rows = await index_rows(texts)
        if len(texts) > 1:
            await org.sdk.update_profile(user_id="ada", profile_id="edited", content="Pays by invoice")
            await org.sdk.delete_profile(user_id="ada", profile_id="deleted")
        return rows

    monkeypatch.setattr(org.app.index, "rows", slow_rows)
    clock.forward(hours=1, minutes=1)
    await org.learn()

    old = [await org.sdk.search(query=word, user_id="ada", search_mode="fts") for word in ("zebras", "apples")]
    assert [found.profiles for found in old] == [[], []]
    assert "appl" not in str((await org.rows())["search_rows"])
    assert len((await org.sdk.search(query="invoice", user_id="ada", search_mode="fts")).profiles) == 1
