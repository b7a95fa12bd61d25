"""Holdout experiments, as rows."""

from typing import Any

import sqlalchemy as sa

from acumen.errors import Conflict
from acumen.model.experiment import Experiment
from acumen.model.ids import Millis
from acumen.storage.scope import Scope
from acumen.storage.tables import experiments

ACTIVE = "active"


class Experiments:
    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    def all(self) -> list[Experiment]:
        """The latest first."""
        c = experiments.c
        query = sa.select(experiments).where(c.org_id == self._scope.org)
        return [_experiment(row) for row in self._scope.all(query.order_by(c.started_at.desc(), c.experiment_id))]

    def get(self, name: str) -> Experiment | None:
        c = experiments.c
        row = self._scope.one(sa.select(experiments).where(c.org_id == self._scope.org, c.experiment_id == name))
        return _experiment(row) if row else None

    def active(self) -> Experiment | None:
        c = experiments.c
        query = sa.select(experiments).where(c.org_id == self._scope.org, c.active_key == ACTIVE)
        row = self._scope.one(query)
        return _experiment(row) if row else None

    def start(self, experiment: Experiment) -> None:
        """Conflict when another one runs, or when the name was used before."""
        s = self._scope
        row = s.stamp(
            {
                "experiment_id": experiment.id,
                "holdout_percentage": experiment.holdout_percentage,
                "started_at": experiment.started_at,
                "active_key": ACTIVE,
            }
        )
        statement = s.db.insert(experiments).on_conflict_do_nothing()
        if s.conn.execute(statement.execution_options(preserve_rowcount=True), row).rowcount != 1:
            raise Conflict(
                "There is an experiment of this name already."
                if self.get(experiment.id)
                else "Another experiment runs; stop it first."
            )

    def stop(self, name: str) -> bool:
        """False when it does not run."""
        c = experiments.c
        statement = (
            sa.update(experiments)
            .where(c.org_id == self._scope.org, c.experiment_id == name, c.active_key == ACTIVE)
            .values(active_key=None, ended_at=self._scope.at, updated_at=self._scope.at)
        )
        return self._scope.conn.execute(statement).rowcount == 1


def _experiment(row: Any) -> Experiment:
    ended = None if row.ended_at is None else Millis(row.ended_at)
    return Experiment(row.experiment_id, row.holdout_percentage, Millis(row.started_at), ended)
