"""Outcomes and verdicts of operations count as how a session ended."""

import pytest

from acumen.model.ids import SessionId, UserId
from tests.observe.test_operations import done, record
from tests.world import Org, said


async def verdict_of(org: Org) -> bool | None:
    key = (UserId("ada"), SessionId("s1"))
    found = await org.app.store.of(org.id).read(lambda tx: tx.evaluations.find_verdicts([key]))
    return found[key].is_success if key in found else None


@pytest.mark.parametrize("status,success", [("ok", True), ("error", False)])
async def test_an_outcome_says_how_its_session_ended(org: Org, status: str, success: bool):
    await org.sdk.publish(**said("Deploy it.", "agent: Deployed."))
    await record(org, done(kind="outcome", status=status, session_id="s1", user_id="ada", endpoint="deploy"))
    await org.learn()

    assert await verdict_of(org) is success


@pytest.mark.parametrize("overall,success", [("approve", True), ("request_changes", False), ("block", False)])
async def test_a_verdict_says_how_its_session_ended(org: Org, overall: str, success: bool):
    await org.sdk.publish(**said("Write it.", "agent: Written."))
    body = {"subject": "pr-1", "overall": overall, "session_id": "s1", "user_id": "ada"}
    await org.send("POST", "/api/record_verdict", body)
    await org.learn()

    assert await verdict_of(org) is success


async def test_an_outcome_of_a_session_that_nobody_talked_in_is_kept_and_judges_nothing(org: Org):
    await record(org, done(kind="outcome", session_id="s1", user_id="ada"))
    await org.learn()

    assert await verdict_of(org) is None
    assert {job["event"] for job in (await org.rows())["jobs"]} == {"hour", "minutes"}
