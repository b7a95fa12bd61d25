"""Runs and what they work through, as rows."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from acumen.errors import Conflict
from acumen.model.ids import Millis, fresh_id
from acumen.model.run import ItemState, Progress, Run, RunId, RunItem, RunState
from acumen.storage.scope import Scope, in_batches
from acumen.storage.tables import run_items, runs

ERASED = "(erased)"


class Runs:
    def __init__(self, scope: Scope) -> None:
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
        self.hold(service)
        active = self.active(service, subject)
        if active is not None:
            raise Conflict(f"A run of {service} is under way ({active.id}): wait for its end, or cancel it.")
        run_id = run_id or RunId(fresh_id("run"))
        row = {"run_id": run_id, "service": service, "active_key": _active_key(service, subject)}
        s.add(runs, [{**row, "state": RunState.QUEUED, "request": dict(request), "cancel_asked": False}])
        numbered = [(place, item) for place, item in enumerate(items)]
        for batch in in_batches(numbered):
            s.add(run_items, [_waiting(run_id, place, item) for place, item in batch])
        return self._get(run_id)

    def hold(self, service: str) -> None:
        """From here to COMMIT no run of the service starts."""
        self._scope.db.in_order(self._scope.conn, f"run:{self._scope.org}:{service}")

    def get(self, run_id: RunId) -> Run | None:
        row = self._scope.one(sa.select(runs).where(*self._of(run_id)))
        return None if row is None else _run(row)

    def active(self, service: str, subject: str) -> Run | None:
        query = sa.select(runs).where(
            runs.c.org_id == self._scope.org, runs.c.active_key == _active_key(service, subject)
        )
        row = self._scope.one(query)
        return None if row is None else _run(row)

    def all_active(self, service: str | None = None) -> list[Run]:
        query = sa.select(runs).where(runs.c.org_id == self._scope.org, runs.c.active_key.is_not(None))
        if service is not None:
            query = query.where(runs.c.service == service)
        return [_run(row) for row in self._scope.all(query.order_by(runs.c.created_at))]

    def latest(self, service: str) -> Run | None:
        query = sa.select(runs).where(runs.c.org_id == self._scope.org, runs.c.service == service)
        row = self._scope.one(query.order_by(runs.c.created_at.desc(), runs.c.run_id.desc()).limit(1))
        return None if row is None else _run(row)

    def begin(self, run_id: RunId) -> Run:
        """A run that was begun before goes on."""
        s = self._scope
        self._set(run_id, state=RunState.RUNNING, started_at=sa.func.coalesce(runs.c.started_at, s.at))
        return self._get(run_id)

    def ask_cancel(self, run_id: RunId) -> None:
        """It stops before its next item."""
        self._set(run_id, cancel_asked=True)

    def finish(self, run_id: RunId, state: RunState, result: Mapping[str, Any], cause: str | None = None) -> Run:
        at = self._scope.at
        self._set(run_id, state=state, active_key=None, result=dict(result), cause=cause, finished_at=at)
        return self._get(run_id)

    def next_item(self, run_id: RunId) -> RunItem | None:
        items = self.items(run_id, ItemState.WAITING, 1)
        return items[0] if items else None

    def items(self, run_id: RunId, state: ItemState | None = None, limit: int | None = None) -> list[RunItem]:
        c = run_items.c
        query = sa.select(run_items).where(c.org_id == self._scope.org, c.run_id == run_id)
        if state is not None:
            query = query.where(c.state == state)
        return [_item(row) for row in self._scope.all(query.order_by(c.place).limit(limit))]

    def count(self, run_id: RunId, item: str, counts: Mapping[str, int]) -> None:
        """Adds to what has come of an item so far; whoever writes holds off others who are at the same item."""
        summed = Counter(self.counted(run_id, item))
        summed.update(counts)
        self._set_detail(run_id, item, dict(summed))

    def counted(self, run_id: RunId, item: str) -> dict[str, int]:
        row = self._scope.one(sa.select(run_items.c.detail).where(*self._named(run_id, item)))
        return dict(row.detail or {}) if row else {}

    def uncount(self, run_id: RunId, item: str) -> None:
        """Nothing has come of it after all."""
        self._set_detail(run_id, item, {})

    def extend(self, run_id: RunId, items: Sequence[str]) -> None:
        """More to do, found on the way; comes after what is there."""
        first = self.progress(run_id).total
        for batch in in_batches(list(enumerate(items, first))):
            self._scope.add(run_items, [_waiting(run_id, place, item) for place, item in batch])

    def done(self, run_id: RunId, place: int, detail: Mapping[str, Any]) -> None:
        self._end_item(run_id, place, state=ItemState.DONE, detail=dict(detail))

    def failed(self, run_id: RunId, place: int, error: str) -> None:
        self._end_item(run_id, place, state=ItemState.FAILED, error=error)

    def forget(self, beginning: str) -> None:
        """Items that begin so, whatever became of them: what they name is erased."""
        s = self._scope
        s.delete(run_items, sa.func.substr(run_items.c.item, 1, len(beginning)) == beginning)

    def progress(self, run_id: RunId) -> Progress:
        c = run_items.c
        query = sa.select(c.state, sa.func.count()).where(c.org_id == self._scope.org, c.run_id == run_id)
        counts = dict(self._scope.all(query.group_by(c.state)))
        return Progress(sum(counts.values()), counts.get(ItemState.DONE, 0), counts.get(ItemState.FAILED, 0))

    def forget_user(self, user: str) -> None:
        """Whose turn it was, and for whom it was asked; a run for nobody else is over as soon as it goes on."""
        self._scope.delete(run_items, run_items.c.item == user)
        for row in self._scope.all(sa.select(runs).where(runs.c.org_id == self._scope.org)):
            if (row.request or {}).get("user_id") == user:
                stop = row.cancel_asked or row.active_key is not None
                self._set(RunId(row.run_id), request={**row.request, "user_id": ERASED}, cancel_asked=stop)

    def _get(self, run_id: RunId) -> Run:
        return _run(self._scope.conn.execute(sa.select(runs).where(*self._of(run_id))).one())

    def _of(self, run_id: RunId) -> tuple[sa.ColumnElement[bool], ...]:
        return runs.c.org_id == self._scope.org, runs.c.run_id == run_id

    def _set(self, run_id: RunId, **values: Any) -> None:
        s = self._scope
        s.conn.execute(sa.update(runs).where(*self._of(run_id)).values(updated_at=s.at, **values))

    def _named(self, run_id: RunId, item: str) -> tuple[sa.ColumnElement[bool], ...]:
        return run_items.c.org_id == self._scope.org, run_items.c.run_id == run_id, run_items.c.item == item

    def _set_detail(self, run_id: RunId, item: str, detail: dict[str, int]) -> None:
        values = {"detail": detail, "updated_at": self._scope.at}
        self._scope.conn.execute(sa.update(run_items).where(*self._named(run_id, item)).values(values))

    def _end_item(self, run_id: RunId, place: int, **values: Any) -> None:
        s, c = self._scope, run_items.c
        where = (c.org_id == s.org, c.run_id == run_id, c.place == place)
        s.conn.execute(sa.update(run_items).where(*where).values(updated_at=s.at, **values))


def _active_key(service: str, subject: str) -> str:
    return f"{service}\x1f{subject}"


def _waiting(run_id: RunId, place: int, item: str) -> dict[str, Any]:
    return {"run_id": run_id, "place": place, "item": item, "state": ItemState.WAITING}


def _run(row: Any) -> Run:
    return Run(
        id=RunId(row.run_id),
        service=row.service,
        state=RunState(row.state),
        request=row.request or {},
        created_at=Millis(row.created_at),
        updated_at=Millis(row.updated_at),
        result=row.result or {},
        cause=row.cause,
        cancel_asked=row.cancel_asked,
        started_at=row.started_at,
        finished_at=row.finished_at,
    )


def _item(row: Any) -> RunItem:
    return RunItem(row.place, row.item, ItemState(row.state), row.detail or {}, row.error)
