"""Proof of worth: a simulated agent whose success truly depends on some lessons, and what metering finds out of it.

The agent meets random situations, searches, is shown the lessons for them, cites some of what it used and not all, and
succeeds more often with a helpful lesson and less often with a harmful one. Nobody tells Acumen which is which.
"""

import asyncio
import math
from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import Any

import sqlalchemy as sa
from msgspec import Struct

from acumen.app import App
from acumen.deps import Deps
from acumen.meter import outcomes, usage
from acumen.model.conversation import Interaction, Request
from acumen.model.ids import (
    LOCAL_ORG,
    InteractionId,
    Kind,
    Millis,
    OrgId,
    PlaybookId,
    RequestId,
    SessionId,
    UserId,
    now,
)
from acumen.model.jobs.events import Hour, Published
from acumen.model.memories.playbook import AgentPlaybook, Approval, Lesson
from acumen.model.memories.search import Filter, RankingMode
from acumen.model.metering.experiment import HOLDOUT, Experiment
from acumen.model.times import DAY_MS
from acumen.observe import conversations
from acumen.recall import experiments
from acumen.recall.search import Ask, search_memories
from acumen.review import memories, queue
from acumen.storage.store import Tx
from acumen.storage.tables import evaluations, requests
from bench import places
from bench.figures import Figure, Run, at_least
from bench.places import Place

# Modest effects: a session that meets one helpful lesson succeeds 70 times of 100 instead of 60.
BASE, HELP, HARM = 0.60, 0.10, -0.12
OF_EACH = 20  # helpful, useless and harmful lessons
RARE = 10  # useless too, but so seldom met that they cost nothing
# An agent cites what it believes to have used: every second time, now and then what was of no use, sometimes nonsense.
CITES = {"helpful": 0.5, "harmful": 0.5, "useless": 0.1, "rare": 0.1}
NONSENSE = 0.05
USERS = 50
MET_AT_ONCE = 3
# Each agent lives in a world of its own; the worst of them is told.
SEEDS = (7, 8, 9)
HOLDOUT_RUNS = 100
TRUE_LIFT = 0.12

_SYLLABLES = "ba ce di fo gu ha je ki lo mu na pe qui ro su ta ve wi xo zu".split()


class Planted(Struct, frozen=True):
    """A lesson, the word of the situation that it is for, and what it truly does."""

    id: str
    word: str
    does: str


def measure(run: Run) -> Iterator[Figure]:
    sessions = run.many(2_000, 30)
    found = []
    for seed in SEEDS[: run.many(len(SEEDS), 1)]:
        with places.sqlite(run) as place:
            found.append(asyncio.run(_one_agent(place, sessions, seed)))
    for name, target in TOLD.items():
        seen = sorted(one[name] for one in found)
        unit = "AUC" if name.startswith("helpful") else "share"
        told = ", ".join(f"{value:.2f}" for value in seen)
        yield Figure(name, seen[0], unit, None if target is None else at_least(target), note=f"agents: {told}")
    with places.sqlite(run) as place:
        covered, runs = asyncio.run(_holdouts(place, run.many(HOLDOUT_RUNS, 3), sessions))
        note = f"{runs} experiments of {sessions:,} sessions"
        yield Figure("holdout interval covers the truth", covered / runs, "share", at_least(0.9), note=note)


async def _one_agent(place: Place, sessions: int, seed: int) -> dict[str, float]:
    place.migrate()
    random, start = Random(seed), Millis(now() - 40 * DAY_MS)
    clock = Moving(start)
    app = App(place.settings, clock)
    await app.open_org(LOCAL_ORG)
    deps = await app.deps_for(LOCAL_ORG)
    planted = await _plant(app, random, start)
    clock.at = Millis(start + 8 * DAY_MS)
    for number in range(sessions):
        clock.at = Millis(clock.at + 30 * DAY_MS // sessions)
        await _session(number, planted, app, random, clock.at)
    found = await _found(planted, deps)
    app.local_models.close()
    app.store.close()
    return found


class Moving:
    """A clock that the simulation moves."""

    def __init__(self, at: Millis) -> None:
        self.at = at

    def __call__(self) -> Millis:
        return self.at


async def _plant(app: App, random: Random, at: Millis) -> list[Planted]:
    does = [name for name in ("helpful", "harmful", "useless") for _ in range(OF_EACH)] + ["rare"] * RARE
    words = _words(len(does), random)
    lessons = [
        AgentPlaybook(PlaybookId(0), Lesson(_text(word, random)), at, at, approval=Approval.APPROVED) for word in words
    ]
    deps = await app.deps_for(LOCAL_ORG)
    await memories.add(Kind.AGENT_PLAYBOOK, lessons, deps)
    stored = await deps.store.read(lambda tx: tx.agent_playbooks.find(Filter()))
    ids = {memory.lesson.content: str(memory.id) for memory in stored}
    return [
        Planted(ids[lesson.lesson.content], word, name) for lesson, word, name in zip(lessons, words, does, strict=True)
    ]


def _words(count: int, random: Random) -> list[str]:
    """Names of situations that no two share."""
    found: set[str] = set()
    while len(found) < count:
        found.add("".join(random.choices(_SYLLABLES, k=4)))
    return sorted(found, key=lambda _: random.random())


def _text(word: str, random: Random) -> str:
    steps = " ".join("".join(random.choices(_SYLLABLES, k=2)) for _ in range(random.randrange(15, 40)))
    return f"When {word} fails, {steps}."


async def _session(number: int, planted: Sequence[Planted], app: App, random: Random, at: Millis) -> None:
    """Search, be shown, cite a part, succeed or not; all through the steps that a server takes."""
    deps = await app.deps_for(LOCAL_ORG)
    common = [one for one in planted if one.does != "rare"]
    met = random.sample(common, MET_AT_ONCE)
    if number % 100 == 0:
        met.append(planted[-1 - random.randrange(RARE)])
    user, session = UserId(f"user-{random.randrange(USERS)}"), f"session-{number}"
    ask = Ask(
        " ".join(one.word for one in met),
        10,
        {Kind.AGENT_PLAYBOOK: Filter(approvals=(Approval.APPROVED,))},
        mode=RankingMode.FTS,
        user_id=user,
        session_id=session,
    )
    recalled = await search_memories(ask, deps)
    app.meter(recalled, LOCAL_ORG)
    await app.flush_usage()
    shown = {line.ref.id for line in recalled.context.shown}
    seen = [one for one in planted if one.id in shown]
    await _published(number, user, session, _cited(seen, random), at, app)
    chance = BASE + sum({"helpful": HELP, "harmful": HARM}.get(one.does, 0.0) for one in seen)
    await _ended(user, session, random.random() < min(0.97, max(0.03, chance)), at, app)


def _cited(seen: Sequence[Planted], random: Random) -> list[dict[str, Any]]:
    named = [{"kind": "agent_playbook", "real_id": one.id} for one in seen if random.random() < CITES[one.does]]
    return [*named, {"kind": "agent_playbook", "real_id": "s1-zzzz"}] if random.random() < NONSENSE else named


async def _published(
    number: int, user: UserId, session: str, cited: list[dict[str, Any]], at: Millis, app: App
) -> None:
    deps = await app.deps_for(LOCAL_ORG)
    request = Request(RequestId(f"request-{number}"), user, SessionId(session), at, body_hash=str(number))
    turn = Interaction(
        InteractionId(0), user, SessionId(session), request.id, at, "Assistant", "Done.", citations=cited
    )
    await conversations.publish(request, [turn], deps)
    await usage.read_back(Published(user, request.id), deps)


async def _ended(user: str, session: str, success: bool, at: Millis, app: App) -> None:  # noqa: FBT001 - the outcome
    rows = [_evaluation(user, session, at, success=success)]
    await app.store.of(LOCAL_ORG).write(lambda tx: tx.scope.insert(evaluations, rows))


def _evaluation(user: str, session: str, at: Millis, *, success: bool) -> dict[str, Any]:
    return {
        "user_id": user,
        "session_id": session,
        "agent_version": "",
        "source": "",
        "is_success": success,
        "judged_success": success,
        "corrections": 0,
        "is_escalated": False,
        "last_id": 0,
        "ended_at": at,
        "engine": "caller",
        "model": "",
        "prompt_hash": "",
        "confidence": 1.0,
    }


# --- what was found out --------------------------------------------------------------------------------------------


# With what is asked of each; the last two are told only.
TOLD = {
    "helpful above harmful": 0.9,
    "useless and expensive: recall": 0.9,
    "useless and expensive: precision": 0.8,
    "harmful: flagged": None,
    "harmful: rightly so": None,
}


async def _found(planted: Sequence[Planted], deps: Deps) -> dict[str, float]:
    at = deps.now()
    lifts = await deps.store.read(lambda tx: _differences(tx, at))
    await outcomes.propose_harmful(Hour(), deps)
    review = await queue.candidates(queue.ReviewQuery(None, 30), 1_000, 0, deps)
    flagged = {one.ref.id: {signal.name for signal in one.signals} for one in review.candidates}
    expensive = {name for name, signals in flagged.items() if "high_cost_low_cite" in signals}
    harmful = {name for name, signals in flagged.items() if "harmful" in signals}
    truly = {does: {one.id for one in planted if one.does == does} for does in CITES}
    shares = (
        _auc(lifts, truly["helpful"], truly["harmful"]),
        _share(expensive, truly["useless"]),
        _share(truly["useless"], expensive),
        _share(harmful, truly["harmful"]),
        _share(truly["harmful"], harmful),
    )
    return dict(zip(TOLD, shares, strict=True))


def _differences(tx: Tx, at: Millis) -> dict[str, float]:
    found = outcomes.lifts(tx, Millis(at - 90 * DAY_MS), at)
    return {ref.id: seen.difference for ref, (_, seen) in found.items() if seen.difference is not None}


def _auc(scores: Mapping[str, float], above: set[str], below: set[str]) -> float:
    """How often one of `above` has the higher score; a lesson without enough data scores nothing."""
    pairs = [(scores.get(high, 0.0), scores.get(low, 0.0)) for high in above for low in below]
    return sum(1.0 if high > low else 0.5 if high == low else 0.0 for high, low in pairs) / len(pairs)


def _share(of: set[str], within: set[str]) -> float:
    return len(of & within) / len(within) if within else math.nan


# --- holdouts ------------------------------------------------------------------------------------------------------


async def _holdouts(place: Place, runs: int, sessions: int) -> tuple[int, int]:
    """In how many experiments the interval holds the true lift; users differ in how often they succeed."""
    place.migrate()
    at = now()
    clock = Moving(at)
    app = App(place.settings, clock)
    covered = 0
    for number in range(runs):
        org, random = OrgId(f"run-{number}"), Random(number)
        clock.at = at
        await app.open_org(org)
        deps = await app.deps_for(org)
        await experiments.start(f"holdout-{number}", 50, deps)
        rows = list(_sessions(Experiment(f"holdout-{number}", 50, at), sessions, random, Millis(at + 1)))
        clock.at = Millis(at + 10)
        await deps.store.write(lambda tx, rows=rows: _store(tx, rows))  # type: ignore[misc]
        found = await experiments.results(f"holdout-{number}", deps)
        covered += found.interval is not None and found.interval.holds(TRUE_LIFT)
    app.local_models.close()
    app.store.close()
    return covered, runs


def _sessions(experiment: Experiment, sessions: int, random: Random, at: Millis) -> Iterator[dict[str, Any]]:
    """The lift is the same for all users, what they start from is not."""
    base = {f"user-{number}": random.uniform(0.2, 0.8) for number in range(USERS)}
    for number in range(sessions):
        user = f"user-{int(USERS * random.random() ** 1.5)}"  # some come more often than others
        lift = 0.0 if experiment.arm_of(user) == HOLDOUT else TRUE_LIFT
        yield _evaluation(user, f"session-{number}", at, success=random.random() < base[user] + lift)


def _store(tx: Tx, rows: Sequence[dict[str, Any]]) -> None:
    tx.scope.insert(evaluations, list(rows))
    said = {
        "source": "",
        "agent_version": "",
        "body_hash": "",
        "session_finished": True,
        "force_extraction": False,
        "evaluation_only": False,
        "skip_aggregation": False,
    }
    published = [
        {**said, "request_id": row["session_id"], "user_id": row["user_id"], "session_id": row["session_id"]}
        for row in rows
    ]
    tx.scope.conn.execute(sa.insert(requests), [tx.scope.stamp(row) for row in published])
