"""Lessons of several users become one for all, through the API."""

import asyncio

import pytest

from acumen.model.jobs.events import AggregationAsked
from acumen_client.errors import Conflict, NotFound, Unavailable
from tests.world import Clock, Org, Start, local, playbook, said

TESTS_FIRST = ("Always run the tests before committing.", "Run the test suite before you commit anything.")


async def teach(org: Org, *lessons: str, first: int = 0, **more) -> list[int]:
    """Each lesson by a user of its own; their ids."""
    for number, content in enumerate(lessons, first):
        given = {"trigger": "committing code", "agent_version": "v1", **more}
        await org.sdk.add_user_playbooks(user_playbooks=[playbook(content, f"user-{number}", **given)])
    return [one.user_playbook_id for one in (await org.sdk.user_playbooks(limit=1000)).user_playbooks]


async def aggregate(org: Org, version: str = "v1"):
    return (await org.sdk.run_playbook_aggregation(agent_version=version)).result


async def shared(org: Org, **wanted) -> list:
    found = await org.sdk.agent_playbooks(limit=1000, **wanted)
    return sorted(found.agent_playbooks, key=lambda one: one.agent_playbook_id)


async def changes(org: Org, version: str = "v1") -> list:
    logs = await org.sdk.playbook_aggregation_changes(playbook_name="playbook", agent_version=version)
    return logs.change_logs


# --- one lesson for all --------------------------------------------------------------------------------------------


async def test_what_two_users_teach_becomes_one_pending_lesson(org: Org):
    await teach(org, *TESTS_FIRST)

    result = await aggregate(org)

    (lesson,) = await shared(org)
    assert lesson.content in TESTS_FIRST
    assert (lesson.trigger, lesson.agent_version, lesson.playbook_status) == ("committing code", "v1", "pending")
    assert lesson.engine == "rules"
    assert (result.clusters_found, result.user_playbooks_processed, result.playbooks_generated) == (1, 2, 1)


async def test_a_lesson_that_nobody_approved_is_told_to_others_but_not_put_into_their_prompts(org: Org):
    await teach(org, *TESTS_FIRST)
    await aggregate(org)
    (lesson,) = await shared(org)
    asked = {"query": "committing code", "user_id": "a stranger"}

    found = await org.sdk.search(**asked)
    wanted = await org.sdk.search(**asked, agent_playbook_status_filter=["pending"])
    await org.sdk.update_agent_playbook_status(agent_playbook_id=lesson.agent_playbook_id, playbook_status="approved")
    approved = await org.sdk.search(**asked)

    assert [one.agent_playbook_id for one in found.agent_playbooks] == [lesson.agent_playbook_id]
    assert (found.context, [one.reason for one in found.left_out]) == ("", ["waits for a person's approval"])
    assert lesson.content in wanted.context
    assert lesson.content in approved.context


async def test_what_one_user_teaches_twice_stays_theirs(org: Org):
    for content in TESTS_FIRST:
        await org.sdk.add_user_playbooks(user_playbooks=[playbook(content, "ada", agent_version="v1")])

    result = await aggregate(org)

    assert await shared(org) == []
    assert result.skipped == "no lesson is shared by enough users"


async def test_always_and_never_are_two_lessons(org: Org):
    against = ("Do not run the tests before committing; CI does it.", "Never run the tests before committing.")
    await teach(org, *TESTS_FIRST, *against)

    await aggregate(org)

    lessons = {lesson.content for lesson in await shared(org)}
    assert len(lessons) == 2
    assert len(lessons & set(TESTS_FIRST)) == len(lessons & set(against)) == 1


async def test_how_many_users_it_takes_is_the_orgs_to_say(org: Org):
    await org.sdk.update_config(
        user_playbook_extractor_config={
            "extraction_definition_prompt": "lessons",
            "aggregation_config": {"min_cluster_size": 3},
        }
    )
    await teach(org, *TESTS_FIRST)

    await aggregate(org)
    two = await shared(org)
    await teach(org, "Tests must be run before each commit.", first=2)
    await aggregate(org)

    assert two == []
    assert len(await shared(org)) == 1


async def test_agent_versions_and_names_are_kept_apart(org: Org):
    await teach(org, *TESTS_FIRST[:1])
    await teach(org, *TESTS_FIRST[1:], first=1, agent_version="v2")
    await teach(org, *TESTS_FIRST[1:], first=2, playbook_name="style")

    for version in ("v1", "v2"):
        await aggregate(org, version)

    assert await shared(org) == []


async def test_whoever_names_no_name_means_all_of_them(org: Org):
    await teach(org, *TESTS_FIRST, playbook_name="style")

    other = await org.sdk.run_playbook_aggregation(agent_version="v1", playbook_name="tone")
    unnamed = await org.sdk.run_playbook_aggregation(agent_version="v1")

    assert other.result is not None
    assert other.result.user_playbooks_processed == 0
    assert unnamed.result is not None
    assert unnamed.result.playbooks_generated == 1
    assert [one.playbook_name for one in await shared(org)] == ["style"]
    assert [one.playbook_name for one in await changes(org)] == ["style"]


async def test_whoever_names_no_version_is_of_the_default_one(org: Org):
    await teach(org, *TESTS_FIRST, agent_version="")

    done = await org.sdk.run_playbook_aggregation()

    assert len(await shared(org)) == 1
    assert "1 shared playbooks added" in done.message


async def test_nothing_personal_is_shared(org: Org):
    lessons = (
        "Ask the owner, carol@acme.io, before restarting a production service.",
        "Ask the owner (+49 170 5551234) before restarting the production service of Dave, as in ticket 48213.",
    )
    await teach(org, *lessons, trigger="restarting a service", rationale="Customer 99182 lost data.")

    await aggregate(org)

    told = str(await shared(org)) + str(await changes(org))
    assert "before restarting" in told
    for personal in ("carol", "5551234", "Dave", "48213", "99182", "user-0", "user-1"):
        assert personal not in told, personal


async def test_a_lesson_without_vectors_is_gathered_by_its_words(org: Org, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(org.app.local_models, "problem", "switched off")
    monkeypatch.setattr(org.app.local_models, "_many", lambda texts: [None] * len(texts))
    await teach(org, "Always run the tests before committing.", "Run the tests before committing, always.")

    await aggregate(org)

    assert len(await shared(org)) == 1


# --- again -----------------------------------------------------------------------------------------------------------


async def test_what_did_not_change_is_left_alone(org: Org):
    await teach(org, *TESTS_FIRST)
    await aggregate(org)
    before = await org.rows("runs", "run_items", "jobs", "aggregation_bookmarks", "orgs")

    result = await aggregate(org)

    assert (result.unchanged, result.playbooks_generated, result.playbooks_updated) == (1, 0, 0)
    assert await org.rows("runs", "run_items", "jobs", "aggregation_bookmarks", "orgs") == before


async def test_a_cluster_that_grew_is_still_the_same_lesson_and_stays_approved(org: Org):
    await teach(org, *TESTS_FIRST)
    await aggregate(org)
    (lesson,) = await shared(org)
    await org.sdk.update_agent_playbook_status(agent_playbook_id=lesson.agent_playbook_id, playbook_status="approved")
    await teach(org, "Tests must be run before each commit.", first=2)

    result = await aggregate(org)

    (grown,) = await shared(org)
    assert grown.agent_playbook_id == lesson.agent_playbook_id
    assert (grown.content, grown.playbook_status) == (lesson.content, "approved")
    assert '"users": 3' in grown.playbook_metadata
    assert (result.playbooks_generated, result.playbooks_grown) == (0, 1)


async def test_the_more_users_teach_an_approved_lesson_the_surer_it_is(org: Org):
    await teach(org, *TESTS_FIRST)
    await aggregate(org)
    (before,) = await shared(org)
    await org.sdk.update_agent_playbook_status(agent_playbook_id=before.agent_playbook_id, playbook_status="approved")
    await teach(org, *TESTS_FIRST, first=2)

    await aggregate(org)

    (after,) = await shared(org)
    assert (after.content, after.playbook_status) == (before.content, "approved")
    assert (before.confidence, after.confidence) == (0.75, 0.88)


async def test_an_approved_lesson_that_comes_to_say_something_else_is_pending_again(org: Org):
    ids = await teach(org, *TESTS_FIRST)
    await aggregate(org)
    (lesson,) = await shared(org)
    await org.sdk.update_agent_playbook_status(agent_playbook_id=lesson.agent_playbook_id, playbook_status="approved")
    for one in ids:
        changed = "Always run the unit tests and the slow tests before committing."
        await org.sdk.update_user_playbook(user_playbook_id=one, content=changed)

    await aggregate(org)

    (reworded,) = await shared(org)
    assert reworded.agent_playbook_id == lesson.agent_playbook_id
    assert "slow tests" in reworded.content
    assert reworded.playbook_status == "pending"


async def test_a_lesson_that_a_person_edited_keeps_their_words(org: Org):
    await teach(org, *TESTS_FIRST)
    await aggregate(org)
    (lesson,) = await shared(org)
    await org.sdk.update_agent_playbook(agent_playbook_id=lesson.agent_playbook_id, content="Test, then commit.")
    await teach(org, "Tests must be run before each commit.", first=2)

    await aggregate(org)

    (edited,) = await shared(org)
    assert edited.content == "Test, then commit."


async def test_a_lesson_added_by_hand_is_not_written_a_second_time(org: Org):
    by_hand = {"content": TESTS_FIRST[0], "trigger": "committing code", "agent_version": "v1"}
    await org.sdk.add_agent_playbooks(agent_playbooks=[by_hand])
    await teach(org, *TESTS_FIRST)

    await aggregate(org)

    (lesson,) = await shared(org)
    assert lesson.content == TESTS_FIRST[0]


async def test_a_lesson_that_nobody_teaches_any_more_is_retired(org: Org):
    ids = await teach(org, *TESTS_FIRST)
    await aggregate(org)
    (lesson,) = await shared(org)
    await org.sdk.update_user_playbook(user_playbook_id=ids[0], status="archived")

    result = await aggregate(org)

    (retired,) = await shared(org, status_filter=["archived"])
    assert await shared(org) == []
    assert retired.agent_playbook_id == lesson.agent_playbook_id
    assert result.playbooks_removed == 1
    (last, _) = await changes(org)
    assert [one.content for one in last.removed_agent_playbooks] == [lesson.content]


# --- rejected --------------------------------------------------------------------------------------------------------


async def rejected(org: Org):
    await teach(org, *TESTS_FIRST)
    await aggregate(org)
    (lesson,) = await shared(org)
    await org.sdk.update_agent_playbook_status(agent_playbook_id=lesson.agent_playbook_id, playbook_status="rejected")
    return lesson


async def test_a_rejected_lesson_does_not_come_back_from_the_same_evidence(org: Org):
    lesson = await rejected(org)

    again = await aggregate(org)
    await teach(org, "Tests must be run before each commit.", first=2)
    with_one_more = await aggregate(org)

    assert [one.agent_playbook_id for one in await shared(org)] == [lesson.agent_playbook_id]
    assert again.withheld == with_one_more.withheld == 1


async def test_a_near_copy_of_a_rejected_lesson_does_not_come_back_either(org: Org):
    """The same users say it again in other words, and what they had said before is put away."""
    await rejected(org)
    for one in (await org.sdk.user_playbooks(limit=10)).user_playbooks:
        await org.sdk.update_user_playbook(user_playbook_id=one.user_playbook_id, status="archived")
    await teach(org, "Tests must be run before each commit.", "Run all the tests before committing.")

    result = await aggregate(org)

    assert [one.playbook_status for one in await shared(org)] == ["rejected"]
    assert (result.clusters_found, result.withheld) == (1, 1)


async def renewed(org: Org) -> None:
    """The same users' lessons, made anew by a rerun; what they were before the last one is deleted."""
    await teach(org, *TESTS_FIRST, status="pending")
    await org.sdk.upgrade_user_playbooks()


async def test_a_rejected_lesson_does_not_come_back_from_the_same_evidence_made_anew(org: Org):
    lesson = await rejected(org)

    await renewed(org)
    await renewed(org)
    result = await aggregate(org)

    assert [one.agent_playbook_id for one in await shared(org)] == [lesson.agent_playbook_id]
    assert result.withheld == 1


async def test_a_rejected_lesson_returns_when_as_many_others_teach_it(org: Org):
    lesson = await rejected(org)
    await teach(org, "Tests must be run before each commit.", "Run all tests before committing.", first=2)

    await aggregate(org)

    live = [one for one in await shared(org) if one.playbook_status == "pending"]
    assert len(live) == 1
    assert live[0].agent_playbook_id != lesson.agent_playbook_id


async def test_what_a_person_deleted_is_not_written_again_until_all_are_deleted(org: Org):
    await teach(org, *TESTS_FIRST)
    await aggregate(org)
    (lesson,) = await shared(org)
    await org.sdk.delete_agent_playbook(agent_playbook_id=lesson.agent_playbook_id)

    await aggregate(org)
    after_one = await shared(org)
    await org.sdk.delete_all_agent_playbooks()
    await aggregate(org)

    assert after_one == []
    assert len(await shared(org)) == 1


async def test_the_sources_of_a_rejected_lesson_are_found_by_their_own_user_only(org: Org):
    await rejected(org)
    ask = {"query": "run the tests before committing"}

    anyones = await org.sdk.search_user_playbooks(**ask)
    own = await org.sdk.search_user_playbooks(**ask, user_id="user-0")
    unified = await org.sdk.search(**ask, user_id="user-0")

    assert anyones.user_playbooks == []
    assert [one.user_id for one in own.user_playbooks] == ["user-0"]
    assert [one.user_id for one in unified.user_playbooks] == ["user-0"]
    assert unified.agent_playbooks == []


async def test_what_the_sources_of_a_rejected_lesson_became_is_found_by_their_own_user_only(org: Org):
    await rejected(org)
    await renewed(org)
    ask = {"query": "run the tests before committing"}

    await aggregate(org)

    assert (await org.sdk.search_user_playbooks(**ask)).user_playbooks == []
    assert len((await org.sdk.search_user_playbooks(**ask, user_id="user-0")).user_playbooks) == 1


# --- in search -------------------------------------------------------------------------------------------------------


async def test_a_shared_lesson_and_its_source_are_not_both_shown(org: Org):
    await teach(org, *TESTS_FIRST)
    await aggregate(org)

    found = {
        user: await org.sdk.search(query="run the tests before committing", user_id=user)
        for user in ("user-0", "user-1", "user-2")
    }

    assert len(found["user-0"].user_playbooks) + len(found["user-0"].agent_playbooks) == 1
    assert len(found["user-1"].user_playbooks) + len(found["user-1"].agent_playbooks) == 1
    assert (len(found["user-2"].user_playbooks), len(found["user-2"].agent_playbooks)) == (0, 1)


async def test_the_place_that_a_double_leaves_goes_to_another(org: Org):
    await teach(org, *TESTS_FIRST)
    others = ["Run the linter before committing.", "Sign the commits before pushing them."]
    await org.sdk.add_user_playbooks(
        user_playbooks=[playbook(one, "user-0", agent_version="v2", trigger="committing code") for one in others]
    )
    await aggregate(org)

    found = await org.sdk.search(query="what to do before committing code", user_id="user-0", top_k=2)

    assert len(found.user_playbooks) == 2


# --- the log ---------------------------------------------------------------------------------------------------------


async def test_the_log_tells_what_was_then_and_not_what_is_now(org: Org):
    await teach(org, *TESTS_FIRST)
    await aggregate(org)
    (lesson,) = await shared(org)
    added = lesson.content
    await org.sdk.update_agent_playbook(
        agent_playbook_id=lesson.agent_playbook_id, content="Other words", playbook_status="rejected"
    )

    (log,) = await changes(org)

    (snapshot,) = log.added_agent_playbooks
    assert (snapshot.content, snapshot.playbook_status) == (added, "pending")
    assert (log.updated_agent_playbooks, log.removed_agent_playbooks) == ([], [])
    assert (log.run_mode, log.agent_version) == ("incremental", "v1")


async def test_an_update_is_told_with_what_was_before(org: Org):
    ids = await teach(org, *TESTS_FIRST)
    await aggregate(org)
    (before,) = await shared(org)
    for one in ids:
        await org.sdk.update_user_playbook(user_playbook_id=one, content="Run all unit tests before committing.")

    await aggregate(org)

    (last, _) = await changes(org)
    (update,) = last.updated_agent_playbooks
    assert (update.before.content, update.after.content) == (before.content, "Run all unit tests before committing.")


# --- operations ------------------------------------------------------------------------------------------------------


async def test_an_aggregation_in_the_background_can_be_watched(org: Org):
    await teach(org, *TESTS_FIRST)

    reply = await org.send("POST", "/api/playbook_aggregation_operations", {"request_id": "a1", "agent_version": "v1"})
    queued = reply.json()
    await org.learn()
    done = await org.sdk.playbook_aggregation_operation(operation_id=queued["operation_id"])

    assert reply.status_code == 202
    assert (queued["status"], queued["result"], queued["completed_at"]) == ("queued", None, None)
    assert (done.status, done.request_id, done.agent_version) == ("succeeded", "a1", "v1")
    assert done.result is not None
    assert done.result.playbooks_generated == 1
    assert done.done == done.total > 0


async def test_the_same_request_twice_is_one_aggregation(org: Org):
    first = await org.sdk.submit_playbook_aggregation(request_id="a1", agent_version="v1")
    again = await org.sdk.submit_playbook_aggregation(request_id="a1", agent_version="v1")
    await org.learn()
    later = await org.sdk.submit_playbook_aggregation(request_id="a1", agent_version="v1")

    assert first.operation_id == again.operation_id == later.operation_id
    assert later.status == "succeeded"


async def test_one_request_id_names_one_aggregation(org: Org):
    await org.sdk.submit_playbook_aggregation(request_id="a1", agent_version="v1")

    with pytest.raises(Conflict, match="a1"):
        await org.sdk.submit_playbook_aggregation(request_id="a1", agent_version="v2")


async def test_a_version_is_aggregated_once_at_a_time(org: Org):
    under_way = await org.sdk.submit_playbook_aggregation(request_id="a1", agent_version="v1")

    with pytest.raises(Conflict, match=under_way.operation_id):
        await org.sdk.submit_playbook_aggregation(request_id="a2", agent_version="v1")
    other = await org.sdk.submit_playbook_aggregation(request_id="a3", agent_version="v2")

    assert other.status == "queued"


@pytest.mark.parametrize("again", [("a1", "v2"), ("a2", "v1")], ids=["the id is taken", "the version is at work"])
async def test_a_conflict_names_the_operation_that_stands_in_the_way(org: Org, again: tuple[str, str]):
    first = await org.sdk.submit_playbook_aggregation(request_id="a1", agent_version="v1")

    asked = dict(zip(("request_id", "agent_version"), again, strict=True))
    reply = await org.send("POST", "/api/playbook_aggregation_operations", asked)

    told = reply.json()
    assert (reply.status_code, told["operation_id"], told["code"]) == (409, first.operation_id, "conflict")
    assert told["message"] == told["detail"] != ""


async def test_who_asks_to_wait_comes_after_the_one_under_way(org: Org):
    await teach(org, *TESTS_FIRST)
    await org.sdk.submit_playbook_aggregation(request_id="a1", agent_version="v1")

    waiting = asyncio.create_task(aggregate(org))
    await asyncio.sleep(0.1)
    await org.learn()
    result = await waiting

    assert result.unchanged == 1
    assert len(await shared(org)) == 1


async def test_an_operation_that_does_not_exist_is_not_found(org: Org):
    with pytest.raises(NotFound, match="aggr_none"):
        await org.sdk.playbook_aggregation_operation(operation_id="aggr_none")


async def test_two_who_aggregate_at_once_do_not_write_a_lesson_twice(org: Org):
    await teach(org, *TESTS_FIRST)

    await asyncio.gather(*(aggregate(org) for _ in range(4)))

    assert len(await shared(org)) == 1


async def test_an_aggregation_whose_worker_gave_up_does_not_block_the_next(org: Org):
    lost = await org.sdk.submit_playbook_aggregation(request_id="a1", agent_version="v1")

    def give_up(tx):
        (job,) = tx.jobs.find_by_scope(AggregationAsked.name, lost.operation_id)
        return job

    job = await org.app.store.of(org.id).read(give_up)
    await org.app.store.lease(lambda leases: leases._set([job.id], state="dead", waiting_key=None, last_error="broken"))

    failed = await org.sdk.playbook_aggregation_operation(operation_id=lost.operation_id)
    after = await aggregate(org)

    assert (failed.status, failed.error) == ("failed", "broken")
    assert after.skipped is not None


# --- by itself -------------------------------------------------------------------------------------------------------

ALWAYS = ("Always run the tests before you commit.", "From now on, always run the tests before committing.")


async def test_enough_new_lessons_are_aggregated_without_being_asked(org: Org):
    for number, sentence in enumerate(ALWAYS):
        await org.sdk.publish(**said(sentence, user=f"user-{number}", agent_version="v1"))

    await org.learn()

    (lesson,) = await shared(org)
    assert "tests" in lesson.content
    assert (lesson.agent_version, lesson.playbook_status) == ("v1", "pending")


@pytest.mark.parametrize("words", ["todays", "older"])
async def test_lessons_added_by_hand_are_aggregated_in_a_while(start: Start, clock: Clock, words: str):
    org = local(await start())
    if words == "todays":
        await teach(org, *TESTS_FIRST)
    else:
        new = {"agent_version": "v1", "request_id": "r1", "when_condition": "committing code"}
        told = [
            {**new, "user_id": f"user-{number}", "feedback_content": content}
            for number, content in enumerate(TESTS_FIRST)
        ]
        await org.send("POST", "/api/add_raw_feedback", {"raw_feedbacks": told})

    await org.learn()
    assert await shared(org) == []
    clock.forward(seconds=10)
    await org.learn()

    (lesson,) = await shared(org)
    assert lesson.content in TESTS_FIRST


async def test_a_publish_may_ask_not_to_be_aggregated(org: Org):
    for number, sentence in enumerate(ALWAYS):
        await org.sdk.publish(**said(sentence, user=f"user-{number}", agent_version="v1", skip_aggregation=True))

    await org.learn()
    by_itself = await shared(org)
    await aggregate(org)

    assert by_itself == []
    assert len(await shared(org)) == 1


# --- only what changed -----------------------------------------------------------------------------------------------


async def test_a_lesson_that_joins_later_finds_the_single_one_that_was_there(org: Org):
    await teach(org, TESTS_FIRST[0])
    alone = await aggregate(org)
    await teach(org, TESTS_FIRST[1], first=1)

    joined = await aggregate(org)

    assert (alone.playbooks_generated, joined.playbooks_generated, joined.clusters_found) == (0, 1, 1)
    assert len(await shared(org)) == 1


async def test_a_full_aggregation_comes_to_the_same_result(org: Org):
    await teach(org, TESTS_FIRST[0], "Never use emojis in replies.")
    await aggregate(org)
    await teach(org, TESTS_FIRST[1], "Leave out emojis in replies.", first=2)
    await aggregate(org)
    before = await shared(org)

    full = (await org.sdk.run_playbook_aggregation(agent_version="v1", full=True)).result

    assert (full.unchanged, full.playbooks_generated, full.user_playbooks_processed) == (2, 0, 4)
    assert await shared(org) == before


async def test_other_settings_apply_to_lessons_that_were_compared_before(org: Org):
    wanted = {"extraction_definition_prompt": "lessons", "aggregation_config": {"min_cluster_size": 3}}
    await org.sdk.update_config(user_playbook_extractor_config=wanted)
    await teach(org, *TESTS_FIRST)
    await aggregate(org)
    assert await shared(org) == []

    await org.sdk.update_config(
        user_playbook_extractor_config={**wanted, "aggregation_config": {"min_cluster_size": 2}}
    )
    await aggregate(org)

    assert len(await shared(org)) == 1


async def test_after_an_aggregation_that_failed_every_lesson_is_compared_again(
    org: Org, monkeypatch: pytest.MonkeyPatch
):
    await teach(org, *TESTS_FIRST)
    with monkeypatch.context() as broken:
        broken.setattr("acumen.learn.share.aggregate.write", lambda *_: 1 / 0)
        with pytest.raises(Unavailable):
            await aggregate(org)
    assert await shared(org) == []

    await aggregate(org)

    assert len(await shared(org)) == 1


async def test_near_copies_become_one_proposal(org: Org):
    copies = (
        "Run the tests before committing.",
        "run the tests, before committing!",
        "Before committing, run the tests.",
    )
    await teach(org, *copies, "Please run the tests before committing.")

    await aggregate(org)

    assert len(await shared(org)) == 1


@pytest.mark.parametrize("content", ["It is frustrating.", "Do it again.", "My wife is allergic to nuts."])
async def test_what_no_reviewer_could_approve_is_not_proposed(org: Org, content: str):
    await teach(org, content, content, trigger=None)

    result = await aggregate(org)

    assert await shared(org) == []
    assert (result.clusters_found, result.user_playbooks_processed) == (0, 2)
