"""Reruns and runs by hand: what they read, what they leave alone, and how they are watched and stopped."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
import sqlalchemy as sa

from acumen.errors import Conflict
from acumen.learn import pipeline
from acumen.learn.extract import extraction
from acumen.model.config import Extractor
from acumen.model.conversation import Window
from acumen.model.ids import Kind
from acumen.storage.tables import jobs
from acumen_client import BadInput
from acumen_client import Conflict as ConflictOverHttp
from tests.world import Clock, Org, Start, local, said

FACT = "I live in Paris."
MOVED = "I moved to Berlin."
RULE = "No, always use us-west-2 for deployments, never us-east-1."


async def contents(org: Org, *statuses: str | None, user: str = "ada") -> list[str]:
    found = await org.sdk.profiles(user_id=user, status_filter=list(statuses) or None)
    return sorted(one.content for one in found.user_profiles)


async def operation(org: Org, service: str = "profile_generation") -> Any:
    return (await org.sdk.operation_status(service_name=service)).operation_status


def named(name: str, **more: Any) -> dict[str, Any]:
    return {"extraction_definition_prompt": "Note what matters.", "extractor_name": name, **more}


# --- rerun ---------------------------------------------------------------------------------------------------------


async def test_a_rerun_makes_pending_memories_and_touches_nothing_else(org: Org):
    await org.sdk.publish(**said(FACT, "agent: Noted.", RULE))
    await org.learn()
    before = await org.rows("runs", "run_items", "jobs", "orgs", "search_rows", "lineage")

    started = await org.sdk.rerun_profiles()
    await org.learn()

    after = await org.rows("runs", "run_items", "jobs", "orgs", "search_rows", "lineage")
    pending = [row for row in after["profiles"] if row["status"] == "pending"]
    assert (started.msg, started.operation_id) == ("Profile generation started", "rerun_profile_generation")
    assert sorted(row["content"] for row in pending) == await contents(org)
    after["profiles"] = [row for row in after["profiles"] if row not in pending]
    assert after == before


async def test_what_is_pending_is_found_only_by_who_asks_for_it(org: Org):
    await org.sdk.publish(**said(RULE))
    await org.learn()
    await org.sdk.rerun_playbooks()
    await org.learn()

    found = await org.sdk.search(query="which region for deployments", user_id="ada")
    pending = await org.sdk.search_user_playbooks(query="which region", user_id="ada", status_filter=["pending"])

    assert len(found.user_playbooks) == 1
    assert [one.status for one in pending.user_playbooks] == ["pending"]
    assert found.user_playbooks[0].user_playbook_id != pending.user_playbooks[0].user_playbook_id


async def test_progress_is_counted_by_user(org: Org):
    for user in ("ada", "bob"):
        await org.sdk.publish(**said(FACT, "agent: Noted.", user=user))
    await org.sdk.rerun_profiles()
    queued = await operation(org)
    await org.learn()

    ended = await operation(org)

    assert (queued.status, queued.state, queued.total_users, queued.progress_percentage) == (
        "in_progress",
        "queued",
        2,
        0,
    )
    assert (ended.status, ended.processed_users, ended.failed_users) == ("completed", 2, 0)
    assert (ended.processed_user_ids, ended.progress_percentage) == (["ada", "bob"], 100)
    assert ended.stats == {"generated": 2, "windows": 2, "interactions": 4}
    assert ended.completed_at >= ended.started_at


async def test_a_rerun_reads_what_its_filters_admit(org: Org):
    await org.sdk.publish(**said(FACT, user="ada", source="slack"))
    await org.sdk.publish(**said("My dog is called Rex.", user="ada", source="mail"))
    await org.sdk.publish(**said(FACT, user="bob", source="slack"))

    await org.sdk.rerun_profiles(user_id="ada", source="mail")
    await org.learn()

    assert [text for text in await contents(org, "pending") if "Rex" in text]
    assert not [text for text in await contents(org, "pending") if "Paris" in text]
    assert await contents(org, "pending", user="bob") == []
    assert (await operation(org)).processed_user_ids == ["ada"]


async def test_a_rerun_reads_a_stretch_of_time(start: Start, clock: Clock):
    org = local(await start())
    await org.sdk.publish(**said(FACT))
    clock.forward(days=2)
    await org.sdk.publish(**said("My dog is called Rex."))
    since = datetime.fromtimestamp(clock() / 1000 - 86_400, UTC)

    await org.sdk.rerun_profiles(start_time=since)
    await org.learn()

    (only,) = await contents(org, "pending")
    assert "Rex" in only


async def test_a_rerun_of_lessons_is_limited_by_the_version_of_the_agent(org: Org):
    await org.sdk.publish(**said(RULE, user="ada", agent_version="v2"))
    await org.sdk.publish(**said(RULE, user="bob"))

    await org.sdk.rerun_playbooks(agent_version="agent-v0")
    await org.learn()

    listed = (await org.sdk.user_playbooks(status_filter=["pending"])).user_playbooks
    assert [one.user_id for one in listed] == ["bob"]


async def test_a_rerun_ends_with_what_was_said_last_and_keeps_the_rest_as_superseded(org: Org):
    await org.sdk.publish(**said(FACT))
    await org.sdk.publish(**said("agent: Noted.", MOVED))

    await org.sdk.rerun_profiles()
    await org.learn()

    (pending,) = (await org.sdk.profiles(user_id="ada", status_filter=["pending"])).user_profiles
    rerun = [row for row in (await org.rows())["profiles"] if row["superseded_by"] == pending.profile_id]
    assert "Berlin" in pending.content
    assert len(rerun) == 1
    assert "Paris" in rerun[0]["content"]


async def test_a_second_rerun_replaces_what_the_first_left_pending(org: Org):
    await org.sdk.publish(**said(FACT, MOVED))
    for _ in range(2):
        await org.sdk.rerun_profiles()
        await org.learn()

    (only,) = await contents(org, "pending")
    assert "Berlin" in only
    assert (
        len([row for row in (await org.rows())["profiles"] if row["status"] == "superseded"]) == 2
    )  # one is current's


async def test_new_turns_are_compared_with_what_is_current_not_with_what_is_pending(org: Org):
    await org.sdk.publish(**said(FACT))
    await org.learn()
    await org.sdk.rerun_profiles()
    await org.learn()

    await org.sdk.publish(**said(MOVED))
    await org.learn()

    (current,) = await contents(org)
    (pending,) = await contents(org, "pending")
    assert "Berlin" in current
    assert "Paris" in pending


async def test_what_was_to_be_forgotten_is_not_made_anew(org: Org):
    await org.sdk.publish(**said(FACT, "agent: Noted.", "Please forget that I live in Paris."))

    await org.sdk.rerun_profiles()
    await org.learn()

    assert not [text for text in await contents(org, "pending") if "Paris" in text]


async def test_a_rerun_that_does_not_see_the_wish_brings_nothing_back_either(org: Org):
    await org.sdk.publish(**said(FACT, "agent: Noted.", source="web"))
    await org.learn()
    await org.sdk.publish(**said("Please forget that I live in Paris.", source="phone"))
    await org.learn()
    forgotten = await contents(org)

    await org.sdk.rerun_profiles(source="web")
    await org.learn()

    assert forgotten == await contents(org, "pending") == []


async def test_what_was_said_twice_of_a_week_is_not_prolonged_by_a_rerun(start: Start, clock: Clock):
    org = local(await start())
    for _ in range(2):
        await org.sdk.publish(**said("This week I am working from Lisbon."))
        await org.learn()
        clock.forward(days=1)
    (before,) = (await org.sdk.profiles(user_id="ada")).user_profiles
    clock.forward(days=3)
    await org.sdk.rerun_profiles()
    await org.learn()

    (pending,) = (await org.sdk.profiles(user_id="ada", status_filter=["pending"])).user_profiles

    assert pending.mentions == before.mentions == 2
    assert abs(pending.expiration_timestamp - before.expiration_timestamp) <= 1


async def test_what_held_for_a_week_is_not_prolonged_by_a_rerun(start: Start, clock: Clock):
    org = local(await start())
    await org.sdk.publish(**said("I am in Rome this week."))
    await org.learn()
    (before,) = (await org.sdk.profiles(user_id="ada")).user_profiles
    clock.forward(days=3)

    await org.sdk.rerun_profiles()
    await org.learn()

    (pending,) = (await org.sdk.profiles(user_id="ada", status_filter=["pending"])).user_profiles
    assert abs(pending.expiration_timestamp - before.expiration_timestamp) <= 1


async def test_a_second_rerun_waits_for_the_first(org: Org):
    await org.sdk.publish(**said(FACT))
    first = await org.sdk.rerun_profiles()

    with pytest.raises(ConflictOverHttp, match=first.run_id):
        await org.sdk.rerun_profiles(user_id="ada")
    assert (await org.sdk.rerun_playbooks()).success


async def test_a_rerun_for_nobody_is_over_at_once(org: Org):
    started = await org.sdk.rerun_profiles(user_id="nobody")

    ended = await operation(org)

    assert (started.msg, started.profiles_generated) == ("Profile generation completed", 0)
    assert (ended.status, ended.total_users, ended.progress_percentage) == ("completed", 0, 100)


async def test_no_operation_was_asked_for(org: Org):
    answer = await org.sdk.operation_status(service_name="feedback_generation")

    services = "profile_generation, playbook_generation, playbook_aggregation, evaluation_regeneration"
    assert answer.operation_status is None
    assert answer.msg == f"No run of service 'playbook_generation'. Services: {services}"


async def test_an_extractor_nobody_has_is_refused_by_name(org: Org):
    with pytest.raises(BadInput, match="'billing'; the org has: profiles"):
        await org.sdk.rerun_profiles(extractor_names=["billing"])


async def test_a_caller_may_wait_for_the_end(start: Start):
    org = local(await start(work=True))
    await org.sdk.publish(**said(FACT, wait_for_response=True))

    answer = await org.sdk.rerun_profiles(wait_for_response=True)

    assert (answer.msg, answer.profiles_generated) == ("Profile generation completed", 1)


async def test_nothing_of_an_erased_user_is_left_in_runs(org: Org):
    await org.sdk.publish(**said(FACT, user="ada lovelace"))
    await org.sdk.rerun_profiles(user_id="ada lovelace")
    await org.learn()
    await org.sdk.generate_profiles(user_id="ada lovelace")

    await org.sdk.clear_user_data(user_id="ada lovelace")
    await org.learn()

    rows = await org.rows()
    assert "ada lovelace" not in str([rows["runs"], rows["run_items"], rows["bookmarks"]])
    assert {row["state"] for row in rows["runs"]} <= {"completed", "cancelled"}


# --- by hand -------------------------------------------------------------------------------------------------------


async def test_a_run_by_hand_reads_the_last_window_with_extractors_by_hand_too(org: Org):
    await org.sdk.update_config(
        window_size=2,
        profile_extractor_configs=[named("by-hand", manual_trigger=True)],
        user_playbook_extractor_config=None,
    )
    await org.sdk.publish(**said(FACT, "agent: Noted.", "My dog is called Rex."))
    await org.learn()
    before = await contents(org)

    await org.sdk.generate_profiles()
    await org.learn()

    (only,) = (await org.sdk.profiles(user_id="ada")).user_profiles
    assert before == []
    assert ("Rex" in only.content, only.extractor_names, only.status) == (True, ["by-hand"], None)
    assert (await operation(org)).mode == "manual"


async def test_a_run_by_hand_adds_nothing_that_is_known_and_moves_no_bookmark(org: Org):
    await org.sdk.publish(**said(FACT))
    await org.learn()
    before = await org.rows("runs", "run_items", "jobs", "orgs")

    await org.sdk.generate_profiles(user_id="ada")
    await org.sdk.generate_playbooks(user_id="ada")
    await org.learn()

    assert await org.rows("runs", "run_items", "jobs", "orgs") == before


async def test_runs_by_hand_for_two_users_do_not_wait_for_each_other(org: Org):
    for user in ("ada", "bob"):
        await org.sdk.publish(**said(FACT, user=user))

    started = [await org.sdk.generate_profiles(user_id=user) for user in ("ada", "bob")]
    await org.learn()

    assert started[0].run_id != started[1].run_id
    assert len(await contents(org)) == len(await contents(org, user="bob")) == 1


# --- side by side, failing, stopping, going on -----------------------------------------------------------------------


@pytest.fixture
def reading(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[Window, Extractor], Any]], list[str]]:
    """Puts something before each reading of a window for profiles; returns the names of the extractors that read."""

    def begin(first: Callable[[Window, Extractor], Any]) -> list[str]:
        read: list[str] = []

        async def extract(window: Window, extractors: Any, known: Any, deps: Any) -> Any:
            extractor = extractors.get(Kind.PROFILE)
            if extractor and (waits := first(window, extractor)) is not None:
                await waits
            notes = await extraction.extract(window, extractors, known, deps)
            read.extend([extractor.name] if extractor else [])
            return notes

        monkeypatch.setattr(pipeline, "extract", extract)
        return read

    return begin


async def test_an_extractor_that_fails_does_not_stop_the_others_and_is_told(org: Org, reading: Any):
    def fail(_window: Window, extractor: Extractor) -> None:
        if extractor.name == "billing":
            raise ValueError("no such tariff")

    await org.sdk.update_config(profile_extractor_configs=[named("billing"), named("home")])
    reading(fail)
    await org.sdk.publish(**said(FACT, request_id="r1"))
    await org.learn()

    (only,) = (await org.sdk.profiles(user_id="ada")).user_profiles
    (job,) = [row for row in (await org.rows())["jobs"] if row["event"] == "published"]
    told = await org.sdk.learning_status(request_id="r1")
    assert only.extractor_names == ["home"]
    assert job["last_error"] == (
        "ExtractorsFailed: billing: ValueError: no such tariff; playbooks: ValueError: no such tariff"
    )
    assert (told.status, told.reason, told.error) == ("pending", "retrying", job["last_error"])


async def test_two_extractors_that_hear_the_same_at_once_learn_it_once(org: Org, reading: Any):
    both = asyncio.Barrier(2)
    await org.sdk.update_config(profile_extractor_configs=[named("one"), named("two")])
    read = reading(lambda _window, _extractor: both.wait())
    await org.sdk.publish(**said(FACT))
    await org.learn()

    assert sorted(read) == ["one", "two"]
    assert len(await contents(org)) == 1


async def test_a_user_whose_rerun_failed_is_listed_and_stays_as_they_are(org: Org, reading: Any):
    def fail(window: Window, _extractor: Extractor) -> None:
        if window.user_id == "bob":
            raise ValueError("torn page")

    for user in ("ada", "bob"):
        await org.sdk.publish(**said(FACT, user=user))
    await org.learn()
    reading(fail)
    await org.sdk.rerun_profiles()
    await org.learn()

    ended = await operation(org)
    upgraded = await org.sdk.upgrade_profiles()

    assert (ended.status, ended.state, ended.processed_users, ended.failed_users) == ("failed", "partial", 1, 1)
    assert [(one.user_id, one.error) for one in ended.failed_user_ids] == [
        ("bob", "ExtractorsFailed: profiles: ValueError: torn page")
    ]
    assert "1 of 2 users failed" in ended.error_message
    assert "1 user with an unfinished rerun unchanged" in upgraded.message
    assert len(await contents(org, user="bob")) == 1


async def test_what_a_failed_rerun_made_of_a_user_is_not_promoted_whoever_is_named(org: Org, reading: Any):
    def fail(window: Window, _extractor: Extractor) -> None:
        if "Tom" in window.turns[-1].text:
            raise ValueError("torn page")

    await org.sdk.update_config(window_size=1)
    await org.sdk.publish(**said(FACT, "My dog is called Rex.", "My cat is called Tom."))
    await org.learn()
    known = await contents(org)
    reading(fail)
    await org.sdk.rerun_profiles()
    await org.learn()

    upgraded = await org.sdk.upgrade_profiles(user_id="ada")

    assert (upgraded.profiles_promoted, await contents(org)) == (0, known)
    assert (await operation(org)).stats == {}


async def test_a_cancel_stops_within_one_window_and_leaves_nothing_half_done(org: Org, reading: Any):
    async def cancel() -> None:
        await org.sdk.cancel_operation(service_name="profile_generation")

    await org.sdk.update_config(window_size=1)
    for user in ("ada", "bob"):
        await org.sdk.publish(**said(FACT, "My dog is called Rex.", "My cat is called Tom.", user=user))
    await org.learn()
    read = reading(lambda _window, _extractor: cancel())
    await org.sdk.rerun_profiles()
    await org.learn()

    ended = await operation(org)
    rows = await org.rows()

    assert len(read) == 1
    assert (ended.status, ended.processed_users, ended.cancel_asked) == ("cancelled", 0, True)
    assert ended.stats == {}
    assert await contents(org, "pending") == await contents(org, "pending", user="bob") == []
    assert not [row for row in rows["bookmarks"] if row["extractor"].startswith("run_")]
    assert (await org.sdk.rerun_profiles()).success


async def test_users_whom_a_cancelled_rerun_did_not_reach_stay_as_they_are(org: Org, reading: Any):
    async def cancel(window: Window) -> None:
        if window.user_id == "bob":
            await org.sdk.cancel_operation(service_name="profile_generation")

    for user in ("ada", "bob", "cyd"):
        await org.sdk.publish(**said(FACT, user=user))
    await org.learn()
    reading(lambda window, _extractor: cancel(window))
    await org.sdk.rerun_profiles()
    await org.learn()

    upgraded = await org.sdk.upgrade_profiles()

    assert (upgraded.profiles_promoted, upgraded.profiles_archived) == (1, 1)
    assert "2 users with an unfinished rerun unchanged" in upgraded.message
    assert [len(await contents(org, user=user)) for user in ("ada", "bob", "cyd")] == [1, 1, 1]


async def test_cancelling_when_nothing_runs_says_so(org: Org):
    answer = await org.sdk.cancel_operation()

    assert (answer.cancelled_services, answer.msg) == ([], "Nothing is running")


async def test_every_service_is_cancelled_when_none_is_named(org: Org):
    await org.sdk.publish(**said(FACT))
    await org.sdk.rerun_profiles()
    await org.sdk.rerun_playbooks()

    answer = await org.sdk.cancel_operation()
    await org.learn()

    assert answer.cancelled_services == ["playbook_generation", "profile_generation"]
    assert [(await operation(org, name)).status for name in answer.cancelled_services] == ["cancelled"] * 2


async def test_a_change_of_configuration_holds_for_the_users_that_a_run_has_yet_to_read(org: Org, reading: Any):
    async def change() -> None:
        await org.sdk.update_config(profile_extractor_configs=[named("later")])

    for user in ("ada", "bob"):
        await org.sdk.publish(**said(FACT, user=user))
    await org.learn()
    read = reading(lambda _window, _extractor: change())
    await org.sdk.rerun_profiles()
    await org.learn()

    assert read == ["profiles", "later"]


async def test_a_run_that_was_broken_off_goes_on_where_it_stood(org: Org, reading: Any):
    broken = 0

    def break_off(_window: Window, _extractor: Extractor) -> None:
        nonlocal broken
        broken += 1
        if broken == 3:
            raise Conflict("the process is killed here, as it were")
        if 3 < broken <= 3 + 5:
            raise Conflict("and again, until the job gives up")

    await org.sdk.update_config(window_size=1)
    await org.sdk.publish(**said(FACT, "My dog is called Rex.", "My cat is called Tom.", "My favourite colour is red."))
    await org.learn()
    expected = await contents(org)
    read = reading(break_off)
    await org.sdk.rerun_profiles()
    await org.learn()
    await org.app.store.database.write(_make_due)
    await org.learn()

    assert read == ["profiles"] * 4  # each window once, though the run was begun three times
    assert (await operation(org)).stats == {"generated": 4, "windows": 4, "interactions": 4}
    assert await contents(org, "pending") == expected
    assert (await operation(org)).status == "completed"


def _make_due(conn: Any) -> None:
    conn.execute(sa.update(jobs).where(jobs.c.event == "generation_asked").values(run_at=0))


async def test_a_run_whose_job_is_dead_is_told_and_does_not_block_the_next(org: Org, monkeypatch: pytest.MonkeyPatch):
    async def fail(_job: object) -> None:
        raise ValueError("torn page")

    await org.sdk.publish(**said(FACT))
    await org.learn()
    await org.sdk.rerun_profiles()
    with monkeypatch.context() as broken:
        broken.setattr(org.app.worker, "_run", fail)
        for _ in range(org.app.settings.jobs.attempts):
            await org.app.store.database.write(_make_due)
            await org.learn()

    lost = await operation(org)
    again = await org.sdk.rerun_profiles()
    await org.learn()

    assert (lost.status, lost.error_message) == ("failed", "The run was lost: ValueError: torn page")
    assert (await operation(org)).run_id == again.run_id
    assert (await operation(org)).status == "completed"
