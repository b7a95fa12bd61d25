"""Holdout experiments: start, stop, the users of each arm, and the result."""

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from acumen.deps import Deps
from acumen.errors import Conflict, NotFound
from acumen.model.metering.experiment import HOLDOUT, TREATMENT, Assignment, Experiment
from acumen.model.metering.intervals import Interval, UserSample, clustered
from acumen.storage.store import Tx


async def start(name: str, holdout_percentage: float, deps: Deps) -> list[Experiment]:
    """From now on, this percentage of users gets no memories. One experiment runs at a time."""
    started = Experiment(name, holdout_percentage, deps.now())

    def store(tx: Tx) -> list[Experiment]:
        tx.experiments.start(started)
        return tx.experiments.all()

    return await deps.store.write(store)


async def stop(name: str, deps: Deps) -> list[Experiment]:
    def store(tx: Tx) -> list[Experiment]:
        if not tx.experiments.stop(name):
            stored = tx.experiments.get(name)
            raise (
                NotFound(f"There is no experiment {name!r}.") if stored is None else Conflict("It was stopped before.")
            )
        return tx.experiments.all()

    return await deps.store.write(store)


async def every(deps: Deps) -> list[Experiment]:
    """The latest first."""
    return await deps.store.read(lambda tx: tx.experiments.all())


def assigned(experiment: Experiment | None, user: str | None) -> Assignment | None:
    """None without an experiment, and for a search that does not say whose it is."""
    return Assignment(experiment.id, experiment.arm_of(user)) if experiment and user else None


class Arm(Struct, frozen=True):
    """Results for the users of one arm; averages are over evaluated sessions, None where there are none."""

    name: str
    assigned_users: int = 0
    published_sessions: int = 0
    clusters: tuple[UserSample, ...] = ()
    corrections: float | None = None
    turns_to_resolution: float | None = None
    escalations: float | None = None
    output_tokens: float | None = None  # of the sessions whose operations tell it
    output_sessions: int = 0

    @property
    def evaluated_sessions(self) -> int:
        return sum(cluster.cases for cluster in self.clusters)

    @property
    def success_rate(self) -> float | None:
        cases = self.evaluated_sessions
        return sum(cluster.successes for cluster in self.clusters) / cases if cases else None


class Results(Struct, frozen=True):
    experiment: Experiment
    treatment: Arm
    holdout: Arm
    lift: float | None
    interval: Interval | None
    coverage: float | None  # evaluated sessions of all that were published


async def results(name: str, deps: Deps) -> Results:
    """All users who published while it ran, by the arm they are in, whether or not a search was withheld from them."""
    return await deps.store.read(lambda tx: _results(tx, name, deps))


def _results(tx: Tx, name: str, deps: Deps) -> Results:
    experiment = tx.experiments.get(name)
    if experiment is None:
        raise NotFound(f"There is no experiment {name!r}.")
    since, until = experiment.started_at, experiment.ended_at or deps.now()
    stated = tx.outcomes.find_stated_arms(name)
    assigned = tx.outcomes.find_assigned_users(name)
    published = tx.outcomes.count_published_sessions(since, until)
    rows = {row.user_id: row for row in tx.outcomes.sum_by_user(since, until)}
    written = tx.outcomes.sum_output_tokens(since, until)

    def arm(which: str) -> Arm:
        mine = {user for user in {*published, *rows, *assigned} if stated.get(user, experiment.arm_of(user)) == which}
        results = _arm(which, mine, published, (rows[user] for user in sorted(mine & rows.keys())))
        reported = [written[user] for user in mine & written.keys()]
        sessions = sum(number for _, number in reported)
        tokens = sum(tokens for tokens, _ in reported) / sessions if sessions else None
        return replace(results, output_tokens=tokens, output_sessions=sessions)

    treatment, holdout = arm(TREATMENT), arm(HOLDOUT)
    interval_of = clustered(treatment.clusters, holdout.clusters)
    everything = treatment.published_sessions + holdout.published_sessions
    evaluated = treatment.evaluated_sessions + holdout.evaluated_sessions
    coverage = min(1.0, evaluated / everything) if everything else None
    lift, interval = interval_of or (_difference(treatment, holdout), None)
    return Results(experiment, treatment, holdout, lift, interval, coverage)


def _difference(treatment: Arm, holdout: Arm) -> float | None:
    if treatment.success_rate is None or holdout.success_rate is None:
        return None
    return treatment.success_rate - holdout.success_rate


def _arm(which: str, users: set[str], published: Mapping[str, int], rows: Iterable[Any]) -> Arm:
    rows = list(rows)
    cases = sum(row.cases for row in rows)
    resolved = sum(row.resolved for row in rows)
    return Arm(
        name=which,
        assigned_users=len(users),
        published_sessions=sum(published.get(user, 0) for user in users),
        clusters=tuple(UserSample(int(row.cases), int(row.successes)) for row in rows),
        corrections=sum(row.corrections for row in rows) / cases if cases else None,
        turns_to_resolution=sum(row.turns or 0 for row in rows) / resolved if resolved else None,
        escalations=sum(row.escalated for row in rows) / cases if cases else None,
    )
