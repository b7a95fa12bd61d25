"""Runs, as rows."""

from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from acumen.errors import OperationInTheWay
from acumen.model.ids import fresh_id
from acumen.model.jobs.run import Run, RunId, RunState
from acumen.storage.engine.database import Lock
from acumen.storage.engine.scope import OrgScope, value_of
from acumen.storage.jobs.run_items import RunItems
from acumen.storage.tables import runs

ERASED = "(erased)"


class Runs:
    def __init__(self, scope: OrgScope) -> None:
        self._scope = scope

    def start(
        self,
        service: str,
        subject: str,
        request: Mapping[str, Any],
        items: Sequence[str],
        run_id: RunId | None = None,
    ) -> Run:
        """Conflict while another one of the service is at work on the same subject."""
        s = self._scope
        self.lock(service)
        active = self.get_active(service, subject)
        if active is not None:
            message = f"A run of {service} is under way ({active.id}): wait for its end, or cancel it."
            raise OperationInTheWay(message, active.id)
        run_id = run_id or RunId(fresh_id("run"))
        row = {"run_id": run_id, "service": service, "active_key": _active_key(service, subject)}
        s.insert(runs, [{**row, "state": RunState.QUEUED, "request": dict(request), "cancel_asked": False}])
        RunItems(s).add(run_id, items)
        return self._run(run_id)

    def lock(self, service: str) -> None:
        """From here to COMMIT no run of the service starts."""
        self._scope.db.lock(self._scope.conn, Lock(f"run:{self._scope.org}:{service}"))

    def get(self, run_id: RunId) -> Run | None:
        return self._first(self._scope.select(runs).where(runs.c.run_id == run_id))

    def get_active(self, service: str, subject: str) -> Run | None:
        return self._first(self._scope.select(runs).where(runs.c.active_key == _active_key(service, subject)))

    def find_active(self, service: str | None = None) -> list[Run]:
        query = self._scope.select(runs).where(runs.c.active_key.is_not(None))
        if service is not None:
            query = query.where(runs.c.service == service)
        return [_run(row) for row in self._scope.all(query.order_by(runs.c.created_at))]

    def find_latest(self, service: str, mode: str | None = None) -> Run | None:
        """One that is under way, the one without a subject first; else the one that ended last."""
        c = runs.c
        query = self._scope.select(runs).where(c.service == service)
        if mode is not None:
            query = query.where(c.request["mode"].as_string() == mode)
        # The key of a run without a subject is the beginning of all the others, so it comes before them.
        order = (c.active_key.is_(None), c.active_key, c.finished_at.desc(), c.created_at.desc(), c.run_id.desc())
        return self._first(query.order_by(*order).limit(1))

    def begin(self, run_id: RunId) -> Run | None:
        """A run that was begun before goes on; None when it is over, or gone."""
        began = {"state": RunState.RUNNING, "started_at": sa.func.coalesce(runs.c.started_at, self._scope.at)}
        begun = self._scope.update(runs, runs.c.run_id == run_id, runs.c.active_key.is_not(None), **began)
        return self._run(run_id) if begun else None

    def request_cancel(self, run_id: RunId) -> Run:
        """It stops before its next item; one that has not begun is over at once, and cannot be begun meanwhile."""
        run = self._set(run_id, cancel_asked=True)
        return self.finish(run_id, RunState.CANCELLED, {}) if run.state is RunState.QUEUED else run

    def finish(self, run_id: RunId, state: RunState, result: Mapping[str, Any], cause: str | None = None) -> Run:
        over = {"active_key": None, "finished_at": self._scope.at}
        return self._set(run_id, state=state, result=dict(result), cause=cause, **over)

    def erase_user(self, user: str) -> None:
        """Removes the user from requests; a run for this user is cancelled before its next item."""
        for row in self._scope.all(self._scope.select(runs)):
            if (row.request or {}).get("user_id") == user:
                stop = row.cancel_asked or row.active_key is not None
                self._set(RunId(row.run_id), request={**row.request, "user_id": ERASED}, cancel_asked=stop)

    def _set(self, run_id: RunId, **values: Any) -> Run:
        self._scope.update(runs, runs.c.run_id == run_id, **values)
        return self._run(run_id)

    def _run(self, run_id: RunId) -> Run:
        return _run(self._scope.conn.execute(self._scope.select(runs).where(runs.c.run_id == run_id)).one())

    def _first(self, query: sa.Select[Any]) -> Run | None:
        row = self._scope.first(query)
        return None if row is None else _run(row)


def _active_key(service: str, subject: str) -> str:
    return f"{service}\x1f{subject}"


def _run(row: Any) -> Run:
    fields = {"id": row.run_id, "state": RunState(row.state), "request": row.request or {}, "result": row.result or {}}
    return value_of(Run, row, **fields)
