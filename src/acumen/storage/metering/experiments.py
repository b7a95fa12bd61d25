"""Holdout experiments, as rows."""

from types import SimpleNamespace
from typing import Any

import sqlalchemy as sa

from acumen.errors import Conflict
from acumen.model.metering.experiment import Experiment
from acumen.storage.engine.compiled_statement import CompiledSelect
from acumen.storage.engine.scope import OrgScope, row_of, value_of
from acumen.storage.tables import experiments

ACTIVE = "active"
# Asked before every job: built once.
_ACTIVE = CompiledSelect(
    sa.select(experiments).where(experiments.c.org_id == sa.bindparam("org"), experiments.c.active_key == ACTIVE)
)


class Experiments:
    def __init__(self, scope: OrgScope) -> None:
        self._scope = scope

    def all(self) -> list[Experiment]:
        """The latest first."""
        order = (experiments.c.started_at.desc(), experiments.c.experiment_id)
        return [_experiment(row) for row in self._scope.all(self._scope.select(experiments).order_by(*order))]

    def get(self, name: str) -> Experiment | None:
        row = self._scope.first(self._scope.select(experiments).where(experiments.c.experiment_id == name))
        return _experiment(row) if row else None

    def get_active(self) -> Experiment | None:
        rows = _ACTIVE.rows(self._scope.conn, org=self._scope.org)
        return _experiment(SimpleNamespace(**rows[0])) if rows else None

    def start(self, experiment: Experiment) -> None:
        """Conflict when another one runs, or when the name was used before."""
        row = row_of(experiments, experiment, experiment_id=experiment.id, active_key=ACTIVE)
        if self._scope.insert_new(experiments, [row]) != 1:
            raise Conflict(
                "There is an experiment of this name already."
                if self.get(experiment.id)
                else "Another experiment runs; stop it first."
            )

    def stop(self, name: str) -> bool:
        """False when it does not run."""
        c = experiments.c
        running = (c.experiment_id == name, c.active_key == ACTIVE)
        return self._scope.update(experiments, *running, active_key=None, ended_at=self._scope.at) == 1


def _experiment(row: Any) -> Experiment:
    return value_of(Experiment, row, id=row.experiment_id)
