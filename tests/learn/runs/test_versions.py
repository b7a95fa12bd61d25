"""Upgrade and downgrade: what moves, what stays, and that search follows."""

from typing import Any

import pytest

from acumen_client import Conflict
from tests.world import Org, playbook, profile, said

FACT = "I live in Paris."


async def by_status(org: Org, table: str = "profiles") -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for row in (await org.rows())[table]:
        found.setdefault(row["status"], []).append(row["content"])
    return {status: sorted(contents) for status, contents in found.items()}


async def found(org: Org, query: str, user: str = "ada") -> list[str]:
    hits = await org.sdk.search_profiles(user_id=user, query=query, search_mode="fts")
    return [one.content for one in hits.user_profiles]


async def three_versions(org: Org) -> None:
    await org.sdk.add_profiles(
        user_profiles=[
            profile("Grows apples", status="archived"),
            profile("Grows pears"),
            profile("Grows plums", status="pending"),
            profile("Grows figs", user="bob"),
            profile("Grew figs", user="bob", status="archived"),
        ]
    )


async def test_an_upgrade_promotes_archives_and_deletes(org: Org):
    await three_versions(org)

    answer = await org.sdk.upgrade_profiles()

    assert (answer.profiles_promoted, answer.profiles_archived, answer.profiles_deleted) == (1, 2, 2)
    assert answer.message == "Promoted 1, archived 2, deleted 2 old versions"
    assert await by_status(org) == {"archived": ["Grows figs", "Grows pears"], "current": ["Grows plums"]}


async def test_an_upgrade_can_be_limited_to_users_who_have_something_pending(org: Org):
    await three_versions(org)

    answer = await org.sdk.upgrade_profiles(only_affected_users=True)

    assert (answer.profiles_promoted, answer.profiles_archived, answer.profiles_deleted) == (1, 1, 1)
    assert await by_status(org) == {
        "archived": ["Grew figs", "Grows pears"],
        "current": ["Grows figs", "Grows plums"],
    }


@pytest.mark.parametrize("which", [{"user_id": "bob"}, {"profile_ids": []}])
async def test_an_upgrade_moves_nothing_where_nothing_is_pending(org: Org, which: dict[str, Any]):
    await three_versions(org)
    before = await org.rows()

    answer = await org.sdk.upgrade_profiles(**which)

    assert (answer.profiles_promoted, answer.profiles_archived, answer.profiles_deleted) == (0, 0, 0)
    assert await org.rows() == before


async def test_an_upgrade_of_one_user_leaves_the_others_alone(org: Org):
    await three_versions(org)
    await org.sdk.add_profiles(user_profiles=[profile("Grows kiwis", user="bob", status="pending")])

    await org.sdk.upgrade_profiles(user_id="ada")

    assert await by_status(org) == {
        "archived": ["Grew figs", "Grows pears"],
        "current": ["Grows figs", "Grows plums"],
        "pending": ["Grows kiwis"],
    }


async def test_with_ids_nothing_moves_but_what_they_name(org: Org):
    await org.sdk.add_profiles(
        user_profiles=[
            profile("Grows pears", profile_id="now"),
            profile("Grows plums", profile_id="next", status="pending"),
            profile("Grows kiwis", profile_id="other", status="pending"),
        ]
    )

    await org.sdk.upgrade_profiles(profile_ids=["next"])

    assert await by_status(org) == {"current": ["Grows pears", "Grows plums"], "pending": ["Grows kiwis"]}


async def test_a_downgrade_goes_back_and_forth(org: Org):
    await three_versions(org)
    await org.sdk.upgrade_profiles(only_affected_users=True)
    upgraded = await by_status(org)

    back = await org.sdk.downgrade_profiles(user_id="ada")
    after = await by_status(org)
    await org.sdk.downgrade_profiles(user_id="ada")

    assert (back.profiles_demoted, back.profiles_restored) == (1, 1)
    assert back.message == "Archived 1, restored 1"
    assert after == {"archived": ["Grew figs", "Grows plums"], "current": ["Grows figs", "Grows pears"]}
    assert await by_status(org) == upgraded


async def test_a_downgrade_can_be_limited_to_users_who_have_something_archived(org: Org):
    await three_versions(org)
    await org.sdk.add_profiles(user_profiles=[profile("Grows kiwis", user="eve")])

    await org.sdk.downgrade_profiles(only_affected_users=True)

    assert (await by_status(org))["current"] == ["Grew figs", "Grows apples", "Grows kiwis"]


async def test_search_follows_an_upgrade_and_a_downgrade(org: Org):
    await three_versions(org)
    before = await found(org, "grows")
    await org.sdk.upgrade_profiles()
    upgraded = await found(org, "grows")
    await org.sdk.downgrade_profiles()

    assert (before, upgraded, await found(org, "grows")) == (["Grows pears"], ["Grows plums"], ["Grows pears"])


async def test_every_move_is_a_row_of_lineage(org: Org):
    await org.sdk.add_profiles(user_profiles=[profile("Grows plums", profile_id="p1", status="pending")])
    await org.sdk.upgrade_profiles()

    told = await org.sdk.provenance(kind="profile", id="p1")

    assert [(event.op, event.actor) for event in told.lineage] == [("add", "caller"), ("current", "upgrade")]


async def test_what_a_user_asked_to_forget_does_not_come_back_by_a_downgrade(org: Org):
    await org.sdk.publish(**said(FACT))
    await org.learn()
    await org.sdk.publish(**said("Please forget that I live in Paris."))
    await org.learn()
    archived = await org.sdk.profiles(user_id="ada", status_filter=["archived"])

    await org.sdk.downgrade_profiles()

    assert ["Paris" in one.content for one in archived.user_profiles] == [True]
    assert (await org.sdk.profiles(user_id="ada")).user_profiles == []


async def test_versions_wait_for_a_rerun_of_their_kind_only(org: Org):
    await org.sdk.publish(**said(FACT))
    await org.learn()
    run = await org.sdk.rerun_profiles()

    for move in (org.sdk.upgrade_profiles, org.sdk.downgrade_profiles):
        with pytest.raises(Conflict, match=run.run_id):
            await move()
    assert (await org.sdk.upgrade_user_playbooks()).success
    await org.learn()
    assert (await org.sdk.upgrade_profiles()).profiles_promoted == 1


async def test_a_rerun_and_its_upgrade_leave_the_same_facts_with_new_ids(org: Org):
    await org.sdk.publish(**said(FACT, "My dog is called Rex."))
    await org.learn()
    before = (await org.sdk.profiles(user_id="ada")).user_profiles
    await org.sdk.rerun_profiles()
    await org.learn()
    counted = await org.sdk.profile_statistics()
    await org.sdk.upgrade_profiles()

    after = (await org.sdk.profiles(user_id="ada")).user_profiles
    numbers = await org.sdk.profile_statistics()

    assert sorted(one.content for one in after) == sorted(one.content for one in before)
    assert {one.profile_id for one in after}.isdisjoint(one.profile_id for one in before)
    assert (counted.current_count, counted.pending_count, counted.archived_count) == (2, 2, 0)
    assert (numbers.current_count, numbers.pending_count, numbers.archived_count) == (2, 0, 2)


# --- playbooks -----------------------------------------------------------------------------------------------------


async def lessons(org: Org) -> None:
    await org.sdk.add_user_playbooks(
        user_playbooks=[
            playbook("old", status="archived", agent_version="v1"),
            playbook("now", agent_version="v1"),
            playbook("next", status="pending", agent_version="v1", playbook_name="billing"),
            playbook("elsewhere", agent_version="v2"),
            playbook("nobody's", user=None, agent_version="v1"),
        ]
    )


async def test_lessons_are_upgraded_by_version_and_downgraded(org: Org):
    await lessons(org)

    up = await org.sdk.upgrade_user_playbooks(agent_version="v1")
    upgraded = await by_status(org, "user_playbooks")
    down = await org.sdk.downgrade_user_playbooks(agent_version="v1")

    assert (up.user_playbooks_promoted, up.user_playbooks_archived, up.user_playbooks_deleted) == (1, 2, 1)
    assert upgraded == {"archived": ["nobody's", "now"], "current": ["elsewhere", "next"]}
    assert (down.user_playbooks_demoted, down.user_playbooks_restored) == (1, 2)
    assert await by_status(org, "user_playbooks") == {
        "archived": ["next"],
        "current": ["elsewhere", "nobody's", "now"],
    }


async def test_lessons_may_join_the_current_ones(org: Org):
    await lessons(org)

    answer = await org.sdk.upgrade_user_playbooks(archive_current=False)

    assert (answer.user_playbooks_promoted, answer.user_playbooks_archived, answer.user_playbooks_deleted) == (1, 0, 0)
    assert await by_status(org, "user_playbooks") == {
        "archived": ["old"],
        "current": ["elsewhere", "next", "nobody's", "now"],
    }


async def test_lessons_are_limited_by_name(org: Org):
    await lessons(org)

    await org.sdk.upgrade_user_playbooks(playbook_name="billing")

    assert (await by_status(org, "user_playbooks"))["archived"] == ["old"]
