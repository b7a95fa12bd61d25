"""Does it get smarter? Ten rounds of an agent whose failures can be avoided by the lessons that they suggest."""

from dataclasses import dataclass, field
from random import Random
from typing import Any

from tests.observe.test_operations import record
from tests.world import Org, Start, local, once

ROUNDS, SESSIONS, APPROVED_AFTER = 10, 8, 3
FAILS_UNWARNED, FAILS_WARNED = 0.8, 0.05


@dataclass(frozen=True)
class Tool:
    """Fails in one way, which a lesson about it helps to avoid."""

    name: str
    error_type: str
    message: str


TOOLS = (
    Tool("export_report", "TimeoutError", "export of {n} rows timed out after 30s"),
    Tool("send_invoice", "ValidationError", "missing required property 'currency' in invoice {n}"),
)


@dataclass
class Agent:
    """Searches before it calls, and heeds what it is told about the call."""

    org: Org
    random: Random
    failed: list[int] = field(default_factory=list)  # by round

    async def work(self, number: int) -> None:
        self.failed.append(0)
        for session in range(SESSIONS):
            for tool in TOOLS:
                await self._call(tool, f"r{number}-s{session}", number)

    async def _call(self, tool: Tool, session: str, number: int) -> None:
        asked = {"query": f"Calling {tool.name}", "session_id": session, "top_k": 5, "search_mode": "fts"}
        told = (await self.org.send("POST", "/api/search", asked)).json()
        warned = any(tool.name in lesson["content"] for lesson in told["agent_playbooks"])
        fails = self.random.random() < (FAILS_WARNED if warned else FAILS_UNWARNED)
        self.failed[number] += fails
        error = {"error_type": tool.error_type, "error_message": tool.message.format(n=self.random.randrange(9999))}
        said: dict[str, Any] = {"source": "sim", "endpoint": tool.name, "session_id": session}
        await record(self.org, {**said, **({"status": "error", **error} if fails else {"status": "ok"})})


@once
async def test_after_approval_the_agent_fails_less_and_it_is_known_why(start: Start, clock):
    here = local(await start())
    agent = Agent(here, Random(7))
    groups, verdicts = [], []

    for number in range(ROUNDS):
        await agent.work(number)
        clock.forward(hours=1)
        await here.app.worker.run_due()
        if number + 1 == APPROVED_AFTER:
            for one in (await here.sdk.proposals(approval="pending")).proposals:
                await here.sdk.decide_proposal(agent_playbook_id=one.agent_playbook_id, decision="approve")
        groups.append((await here.sdk.failures(states=None)).total)
        lessons = (await here.sdk.proposals(about="failure")).proposals
        effects = [await here.sdk.lesson_effect(agent_playbook_id=one.agent_playbook_id) for one in lessons]
        verdicts.append([effect.verdict for effect in effects])

    approved = (await here.sdk.proposals(approval="approved")).proposals
    last = [await here.sdk.lesson_effect(agent_playbook_id=one.agent_playbook_id) for one in approved]
    assert {one.endpoint for one in approved} == {tool.name for tool in TOOLS}
    assert max(agent.failed[APPROVED_AFTER:]) < min(agent.failed[:APPROVED_AFTER])
    assert len(set(groups)) == 1, "the failures stay the same two kinds"
    for effect in last:
        assert effect.enough_data
        assert effect.verdict == "helps"
        assert effect.high is not None
        assert effect.high < 0, "significantly fewer sessions fail that were shown the lesson"
        assert (effect.after.rate or 0) < (effect.before.rate or 0)
    for course in zip(*verdicts, strict=True):
        settled = [verdict for verdict in course if verdict != "not_enough_data"]
        assert set(settled) == {"helps"}, "no verdict oscillates"


@once
async def test_a_lesson_that_nobody_was_shown_is_not_judged(start: Start, clock):
    here = local(await start())
    agent = Agent(here, Random(1))
    await agent.work(0)
    await here.app.worker.run_due()
    lessons = (await here.sdk.proposals()).proposals

    effects = [await here.sdk.lesson_effect(agent_playbook_id=one.agent_playbook_id) for one in lessons]

    assert {effect.verdict for effect in effects} == {"not_enough_data"}
