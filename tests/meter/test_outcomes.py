"""Did it help: sessions are compared, and a memory that surely harms is proposed for a look, never touched."""

import pytest

from acumen.meter import outcomes
from acumen.model.ids import Millis, OrgId
from acumen.model.jobs.events import Hour
from acumen.model.metering.usage import SHOWN, UsageEvent
from acumen_client.errors import NotFound
from tests.storage.metering.test_evaluations import an_evaluation
from tests.world import Org


async def lesson(org: Org, content: str = "Retry forever") -> str:
    await org.sdk.add_agent_playbooks(agent_playbooks=[{"content": content, "created_at": 1_000_000}])
    return str((await org.sdk.agent_playbooks()).agent_playbooks[0].agent_playbook_id)


async def sessions(org: Org, memory: str, *, with_it: list[bool], without: list[bool]) -> None:
    deps = await org.app.deps_for(OrgId(org.id))
    at = deps.now()

    def store(tx):
        for number, good in enumerate([*with_it, *without]):
            tx.evaluations.upsert(an_evaluation(f"s{number}", success=good, ended_at=at))
        tx.usage.add(
            [
                UsageEvent(
                    f"e{number}", SHOWN, Millis(at), "ada", session_id=f"s{number}",
                    kind="agent_playbook", memory_id=memory, tokens=5,
                )
                for number in range(len(with_it))
            ],
        )  # fmt: skip

    await deps.store.write(store)


async def test_sessions_with_a_memory_are_compared_with_those_without(org: Org):
    memory = await lesson(org)
    await sessions(org, memory, with_it=[True] * 27 + [False] * 3, without=[True] * 10 + [False] * 20)

    found = await org.sdk.memory_lift(entity_type="agent_playbook", entity_id=memory)

    seen = found.with_and_without
    assert (seen.here.session_count, seen.here.success_count, seen.there.session_count) == (30, 27, 30)
    assert seen.difference == pytest.approx(0.9 - 1 / 3)
    assert 0 < seen.low < seen.difference < seen.high
    assert seen.verdict == "helps"
    assert found.after_and_before.verdict == "not enough data"
    assert found.after_and_before.difference is None


async def test_below_twenty_sessions_there_is_not_enough_data(org: Org):
    memory = await lesson(org)
    await sessions(org, memory, with_it=[True] * 19, without=[False] * 50)

    seen = (await org.sdk.memory_lift(entity_type="agent_playbook", entity_id=memory)).with_and_without

    assert (seen.verdict, seen.difference, seen.here.success_rate) == ("not enough data", None, 1.0)


async def test_the_lift_of_nothing_is_not_found(org: Org):
    with pytest.raises(NotFound):
        await org.sdk.memory_lift(entity_type="profile", entity_id="nobodys")


async def test_a_memory_that_surely_harms_is_proposed_with_its_numbers_and_left_as_it_is(org: Org):
    memory = await lesson(org)
    await sessions(org, memory, with_it=[True] * 8 + [False] * 22, without=[True] * 26 + [False] * 4)
    deps = await org.app.deps_for(OrgId(org.id))

    await outcomes.propose_harmful(Hour(), deps)

    (one,) = (await org.sdk.memory_review(include_all_users=True, signal_filter=["harmful"])).candidates
    assert (one.entity_id, one.score) == (memory, 110)
    assert "n=30" in one.reasons["harmful"]
    assert (await org.sdk.agent_playbooks()).agent_playbooks[0].status is None


async def test_when_more_sessions_clear_it_the_flag_goes(org: Org):
    memory = await lesson(org)
    await sessions(org, memory, with_it=[False] * 20, without=[True] * 20)
    deps = await org.app.deps_for(OrgId(org.id))
    await outcomes.propose_harmful(Hour(), deps)
    before = (await org.rows())["memory_flags"]
    await sessions(org, memory, with_it=[True] * 40, without=[])

    await outcomes.propose_harmful(Hour(), deps)

    assert (len(before), (await org.rows())["memory_flags"]) == (1, [])
