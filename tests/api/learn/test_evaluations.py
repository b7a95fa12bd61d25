"""How sessions end, over REST: stated, judged, judged anew, erased."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from acumen.llm.scripted import Script
from acumen.model.ids import now
from acumen.model.jobs.run import RunId
from acumen.model.metering.llm_call import ModelRole
from acumen_client import BadInput, Conflict, NotFound
from acumen_client.wire.evaluations import EvaluationResultView, SetSessionOutcomeResponse
from tests.world import Clock, Org, Start, join, local, said

ASKED = ("When do you open?", "agent: At nine.")
WRONG = (*ASKED, "That's wrong, you open at ten!")


def seconds() -> int:
    return now() // 1000


async def talk(org: Org, session: str = "s1", *turns: str, over: bool = True, **more: Any) -> str:
    answer = await org.sdk.publish(**said(*(turns or ASKED), session=session, **more), session_finished=over)
    await org.learn()
    return str(answer.request_id)


async def state(org: Org, outcome: str, session: str = "s1", **more: Any) -> SetSessionOutcomeResponse:
    given = {"session_id": session, "outcome": outcome, "occurred_at": seconds(), **more}
    return await org.sdk.state_outcome(**given)


async def results(org: Org, **asked: Any) -> list[EvaluationResultView]:
    return (await org.sdk.evaluation_results(**asked)).agent_success_evaluation_results


# --- stated --------------------------------------------------------------------------------------------------------


async def test_a_stated_outcome_wins_over_the_guess_and_both_are_kept(org: Org):
    await talk(org)
    (guessed,) = await results(org)

    stated = await state(org, "failure", label="refund refused", value=-3.5, metadata={"ticket": 7})
    (at_once,) = await results(org)
    await org.learn()

    (after,) = await results(org)
    assert (stated.success, stated.recorded, stated.outcome_revision, stated.user_id) == (True, True, 1, "ada")
    assert (guessed.is_success, at_once.is_success, after.is_success) == (True, False, False)
    assert (after.judged_success, after.stated_outcome) == (True, "failure")
    assert "reported" in (after.failure_reason or "")


async def test_a_session_counts_by_its_stated_outcome_before_it_was_ever_judged(org: Org):
    await talk(org, over=False)
    await state(org, "success")

    (at_once,) = await results(org)
    await org.learn()

    (later,) = await results(org)
    assert (at_once.is_success, at_once.engine, at_once.judged_success) == (True, "caller", None)
    assert (later.is_success, later.engine, later.judged_success) == (True, "rules", True)


async def test_a_judgement_after_the_statement_does_not_undo_it(org: Org):
    await talk(org)
    await state(org, "failure")
    await talk(org, "s1", "Thanks, that was it!")

    (found,) = await results(org)

    assert (found.is_success, found.judged_success) == (False, True)


async def test_a_caller_who_cannot_tell_leaves_it_to_the_judge(org: Org):
    await talk(org, "s1", *WRONG)
    await state(org, "success")
    revised = await state(org, "unknown")
    await org.learn()

    (found,) = await results(org)

    assert revised.outcome_revision == 2
    assert (found.is_success, found.judged_success, found.stated_outcome) == (False, False, "unknown")


async def test_an_unknown_end_of_a_session_nobody_judged_is_no_verdict(org: Org):
    await talk(org, over=False)
    await state(org, "success")

    await state(org, "unknown")

    assert await results(org) == []


async def test_the_same_word_again_is_no_new_revision(org: Org):
    await talk(org)
    word = {"session_id": "s1", "outcome": "success", "occurred_at": seconds(), "label": "paid"}

    first, again = [await org.sdk.state_outcome(**word) for _ in range(2)]

    assert (first.outcome_revision, again.outcome_revision) == (1, 1)
    assert (first.outcome_id, first.outcome_contract_digest) == (again.outcome_id, again.outcome_contract_digest)


async def test_another_word_is_a_new_revision_of_the_same_outcome(org: Org):
    await talk(org)

    first, second = await state(org, "success"), await state(org, "failure")

    assert (second.outcome_revision, second.outcome_id) == (2, first.outcome_id)
    assert first.outcome_contract_digest != second.outcome_contract_digest
    assert first.finalized_trajectory_digest == second.finalized_trajectory_digest


async def test_an_outcome_is_stated_of_a_session_that_exists(org: Org):
    with pytest.raises(NotFound, match="no session 'nowhere'"):
        await state(org, "success", "nowhere")


async def test_a_session_id_of_two_users_needs_the_user(org: Org):
    await talk(org, user="ada")
    await talk(org, user="bob")

    with pytest.raises(Conflict, match="user_id"):
        await state(org, "failure")
    await state(org, "failure", user_id="bob")

    assert {one.user_id: one.is_success for one in await results(org)} == {"ada": True, "bob": False}


@pytest.mark.parametrize("occurred,why", [(-3_600, "before"), (3_600, "future")])
async def test_an_end_before_the_session_or_in_the_future_is_refused(org: Org, occurred: int, why: str):
    await talk(org)

    with pytest.raises(BadInput, match=why):
        await state(org, "success", occurred_at=seconds() + occurred)


async def test_fields_nobody_knows_are_told_and_left_out(org: Org):
    await talk(org)
    body = {"session_id": "s1", "outcome": "success", "occurred_at": seconds(), "mood": "fine"}

    reply = await org.send("POST", "/api/session_outcome", body)

    assert reply.status_code == 200
    assert "mood" in reply.json()["message"]


async def test_stated_outcomes_are_listed_by_what_is_asked_for(org: Org):
    for number, outcome in enumerate(["success", "failure", "success"]):
        await talk(org, f"s{number}", user=f"u{number}", source=f"source-{number}")
        await state(org, outcome, f"s{number}", label=f"label {number}", occurred_at=seconds() + number)
    await talk(org, "unstated")

    async def ids(**asked: Any) -> list[str]:
        return [one.session_id for one in (await org.sdk.session_outcomes(**asked)).session_outcomes]

    assert await ids() == ["s2", "s1", "s0"]
    assert await ids(outcome="success") == ["s2", "s0"]
    assert await ids(user_id="u1") == await ids(source="source-1") == await ids(label="label 1") == ["s1"]
    assert await ids(session_ids=["s0", "s1", "other"]) == ["s1", "s0"]
    assert await ids(session_ids=[]) == []
    assert await ids(top_k=1, offset=1) == ["s1"]
    assert await ids(end_time=seconds() - 3_600) == []
    assert await ids(start_time=seconds() - 3_600, end_time=seconds() + 3_600) == ["s2", "s1", "s0"]


async def test_an_outcome_is_read_back_field_by_field(org: Org):
    request = await talk(org, source="chat")
    at = seconds()
    stated = await state(org, "failure", occurred_at=at, label="refused", value=2.5, metadata={"a": [1, {"b": None}]})

    (found,) = (await org.sdk.session_outcomes()).session_outcomes

    assert (found.user_id, found.session_id, found.outcome, found.source) == ("ada", "s1", "failure", "chat")
    assert (found.occurred_at, found.label, found.value, found.metadata) == (
        at,
        "refused",
        2.5,
        {"a": [1, {"b": None}]},
    )
    assert (found.outcome_id, found.outcome_revision, found.is_inferred) == (stated.outcome_id, 1, False)
    assert found.outcome_contract_digest == stated.outcome_contract_digest
    assert found.finalized_trajectory_digest == stated.finalized_trajectory_digest
    assert found.trajectory_through_request_id == request


# --- judged --------------------------------------------------------------------------------------------------------


async def test_results_are_filtered_and_newest_first(org: Org):
    await talk(org, "s1", agent_version="v1")
    await talk(org, "s2", *WRONG, user="bob", agent_version="v2")
    tomorrow = datetime.now(UTC) + timedelta(days=1)

    async def ids(**asked: Any) -> list[str]:
        return [one.session_id for one in await results(org, **asked)]

    assert await ids() == ["s2", "s1"]
    assert await ids(limit=1) == ["s2"]
    assert await ids(limit=1, offset=1) == ["s1"]
    assert await ids(agent_version="v1") == await ids(user_id="ada") == await ids(session_id="s1") == ["s1"]
    assert await ids(start_time=tomorrow) == []
    assert await ids(end_time=tomorrow) == ["s2", "s1"]


async def test_who_names_no_version_is_found_by_the_name_for_that(org: Org):
    await talk(org, "s1", over=False)
    await talk(org, "s2", over=False, agent_version="v2")

    graded = [await org.sdk.grade_on_demand(session_id=one, agent_version="agent-v0") for one in ("s1", "s2")]

    assert [one.skipped_reason for one in graded] == [None, "NO_REQUESTS"]
    assert [one.session_id for one in await results(org, agent_version="agent-v0")] == ["s1"]


async def test_a_request_that_names_no_source_leaves_the_session_the_one_it_had(org: Org):
    chat_only = {"success_definition_prompt": "It helped.", "request_sources_enabled": ["chat"]}
    await org.sdk.update_config(agent_success_config=chat_only)
    await talk(org, over=False, source="chat")
    await talk(org, source="")

    stated = await state(org, "success")

    (found,) = await results(org)
    assert (found.source, stated.source) == ("chat", "chat")
    assert (await regenerate(org)).total == 1


async def test_a_failure_says_what_went_wrong(org: Org):
    await talk(org, "s1", *WRONG, source="chat", agent_version="v1")

    (found,) = await results(org)

    assert (found.is_success, found.failure_type) == (False, "wrong_answer")
    assert "you open at ten" in (found.failure_reason or "")
    assert (found.number_of_correction_per_session, found.user_turns_to_resolution) == (1, None)
    assert (found.evaluation_name, found.source, found.agent_version) == ("agent_success", "chat", "v1")
    assert found.signals


async def test_grading_on_demand_judges_now_and_remembers_for_a_day(start: Start, clock: Clock):
    org = local(await start())
    await talk(org, over=False, agent_version="v1")

    first = await org.sdk.grade_on_demand(session_id="s1", agent_version="v1")
    again = await org.sdk.grade_on_demand(session_id="s1", agent_version="v1")
    clock.forward(hours=25)
    later = await org.sdk.grade_on_demand(session_id="s1", agent_version="v1")

    assert [one.cached for one in (first, again, later)] == [False, True, False]
    assert first.result_id == again.result_id == later.result_id
    assert first.skipped_reason is None


async def test_what_was_said_since_is_graded_too(org: Org):
    await talk(org)
    await org.sdk.grade_on_demand(session_id="s1")
    await org.sdk.publish(**said("That's wrong!"))

    graded = await org.sdk.grade_on_demand(session_id="s1")

    (found,) = await results(org)
    assert (graded.cached, found.is_success) == (False, False)


async def test_what_cannot_be_graded_says_why(org: Org):
    await talk(org, "silent", "Hello?")
    await talk(org, "mail", source="mail")
    chat_only = {"success_definition_prompt": "It helped.", "request_sources_enabled": ["chat"]}

    reasons = [
        (await org.sdk.grade_on_demand(session_id="nowhere")).skipped_reason,
        (await org.sdk.grade_on_demand(session_id="mail", agent_version="v9")).skipped_reason,
        (await org.sdk.grade_on_demand(session_id="silent")).skipped_reason,
    ]
    await org.sdk.update_config(agent_success_config=chat_only)
    reasons.append((await org.sdk.grade_on_demand(session_id="mail")).skipped_reason)
    await org.sdk.update_config(agent_success_config=None)
    reasons.append((await org.sdk.grade_on_demand(session_id="mail")).skipped_reason)

    assert reasons == ["NO_REQUESTS", "NO_REQUESTS", "NOTHING_TO_JUDGE", "SOURCE_NOT_ENABLED", "SWITCHED_OFF"]


async def test_a_session_id_that_two_users_share_is_graded_for_whom_is_named(org: Org):
    for user, version in (("ada", "v1"), ("bob", "v2")):
        await talk(org, user=user, agent_version=version, over=False)

    with pytest.raises(Conflict, match="user_id"):
        await org.sdk.grade_on_demand(session_id="s1")

    of_ada = await org.sdk.grade_on_demand(session_id="s1", user_id="ada")
    of_bob = await org.sdk.grade_on_demand(session_id="s1", agent_version="v2")
    found = {one.result_id: one.user_id for one in await results(org)}
    assert (found[of_ada.result_id], found[of_bob.result_id]) == ("ada", "bob")


# --- judged anew ---------------------------------------------------------------------------------------------------


async def regenerate(org: Org, **more: Any) -> Any:
    return await org.sdk.regenerate_evaluations(**{"from_ts": 0, "to_ts": seconds() + 60, **more})


async def test_sessions_of_the_past_are_judged_anew(org: Org):
    await org.sdk.update_config(agent_success_config=None)
    for number in range(3):
        await talk(org, f"s{number}")
    default = {"success_definition_prompt": "It helped."}
    await org.sdk.update_config(agent_success_config=default)

    started = await regenerate(org)
    running = await org.sdk.evaluation_regeneration(job_id=started.job_id)
    await org.learn()

    ended = await org.sdk.evaluation_regeneration(job_id=started.job_id)
    assert started.total == 3
    assert (running.status, running.completed, running.finished_at) == ("running", 0, None)
    assert (ended.status, ended.total, ended.completed, ended.failed) == ("completed", 3, 3, 0)
    assert ended.finished_at is not None
    assert (ended.total_candidates, ended.sampled_count) == (3, 3)
    assert len(await results(org)) == 3


async def test_a_model_judges_so_many_of_each_agent_version_anew_and_no_more(start: Start):
    script = Script().says(ModelRole.JUDGE, {"is_success": False, "failure_reason": "It was late."})
    org = local(await start(script=script, llm={"gate": False}))
    await org.sdk.update_config(eval_sample_n_per_stratum=2)
    for number in range(5):
        await org.sdk.publish(
            **said(*ASKED, session=f"s{number}", agent_version=f"v{number % 2}", evaluation_only=True)
        )

    started = await regenerate(org)
    await org.learn()

    ended = await org.sdk.evaluation_regeneration(job_id=started.job_id)
    found = await results(org)
    assert (ended.total_candidates, ended.sampled_count, ended.completed) == (5, 4, 4)
    assert sorted(one.agent_version for one in found) == ["v0", "v0", "v1", "v1"]
    assert {(one.engine, one.failure_reason) for one in found} == {("model", "It was late.")}


async def test_a_running_regeneration_tells_that_its_end_is_not_known(org: Org):
    started = await regenerate(org)

    reply = await org.send("GET", f"/api/evaluations/regenerate/{started.job_id}")

    assert reply.json()["finished_at"] is None


async def test_only_sessions_that_ended_in_the_time_are_judged_anew(org: Org):
    await talk(org)

    started = await regenerate(org, to_ts=seconds() - 3_600)

    assert started.total == 0


async def test_an_evaluation_that_there_is_not_is_not_judged_anew(org: Org):
    await talk(org)

    with pytest.raises(NotFound, match="agent_success"):
        await regenerate(org, evaluation_name="politeness")

    assert (await regenerate(org, evaluation_name="agent_success")).total == 1


async def test_nothing_is_judged_anew_where_judging_is_switched_off(org: Org):
    await org.sdk.publish(**said(*ASKED))
    started = await regenerate(org)

    await org.sdk.update_config(agent_success_config=None)
    await org.learn()

    assert (await org.sdk.evaluation_regeneration(job_id=started.job_id)).status == "completed"
    assert await results(org) == []
    with pytest.raises(NotFound, match="switches judging off"):
        await regenerate(org)


async def test_one_regeneration_runs_at_a_time(org: Org):
    started = await regenerate(org)

    with pytest.raises(Conflict, match=started.job_id):
        await regenerate(org)
    await org.learn()
    again = await regenerate(org)

    assert again.job_id != started.job_id


async def test_a_cancelled_regeneration_stops_before_its_next_session(org: Org):
    await talk(org)
    started = await regenerate(org)
    await org.app.store.of(org.id).write(lambda tx: tx.runs.begin(RunId(started.job_id)))

    told = await org.sdk.cancel_evaluation_regeneration(job_id=started.job_id)
    await org.learn()

    ended = await org.sdk.evaluation_regeneration(job_id=started.job_id)
    again = await org.sdk.cancel_evaluation_regeneration(job_id=started.job_id)
    assert (told.status, again.status) == ("cancelling", "cancelled")
    assert (ended.status, ended.completed) == ("cancelled", 0)


async def test_a_regeneration_that_has_not_begun_is_cancelled_at_once(org: Org):
    await talk(org)
    started = await regenerate(org)

    told = await org.sdk.cancel_evaluation_regeneration(job_id=started.job_id)

    assert told.status == "cancelled"
    assert (await org.sdk.evaluation_regeneration(job_id=started.job_id)).status == "cancelled"


async def test_a_regeneration_goes_on_after_a_restart(start: Start):
    first = await start()
    await talk(local(first))
    started = await regenerate(local(first))
    await first.stop()

    org = local(await start())
    await org.learn()

    assert (await org.sdk.evaluation_regeneration(job_id=started.job_id)).status == "completed"


async def test_a_session_erased_meanwhile_does_not_stop_a_regeneration(org: Org):
    await talk(org, "s1")
    await talk(org, "s2")
    started = await regenerate(org)
    await org.sdk.delete_session(session_id="s1")
    await org.learn()

    ended = await org.sdk.evaluation_regeneration(job_id=started.job_id)

    assert (ended.status, ended.completed, ended.failed) == ("completed", 2, 0)


@pytest.mark.parametrize("job", ["nothing", "a/b", "%", "{job_id}"])
async def test_an_unknown_regeneration_is_not_found(org: Org, job: str):
    for call in (org.sdk.evaluation_regeneration, org.sdk.cancel_evaluation_regeneration):
        with pytest.raises(NotFound):
            await call(job_id=job)


async def test_a_regeneration_is_its_orgs_alone(org: Org):
    started = await regenerate(org)
    other = await join(org.app)

    with pytest.raises(NotFound):
        await other.sdk.evaluation_regeneration(job_id=started.job_id)


# --- shadows -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("asked,shown", [(-5, 1), (0, 1), (2, 2), (1_000, 3)])
async def test_any_number_of_comparisons_may_be_asked_for(org: Org, asked: int, shown: int):
    for number in range(3):
        body = said("Which region?", "agent: us-east-1", session=f"s{number}", session_finished=True)
        body["interaction_data_list"][1] |= {"shadow_content": "us-east-1"}
        await org.sdk.publish(**body)
    await org.learn()

    found = (await org.sdk.recent_shadow_comparisons(limit=asked)).verdicts

    assert len(found) == shown
    assert {one.output.better_request for one in found} == {"tie"}


# --- erased --------------------------------------------------------------------------------------------------------


async def kept(org: Org) -> dict[str, int]:
    rows = await org.rows()
    return {name: len(rows[name]) for name in ("evaluations", "shadow_verdicts", "sessions")}


async def with_everything(org: Org, session: str, user: str) -> str:
    body = said("Which region?", "agent: us-east-1", "That's wrong, zebra!", session=session, user=user)
    body["interaction_data_list"][1] |= {"shadow_content": "us-east-1"}
    answer = await org.sdk.publish(**body, session_finished=True)
    await org.learn()
    await state(org, "failure", session, label="zebra")
    await org.learn()
    return str(answer.request_id)


NOTHING = {"evaluations": 0, "shadow_verdicts": 0, "sessions": 0}
OF_ONE = {"evaluations": 1, "shadow_verdicts": 1, "sessions": 1}


async def test_what_is_cleared_with_a_user_includes_how_their_sessions_ended(org: Org):
    await with_everything(org, "s1", "ada")
    await with_everything(org, "s2", "bob")

    cleared = await org.sdk.clear_user_data(user_id="ada")

    gone = cleared.deleted_counts
    assert (gone["evaluations"], gone["shadow_verdicts"], gone["session_outcomes"]) == (1, 1, 1)
    assert await kept(org) == OF_ONE
    assert {one.user_id for one in await results(org)} == {"bob"}


async def test_a_cleared_user_is_not_named_by_a_regeneration_any_more(org: Org):
    for user in ("ada", 'ad"a', "bob"):
        await talk(org, f"of {user}", user=user)
    await regenerate(org)

    for user in ("ada", 'ad"a'):
        await org.sdk.clear_user_data(user_id=user)
    await org.learn()

    assert [row["item"] for row in (await org.rows())["run_items"]] == ['["bob", "of bob"]']


async def test_jobs_for_sessions_go_with_their_user_and_no_other_users(org: Org):
    for user in ("ada", "ADA", "ada:"):
        await talk(org, over=False, user=user)

    await org.sdk.clear_user_data(user_id="ada")

    waiting = [row["payload"]["user_id"] for row in (await org.rows())["jobs"] if row["event"] == "session_quiet"]
    assert sorted(waiting) == ["ADA", "ada:"]


async def test_a_deleted_session_leaves_no_verdict(org: Org):
    await with_everything(org, "s1", "ada")
    await with_everything(org, "s2", "ada")

    await org.sdk.delete_session(session_id="s1")
    await org.learn()

    assert await kept(org) == OF_ONE
    assert {one.session_id for one in await results(org)} == {"s2"}


async def test_a_deleted_request_takes_the_verdict_that_quotes_it_and_the_rest_is_judged_anew(org: Org):
    await talk(org, over=False)
    wrong = await talk(org, "s1", "That's wrong, zebra!", "agent: Sorry.", "Wrong again, zebra!")
    (before,) = await results(org)

    await org.sdk.delete_request(request_id=wrong)
    await org.sdk.finalize_session(user_id="ada", session_id="s1")
    await org.learn()

    (after,) = await results(org)
    assert "zebra" in (before.failure_reason or "")
    assert (before.is_success, after.is_success, after.failure_reason) == (False, True, None)


async def test_the_last_request_of_a_session_takes_all_that_was_known_of_it(org: Org):
    request = await with_everything(org, "s1", "ada")

    await org.sdk.delete_request(request_id=request)
    await org.learn()

    assert await kept(org) == NOTHING


async def test_a_deleted_turn_is_no_longer_quoted(org: Org):
    await talk(org, "s1", *ASKED, "That's wrong, zebra!")
    turns = (await org.sdk.interactions(user_id="ada")).interactions

    await org.sdk.delete_interaction(user_id="ada", interaction_id=turns[-1].interaction_id)
    await org.learn()

    (found,) = await results(org)
    assert found.is_success


async def test_all_turns_take_all_verdicts(org: Org):
    await with_everything(org, "s1", "ada")

    await org.sdk.delete_all_interactions()

    assert await kept(org) == NOTHING


# --- at once -------------------------------------------------------------------------------------------------------


async def test_many_words_on_one_session_at_once_are_as_many_revisions(org: Org):
    await talk(org)

    said_at_once = await asyncio.gather(*(state(org, "success", label=f"label {n}") for n in range(8)))

    assert sorted(one.outcome_revision or 0 for one in said_at_once) == list(range(1, 9))
