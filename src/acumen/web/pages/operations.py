"""The live list of tool calls; it reloads while it is open."""

from starlette.responses import Response

from acumen.model.operations.operation import OperationFilter, OperationStatus
from acumen.observe import operations
from acumen.web.page import Visit, page

LATEST = 100
# Filters search no further back than this.
AMONG = 5_000
SECONDS = 3
FILTERS = ("source", "status", "endpoint", "agent")


@page("/operations")
async def tail(visit: Visit) -> Response:
    chosen = {name: visit.param(name) for name in FILTERS}
    status = chosen["status"]
    query = OperationFilter(
        source=chosen["source"] or None,
        status=OperationStatus(status) if status in set(OperationStatus) else None,
        endpoint=chosen["endpoint"] or None,
        agent=chosen["agent"] or None,
    )
    latest, facets = await operations.tail(query, LATEST, AMONG, visit.deps)
    live = visit.choice("live", "on", "off") == "on"
    return visit.html(
        "operations.html", operations=latest, facets=facets, chosen=chosen, live=live, among=AMONG, seconds=SECONDS
    )
