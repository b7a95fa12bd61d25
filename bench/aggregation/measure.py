"""Aggregation: how long thousands of lessons take, and how well those that say the same are told from the others."""

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

import numpy as np
from msgspec.structs import replace

from acumen.app import App
from acumen.learn.runs import runs
from acumen.learn.share import aggregate
from acumen.llm.embedding import load_embedder
from acumen.model.ids import LOCAL_ORG, Kind, PlaybookId, UserId, now
from acumen.model.jobs.events import AggregationAsked
from acumen.model.jobs.run import RunState
from acumen.model.memories.memory import Memory
from acumen.model.memories.playbook import Lesson, UserPlaybook
from acumen.settings import Settings
from bench import memories, texts
from bench.aggregation.labelled import gathered, score, wordings
from bench.figures import Figure, Run, at_least, below
from bench.memories import Statements, Vectors

VERSION = "v1"
# How users say a thing; each keeps its words.
WAYS = (
    "{}",
    "Always keep to this: {}",
    "Please remember: {}",
    "{}, every time",
    "From now on: {}",
    "As I said before: {}",
)


def measure(run: Run) -> Iterator[Figure]:
    yield from _quality()
    yield from asyncio.run(_timed(run))
    yield from asyncio.run(_one_more(run))


def _quality() -> Iterator[Figure]:
    """On the labelled set. Precision is the claim: a wrong lesson for all is worse than one that comes later."""
    embedder = load_embedder()
    for part in ("open", "held"):
        said = wordings(part)
        scored = score(said, gathered(said, embedder))
        note = f"{len(said)} wordings of {len({one.label for one in said})} lessons"
        yield Figure(f"{part}: pairs put together rightly", scored.precision, "", at_least(0.9), note=note)
        yield Figure(f"{part}: pairs found", scored.recall, "")
        yield Figure(f"{part}: lessons found", scored.found, "", note="at least two of its wordings")


async def _timed(run: Run) -> list[Figure]:
    count, users = run.many(5_000, 60), run.many(250, 12)
    app = App(Settings(data=run.folder / "aggregation"))
    await app.start(work=False)
    try:
        await memories.store(Kind.USER_PLAYBOOK, _lessons(count, users), app.store.of(LOCAL_ORG))
        first, made = await _aggregated(app)
        again, none = await _aggregated(app)
    finally:
        await app.stop()
    note = f"{users} users; {made.get('clusters_found', 0)} clusters, {made.get('playbooks_generated', 0)} lessons"
    unchanged = f"{none.get('unchanged', 0)} clusters as they were"
    return [
        Figure(f"{count:,} user playbooks, the first time", first, "s", below(60), note=note),
        Figure(f"{count:,} user playbooks, nothing new", again, "s", note=unchanged),
    ]


async def _one_more(run: Run) -> list[Figure]:
    """CPU of this process, all threads: what a single new lesson costs where many are known."""
    count, users = run.many(1_500, 60), run.many(300, 12)
    app = App(Settings(data=run.folder / "one-more"))
    await app.start(work=False)
    statements, random = Statements(), Random(count)
    many = [memories.user_playbooks(UserId(f"user-{n}"), 1, statements, random, n + 1) for n in range(count)]
    known = [
        (replace(lesson, user_id=UserId(f"user-{lesson.id % users}"), agent_version=VERSION), vector)
        for made in many
        for lesson, vector in made
    ]
    last, vector = known[-1]
    same = replace(last, id=PlaybookId(count + 1), user_id=UserId("somebody-else"))
    try:
        store = app.store.of(LOCAL_ORG)
        await memories.store(Kind.USER_PLAYBOOK, known, store)
        first, made = await _cpu(app)
        await memories.store(Kind.USER_PLAYBOOK, [(same, vector)], store)
        again, new = await _cpu(app)
    finally:
        await app.stop()
    note = f"{made.get('clusters_found', 0)} clusters"
    added = f"{new.get('playbooks_generated', 0)} lessons added"
    return [
        Figure(f"CPU, {count:,} lessons of {users} users for the first time", first, "s", note=note),
        Figure("CPU, one lesson more", again, "s", below(0.5), note=added),
    ]


async def _cpu(app: App) -> tuple[float, dict[str, int]]:
    began = time.process_time()
    _, result = await _aggregated(app)
    return time.process_time() - began, result


async def _aggregated(app: App) -> tuple[float, dict[str, int]]:
    deps = await app.deps_for(LOCAL_ORG)
    began = time.perf_counter()
    asked = await aggregate.ask(VERSION, None, deps)
    await app.worker.run_this(LOCAL_ORG, AggregationAsked(asked.id))
    took = time.perf_counter() - began
    done = (await runs.get(asked.id, aggregate.SERVICE, deps)).run
    if done.state is not RunState.COMPLETED:
        raise RuntimeError(f"The aggregation is {done.state}: {done.cause}")
    return took, dict(done.result)


def _lessons(count: int, users: int) -> Iterator[tuple[Memory, Vectors]]:
    """About eight wordings of each statement, by users chosen at random."""
    random, statements = Random(count), Statements(max(count // 8, 5))
    for number in range(1, count + 1):
        place = random.randrange(len(statements.texts))
        said = random.choice(WAYS).format(statements.texts[place])
        lesson = Lesson(said, trigger=texts.situation(Random(place)))
        user, at = UserId(f"user-{random.randrange(users)}"), now()
        noise = np.frombuffer(random.randbytes(statements.vectors.shape[1]), np.int8).astype(np.float32) * (0.01 / 74)
        vector = statements.vectors[place] + noise
        playbook = UserPlaybook(PlaybookId(number), user, lesson, at, at, agent_version=VERSION)
        yield playbook, vector / np.float32(np.linalg.norm(vector))


def main() -> None:
    """What came together that should not have, of the open part; of the held one only figures are told."""
    said = wordings("open")
    for part in gathered(said, load_embedder()):
        if len({one.label for one in part}) > 1:
            print([f"{one.label}: {one.lesson.content}" for one in part])
    for figure in measure(Run(Path("bench") / "results")):
        print(figure.name, round(figure.value, 3), figure.note)


if __name__ == "__main__":
    main()
