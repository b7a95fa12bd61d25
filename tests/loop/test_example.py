"""The loop, whole turns of it: what is said is learned, what is learned is recalled, what is outdated gives way."""

import asyncio

import pytest
import sqlalchemy as sa

from acumen.model.ids import Millis, now
from acumen.storage.tables import jobs
from tests.world import Org, Start, local, said

CORRECTION = "we never deploy production to us-east-1, always use us-west-2"


async def lessons(org: Org, user: str = "ada", **wanted) -> list:
    return (await org.sdk.user_playbooks(user_id=user, **wanted)).user_playbooks


async def facts(org: Org, user: str = "ada", **wanted) -> list:
    return (await org.sdk.profiles(user_id=user, **wanted)).user_profiles


async def test_a_correction_is_learned_at_once_and_found_first(org: Org):
    """The example of the README."""
    await org.sdk.publish(**said("My office plant is called Fern.", "I like my coffee black."))
    await org.sdk.publish(
        **said("Deploy the billing service", "agent: Deploying it to us-east-1.", f"No, {CORRECTION}.", request_id="r1")
    )
    await org.learn()

    found = await org.sdk.search(query="which region do I deploy to", user_id="ada")

    lesson = found.user_playbooks[0]
    assert "us-west-2" in lesson.content
    assert "deploy" in lesson.trigger.lower()
    assert "us-east-1" in lesson.pitfall
    assert "us-west-2" in found.context


async def test_what_was_learned_leads_back_to_the_words_that_caused_it(org: Org):
    await org.sdk.publish(**said(CORRECTION, request_id="r1", source="slack", agent_version="v2"))
    (turn,) = (await org.sdk.interactions(user_id="ada")).interactions
    await org.learn()

    (lesson,) = await lessons(org)

    assert lesson.request_id == "r1"
    assert lesson.source_interaction_ids == [turn.interaction_id]
    assert lesson.source_span == CORRECTION
    assert (lesson.source, lesson.agent_version, lesson.engine) == ("slack", "v2", "rules")
    (added,) = [event for event in (await org.rows())["lineage"] if event["op"] == "add"]
    assert (added["request_id"], added["sources"]) == ("r1", [str(turn.interaction_id)])
    assert (added["cause"], added["quote"], added["interaction_id"]) == ("learned", CORRECTION, turn.interaction_id)


async def test_one_sentence_makes_one_memory(org: Org):
    await org.sdk.publish(**said(CORRECTION))
    await org.learn()

    assert (len(await facts(org)), len(await lessons(org))) == (0, 1)


async def test_a_new_value_supersedes_the_old_one_which_stays_in_history_with_its_reason_and_words(org: Org):
    await org.sdk.publish(**said("I live in Paris."))
    await org.learn()
    await org.sdk.publish(**said("I live in Berlin now."))
    await org.learn()

    (now,), (before,) = await facts(org), await facts(org, status_filter=["superseded"])
    hits = await org.sdk.search(query="where does the user live", user_id="ada")

    assert "Berlin" in now.content
    assert "Paris" in before.content
    assert before.superseded_by == now.profile_id
    assert [hit.profile_id for hit in hits.profiles] == [now.profile_id]
    (ended,) = [event for event in (await org.rows())["lineage"] if event["op"] == "superseded"]
    assert (ended["cause"], ended["quote"]) == ("new_value", "I live in Berlin now.")


async def test_what_may_disagree_stays_current_and_is_linked_as_a_conflict(org: Org):
    for sentence in ("I like coffee.", "I don't like coffee."):
        await org.sdk.publish(**said(sentence))
        await org.learn()

    older, newer = sorted(await facts(org), key=lambda fact: fact.source_interaction_ids)
    (conflict,) = (await org.rows())["conflicts"]

    assert (conflict["older_id"], conflict["newer_id"]) == (older.profile_id, newer.profile_id)
    assert (conflict["state"], conflict["quote"]) == ("open", "I don't like coffee.")


async def test_a_request_that_shares_its_words_with_a_fact_changes_nothing(org: Org):
    await org.sdk.publish(**said("My dentist is Dr. Molar."))
    await org.learn()
    before = (await org.rows())["lineage"]
    await org.sdk.publish(**said("Please book my dentist for Tuesday.", "agent: Done.", "book my dentist"))
    await org.learn()

    (fact,) = await facts(org)
    assert (fact.content, await lessons(org)) == ("My dentist is Dr. Molar.", [])
    assert (await org.rows())["lineage"] == before


async def test_what_is_said_again_is_mentioned_again_and_not_learned_twice(org: Org):
    for request in ("r1", "r2"):
        await org.sdk.publish(**said("I live in Paris.", request_id=request))
        await org.learn()

    (fact,) = await facts(org)

    assert fact.mentions == 2
    assert len(fact.source_interaction_ids) == 2


async def test_learning_twice_from_the_same_fact_leaves_the_same_state(org: Org):
    await org.sdk.publish(**said(CORRECTION, request_id="r1"))
    await org.learn()
    before = await org.rows("jobs")

    again = said(CORRECTION, request_id="r1")
    await org.sdk.publish(**again)
    await org.learn()

    assert await org.rows("jobs") == before


async def test_one_users_words_teach_nothing_about_another(org: Org):
    await org.sdk.publish(**said("I live in Paris.", user="ada"))
    await org.sdk.publish(**said("Good morning!", user="bob"))
    await org.learn()

    assert (len(await facts(org, "ada")), await facts(org, "bob")) == (1, [])


async def test_a_publish_that_waits_tells_what_was_learned(start: Start):
    org = local(await start(work=True))

    answer = await asyncio.wait_for(org.sdk.publish(**said(CORRECTION, request_id="r1"), wait_for_response=True), 20)

    assert (answer.learning_status, answer.learning_reason) == ("done", "covered")
    assert (answer.profiles_added, answer.playbooks_added) == (0, 1)
    assert len(await lessons(org)) == 1


async def test_a_publish_that_waits_does_not_wait_for_a_window_that_nothing_closes(start: Start):
    org = local(await start(work=True))
    await org.sdk.update_config(stride_size=5)

    answer = await asyncio.wait_for(org.sdk.publish(**said("I live in Paris."), wait_for_response=True), 20)

    assert (answer.learning_status, answer.learning_reason) == ("deferred", "waiting_for_window")
    assert answer.profiles_added == 0


async def test_a_publish_again_that_waits_tells_the_same(start: Start):
    org = local(await start(work=True))
    body = said(CORRECTION, request_id="r1")
    first = await asyncio.wait_for(org.sdk.publish(**body, wait_for_response=True), 20)

    again = await asyncio.wait_for(org.sdk.publish(**body, wait_for_response=True), 20)

    assert again == first


@pytest.mark.parametrize("extractor, learned", [("profile_extractor_config", (0, 1)),
                                                ("user_playbook_extractor_config", (0, 0))])  # fmt: skip
async def test_an_extractor_that_is_switched_off_learns_nothing(org: Org, extractor: str, learned: tuple[int, int]):
    await org.sdk.update_config(**{extractor: None})
    await org.sdk.publish(**said(CORRECTION, request_id="r1"))
    await org.learn()

    assert (len(await facts(org)), len(await lessons(org))) == learned
    assert (await org.sdk.learning_status(request_id="r1")).status == "done"


async def test_an_extractor_reads_only_the_sources_it_is_set_to(org: Org):
    prompt = {"extraction_definition_prompt": "facts", "request_sources_enabled": ["slack"]}
    await org.sdk.update_config(profile_extractor_config=prompt)
    await org.sdk.publish(**said("I live in Paris.", source="cli", user="ada"))
    await org.sdk.publish(**said("I live in Paris.", source="slack", user="bob"))
    await org.learn()

    assert (await facts(org, "ada"), len(await facts(org, "bob"))) == ([], 1)


async def test_a_user_erased_while_being_learned_from_stays_erased(org: Org, monkeypatch: pytest.MonkeyPatch):
    await org.sdk.publish(**said("I live in Paris, and the zebra is mine."))
    index_rows = org.app.index.rows

    async def slow_rows(texts):
        """The user is erased after their words were read, before what they taught is stored."""
        rows = await index_rows(texts)
        await org.sdk.clear_user_data(user_id="ada")
        return rows

    monkeypatch.setattr(org.app.index, "rows", slow_rows)
    await org.learn()

    assert "Paris" not in str(await org.rows())


async def test_one_step_that_fails_does_not_keep_the_others_from_running(org: Org, monkeypatch: pytest.MonkeyPatch):
    from acumen import loop  # noqa: PLC0415 - the table of causes is replaced here
    from acumen.model.jobs.events import Published  # noqa: PLC0415

    async def broken(*_: object) -> None:
        raise ValueError("torn page")

    steps = loop.STEPS[Published]
    monkeypatch.setitem(loop.STEPS, Published, (broken, *steps))
    await org.sdk.publish(**said("I live in Paris.", request_id="r1"))
    await org.learn()

    assert len(await facts(org)) == 1
    waiting = [job for job in (await org.rows())["jobs"] if job["event"] == "published"]
    assert [(job["state"], job["last_error"]) for job in waiting] == [("waiting", "ValueError: torn page")]


async def test_two_jobs_about_one_user_at_once_do_not_fail_each_other(org: Org):
    """A worker that lost its lease without knowing it may still be at work when the next one begins."""
    await org.sdk.publish(**said(CORRECTION, request_id="r1", session="s1"))
    (job,) = await org.app.store.of(org.id).read(lambda tx: tx.jobs.find_by_scope("published", "ada"))

    await asyncio.gather(org.app.run_job(job), org.app.run_job(job))

    assert (len(await facts(org)), len(await lessons(org))) == (0, 1)


async def test_a_session_that_ends_right_after_its_last_turn_is_read_by_one_worker_at_a_time(org: Org):
    await org.sdk.publish(**said(CORRECTION, request_id="r1", session="s1"))
    await org.sdk.finalize_session(user_id="ada", session_id="s1")
    until = Millis(now() + 60_000)
    others = sa.or_(jobs.c.org_id != org.id, jobs.c.event == "session_quiet")
    await org.app.store.database.write(lambda conn: conn.execute(sa.delete(jobs).where(others)))

    first = await org.app.store.lease(lambda leases: leases.claim("me", until, 10, 5))
    meanwhile = await org.app.store.lease(lambda leases: leases.claim("you", until, 10, 5))
    await org.app.store.lease(lambda leases: leases.finish(first[0], "me"))
    second = await org.app.store.lease(lambda leases: leases.claim("you", until, 10, 5))

    assert [job.event for job in (*first, *second)] == ["published", "session_ended"]
    assert meanwhile == []
