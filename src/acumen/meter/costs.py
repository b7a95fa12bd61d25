"""Costs of injected memories by memory, user, agent version or day."""

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from acumen.deps import Deps
from acumen.llm.prices import MILLION, Prices
from acumen.model.ids import Kind, MemoryRef, Millis
from acumen.model.metering.usage import GroupBy, Use
from acumen.model.times import DAY_MS
from acumen.storage.store import Tx


class CostRow(Struct, frozen=True):
    """`key` names the group; `title` is the memory's, None for other groups and deleted memories."""

    key: tuple[Any, ...]
    use: Use
    title: str | None = None


class CostReport(Struct, frozen=True):
    rows: Sequence[CostRow]
    total: int
    use: Use  # of all rows, not only of this page
    model: str
    per_million: float | None  # dollars; None without a price for the model
    since: Millis
    covered_since: Millis | None
    cited_since: Millis | None  # when an agent first cited anything


async def report(by: GroupBy, days_back: int, model: str | None, limit: int, offset: int, deps: Deps) -> CostReport:
    """Whole days (UTC), today included."""
    name = model or deps.settings.meter.model
    price = Prices.of(deps.settings.llm.prices).cost(name, MILLION, 0)
    first_day = deps.now() // DAY_MS - days_back + 1
    return await deps.store.read(lambda tx: _report(tx, by, first_day, limit, offset, name, price))


def _report(
    tx: Tx, by: GroupBy, first_day: int, limit: int, offset: int, model: str, price: float | None
) -> CostReport:
    page, total, use = tx.usage.counters.page_groups(by, first_day, limit, offset)
    rows = [CostRow(key, row_use) for key, row_use in page]
    if by is GroupBy.MEMORY:
        refs = {key: MemoryRef(Kind(key[0]), key[1]) for key, _ in page}
        titles = tx.memories.get_titles(refs.values())
        rows = [CostRow(key, row_use, titles.get(refs[key])) for key, row_use in page]
    since = Millis(first_day * DAY_MS)
    covered_since, cited_since = tx.usage.get_metered_since(), tx.usage.get_cited_since()
    return CostReport(rows, total, use, model, price, since, covered_since, cited_since)
