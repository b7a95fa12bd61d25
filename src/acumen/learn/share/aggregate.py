"""Lessons of several users become one for all: gathered, worded once, pending until a person approves.

An aggregation is a run. Its first item gathers what says the same; each further one writes some shared lessons.
"""

import asyncio
import hashlib
import time
from collections import Counter
from collections.abc import Mapping, Sequence

from msgspec import Struct

from acumen.deps import Deps
from acumen.errors import NotFound, OperationInTheWay
from acumen.learn.runs import runs
from acumen.learn.share.gather import Draft, Known, Plan, Taught, drafts, plan
from acumen.learn.share.shared import Work, sources, vector_of, with_vectors, write
from acumen.model.conversation import UNNAMED_VERSION, versions_meant
from acumen.model.facts import AggregationAsked, Hour, LessonsGrew, Published, SessionEnded
from acumen.model.ids import Kind, Millis, PlaybookId, UserId
from acumen.model.job import Job, JobState
from acumen.model.run import Progress, Run, RunId, RunState
from acumen.model.search import Filter
from acumen.storage.store import Tx

SERVICE = "playbook_aggregation"
# The wire's name for "no name given".
DEFAULT_NAME = "playbook"

GATHER = "gather"
# Written together by rules, which is quick; a model is asked for one lesson at a time.
WRITTEN_AT_ONCE = 20
# Between two aggregations of a version that nobody asked for: this long, and this many times what the last one took.
REST_MS = 10_000
REST_TIMES = 20


# --- when --------------------------------------------------------------------------------------------------------


async def when_due(_fact: Published | SessionEnded | Hour, deps: Deps) -> None:
    """Enough new lessons make their agent version due, at once or after a rest."""
    await deps.store.write(lambda tx: tx.jobs.add_all(_due(tx, deps, tx.at)))


async def after_adding(deps: Deps) -> None:
    """The same for lessons added by hand, in a while: whoever adds some may add more, or ask for it themselves."""
    await deps.store.write(lambda tx: tx.jobs.add_all(_due(tx, deps, Millis(tx.at + REST_MS))))


def _due(tx: Tx, deps: Deps, earliest: Millis) -> list[tuple[LessonsGrew, Millis]]:
    enough = deps.config.aggregation.due_after
    grown = [version for version, count in _new_lessons(tx).items() if count >= enough]
    return [(LessonsGrew(version), max(earliest, _rested(tx, version))) for version in grown]


def _new_lessons(tx: Tx) -> Counter[str]:
    counted: Counter[str] = Counter()
    for version, count in tx.aggregations.new_lessons().items():
        counted[version or UNNAMED_VERSION] += count
    return counted


def _rested(tx: Tx, version: str) -> Millis:
    marks = [tx.aggregations.mark(meant) for meant in versions_meant(version)]
    ends = [int(mark.at + REST_MS + REST_TIMES * mark.duration_ms) for mark in marks if mark.at is not None]
    return Millis(max(ends, default=tx.at))


async def begin(fact: LessonsGrew, deps: Deps) -> None:
    """Starts the run, if the lessons are still new; after the one under way, if there is one."""

    def store(tx: Tx) -> None:
        if _new_lessons(tx)[fact.agent_version] < deps.config.aggregation.due_after:
            return
        if _under_way(tx, fact.agent_version):
            tx.jobs.add(fact, Millis(tx.at + REST_MS))
        else:
            _start(tx, fact.agent_version, None)

    await deps.store.write(store)


async def ask(agent_version: str, name: str | None, deps: Deps) -> Run:
    """Conflict while another one of this version is under way."""
    return await deps.store.write(lambda tx: _start(tx, agent_version, name))


async def submit(request_id: str, agent_version: str, deps: Deps) -> Run:
    """The same request twice is one run; the same id for another version is a Conflict."""
    run_id = RunId(f"aggr_{hashlib.sha256(request_id.encode()).hexdigest()[:24]}")

    def store(tx: Tx) -> Run:
        known = tx.runs.get(run_id)
        if known is None:
            return _start(tx, agent_version, None, run_id, request_id=request_id)
        if known.request["agent_version"] != agent_version:
            told = f"request_id {request_id!r} is taken by another aggregation; send this one under a new id."
            raise OperationInTheWay(told, known.id)
        return known

    return await deps.store.write(store)


class Operation(Struct, frozen=True):
    """An aggregation as somebody sees it who asked for it."""

    run: Run
    progress: Progress
    job: Job | None  # None: nothing is left to do

    @property
    def given_up(self) -> bool:
        return not self.run.state.over and (self.job is None or self.job.state is JobState.DEAD)

    @property
    def over(self) -> bool:
        return self.run.state.over or self.given_up

    @property
    def attempts(self) -> int:
        return self.job.attempts if self.job else int(self.run.started_at is not None)

    @property
    def error(self) -> str | None:
        if self.given_up:
            return self.job.last_error if self.job else "its worker has disappeared"
        if self.run.state is RunState.CANCELLED:
            return "cancelled"
        if self.progress.failed:
            return f"{self.progress.failed} of {self.progress.total} pieces failed; the first: {self.run.cause}"
        return self.run.cause


async def operation(run_id: RunId, deps: Deps) -> Operation:
    def read(tx: Tx) -> Operation:
        run = tx.runs.get(run_id)
        if run is None or run.service != SERVICE:
            raise NotFound(f"There is no aggregation {run_id!r}.")
        return Operation(run, tx.run_items.progress(run_id), _job(tx, run_id))

    return await deps.store.read(read)


def _job(tx: Tx, run_id: RunId) -> Job | None:
    return next(iter(tx.jobs.of_scope(AggregationAsked.name, run_id)), None)


def names_meant(name: str | None) -> list[str] | None:
    """None: lessons of every name."""
    return None if name in (None, DEFAULT_NAME) else [name]


def _start(tx: Tx, agent_version: str, name: str | None, run_id: RunId | None = None, **about: str) -> Run:
    subject = agent_version or UNNAMED_VERSION
    _under_way(tx, subject)  # one that was given up makes room
    meant = {"versions": versions_meant(subject), "names": names_meant(name)}
    run = tx.runs.start(SERVICE, subject, {**about, "agent_version": agent_version, **meant}, [GATHER], run_id)
    tx.jobs.add(AggregationAsked(run.id))
    return run


def _under_way(tx: Tx, subject: str) -> Run | None:
    """The run that somebody works on; one whose worker gave up is ended here."""
    active = tx.runs.active(SERVICE, subject)
    if active is None or not Operation(active, Progress(), _job(tx, active.id)).given_up:
        return active
    tx.runs.finish(active.id, RunState.FAILED, {}, "its worker gave up")
    return None


# --- the run -----------------------------------------------------------------------------------------------------


async def carry(fact: AggregationAsked, deps: Deps) -> None:
    await runs.carry(fact.run_id, _work, deps)


async def _work(run: Run, item: str, deps: Deps) -> Mapping[str, int]:
    if item == GATHER:
        return await _gather(run, deps)
    return await write(run.id, Work.of(item), deps)


async def _gather(run: Run, deps: Deps) -> dict[str, int]:
    """Finds what says the same and puts what follows from it on the list of the run."""
    counted: Counter[str] = Counter()
    groups = await deps.store.read(lambda tx: tx.aggregations.groups(run.request["versions"], run.request["names"]))
    for version, name in groups:
        began = time.perf_counter()
        taught, known = await deps.store.read(lambda tx, v=version, n=name: _read(tx, v, n, deps))  # type: ignore[misc]
        found, decided = await asyncio.to_thread(_decide, taught, known, deps)
        took = 1000 * (time.perf_counter() - began)
        items = _items(version, name, decided, 1 if deps.llm else WRITTEN_AT_ONCE)
        last = max((one.playbook.id for one in taught), default=PlaybookId(0))
        await deps.store.write(lambda tx, d=decided: _keep_unwanted(tx, d))  # type: ignore[misc]
        await deps.store.write(lambda tx, i=items, v=version, n=last, t=took: _note(tx, run, i, v, n, t))  # type: ignore[misc]
        counted.update(user_playbooks_processed=len(taught), clusters_found=len(found))
        counted.update(unchanged=decided.unchanged, withheld=decided.withheld)
        await deps.stand_back()
    return dict(counted)


def _decide(taught: Sequence[Taught], known: Sequence[Known], deps: Deps) -> tuple[list[Draft], Plan]:
    wanted = deps.config.aggregation
    found = drafts(taught, wanted.least_users, wanted.similarity)
    return found, plan(found, known, taught, wanted.least_users)


def _items(version: str, name: str, decided: Plan, at_once: int) -> list[str]:
    batches = [decided.todos[start : start + at_once] for start in range(0, len(decided.todos), at_once)]
    items = [Work(version, name, todos).text() for todos in batches]
    return [*items, Work(version, name, retired=decided.retired).text()] if decided.retired else items


def _keep_unwanted(tx: Tx, decided: Plan) -> None:
    """What a person did not want shared stays so, though those who taught it teach it by other playbooks now."""
    if decided.retaught:
        tx.clusters.hold()
    for one in decided.retaught:
        tx.clusters.extend(one.lesson, one.members)


def _note(tx: Tx, run: Run, items: Sequence[str], version: str, last: PlaybookId, took_ms: float) -> None:
    """Gathered twice, because the first time was cut off, is listed once."""
    listed = {item.item for item in tx.run_items.of(run.id)}
    tx.run_items.add(run.id, [item for item in items if item not in listed])
    if run.request["names"] is not None:
        return  # lessons of other names are still to be looked at
    before = tx.aggregations.mark(version)
    tx.aggregations.set_mark(version, PlaybookId(max(last, before.last)), took_ms)


def _read(tx: Tx, version: str, name: str, deps: Deps) -> tuple[list[Taught], list[Known]]:
    found = tx.user_playbooks.find(Filter(agent_version=version, name=name))
    current = [one for one in found if one.agent_version == version]  # those without one are a group of their own
    taught = with_vectors(tx, [one for one in current if one.user_id and one.lesson.content.strip()], deps)
    return taught, _known(tx, version, name, deps)


def _known(tx: Tx, version: str, name: str, deps: Deps) -> list[Known]:
    """The shared lessons that there are, and those that a person has rejected, archived or deleted."""
    found = tx.clusters.of(version, name)
    current = tx.agent_playbooks.find(Filter(agent_version=version, name=name))
    lessons = {one.id: one for one in current if one.agent_version == version}
    lessons |= {one.id: one for one in tx.agent_playbooks.by_ids([str(one.lesson) for one in found]).values()}
    rows = tx.search_rows.by_ids(Kind.AGENT_PLAYBOOK, [str(one) for one in lessons])
    members = sorted({member for cluster in found for member in cluster.members})
    users = {one.id: UserId(one.user_id or "") for one in sources(tx, members)}
    known = [
        Known(
            lessons.pop(cluster.lesson, None),
            cluster,
            frozenset(users[member] for member in cluster.members if member in users),
            vector_of(rows.get(str(cluster.lesson)), deps),
        )
        for cluster in found
    ]
    return [*known, *(Known(one, None, vector=vector_of(rows.get(str(one.id)), deps)) for one in lessons.values())]
