"""When sessions are judged, which of them, and by whom."""

from typing import Any

import pytest
from pydantic_ai.exceptions import ModelHTTPError

from acumen.learn.evaluate.evaluate import chance
from acumen.llm.scripted import Script
from acumen.model.ids import SessionId, UserId
from acumen.model.metering.llm_call import ModelRole
from acumen_client.wire.evaluations import EvaluationResultView
from tests.world import Clock, Org, Start, local, said

ASKED = ("When do you open?", "agent: At nine.")
MINUTES = 60


async def results(org: Org) -> list[EvaluationResultView]:
    return (await org.sdk.evaluation_results()).agent_success_evaluation_results


async def jobs_of(org: Org) -> list[str]:
    return sorted(row["event"] for row in (await org.rows())["jobs"] if row["event"] not in ("hour", "minutes"))


# --- when ----------------------------------------------------------------------------------------------------------


async def test_a_session_is_judged_when_it_has_been_quiet_for_ten_minutes(start: Start, clock: Clock):
    org = local(await start())
    await org.sdk.publish(**said(*ASKED))
    await org.learn()
    clock.forward(minutes=9)
    await org.learn()
    before = await results(org)

    clock.forward(minutes=2)
    await org.learn()

    assert before == []
    assert [(one.session_id, one.is_success, one.engine) for one in await results(org)] == [("s1", True, "rules")]
    assert await jobs_of(org) == []


async def test_a_new_request_moves_the_time(start: Start, clock: Clock):
    org = local(await start())
    await org.sdk.publish(**said(*ASKED))
    await org.learn()
    clock.forward(minutes=8)
    await org.sdk.publish(**said("And on Sunday?", "agent: At ten."))
    await org.learn()

    clock.forward(minutes=8)
    await org.learn()
    before = await results(org)
    clock.forward(minutes=3)
    await org.learn()

    assert before == []
    assert len(await results(org)) == 1


async def test_what_is_to_be_judged_survives_a_restart(start: Start, clock: Clock):
    first = await start()
    await local(first).sdk.publish(**said(*ASKED))
    await local(first).learn()
    await first.stop()

    clock.forward(minutes=11)
    org = local(await start())
    await org.learn()

    assert len(await results(org)) == 1


async def test_a_session_that_is_said_to_be_over_is_judged_at_once(org: Org):
    await org.sdk.publish(**said(*ASKED, session="finished"), session_finished=True)
    await org.sdk.publish(**said(*ASKED, session="finalized"))
    await org.sdk.publish(**said(*ASKED, session="open"))
    await org.sdk.finalize_session(user_id="ada", session_id="finalized")

    await org.learn()

    assert {one.session_id for one in await results(org)} == {"finished", "finalized"}


async def test_two_sessions_that_end_together_are_both_judged(org: Org):
    for name in ("one", "two"):
        await org.sdk.publish(**said(*ASKED, session=name))
    for name in ("one", "two"):
        await org.sdk.finalize_session(user_id="ada", session_id=name)

    await org.learn()

    assert {one.session_id for one in await results(org)} == {"one", "two"}


async def test_a_session_that_goes_on_after_its_verdict_is_judged_anew(org: Org):
    await org.sdk.publish(**said(*ASKED), session_finished=True)
    await org.learn()
    (before,) = await results(org)

    await org.sdk.publish(**said("That's wrong, you open at ten!"), session_finished=True)
    await org.learn()

    (after,) = await results(org)
    assert (before.is_success, after.is_success) == (True, False)
    assert after.result_id == before.result_id


async def test_a_session_that_is_only_to_be_judged_is_judged_and_not_learned_from(start: Start, clock: Clock):
    org = local(await start())
    await org.sdk.publish(**said("I live in Paris.", "agent: Nice."), evaluation_only=True)
    await org.learn()
    clock.forward(minutes=11)
    await org.learn()

    assert len(await results(org)) == 1
    assert (await org.sdk.profiles(user_id="ada")).user_profiles == []


async def test_what_ended_long_before_it_could_be_judged_is_history(start: Start, clock: Clock):
    org = local(await start())
    await org.sdk.update_config(agent_success_config=None)
    await org.sdk.publish(**said(*ASKED, session="old"))
    await org.learn()
    clock.forward(days=8)
    await org.sdk.publish(**said(*ASKED, session="late"))
    await org.learn()
    await org.sdk.update_config(**success_config())

    clock.forward(hours=1)
    await org.sdk.publish(**said(*ASKED, session="new"), session_finished=True)
    await org.learn()

    assert {one.session_id for one in await results(org)} == {"late", "new"}


async def test_a_session_of_thousands_of_turns_is_judged_by_its_end(org: Org):
    many = [f"question {number}?" if number % 2 else f"agent: answer {number}" for number in range(999)]
    for _ in range(2):
        await org.sdk.publish(**said(*many), evaluation_only=True)
    await org.sdk.publish(**said("agent: It is nine.", "That's wrong!"), evaluation_only=True, session_finished=True)
    await org.learn()

    (found,) = await results(org)
    assert not found.is_success


async def test_how_long_is_quiet_can_be_set(start: Start):
    org = local(await start(evaluation={"quiet_seconds": 0}))
    await org.sdk.publish(**said(*ASKED))
    await org.learn()

    assert len(await results(org)) == 1


# --- which ---------------------------------------------------------------------------------------------------------


async def sessions(org: Org, count: int, **more: Any) -> None:
    for number in range(count):
        await org.sdk.publish(**said(*ASKED, session=f"s{number}", **more), session_finished=True)
    await org.learn()


def success_config(**more: Any) -> dict[str, Any]:
    return {"agent_success_config": {"success_definition_prompt": "It helped.", **more}}


async def test_without_a_rate_of_their_own_all_sessions_are_judged_by_rules(org: Org):
    await org.sdk.update_config(**success_config())

    await sessions(org, 10)

    assert len(await results(org)) == 10


async def test_a_rate_that_was_set_draws_the_same_sessions_each_time(org: Org):
    await org.sdk.update_config(**success_config(sampling_rate=0.5))

    await sessions(org, 20)

    drawn = {f"s{number}" for number in range(20) if chance(org.id, "ada", f"s{number}") < 0.5}
    assert {one.session_id for one in await results(org)} == drawn
    assert 0 < len(drawn) < 20


async def test_sessions_that_are_only_to_be_judged_may_have_a_rate_of_their_own(org: Org):
    await org.sdk.update_config(**success_config(sampling_rate=0.0, evaluation_only_sampling_rate=1.0))

    await sessions(org, 3)
    await sessions(org, 5, user="bob", evaluation_only=True)

    assert {one.user_id for one in await results(org)} == {"bob"}


async def test_only_sessions_of_the_named_sources_are_judged(org: Org):
    await org.sdk.update_config(**success_config(request_sources_enabled=["chat"]))

    await sessions(org, 2, user="ada", source="chat")
    await sessions(org, 2, user="bob", source="mail")

    assert {one.source for one in await results(org)} == {"chat"}


async def test_evaluation_can_be_switched_off(org: Org):
    await org.sdk.update_config(agent_success_config=None)

    await sessions(org, 2)

    assert await results(org) == []


async def test_where_the_agent_never_spoke_there_is_no_verdict(org: Org):
    await org.sdk.publish(**said("Hello?"), session_finished=True)
    await org.learn()

    assert await results(org) == []


# --- by whom -------------------------------------------------------------------------------------------------------

FAILED = {
    "is_success": False,
    "failure_type": "wrong_tool",
    "failure_reason": "It searched the web.",
    "corrections": 99,
    "user_turns_to_resolution": 3,
    "is_escalated": False,
    "confidence": 0.8,
}


async def test_a_model_judges_where_there_is_one(start: Start):
    script = Script().says(ModelRole.JUDGE, FAILED)
    org = local(await start(script=script))
    await org.sdk.update_config(**success_config(sampling_rate=1.0), agent_context_prompt="A bakery.")
    await org.sdk.publish(**said(*ASKED, "My password is hunter2butlonger!"), session_finished=True)
    await org.app.worker.run_due()

    (found,) = await results(org)

    assert (found.is_success, found.failure_type, found.failure_reason) == (False, "wrong_tool", "It searched the web.")
    assert (found.engine, found.model, found.confidence) == ("model", "scripted", 0.8)
    assert (found.number_of_correction_per_session, found.user_turns_to_resolution) == (2, None)
    (asked,) = script.asked_for(ModelRole.JUDGE)
    assert "It helped." in asked.instructions
    assert "A bakery." in asked.instructions
    assert "When do you open?" in asked.shown
    assert "hunter2" not in asked.shown


@pytest.mark.parametrize("broken", [ModelHTTPError(500, "scripted"), "not json", {"is_success": "perhaps"}])
async def test_rules_take_over_when_the_model_fails_and_say_so(start: Start, broken: Any):
    settings = {"attempts": 1, "repairs": 0}
    org = local(await start(script=Script().says(ModelRole.JUDGE, broken), llm=settings))
    await org.sdk.update_config(**success_config(sampling_rate=1.0))
    await org.sdk.publish(**said(*ASKED), session_finished=True)
    await org.app.worker.run_due()

    (found,) = await results(org)

    assert (found.engine, found.is_success) == ("rules", True)
    assert any("the model failed" in signal for signal in found.signals)


async def test_by_default_a_model_judges_a_twentieth_and_rules_the_rest(start: Start):
    script = Script().says(ModelRole.JUDGE, FAILED)
    org = local(await start(script=script, evaluation={"quiet_seconds": 0}, llm={"gate": False}))
    drawn = next(f"s{n}" for n in range(1_000) if chance("self-host-org", "ada", f"s{n}") < 0.05)
    other = next(f"s{n}" for n in range(1_000) if chance("self-host-org", "ada", f"s{n}") >= 0.05)
    for name in (drawn, other):
        await org.sdk.publish(**said(*ASKED, session=name), evaluation_only=True)

    await org.app.worker.run_due()

    assert {one.session_id: one.engine for one in await results(org)} == {drawn: "model", other: "rules"}


# --- shadows -------------------------------------------------------------------------------------------------------


def with_shadow(content: str, other: str, **more: Any) -> dict[str, Any]:
    talk = said("Which region?", f"agent: {content}", **more)
    talk["interaction_data_list"][1]["shadow_content"] = other
    return talk


async def test_a_model_compares_an_answer_with_its_shadow(start: Start):
    def prefers_west(shown: str) -> dict[str, Any]:
        west_first = shown.index("us-west-2") < shown.index("us-east-1")
        return {"better": "1" if west_first else "2", "significantly": True, "reason": "west is right"}

    judge: Any = lambda shown: prefers_west(shown) if "Answer 1" in shown else {**FAILED, "is_success": True}  # noqa: E731
    org = local(await start(script=Script().says(ModelRole.JUDGE, judge)))
    await org.sdk.update_config(**success_config(sampling_rate=1.0))
    for number in range(4):
        await org.sdk.publish(
            **with_shadow("us-east-1", "us-west-2", session=f"s{number}", evaluation_only=True), session_finished=True
        )
    await org.app.worker.run_due()

    verdicts = (await org.sdk.recent_shadow_comparisons()).verdicts

    assert [one.regular_vs_shadow for one in verdicts] == ["shadow_is_better"] * 4
    for one in verdicts:
        assert one.output.better_request == ("2" if one.reflexio_is_request_1 else "1")
        assert one.output.is_significantly_better
    assert {one.regular_vs_shadow for one in await results(org)} == {"shadow_is_better"}


async def test_without_a_model_there_is_a_verdict_only_where_somebody_told(org: Org):
    await org.sdk.publish(**with_shadow("us-east-1", "us-west-2", session="untold"), session_finished=True)
    await org.sdk.publish(**with_shadow("Deploying to us-east-1", "Deploying to us-west-2", session="told"))
    await org.sdk.publish(**said("No, us-west-2, not us-east-1", session="told"), session_finished=True)
    await org.learn()

    verdicts = (await org.sdk.recent_shadow_comparisons()).verdicts

    assert [(one.session_id, one.regular_vs_shadow, one.engine) for one in verdicts] == [
        ("told", "shadow_is_better", "rules")
    ]


# --- for others who count by it ------------------------------------------------------------------------------------


async def test_the_verdict_that_counts_can_be_read_of_many_sessions(org: Org):
    await org.sdk.publish(**said(*ASKED, session="good"), session_finished=True)
    await org.sdk.publish(**said(*ASKED, "That's wrong!", session="bad"), session_finished=True)
    await org.learn()
    keys = [(UserId("ada"), SessionId(name)) for name in ("good", "bad", "none")]

    found = await org.app.store.of(org.id).read(lambda tx: tx.evaluations.find_verdicts(keys))

    assert {key[1]: verdict.is_success for key, verdict in found.items()} == {"good": True, "bad": False}
