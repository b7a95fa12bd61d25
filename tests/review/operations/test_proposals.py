"""What a person says to a proposed lesson, and how it is taken back."""

from typing import Any

import pytest

from acumen.review.operations import proposals
from tests.observe.test_operations import done, record
from tests.world import Org


async def propose(org: Org, endpoint: str = "deploy", message: str = "deployment timed out after 30 s") -> int:
    failed = {"endpoint": endpoint, "status": "error", "error_type": "TimeoutError", "error_message": message}
    await record(org, *(done(**failed, session_id=f"{endpoint}-{number}") for number in range(4)))
    await org.learn()
    found = [one for one in (await org.sdk.proposals()).proposals if one.endpoint == endpoint]
    return found[0].agent_playbook_id


async def approvals(org: Org) -> list[str]:
    return [one.approval for one in (await org.sdk.proposals()).proposals]


@pytest.mark.parametrize("decision,words", [("approve", {}), ("reject", {}), ("edit", {"content": "Deploy at night."})])
async def test_a_decision_stands_in_the_audit_log_and_can_be_taken_back(org: Org, decision: Any, words: dict[str, str]):
    lesson = await propose(org)
    before = (await org.sdk.proposals()).proposals

    told = await org.sdk.decide_proposal(agent_playbook_id=lesson, decision=decision, **words)
    (logged,) = (await org.sdk.review_actions()).actions
    await org.sdk.undo_review(action_id=told.action_id)
    after = (await org.sdk.proposals()).proposals

    assert logged.action_id == told.action_id
    assert decision in logged.reason
    assert [(one.approval, one.content) for one in after] == [(one.approval, one.content) for one in before]


async def test_each_session_of_a_proposal_is_in_its_evidence(org: Org):
    timeout = {"error_type": "TimeoutError", "error_message": "no answer within 30 s"}
    for session in ("s1", "s2"):
        call = {"endpoint": "query_ledger", "session_id": session}
        await record(org, done(**call, **timeout, status="error", arguments={"rows": 20000}))
        await record(org, done(**call, status="ok", arguments={"rows": 5000}))
        await org.learn()
    found = [entry for entry in (await org.sdk.proposals()).proposals if entry.about == "recovery"]
    deps = await org.app.deps_for(org.id)
    proposed = await proposals.of_playbook(found[0].agent_playbook_id, deps)

    evidence = await proposals.evidence(proposed.proposal, 10, deps)

    assert len(proposed.proposal.scopes) == 2
    assert {operation.session_id for operation in evidence} == {"s1", "s2"}


async def test_the_same_word_again_changes_nothing(org: Org):
    lesson = await propose(org)

    first = await org.sdk.decide_proposal(agent_playbook_id=lesson, decision="approve")
    again = await org.sdk.decide_proposal(agent_playbook_id=lesson, decision="approve")

    assert first.action_id is not None
    assert again.action_id is None


async def test_lessons_about_the_same_call_or_in_like_words_stand_beside_it(org: Org):
    lesson = await propose(org)
    near = await org.sdk.add_agent_playbooks(
        agent_playbooks=[{"content": "Do not call deploy again after a timeout; give deploy more time."}]
    )
    await org.sdk.add_agent_playbooks(agent_playbooks=[{"content": "Invoices are written in French."}])
    deps = await org.app.deps_for(org.id)

    found = await proposals.similar_lessons(await proposals.of_playbook(lesson, deps), deps)

    assert near.success
    assert [one.lesson.content.partition(";")[0] for one, _ in found] == ["Do not call deploy again after a timeout"]
