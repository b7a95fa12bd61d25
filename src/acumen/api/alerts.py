"""Alerts, over REST."""

from collections.abc import Sequence

from acumen.api.call import Call, answers
from acumen.api.views import maybe_seconds, seconds
from acumen.model.alert import Alert, Delivery
from acumen.storage.store import Tx
from acumen_client.calls import Calls
from acumen_client.wire import alerts as wire

DELIVERIES = 1_000


@answers(Calls.alerts)
async def get_alerts(asked: wire.GetAlertsRequest, call: Call) -> wire.GetAlertsResponse:
    def read(tx: Tx) -> list[wire.AlertView]:
        found = tx.alerts.latest(asked.limit, only_open=not asked.include_closed)
        sent = tx.alerts.log(DELIVERIES, [one.id for one in found])
        return [view(one, [other for other in sent if other.alert_id == one.id]) for one in found]

    return wire.GetAlertsResponse(alerts=await call.deps.store.read(read))


def view(one: Alert, sent: Sequence[Delivery] = ()) -> wire.AlertView:
    return wire.AlertView(
        alert_id=one.id,
        kind=one.problem.kind.value,
        subject=one.problem.subject,
        said=one.problem.said,
        opened_at=seconds(one.opened_at),
        closed_at=maybe_seconds(one.closed_at),
        detail=dict(one.problem.detail),
        deliveries=[_delivery(other) for other in sent],
    )


def _delivery(one: Delivery) -> wire.DeliveryView:
    return wire.DeliveryView(
        delivery_id=one.id,
        event=one.event,
        state=one.state.value,
        attempts=one.attempts,
        status_code=one.status_code,
        last_error=one.last_error,
        created_at=seconds(one.created_at),
        updated_at=seconds(one.updated_at),
    )
