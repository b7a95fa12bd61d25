"""Making anew, versions and operations, over REST: what a caller is told, and that nothing hides or loses another."""

from typing import Any

import pytest

from acumen.learn.runs import generation
from acumen.learn.runs.generation import PROFILES, GenerationRequest, Mode
from acumen.model.jobs.events import GenerationAsked
from acumen.model.jobs.run import RunId
from acumen_client import NotFound
from tests.world import Clock, Org, Start, local, playbook, profile, said

FACT = "I live in Paris."


async def operation(org: Org, service: str = "profile_generation") -> Any:
    return (await org.sdk.operation_status(service_name=service)).operation_status


def named(name: str, **more: Any) -> dict[str, Any]:
    return {"extraction_definition_prompt": "Note what matters.", "extractor_name": name, **more}


async def carry_out(org: Org, run_id: str) -> None:
    """This run and no other job."""
    await generation.carry_out(GenerationAsked(RunId(run_id)), await org.app.deps_for(org.id))


# --- which run is told of --------------------------------------------------------------------------------------------


async def test_a_run_under_way_is_told_of_before_one_that_has_ended_since(org: Org):
    for user in ("ada", "bob"):
        await org.sdk.publish(**said(FACT, user=user))
    rerun = await org.sdk.rerun_profiles()
    manual = await org.sdk.generate_profiles(user_id="ada")
    both_wait = await operation(org)
    await carry_out(org, manual.run_id)

    told = await operation(org)

    assert both_wait.run_id == told.run_id == rerun.run_id
    assert (told.mode, told.status, told.total_users) == ("rerun", "in_progress", 2)


async def test_the_end_of_a_rerun_is_not_hidden_by_a_run_by_hand_that_ended_before(start: Start, clock: Clock):
    org = local(await start())
    await org.sdk.publish(**said(FACT))
    rerun = await org.sdk.rerun_profiles()
    clock.forward(seconds=1)
    manual = await org.sdk.generate_profiles(user_id="ada")
    await carry_out(org, manual.run_id)
    clock.forward(seconds=1)
    await org.sdk.cancel_operation()
    cancelled = await operation(org)
    clock.forward(seconds=1)
    later = await org.sdk.generate_profiles(user_id="ada")
    await carry_out(org, later.run_id)

    assert (cancelled.run_id, cancelled.status) == (rerun.run_id, "cancelled")
    assert (await operation(org)).run_id == later.run_id


async def test_an_upgrade_leaves_users_alone_whose_rerun_failed_whatever_was_run_by_hand_since(org: Org):
    await org.sdk.publish(**said(FACT))
    await org.sdk.publish(**said(FACT, user="bob"))
    await org.learn()
    failed = await generation.start(PROFILES, GenerationRequest(Mode.RERUN), await org.app.deps_for(org.id))
    await org.app.store.of(org.id).write(lambda tx: tx.run_items.set_failed(failed.id, 1, "it broke"))
    await org.learn()
    await org.sdk.generate_profiles(user_id="ada")
    await org.learn()

    upgraded = await org.sdk.upgrade_profiles()

    assert upgraded.profiles_promoted == 1
    assert "1 user with an unfinished rerun unchanged" in upgraded.message


# --- stopping --------------------------------------------------------------------------------------------------------


async def test_a_run_that_has_not_begun_is_cancelled_at_once_and_stays_so(org: Org):
    await org.sdk.publish(**said(FACT))
    await org.sdk.rerun_profiles()

    await org.sdk.cancel_operation(service_name="profile_generation")

    told = await operation(org)
    await org.learn()
    after = await operation(org)
    again = await org.sdk.rerun_profiles()
    assert (told.status, told.state, told.processed_users) == ("cancelled", "cancelled", 0)
    assert told.completed_at is not None
    assert after == told
    assert again.run_id != told.run_id


async def test_a_run_that_has_begun_is_only_asked_to_stop(org: Org):
    await org.sdk.publish(**said(FACT))
    run_id = RunId((await org.sdk.rerun_profiles()).run_id)
    await org.app.store.of(org.id).write(lambda tx: tx.runs.begin(run_id))

    await org.sdk.cancel_operation()

    told = await operation(org)
    assert (told.status, told.cancel_asked) == ("in_progress", True)


# --- versions of agents ----------------------------------------------------------------------------------------------


async def unnamed_and_named(org: Org, **more: Any) -> None:
    versions = {"deploy of nobody": "", "deploy of the unnamed": "agent-v0", "deploy of another": "v2"}
    await org.sdk.add_user_playbooks(
        user_playbooks=[playbook(words, agent_version=version, **more) for words, version in versions.items()]
    )


async def contents(org: Org, **which: Any) -> list[str]:
    return sorted(one.content for one in (await org.sdk.user_playbooks(**which)).user_playbooks)


async def test_lessons_without_a_version_are_those_of_agent_v0(org: Org):
    await unnamed_and_named(org)

    found = await org.sdk.search_user_playbooks(
        query="deploy", user_id="ada", agent_version="agent-v0", agent_version_only=True, search_mode="fts"
    )

    assert await contents(org, agent_version="agent-v0") == ["deploy of nobody", "deploy of the unnamed"]
    assert await contents(org, agent_version="v2") == ["deploy of another"]
    assert "deploy of another" not in {one.content for one in found.user_playbooks}
    assert len(found.user_playbooks) == 2


async def test_versions_of_agent_v0_are_those_of_lessons_without_one(org: Org):
    await unnamed_and_named(org, status="pending")

    up = await org.sdk.upgrade_user_playbooks(agent_version="agent-v0")
    upgraded = await contents(org)
    await unnamed_and_named(org, status="pending")
    await org.sdk.upgrade_user_playbooks(agent_version="agent-v0")
    down = await org.sdk.downgrade_user_playbooks(agent_version="agent-v0")

    assert up.user_playbooks_promoted == 2
    assert upgraded == ["deploy of nobody", "deploy of the unnamed"]
    assert (down.user_playbooks_demoted, down.user_playbooks_restored) == (2, 2)


# --- extractors by hand ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("asked, made_by", [({}, ["home"]), ({"extractor_names": ["by-hand"]}, ["by-hand"])], ids=str)
async def test_a_rerun_leaves_out_extractors_by_hand_unless_they_are_named(org: Org, asked: Any, made_by: list[str]):
    await org.sdk.update_config(profile_extractor_configs=[named("by-hand", manual_trigger=True), named("home")])
    await org.sdk.publish(**said(FACT))

    await org.sdk.rerun_profiles(**asked)
    await org.learn()

    pending = (await org.sdk.profiles(user_id="ada", status_filter=["pending"])).user_profiles
    assert [one.extractor_names for one in pending] == [made_by]
    assert (await operation(org)).stats["windows"] == 1


# --- what a version said ---------------------------------------------------------------------------------------------


async def outdated(org: Org) -> None:
    """The fact in five versions: three outdated, one archived, one current."""
    await org.sdk.publish(**said(FACT))
    await org.learn()
    for _ in range(2):
        await org.sdk.rerun_profiles()  # the second makes anew what the first left pending
        await org.learn()
    for _ in range(2):
        await org.sdk.upgrade_profiles()
        await org.sdk.rerun_profiles()
        await org.learn()
    await org.sdk.upgrade_profiles()


async def logged(org: Org) -> list[Any]:
    rows = (await org.sdk.profile_change_log(user_id="ada")).profile_change_logs
    return [one for row in rows for one in (*row.added_profiles, *row.removed_profiles, *row.mentioned_profiles)]


async def test_no_change_of_version_loses_what_the_log_tells(org: Org):
    await outdated(org)

    told = await logged(org)

    assert len({one.profile_id for one in told}) == 5
    assert all("Paris" in one.content for one in told)
    assert {one.engine for one in told} == {"rules"}


async def test_what_is_deleted_leaves_no_words_of_its_earlier_versions(org: Org):
    await outdated(org)
    await org.sdk.add_profiles(user_profiles=[profile("Grows pears")])
    listed = await org.sdk.profiles(user_id="ada", status_filter=[None, "archived"])

    for one in listed.user_profiles:
        if "Paris" in one.content:
            await org.sdk.delete_profile(user_id="ada", profile_id=one.profile_id)

    assert {one.content for one in await logged(org)} == {"", "Grows pears"}
    assert "Paris" not in str((await org.rows())["lineage"])


@pytest.mark.parametrize("which", [{"profile_id": "old"}, {"search_query": "APPLES"}], ids=str)
async def test_what_only_the_log_still_tells_can_be_deleted_once_and_by_its_owner(org: Org, which: dict[str, str]):
    await org.sdk.add_profiles(user_profiles=[profile("Grows apples", profile_id="old", status="archived")])
    await org.sdk.add_profiles(user_profiles=[profile("Grows plums", status="pending")])
    await org.sdk.upgrade_profiles()
    before = {one.content for one in await logged(org)}

    if "profile_id" in which:
        with pytest.raises(NotFound):
            await org.sdk.delete_profile(user_id="bob", **which)
    await org.sdk.delete_profile(user_id="ada", **which)

    assert before == {"Grows apples", "Grows plums"}
    assert "apples" not in str((await org.rows())["lineage"])
    if "profile_id" in which:
        with pytest.raises(NotFound):
            await org.sdk.delete_profile(user_id="ada", **which)


async def test_nothing_of_an_erased_user_is_told_by_outdated_versions(org: Org):
    await outdated(org)

    await org.sdk.clear_user_data(user_id="ada")

    assert await logged(org) == []
    assert "Paris" not in str(await org.rows())
