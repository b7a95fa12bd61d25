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
async def get_alerts(asked: wire.GetAlertsRequest, call: Call) -> wire.GetAlertsResponse:
    def read(tx: Tx) -> list[wire.AlertView]:
        found = tx.alerts.latest(asked.limit, only_open=not asked.include_closed)
        sent = tx.alerts.log(DELIVERIES, [one.id for one in found])
        return [view(one, [other for other in sent if other.alert_id == one.id]) for one in found]

    return wire.GetAlertsResponse(alerts=await call.deps.store.read(read))


def view(one: Alert, sent: Sequence[Delivery] = ()) -> wire.AlertView:
    return shaped(
        wire.AlertView,
        one.problem,
        alert_id=one.id,
        kind=one.problem.kind.value,
        opened_at=seconds(one.opened_at),
        closed_at=maybe_seconds(one.closed_at),
        deliveries=[shaped(wire.DeliveryView, other, delivery_id=other.id, state=other.state.value) for other in sent],
    )
