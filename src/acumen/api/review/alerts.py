"""Alerts, over REST."""

from collections.abc import Sequence

from acumen.api.call import Call, answers
from acumen.api.views import maybe_seconds, seconds, shaped
from acumen.model.operations.alert import Alert, Delivery
from acumen.storage.store import Tx
from acumen_client.calls import Calls
from acumen_client.wire import alerts as wire

DELIVERIES = 1_000


@answers(Calls.alerts)
async def get_alerts(request: wire.GetAlertsRequest, call: Call) -> wire.GetAlertsResponse:
    def read(tx: Tx) -> list[wire.AlertView]:
        alerts = tx.alerts.find_latest(request.limit, only_open=not request.include_closed)
        deliveries = tx.alerts.find_deliveries(DELIVERIES, [alert.id for alert in alerts])
        return [view(alert, [delivery for delivery in deliveries if delivery.alert_id == alert.id]) for alert in alerts]

    return wire.GetAlertsResponse(alerts=await call.deps.store.read(read))


def view(alert: Alert, deliveries: Sequence[Delivery] = ()) -> wire.AlertView:
    return shaped(
        wire.AlertView,
        alert.problem,
        alert_id=alert.id,
        kind=alert.problem.kind.value,
        opened_at=seconds(alert.opened_at),
        closed_at=maybe_seconds(alert.closed_at),
        deliveries=[
            shaped(wire.DeliveryView, delivery, delivery_id=delivery.id, state=delivery.state.value)
            for delivery in deliveries
        ],
    )
