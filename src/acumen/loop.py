"""The loop on one page: which fact causes which steps.

An agent talks, and what it says is **published**. That causes us to learn about the user, to learn lessons for the
agent, to make the new turns findable by meaning, and to see which memories came back. A session that has gone
**quiet** is judged. What was learned is recalled by the next search, which is counted. When **lessons grew** enough,
those that several users teach become one for all. What agents do is recorded: calls that **failed** in one way, that
**recovered** in a session or that **worked** again and again suggest lessons, which a person approves. When somebody
**asks** for it, memories are made anew from what was said before, sessions are judged anew, and lessons are gathered.
Once an **hour**, what is old is put away and what was missed is made good; every few **minutes** somebody looks whether
something is wrong, and whoever wants to hear of it is **alerted**.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from acumen.deps import Deps
from acumen.jobs.retry import retry_on_conflict
from acumen.learn import memories, pipeline
from acumen.learn.evaluate import evaluate, regenerate
from acumen.learn.incidents import failures, recoveries, successes
from acumen.learn.runs import generation
from acumen.learn.share import aggregate
from acumen.meter import llm_ledger, outcomes, usage
from acumen.model.jobs.facts import (
    AggregationAsked,
    Alerted,
    Ended,
    Fact,
    Failed,
    GenerationAsked,
    Hour,
    LessonsGrew,
    Minutes,
    Published,
    Recovered,
    RegenerationAsked,
    ReviewOpened,
    SessionEnded,
    SessionQuiet,
    Worked,
)
from acumen.model.jobs.job import Job
from acumen.observe import endings, operations
from acumen.recall import index
from acumen.review import alerts, memory_scan, webhook

Step = Callable[[Any, Deps], Awaitable[None]]

# More often than this a step is not overtaken by chance.
OVERTAKEN = 5


def at_once(*steps: Step) -> Step:
    """Steps that do not wait for each other: what they write is committed together."""

    async def taken(fact: Fact, deps: Deps) -> None:
        ended = await asyncio.gather(*(_take(step, fact, deps) for step in steps), return_exceptions=True)
        _tell([end for end in ended if isinstance(end, Exception)])

    return taken


CAUSES: dict[type[Fact], tuple[Step, ...]] = {
    # Turns are made findable first: what is read for that, learning need not read again.
    Published: (at_once(index.turns, pipeline.update, usage.read_back, evaluate.watch), aggregate.when_due),
    SessionEnded: (pipeline.update, aggregate.when_due),
    GenerationAsked: (generation.carry_out,),
    SessionQuiet: (evaluate.session,),
    RegenerationAsked: (regenerate.carry,),
    LessonsGrew: (aggregate.begin,),
    AggregationAsked: (aggregate.carry,),
    Ended: (endings.state,),
    Failed: (failures.explain,),
    Recovered: (recoveries.learn,),
    Worked: (successes.consolidate,),
    Minutes: (alerts.check,),
    Alerted: (webhook.deliver,),
    ReviewOpened: (memory_scan.scan,),
    Hour: (
        memories.expire,
        usage.expire,
        llm_ledger.expire,
        operations.settle,
        operations.expire,
        index.backfill,
        aggregate.when_due,
        alerts.expire,
        memory_scan.scan,
        outcomes.propose_harmful,
    ),
}

FACTS = {fact.name: fact for fact in CAUSES}


async def run(job: Job, deps: Deps) -> None:
    """Every step the fact causes; one that fails does not keep the others from running."""
    kind = FACTS[job.fact]
    fact = kind.of(job.payload)
    raised: list[Exception] = []
    for step in CAUSES[kind]:
        try:
            await _take(step, fact, deps)
        except Exception as failure:  # noqa: BLE001 - collected here, raised below
            raised.append(failure)
    _tell(raised)


def _tell(raised: Sequence[Exception]) -> None:
    if raised:
        raise raised[0] if len(raised) == 1 else ExceptionGroup(f"{len(raised)} steps failed", raised)


async def _take(step: Step, fact: Fact, deps: Deps) -> None:
    """A step that another worker has overtaken begins anew from where that one stands."""
    await retry_on_conflict(lambda: step(fact, deps), OVERTAKEN)
