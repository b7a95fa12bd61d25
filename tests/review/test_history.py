"""Where a memory came from, how memories changed, and which turns search finds."""

import pytest

from acumen_client import NotFound
from tests.world import Org, join, profile, said

PARIS, BERLIN = "I live in Paris.", "I moved to Berlin."
RULE = "No, always use us-west-2 for deployments, never us-east-1."


async def say(org: Org, *turns: str, **more: str) -> str:
    answer = await org.sdk.publish(**said(*turns, **more))
    await org.learn()
    return str(answer.request_id)


async def turns_found(org: Org, word: str) -> list[str]:
    """Those that hold the word; search also finds what was said around them."""
    hits = await org.sdk.search_interactions(user_id="ada", query=word, search_mode="fts")
    return [one.content for one in hits.interactions if word in one.content]


async def everything_found(org: Org, query: str) -> str:
    hits = await org.sdk.search(user_id="ada", query=query)
    return " ".join([hits.context or "", *(one.content for one in (*hits.profiles, *hits.user_playbooks))])


# --- provenance ----------------------------------------------------------------------------------------------------


async def test_a_memory_leads_back_to_the_very_words(org: Org):
    request = await say(org, "Good morning. I live in Paris. Thanks!")
    (fact,) = (await org.sdk.profiles(user_id="ada")).user_profiles

    told = await org.sdk.provenance(kind="profile", id=fact.profile_id)
    by_address = await org.sdk.provenance_by_address(kind="profile", id=fact.profile_id)

    (evidence,) = told.evidence
    (turn,) = told.interactions
    assert by_address == told
    assert (told.provenance_status, told.trigger_request_id, told.engine) == ("exact", request, "rules")
    assert turn.content[evidence.start : evidence.end] == evidence.text == fact.source_span
    assert [event.op for event in told.lineage] == ["add"]


async def test_a_shared_lesson_leads_back_to_the_words_of_all_who_taught_it(org: Org):
    for user in ("ada", "bob"):
        await say(org, "Deploy it.", "agent: To us-east-1?", f"Hello. {RULE}", user=user, session=user)
    await org.sdk.run_playbook_aggregation()
    (lesson,) = (await org.sdk.agent_playbooks()).agent_playbooks

    told = await org.sdk.provenance(kind="agent_playbook", id=str(lesson.agent_playbook_id))

    turns = {one.interaction_id: one for one in told.interactions}
    assert {turns[one.interaction_id].user_id for one in told.evidence} == {"ada", "bob"}
    assert {one.text for one in told.evidence} == {RULE}
    assert all(turns[one.interaction_id].content[one.start : one.end] == RULE for one in told.evidence)


async def test_a_memory_whose_turns_are_gone_says_so(org: Org):
    await say(org, PARIS)
    (fact,) = (await org.sdk.profiles(user_id="ada")).user_profiles
    await org.sdk.delete_all_interactions()

    told = await org.sdk.provenance(kind="profile", id=fact.profile_id)

    assert (told.provenance_status, told.interactions) == ("unavailable", [])


async def test_a_memory_added_by_hand_leads_to_its_request_at_best(org: Org):
    request = await say(org, "Hello there.")
    await org.sdk.add_profiles(user_profiles=[profile("x", profile_id="p1", generated_from_request_id=request)])

    told = await org.sdk.provenance(kind="profile", id="p1")

    assert told.provenance_status == "best_effort"
    assert [one.content for one in told.interactions] == ["Hello there."]


async def test_another_orgs_memory_has_no_provenance(org: Org):
    other = await join(org.app)
    await org.sdk.add_profiles(user_profiles=[profile("x", profile_id="p1")])

    with pytest.raises(NotFound):
        await other.sdk.provenance(kind="profile", id="p1")


# --- the change log --------------------------------------------------------------------------------------------------


async def test_the_change_log_tells_what_was_added_removed_and_mentioned_and_why(org: Org):
    requests = [await say(org, PARIS), await say(org, PARIS), await say(org, BERLIN)]

    moved, again, first = (await org.sdk.profile_change_log(user_id="ada")).profile_change_logs

    assert [one.request_id for one in (first, again, moved)] == requests
    assert ["Paris" in one.content for one in first.added_profiles] == [True]
    assert (again.added_profiles, [one.mentions for one in again.mentioned_profiles]) == ([], [2])
    assert ["Berlin" in one.content for one in moved.added_profiles] == [True]
    assert [("Paris" in one.content, one.status) for one in moved.removed_profiles] == [(True, None)]
    assert any("replaces" in reason for reason in moved.reasons)


async def test_the_change_log_tells_of_edits_and_versions(org: Org):
    await org.sdk.add_profiles(user_profiles=[profile("old words", profile_id="p1", status="pending")])
    await org.sdk.update_profile(user_id="ada", profile_id="p1", content="new words")
    await org.sdk.upgrade_profiles()

    upgraded, edited, _ = (await org.sdk.profile_change_log()).profile_change_logs

    assert [one.content for one in upgraded.added_profiles] == ["new words"]
    assert [one.content for one in edited.removed_profiles] == ["old words"]
    assert [one.content for one in edited.added_profiles] == ["new words"]


async def test_what_changed_at_once_for_many_users_is_told_once_for_each(org: Org):
    users = ("ada", "bob")
    pending = [profile(f"new {n}", user=user, status="pending") for n in range(3) for user in users]
    await org.sdk.add_profiles(user_profiles=[*(profile("old", user=user) for user in users), *pending])
    await org.sdk.upgrade_profiles()

    first, second, *_ = (await org.sdk.profile_change_log()).profile_change_logs

    assert {first.user_id, second.user_id} == set(users)
    assert [(len(one.added_profiles), len(one.removed_profiles)) for one in (first, second)] == [(3, 1), (3, 1)]


async def test_what_was_deleted_leaves_no_words_in_the_change_log(org: Org):
    await org.sdk.add_profiles(user_profiles=[profile("secret words", profile_id="p1")])
    await org.sdk.delete_profile(user_id="ada", profile_id="p1")

    reply = await org.send("GET", "/api/profile_change_log")

    removed = reply.json()["profile_change_logs"][0]["removed_profiles"]
    assert [one["profile_id"] for one in removed] == ["p1"]
    assert "secret" not in reply.text


# --- turns in search -------------------------------------------------------------------------------------------------


async def test_the_turn_of_a_superseded_memory_stays_searchable(org: Org):
    await say(org, PARIS)
    await say(org, BERLIN)

    assert await turns_found(org, "Paris") == [PARIS]
    assert await turns_found(org, "Berlin") == [BERLIN]
    listed = await org.sdk.search_interactions(user_id="ada", top_k=10)
    assert {turn.content for turn in listed.interactions} == {PARIS, BERLIN}


async def test_no_turn_that_tells_what_was_forgotten_is_found_whatever_else_it_tells(org: Org):
    await say(org, "I live in Paris. My dog is called Rex.")
    await say(org, "Please forget that I live in Paris.")

    assert await turns_found(org, "Paris") == []
    assert "Rex" in await everything_found(org, "dog")


async def test_the_turn_of_a_forgotten_memory_comes_back_with_it(org: Org):
    await say(org, PARIS)
    await say(org, "Please forget that I live in Paris.")
    hidden = await turns_found(org, "live in Paris")
    archived = await org.sdk.profiles(user_id="ada", status_filter=["archived"])

    await org.sdk.update_profile(user_id="ada", profile_id=archived.user_profiles[0].profile_id, status="current")

    assert hidden == []
    assert PARIS in await turns_found(org, "Paris")


async def test_a_forgotten_turn_stays_hidden_for_a_process_that_starts_later(org: Org):
    await say(org, PARIS)
    await say(org, "Please forget that I live in Paris.")
    org.app.index.cache.clear()

    assert await turns_found(org, "Paris") == []
