"""Judges past sessions again, as a run that can be watched, cancelled and resumed."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from acumen.deps import Deps
from acumen.errors import NotFound
from acumen.learn.evaluate import evaluate
from acumen.learn.runs import runs
from acumen.model.ids import Millis
from acumen.model.jobs.events import RegenerationAsked
from acumen.model.jobs.run import Run, RunId
from acumen.model.metering.evaluation import as_item, key_of
from acumen.model.metering.judging import USUAL_NAME
from acumen.storage.conversations.sessions import EndedSession
from acumen.storage.store import Tx

SERVICE = "evaluation_regeneration"


async def start(since: Millis, until: Millis, name: str | None, deps: Deps) -> tuple[Run, int]:
    """The run, and its number of sessions. Conflict while another one is active; NotFound for another `name`."""
    if not deps.config.judging.on:
        raise NotFound("There is no evaluation: agent_success_config is null, which switches judging off.")
    configured = deps.config.judging.name or USUAL_NAME
    if name not in (None, configured):
        raise NotFound(f"There is no evaluation {name!r}; this org's is {configured!r}.")
    ended = await deps.store.read(lambda tx: tx.sessions.find_ended(since, until, deps.config.judging.sources))
    chosen = ended if deps.llm is None else sampled(ended, deps)

    def store(tx: Tx) -> Run:
        request = {"from": since, "to": until, "candidates": len(ended)}
        run = tx.runs.start(SERVICE, "", request, [as_item(session.key) for session in chosen])
        tx.jobs.add(RegenerationAsked(run.id))
        return run

    return await deps.store.write(store), len(chosen)


def sampled(ended: Sequence[EndedSession], deps: Deps) -> list[EndedSession]:
    """Limits the cost of a model judge: at most this many of each agent version, drawn as sessions are always drawn."""
    drawn: defaultdict[str, list[EndedSession]] = defaultdict(list)
    for session in sorted(ended, key=lambda session: evaluate.chance(deps.org, *session.key)):
        drawn[session.agent_version].append(session)
    keys = {session.key for same in drawn.values() for session in same[: deps.config.judging.stratum]}
    return [session for session in ended if session.key in keys]


async def carry(event: RegenerationAsked, deps: Deps) -> None:
    await runs.carry(event.run_id, _judge_one, deps)


async def cancel(run_id: RunId, deps: Deps) -> Run:
    """It stops before its next session; one that has not begun ends at once, one that is over stays so."""
    run = (await runs.get(run_id, SERVICE, deps)).run
    return run if run.state.over else await deps.store.write(lambda tx: tx.runs.request_cancel(run_id))


async def _judge_one(_run: Run, item: str, deps: Deps) -> Mapping[str, int]:
    user, session = key_of(item)
    past = await deps.store.read(lambda tx: evaluate.read(tx, user, session))
    if past is None:
        return {"gone": 1}
    if not evaluate.enabled(past, deps.config.judging):
        return {"skipped": 1}  # it has another source by now, or judging is switched off
    judged = await evaluate.judge(past, deps, ask_model=True)
    return {"skipped" if judged.id is None else "by_model" if judged.by_model else "by_rules": 1}
