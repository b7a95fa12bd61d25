"""Holdouts: an arm never changes, the holdout is shown nothing and told why, and results come with doubt."""

import pytest

from acumen.model.ids import Millis, OrgId
from acumen.model.metering.experiment import HOLDOUT, TREATMENT, Experiment
from acumen_client.errors import Conflict, NotFound
from tests.storage.metering.test_evaluations import an_evaluation
from tests.world import Org, profile, said


def test_an_arm_is_the_same_for_ever_and_the_shares_are_as_asked():
    experiment, other = Experiment("e1", 20, Millis(0)), Experiment("e2", 20, Millis(0))
    users = [f"user-{number}" for number in range(5_000)]

    arms = [experiment.arm_of(user) for user in users]

    assert arms == [experiment.arm_of(user) for user in users]
    assert 0.18 < arms.count(HOLDOUT) / len(users) < 0.22
    both = sum(experiment.arm_of(user) == other.arm_of(user) == HOLDOUT for user in users) / len(users)
    assert 0.02 < both < 0.06  # one experiment's arms say nothing about another's


def user_in(arm: str, experiment: str = "e1", percentage: float = 50) -> str:
    one = Experiment(experiment, percentage, Millis(0))
    return next(user for user in (f"user-{n}" for n in range(100)) if one.arm_of(user) == arm)


async def test_a_holdout_search_finds_nothing_and_says_why(org: Org):
    held, treated = user_in("holdout"), user_in("treatment")
    await org.sdk.add_profiles(user_profiles=[profile("Keeps zebras", held), profile("Keeps zebras", treated)])
    await org.sdk.start_retrieval_experiment(experiment_id="e1", holdout_percentage=50)

    nothing = await org.sdk.search(query="zebras", user_id=held)
    profiles = await org.sdk.search_profiles(query="zebras", user_id=held)
    something = await org.sdk.search(query="zebras", user_id=treated)
    looked = await org.sdk.search(query="zebras", user_id=held, caller_type="dashboard")

    assert (nothing.profiles, nothing.context, profiles.user_profiles) == ([], "", [])
    assert (nothing.experiment.experiment_id, nothing.experiment.arm) == ("e1", "holdout")
    assert "holdout group of experiment 'e1'" in nothing.msg
    assert (len(something.profiles), something.experiment.arm) == (1, "treatment")
    assert (len(looked.profiles), looked.experiment) == (1, None)
    await org.app.flush_usage()
    rows = await org.rows()
    assert sorted(row["event_name"] for row in rows["usage_events"]) == [
        "learning_applied", "learning_injection", "learning_withheld",
    ]  # fmt: skip
    again = await org.sdk.injection(injection_id=nothing.injection_id)
    assert (again.experiment_arm, again.context) == ("holdout", "")


async def test_one_experiment_runs_at_a_time_and_a_name_is_used_once(org: Org):
    await org.sdk.start_retrieval_experiment(experiment_id="e1", holdout_percentage=10)
    with pytest.raises(Conflict, match="Another experiment runs"):
        await org.sdk.start_retrieval_experiment(experiment_id="e2", holdout_percentage=10)
    with pytest.raises(NotFound):
        await org.sdk.stop_retrieval_experiment(experiment_id="e2")

    stopped = await org.sdk.stop_retrieval_experiment(experiment_id="e1")

    assert stopped.active_experiment is None
    assert stopped.experiments[0].ended_at is not None
    with pytest.raises(Conflict, match="stopped before"):
        await org.sdk.stop_retrieval_experiment(experiment_id="e1")
    with pytest.raises(Conflict, match="of this name"):
        await org.sdk.start_retrieval_experiment(experiment_id="e1", holdout_percentage=10)
    started = await org.sdk.start_retrieval_experiment(experiment_id="e2", holdout_percentage=5)
    assert started.active_experiment.experiment_id == "e2"
    assert (await org.sdk.retrieval_experiments()).experiments == started.experiments


async def test_the_configuration_shows_experiments_and_cannot_change_them(org: Org):
    await org.sdk.start_retrieval_experiment(experiment_id="e1", holdout_percentage=10)

    config = await org.sdk.config()
    with pytest.raises(Conflict, match="retrieval_experiments"):
        await org.sdk.update_config(retrieval_experiment_config={"experiment_id": "e9", "holdout_percentage": 1})
    await org.sdk.update_config(agent_context_prompt="still works")

    assert config.retrieval_experiment_config.holdout_percentage == 10
    assert [one.experiment_id for one in config.retrieval_experiment_history] == ["e1"]
    assert (await org.sdk.retrieval_experiments()).active_experiment is not None


async def test_results_compare_the_arms_user_by_user(org: Org):
    await org.sdk.start_retrieval_experiment(experiment_id="e1", holdout_percentage=50)
    experiment = Experiment("e1", 50, Millis(0))
    deps = await org.app.deps_for(OrgId(org.id))
    at = deps.now()
    users = [f"user-{number}" for number in range(40)]

    def judge(tx):
        for user in users:
            for number in range(5):
                good = number < (2 if experiment.arm_of(user) == HOLDOUT else 4)
                tx.evaluations.upsert(an_evaluation(f"s{number}", user, success=good, ended_at=at))

    await deps.store.write(judge)
    await org.sdk.publish(**said("hello", user=users[0], session="s0"))

    found = await org.sdk.retrieval_experiment_results(experiment_id="e1")

    assert (found.treatment.success_rate, found.holdout.success_rate) == (0.8, 0.4)
    assert found.success_rate_lift_percentage_points == pytest.approx(40)
    assert found.relative_success_lift == pytest.approx(1.0)
    low, high = found.confidence_interval_95_percentage_points
    assert low <= 40 <= high
    assert found.treatment.evaluated_user_count + found.holdout.evaluated_user_count == 40
    assert found.treatment.published_session_count + found.holdout.published_session_count == 1


async def test_results_without_any_session_say_nothing(org: Org):
    await org.sdk.start_retrieval_experiment(experiment_id="e1", holdout_percentage=50)

    found = await org.sdk.retrieval_experiment_results(experiment_id="e1")

    assert (found.success_rate_lift_percentage_points, found.confidence_interval_95_percentage_points) == (None, None)
    assert (found.treatment.success_rate, found.evaluated_session_coverage) == (None, None)
    with pytest.raises(NotFound):
        await org.sdk.retrieval_experiment_results(experiment_id="e9")


async def test_what_models_wrote_is_told_where_operations_say_it(org: Org):
    await org.sdk.start_retrieval_experiment(experiment_id="e1", holdout_percentage=50)
    deps = await org.app.deps_for(OrgId(org.id))
    treated, held_out = user_in(TREATMENT), user_in(HOLDOUT)
    ended = {f"{user}-{number}": user for user in (treated, held_out) for number in (1, 2)}
    judged = [an_evaluation(session, user, success=True, ended_at=deps.now()) for session, user in ended.items()]
    await deps.store.write(lambda tx: [tx.evaluations.upsert(one) for one in judged])
    calls = [(f"{treated}-1", 100), (f"{treated}-1", 50), (f"{treated}-2", 250), ("nobody's", 9_000)]
    await org.sdk.record_operations(
        operations=[
            {"source": "agent", "endpoint": "answer", "status": "ok", "session_id": session, "tokens_out": tokens}
            for session, tokens in calls
        ]
    )

    found = await org.sdk.retrieval_experiment_results(experiment_id="e1")

    assert (found.treatment.average_output_tokens, found.treatment.output_token_session_count) == (200, 2)
    assert (found.holdout.average_output_tokens, found.holdout.output_token_session_count) == (None, 0)
