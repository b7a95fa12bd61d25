"""What the database knows about the work of all processes and all organizations: for metrics."""

from collections.abc import Sequence

from msgspec import Struct

from acumen.meter.llm_ledger import midnight
from acumen.model.ids import Millis
from acumen.model.jobs.lag import LearningLag, total_lag
from acumen.model.metering.llm_call import CallOutcome, ModelRole, Spent
from acumen.storage.metering.llm_calls import spent_by_role
from acumen.storage.store import Store


class ServerTotals(Struct, frozen=True):
    """`jobs` are counts by event and state; `lag_ms` is the wait of the oldest due job, 0 without a backlog."""

    jobs: Sequence[tuple[str, str, int]]
    lag_ms: int
    learning: LearningLag
    llm_today: Sequence[tuple[ModelRole, CallOutcome, Spent]]
    size_bytes: int


async def totals(store: Store, at: Millis) -> ServerTotals:
    jobs, due, lags = await store.peek(
        lambda leases: (leases.count_all(), leases.overdue_since(), leases.get_lags().values())
    )
    spent, size = await store.read(lambda conn: (spent_by_role(conn, midnight(at)), store.database.size_bytes(conn)))
    return ServerTotals(jobs, 0 if due is None else max(0, at - due), total_lag(lags), spent, size)
