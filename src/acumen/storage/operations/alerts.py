"""AlertLog and what was sent about them, as rows."""

import json
from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from acumen.model.ids import Millis, fresh_id
from acumen.model.operations.alert import Alert, AlertKind, Delivery, DeliveryState, Problem
from acumen.storage.engine.scope import OrgScope, row_of, value_of
from acumen.storage.tables import alerts, deliveries

# It is opened and closed once.
MOST_MESSAGES = 2


class AlertLog:
    def __init__(self, scope: OrgScope) -> None:
        self._scope = scope

    def open(self, problem: Problem) -> Alert | None:
        """None when it is open already."""
        s = self._scope
        alert = Alert(fresh_id("alert"), problem, s.at)
        columns = {"alert_id": alert.id, "open_key": f"{problem.kind}\x1f{problem.subject}", "closed_at": None}
        added = s.insert_new(alerts, [row_of(alerts, problem, **columns, detail=dict(problem.detail))])
        return alert if added else None

    def close(self, alert: Alert) -> bool:
        """False when it is closed already."""
        c = alerts.c
        still = (c.alert_id == alert.id, c.closed_at.is_(None))
        return bool(self._scope.update(alerts, *still, closed_at=self._scope.at, open_key=None))

    def find_latest(self, limit: int, *, only_open: bool) -> list[Alert]:
        """The latest first."""
        c = alerts.c
        still = [c.closed_at.is_(None)] if only_open else []
        query = self._scope.select(alerts).where(*still).order_by(c.created_at.desc(), c.alert_id)
        return [_alert(row) for row in self._scope.all(query.limit(limit))]

    def reword(self, subjects: Sequence[str], said: str) -> None:
        """Of the alerts about these subjects, and of the messages about them."""
        c = alerts.c
        ids = [row.alert_id for row in self._scope.all_in(self._scope.select(c.alert_id), c.subject, subjects)]
        self._scope.update(alerts, c.alert_id.in_(ids), said=said)
        for sent in self.find_deliveries(len(ids) * MOST_MESSAGES, ids):
            body = json.dumps({**json.loads(sent.body), "said": said})
            self._scope.update(deliveries, deliveries.c.delivery_id == sent.id, body=body)

    # --- what was sent ---------------------------------------------------------------------------------------------

    def add_delivery(self, delivery: Delivery) -> None:
        times = {"created_at": self._scope.at, "updated_at": self._scope.at}
        self._scope.insert(deliveries, [row_of(deliveries, delivery, delivery_id=delivery.id, **times)])

    def get_delivery(self, delivery_id: str) -> Delivery | None:
        sent = self._deliveries(deliveries.c.delivery_id == delivery_id, limit=1)
        return sent[0] if sent else None

    def find_deliveries(self, limit: int, alert_ids: Sequence[str] | None = None) -> list[Delivery]:
        """The latest first: of these alerts, or of all."""
        about = [] if alert_ids is None else [deliveries.c.alert_id.in_(alert_ids)]
        return self._deliveries(*about, limit=limit)

    def update_delivery(self, delivery: Delivery) -> None:
        values = {name: getattr(delivery, name) for name in ("state", "attempts", "status_code", "last_error")}
        self._scope.update(deliveries, deliveries.c.delivery_id == delivery.id, **values)

    def expire(self, before: Millis) -> None:
        """Closed alerts of long ago, and what was sent about them."""
        c = alerts.c
        old = self._scope.select(c.alert_id).where(c.closed_at < before).scalar_subquery()
        self._scope.delete(deliveries, deliveries.c.alert_id.in_(old))
        self._scope.delete(alerts, c.closed_at < before)

    def _deliveries(self, *where: sa.ColumnElement[bool], limit: int) -> list[Delivery]:
        c = deliveries.c
        query = self._scope.select(deliveries).where(*where).order_by(c.created_at.desc(), c.delivery_id.desc())
        return [_delivery(row) for row in self._scope.all(query.limit(limit))]


def _alert(row: Any) -> Alert:
    problem = value_of(Problem, row, kind=AlertKind(row.kind), detail=row.detail or {})
    return Alert(row.alert_id, problem, Millis(row.created_at), row.closed_at)


def _delivery(row: Any) -> Delivery:
    return value_of(Delivery, row, id=row.delivery_id, state=DeliveryState(row.state))
