"""Accepting what was said: stored with the work it causes, in one commit."""

import pytest

from acumen.errors import NotFound
from acumen.model.ids import RequestId, SessionId
from acumen.observe import conversations
from tests.world import ADA, Org, a_request, a_turn


async def publish(org: Org, name: str = "r1", **about: object) -> bool:
    request = a_request(name, **about)
    accepted = await conversations.publish(request, [a_turn("hello", request)], await org.app.deps_for(org.id))
    return accepted.is_new


async def jobs(org: Org) -> list[str]:
    return sorted(job["event"] for job in (await org.rows())["jobs"] if job["event"] not in ("hour", "minutes"))


async def test_a_publish_causes_one_job_and_the_same_again_causes_none(org: Org):
    assert await publish(org)
    before = await jobs(org)
    await org.learn()

    assert not await publish(org)

    assert before == ["published"]
    assert await jobs(org) == ["session_quiet"]  # for when the session has gone quiet


async def test_what_is_for_evaluation_only_is_judged_and_nothing_else(org: Org):
    await publish(org, evaluation_only=True)

    assert await jobs(org) == ["session_quiet"]


async def test_the_end_of_a_session_is_a_job_of_its_own(org: Org):
    await publish(org)

    await conversations.finalize(ADA, SessionId("s1"), await org.app.deps_for(org.id))

    assert await jobs(org) == ["published", "session_ended", "session_quiet"]


async def test_a_session_nobody_had_cannot_end(org: Org):
    with pytest.raises(NotFound, match="s9"):
        await conversations.finalize(ADA, SessionId("s9"), await org.app.deps_for(org.id))

    assert await jobs(org) == []


async def test_progress_is_told_by_the_data_itself(org: Org):
    deps = await org.app.deps_for(org.id)
    await publish(org)
    waiting = await conversations.progress(RequestId("r1"), deps)
    (job,) = await org.app.store.of(org.id).read(lambda tx: tx.jobs.find_by_scope("published", "ada"))
    await org.app.store.lease(lambda leases: leases.claim("me", job.run_at + 60_000, 10, 5))
    running = await conversations.progress(RequestId("r1"), deps)
    await org.app.store.lease(lambda leases: leases.fail(job, "me", "ValueError: torn page", None))
    failed = await conversations.progress(RequestId("r1"), deps)

    assert (waiting.status, waiting.reason) == ("pending", "queued")
    assert (running.status, running.reason) == ("processing", "extracting")
    assert failed.status == "failed"
    assert "torn page" not in (failed.reason or "")


async def test_a_request_does_not_wait_for_an_extractor_that_will_never_read_it(org: Org):
    billing = {"extraction_definition_prompt": "Note what they pay for.", "extractor_name": "billing"}
    only = {**billing, "request_sources_enabled": ["billing-chat"], "stride_size_override": 8}
    await org.sdk.update_config(profile_extractor_configs=[only])
    await publish(org, "r1", source="billing-chat")
    await publish(org, "r2", source="ops")
    await org.learn()

    told = [await org.sdk.learning_status(request_id=name) for name in ("r1", "r2")]

    assert [(one.status, one.reason) for one in told] == [("pending", "waiting_for_window"), ("done", "covered")]
