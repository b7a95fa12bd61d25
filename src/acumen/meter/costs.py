"""Price tags: what showing memories cost, by memory, user, agent version or day."""

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
    """One group's price tag. `key` names the group; `title` the memory, if it is one and still exists."""

    key: tuple[Any, ...]
    use: Use
    title: str | None = None


class CostReport(Struct, frozen=True):
    tags: Sequence[CostRow]
    total: int
    all_together: Use
    model: str
    per_million: float | None  # dollars; None when the table has no price for the model
    since: Millis
    covered_since: Millis | None
    cited_since: Millis | None  # when an agent first cited anything


async def report(by: GroupBy, days_back: int, model: str | None, limit: int, offset: int, deps: Deps) -> CostReport:
    """Whole days (UTC), today included."""
    name = model or deps.settings.meter.model
    price = Prices.of(deps.settings.llm.prices).cost(name, MILLION, 0)
    first_day = deps.now() // DAY_MS - days_back + 1
    return await deps.store.read(lambda tx: _bill(tx, by, first_day, limit, offset, name, price))


def _bill(tx: Tx, by: GroupBy, first_day: int, limit: int, offset: int, model: str, price: float | None) -> CostReport:
    page, total, together = tx.usage.counters.page_groups(by, first_day, limit, offset)
    tags = [CostRow(key, use) for key, use in page]
    if by is GroupBy.MEMORY:
        refs = {key: MemoryRef(Kind(key[0]), key[1]) for key, _ in page}
        titles = tx.memories.get_titles(refs.values())
        tags = [CostRow(key, use, titles.get(refs[key])) for key, use in page]
    since = Millis(first_day * DAY_MS)
    covered_since, cited_since = tx.usage.get_metered_since(), tx.usage.get_cited_since()
    return CostReport(tags, total, together, model, price, since, covered_since, cited_since)
