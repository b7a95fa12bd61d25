"""The loop on one page: which event triggers which steps.

A client publishes a conversation. `Published` indexes the new turns, extracts memories from them, meters which injected
memories were echoed, and schedules the evaluation of the session. The next search recalls what was learned and is
metered. `SessionQuiet` evaluates a session in which nothing was said for a while. When enough user playbooks are new,
`LessonsGrew` merges lessons that several users teach into shared ones.

Recorded operations propose lessons that a person approves: `Failed` from a group of failures, `Recovered` from a call
that failed and then succeeded in a session, `Worked` from a call that succeeds repeatedly.

People start runs: `GenerationAsked` rebuilds memories, `RegenerationAsked` evaluates sessions again, `AggregationAsked`
shares lessons. `Hour` does the housekeeping, `Minutes` checks for problems, `Alerted` delivers an alert,
`BackupDue` copies the database, `Erased` removes the bytes of erased rows.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from acumen.deps import Deps
from acumen.jobs.retry_on_conflict import retry_on_conflict
from acumen.learn import memories, pipeline
from acumen.learn.evaluate import evaluate, regenerate
from acumen.learn.incidents import failures, recoveries, successes
from acumen.learn.runs import generation
from acumen.learn.share import aggregate
from acumen.meter import llm_ledger, outcomes, scheduled_backups, usage
from acumen.model.jobs.events import (
    AggregationAsked,
    Alerted,
    BackupDue,
    Ended,
    Erased,
    Event,
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
from acumen.observe import operations
from acumen.observe.outcomes import state_from_operation
from acumen.recall import indexing
from acumen.review import duplicate_scan
from acumen.review.operations import alerts, scrub, webhook
from acumen.telemetry import traces

Step = Callable[[Any, Deps], Awaitable[None]]

# A step that loses this many races against other workers in a row has another problem.
MOST_CONFLICTS = 5


def together(*steps: Step) -> Step:
    """Runs the steps concurrently, so that their writes share a group commit."""

    async def run_together(event: Event, deps: Deps) -> None:
        results = await asyncio.gather(*(_run_step(step, event, deps) for step in steps), return_exceptions=True)
        _raise_all([result for result in results if isinstance(result, Exception)])

    return run_together


STEPS: dict[type[Event], tuple[Step, ...]] = {
    # Indexing comes first: extraction reuses the vectors it computes.
    Published: (together(indexing.turns, pipeline.update, usage.read_back, evaluate.watch), aggregate.when_due),
    SessionEnded: (pipeline.update, aggregate.when_due),
    GenerationAsked: (generation.carry_out,),
    SessionQuiet: (evaluate.session,),
    RegenerationAsked: (regenerate.carry,),
    LessonsGrew: (aggregate.begin,),
    AggregationAsked: (aggregate.carry,),
    Ended: (state_from_operation,),
    Failed: (failures.explain,),
    Recovered: (recoveries.learn,),
    Worked: (successes.consolidate,),
    Minutes: (alerts.check,),
    BackupDue: (scheduled_backups.back_up,),
    Alerted: (webhook.deliver,),
    ReviewOpened: (duplicate_scan.scan,),
    Erased: (scrub.carry_on,),
    Hour: (
        memories.expire,
        usage.expire,
        llm_ledger.expire,
        operations.settle,
        operations.expire,
        indexing.backfill,
        aggregate.when_due,
        alerts.expire,
        duplicate_scan.scan,
        outcomes.propose_harmful,
    ),
}

EVENTS = {event.name: event for event in STEPS}


async def run(job: Job, deps: Deps) -> None:
    """Runs every step of the job's event; a step that fails does not stop the others."""
    kind = EVENTS[job.event]
    event = kind.of(job.payload)
    failures: list[Exception] = []
    for step in STEPS[kind]:
        try:
            await _run_step(step, event, deps)
        except Exception as failure:  # noqa: BLE001 - collected here, raised below
            failures.append(failure)
    _raise_all(failures)


async def _run_step(step: Step, event: Event, deps: Deps) -> None:
    """Starts again, from the new state, when another worker changed the same rows first."""
    with traces.child(f"step {step.__module__.removeprefix('acumen.')}.{step.__name__}"):
        await retry_on_conflict(lambda: step(event, deps), MOST_CONFLICTS)


def _raise_all(failures: Sequence[Exception]) -> None:
    if failures:
        raise failures[0] if len(failures) == 1 else ExceptionGroup(f"{len(failures)} steps failed", failures)
