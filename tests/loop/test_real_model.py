"""A real language model, configured by its URL alone.

It is far too small to be wise: what counts is that every question travels the whole way, comes back in its shape and is
billed, and that nonsense does not become a memory.
"""

from collections.abc import Iterator

import pytest
from pydantic import BaseModel

from acumen.llm.ping import ping
from acumen.llm.prompt import Prompt
from acumen.model.metering.llm_call import ModelRole
from acumen.settings import LlmSettings
from tests import smollm
from tests.world import Start, local, once, said

# On a machine that does six other things.
PATIENCE = {"request_seconds": 240.0, "total_seconds": 480.0}


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    with smollm.serving() as url:
        yield url


class Judged(BaseModel):
    is_success: bool


JUDGE = Prompt(
    "judge",
    '---\nrole: judge\nwrites: 60\n---\nDid it go well? Answer with JSON: {"is_success": true}.\n---\n{{talk:100}}\n',
    Judged,
)


@once
async def test_a_publish_travels_through_gate_extraction_and_judge_with_typed_answers(start: Start, endpoint: str):
    org = local(await start(llm={"url": endpoint, **PATIENCE}))
    await org.sdk.publish(**said("What is the capital of France?", session="s0"))
    await org.sdk.finalize_session(user_id="ada", session_id="s0")
    await org.learn()
    await org.sdk.publish(**said("My name is Ada and I live in Lyon.", request_id="r1", force_extraction=True))
    await org.learn()
    llm = (await org.app.deps_for(org.id)).llm
    assert llm is not None

    judged = await llm.ask(JUDGE.question({"talk": "user: thanks, that worked!"}))

    assert isinstance(judged.value.is_success, bool)
    calls = (await org.rows())["llm_calls"]
    assert {call["role"] for call in calls} == {ModelRole.GATE, ModelRole.EXTRACTION, ModelRole.JUDGE}
    assert {(call["model"], call["outcome"]) for call in calls} == {(smollm.NAME, "answered")}
    assert all(call["prompt_tokens"] > 20 and call["completion_tokens"] > 0 for call in calls)
    known = (await org.sdk.profiles(user_id="ada")).user_profiles
    assert all(fact.source_span and fact.source_span in "My name is Ada and I live in Lyon." for fact in known)
    assert [job for job in (await org.rows())["jobs"] if job["state"] == "dead"] == []


async def test_the_doctor_finds_it_by_its_url_alone(endpoint: str):
    assert await ping(LlmSettings(url=endpoint, **PATIENCE), within=240.0) == smollm.NAME
