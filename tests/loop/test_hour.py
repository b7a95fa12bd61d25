"""Once an hour, what is old is put away and what was missed is made good."""

from collections.abc import Awaitable, Callable

import pytest
import sqlalchemy as sa

from acumen import loop
from acumen.app import App
from acumen.model.jobs.events import Hour
from acumen.settings import Meter
from acumen.storage.tables import jobs
from tests.world import Clock, Org, Start, join, local, profile, running, said


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


async def waits(org: Org, clock: Clock) -> dict[str, float]:
    """Minutes until each periodic job."""
    jobs = [job for job in (await org.rows())["jobs"] if job["event"] in ("hour", "minutes")]
    assert {job["state"] for job in jobs} == {"waiting"}
    return {job["event"]: round((job["run_at"] - clock()) / 60_000) for job in jobs}


async def remember(org: Org) -> None:
    await org.sdk.add_profiles(user_profiles=[profile("Lives in Paris")])


async def talk(org: Org) -> None:
    await org.sdk.publish(**said("I live in Paris."))


async def call_a_tool(org: Org) -> None:
    operation = {"op_id": "o1", "source": "ci", "endpoint": "deploy", "status": "ok"}
    assert (await org.send("POST", "/api/record_operations", {"operations": [operation]})).json()["results"]


@pytest.mark.parametrize("act", [remember, talk, call_a_tool])
async def test_an_hour_follows_the_other_while_there_is_activity_and_an_idle_org_is_left_alone(
    start: Start, clock: Clock, act: Callable[[Org], Awaitable[None]]
):
    org = local(await start())
    clock.forward(hours=1, minutes=1)
    await org.learn()
    unused = await waits(org, clock)
    await act(org)
    clock.forward(hours=7)
    await org.learn()
    active = await waits(org, clock)
    clock.forward(days=8)
    await org.learn()  # ends what the activity caused
    clock.forward(hours=7)
    await org.learn()

    assert unused == {"hour": 360, "minutes": 60}
    assert active == {"hour": 60, "minutes": 5}
    assert await waits(org, clock) == {"hour": 360, "minutes": 60}


async def test_a_start_schedules_and_meters_the_orgs_that_lack_it_and_leaves_the_others_alone(
    start: Start, clock: Clock
):
    app = await start()
    orgs = [await join(app) for _ in range(3)]
    lost = orgs[0]
    async with running(App(app.settings, clock), work=False):
        before = {org.id: await org.rows() for org in orgs}
    await app.store.database.write(lambda conn: conn.execute(sa.delete(jobs).where(jobs.c.org_id == lost.id)))

    async with running(App(app.settings, clock), work=False):
        after = {org.id: await org.rows() for org in orgs}
    async with running(App(app.settings.model_copy(update={"meter": Meter(enabled=False)}), clock), work=False):
        unmetered = [(await org.rows())["orgs"][0]["metered_since"] for org in orgs]

    assert {job["event"] for job in after[lost.id]["jobs"]} == {"hour", "minutes"}
    assert [after[org.id] for org in orgs[1:]] == [before[org.id] for org in orgs[1:]]
    assert unmetered == [None, None, None]


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
