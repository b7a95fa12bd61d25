"""The tail of what agents do, narrowed by facets; it loads itself anew while it is looked at."""

from starlette.responses import Response

from acumen.model.operations.operation import OperationFilter, OperationStatus
from acumen.storage.operations.operations import FACETS
from acumen.web.page import Visit, page

SHOWN = 100
# The tail looks no further back than this, however rare what is looked for is.
AMONG = 5_000
SECONDS = 3


@page("/operations")
async def tail(visit: Visit) -> Response:
    chosen = {name: visit.asked(name) for name in FACETS}
    status = chosen["status"]
    wanted = OperationFilter(
        source=chosen["source"] or None,
        status=OperationStatus(status) if status in set(OperationStatus) else None,
        endpoint=chosen["endpoint"] or None,
        agent=chosen["agent"] or None,
    )
    found, facets = await visit.deps.store.read(
        lambda tx: (tx.operations.find_latest(wanted, SHOWN, AMONG), tx.operations.count_facets(AMONG))
    )
    live = visit.choice("live", "on", "off") == "on"
    return visit.html(
        "operations.html", found=found, facets=facets, chosen=chosen, live=live, among=AMONG, seconds=SECONDS
    )
