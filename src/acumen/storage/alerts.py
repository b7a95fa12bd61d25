"""Alerts and what was sent about them, as rows."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import sqlalchemy as sa

from acumen.model.alert import Alert, AlertKind, Delivery, DeliveryState, Problem
from acumen.model.ids import Millis, fresh_id
from acumen.storage.scope import Scope
from acumen.storage.tables import alerts, deliveries


class Alerts:
    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    def open(self, problem: Problem) -> Alert | None:
        """None when somebody has opened it before."""
        s = self._scope
        alert = Alert(fresh_id("alert"), problem, s.at)
        row = {
            "alert_id": alert.id,
            "open_key": f"{problem.kind}\x1f{problem.subject}",
            "kind": str(problem.kind),
            "subject": problem.subject,
            "said": problem.said,
            "detail": dict(problem.detail),
            "closed_at": None,
        }
        added = s.conn.execute(s.db.insert(alerts).on_conflict_do_nothing(), [s.stamp(row)]).rowcount
        return alert if added else None

    def close(self, alert: Alert) -> bool:
        """False when somebody has closed it before."""
        c = alerts.c
        mine = (c.org_id == self._scope.org, c.alert_id == alert.id, c.closed_at.is_(None))
        values = {"closed_at": self._scope.at, "open_key": None, "updated_at": self._scope.at}
        return bool(self._scope.conn.execute(sa.update(alerts).where(*mine).values(values)).rowcount)

    def latest(self, limit: int, *, only_open: bool) -> list[Alert]:
        """The latest first."""
        c = alerts.c
        still = [c.closed_at.is_(None)] if only_open else []
        query = sa.select(alerts).where(c.org_id == self._scope.org, *still)
        return [_alert(row) for row in self._scope.rows(query.order_by(c.created_at.desc(), c.alert_id).limit(limit))]

    # --- what was sent ---------------------------------------------------------------------------------------------

    def send(self, delivery: Delivery) -> None:
        row = asdict(delivery)
        row["delivery_id"] = row.pop("id")
        self._scope.add(deliveries, [{**row, "created_at": self._scope.at, "updated_at": self._scope.at}])

    def delivery(self, delivery_id: str) -> Delivery | None:
        found = self._deliveries(deliveries.c.delivery_id == delivery_id, limit=1)
        return found[0] if found else None

    def log(self, limit: int, alert_ids: Sequence[str] | None = None) -> list[Delivery]:
        """The latest first: of these alerts, or of all."""
        about = [] if alert_ids is None else [deliveries.c.alert_id.in_(alert_ids)]
        return self._deliveries(*about, limit=limit)

    def tried(self, delivery: Delivery) -> None:
        c = deliveries.c
        names = ("state", "attempts", "status_code", "last_error")
        values = {name: getattr(delivery, name) for name in names}
        mine = (c.org_id == self._scope.org, c.delivery_id == delivery.id)
        self._scope.conn.execute(sa.update(deliveries).where(*mine).values(updated_at=self._scope.at, **values))

    def expire(self, before: Millis) -> None:
        """Closed alerts of long ago, and what was sent about them."""
        c = alerts.c
        old = sa.select(c.alert_id).where(c.org_id == self._scope.org, c.closed_at < before).scalar_subquery()
        self._scope.delete(deliveries, deliveries.c.alert_id.in_(old))
        self._scope.delete(alerts, c.closed_at < before)

    def _deliveries(self, *where: sa.ColumnElement[bool], limit: int) -> list[Delivery]:
        c = deliveries.c
        query = sa.select(deliveries).where(c.org_id == self._scope.org, *where)
        rows = self._scope.rows(query.order_by(c.created_at.desc(), c.delivery_id.desc()).limit(limit))
        return [_delivery(row) for row in rows]


def _alert(row: sa.RowMapping) -> Alert:
    problem = Problem(AlertKind(row["kind"]), row["subject"], row["said"], row["detail"] or {})
    return Alert(row["alert_id"], problem, Millis(row["created_at"]), row["closed_at"])


def _delivery(row: sa.RowMapping) -> Delivery:
    names: Any = [name for name in Delivery.__dataclass_fields__ if name not in ("id", "state")]
    return Delivery(id=row["delivery_id"], state=DeliveryState(row["state"]), **{name: row[name] for name in names})
