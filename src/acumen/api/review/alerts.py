"""Endpoints of alerts."""

from collections.abc import Sequence

from acumen.api.call import Call, answers
from acumen.api.views import maybe_seconds, seconds, shaped
from acumen.model.operations.alert import Alert, Delivery
from acumen.review.operations import alerts
from acumen_client.calls import Calls
from acumen_client.wire import alerts as wire


@answers(Calls.alerts)
async def get_alerts(request: wire.GetAlertsRequest, call: Call) -> wire.GetAlertsResponse:
    page = await alerts.latest(request.limit, call.deps, only_open=not request.include_closed)
    return wire.GetAlertsResponse(alerts=[view(alert, deliveries) for alert, deliveries in page])


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
