"""When a window is read: enough is new, or nothing more will come."""

import pytest

from tests.world import Clock, Org, Start, local, said

FACT = "I live in Paris."


async def learned(org: Org, user: str = "ada") -> int:
    return len((await org.sdk.profiles(user_id=user)).user_profiles)


async def status(org: Org, request: str) -> tuple[str, str | None]:
    told = await org.sdk.learning_status(request_id=request)
    return told.status, told.reason


async def test_fewer_turns_than_a_stride_wait_and_say_so(org: Org):
    await org.sdk.update_config(stride_size=3)
    await org.sdk.publish(**said(FACT, request_id="r1"))
    await org.learn()

    assert await learned(org) == 0
    assert await status(org, "r1") == ("pending", "waiting_for_window")


async def test_a_full_stride_is_read_whatever_requests_it_came_in(org: Org):
    await org.sdk.update_config(stride_size=3)
    for number, text in enumerate((FACT, "agent: Lovely city.", "Thanks!")):
        await org.sdk.publish(**said(text, request_id=f"r{number}"))
        await org.learn()

    assert await learned(org) == 1
    assert await status(org, "r0") == ("done", "covered")


async def test_a_memory_carries_the_source_and_version_of_the_request_it_was_said_in(org: Org):
    await org.sdk.update_config(stride_size=3)
    await org.sdk.publish(**said(FACT, source="web", agent_version="v1"))
    await org.sdk.publish(**said("Always answer in French, please.", source="app", agent_version="v2"))
    await org.sdk.publish(**said("Thanks!", source="phone", agent_version="v3"))
    await org.learn()

    (fact,) = (await org.sdk.profiles(user_id="ada", source="web")).user_profiles
    (lesson,) = (await org.sdk.user_playbooks(user_id="ada")).user_playbooks
    assert "Paris" in fact.content
    assert (lesson.agent_version, lesson.source) == ("v2", "app")


@pytest.mark.parametrize("barrier", ["force_extraction", "session_finished"])
async def test_a_request_may_close_its_window_itself(org: Org, barrier: str):
    await org.sdk.update_config(stride_size=5)
    await org.sdk.publish(**said(FACT, request_id="r1", **{barrier: True}))
    await org.learn()

    assert await learned(org) == 1
    assert await status(org, "r1") == ("done", "covered")


async def test_the_end_of_its_session_closes_a_window(org: Org):
    await org.sdk.update_config(stride_size=5)
    await org.sdk.publish(**said(FACT, session="s1", request_id="r1"))
    await org.learn()
    before = await learned(org)

    await org.sdk.finalize_session(user_id="ada", session_id="s1")
    await org.learn()

    assert (before, await learned(org)) == (0, 1)
    assert await status(org, "r1") == ("done", "covered")


async def test_an_idle_user_closes_a_window(start: Start, clock: Clock):
    app = await start()
    org = local(app)
    await org.sdk.update_config(stride_size=5, extraction_idle_timeout_seconds=3_600)
    await org.sdk.publish(**said(FACT, request_id="r1"))
    await org.learn()
    clock.forward(minutes=59)
    await org.learn()
    before = await learned(org)

    clock.forward(minutes=2)
    await org.learn()

    assert (before, await learned(org)) == (0, 1)
    assert await status(org, "r1") == ("done", "covered")


async def test_turns_that_were_read_are_context_and_not_read_again(org: Org):
    await org.sdk.publish(**said("Which city?", "agent: Which city do you live in?"))
    await org.learn()
    await org.sdk.publish(**said(FACT))
    await org.learn()
    await org.sdk.publish(**said("Thank you."))
    await org.learn()

    (fact,) = (await org.sdk.profiles(user_id="ada")).user_profiles
    assert fact.mentions == 1


async def test_more_turns_than_a_window_holds_are_all_read(org: Org):
    await org.sdk.update_config(window_size=2)
    names = ["Paris", "Lyon", "Nice", "Metz", "Lille"]
    turns = [f"My friend number {number} has a dog called {name}." for number, name in enumerate(names)]

    await org.sdk.publish(**said("I live in Berlin.", *turns, "My favourite colour is green.", request_id="r1"))
    await org.learn()

    contents = " ".join(one.content for one in (await org.sdk.profiles(user_id="ada")).user_profiles)
    assert "Berlin" in contents
    assert "green" in contents
    assert await status(org, "r1") == ("done", "covered")


async def test_a_job_that_failed_for_good_is_told_by_its_request(org: Org, monkeypatch: pytest.MonkeyPatch):
    async def fail(_job: object) -> None:
        raise ValueError("torn page")

    with monkeypatch.context() as broken:
        broken.setattr(org.app.worker, "_run", fail)
        await org.sdk.publish(**said(FACT, request_id="r1"))
        await org.learn()
        retrying = await status(org, "r1")
        broken.setattr(org.app.worker, "_settings", org.app.settings.jobs.model_copy(update={"attempts": 1}))
        await org.sdk.publish(**said("And I like it.", request_id="r2"))
        await org.learn()
    failed = await status(org, "r1")

    await org.sdk.publish(**said("Still here.", request_id="r3"))
    await org.learn()

    assert retrying == ("pending", "retrying")
    assert failed[0] == "failed"
    assert await status(org, "r1") == ("done", "covered")
