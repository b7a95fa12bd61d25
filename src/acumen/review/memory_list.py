"""List memories by filters, and save filters as views."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from acumen.deps import Deps
from acumen.errors import BadInput
from acumen.model.ids import Kind, MemoryRef, Millis
from acumen.model.memories.listing import MemoryEntry, MemoryFilter
from acumen.model.metering.usage import Use
from acumen.model.times import DAY_MS
from acumen.storage.store import Tx

MOST_AGENT_VERSIONS = 100
MOST_VIEWS = 50


class MemoryPage(Struct, frozen=True):
    """`uses` has the memories that were injected in the period; `agent_versions` are the values to filter by."""

    entries: Sequence[MemoryEntry]
    total: int
    uses: Mapping[MemoryRef, Use]
    agent_versions: Sequence[str]


async def page(filters: MemoryFilter, limit: int, offset: int, use_days: int, deps: Deps) -> MemoryPage:
    """Latest change first."""
    since = Millis(deps.now() - use_days * DAY_MS)

    def read(tx: Tx) -> MemoryPage:
        entries, total = tx.memory_browser.page_memories(filters, limit, offset)
        uses = _uses(tx, [entry.ref for entry in entries], since)
        return MemoryPage(entries, total, uses, tx.memory_browser.find_agent_versions(MOST_AGENT_VERSIONS))

    return await deps.store.read(read)


def _uses(tx: Tx, refs: Sequence[MemoryRef], since: Millis) -> dict[MemoryRef, Use]:
    return {
        MemoryRef(kind, memory_id): use
        for kind in {ref.kind for ref in refs}
        for memory_id, use in tx.usage.counters.get_uses(kind, since, _ids(refs, kind)).items()
    }


def _ids(refs: Sequence[MemoryRef], kind: Kind) -> list[str]:
    return [ref.id for ref in refs if ref.kind is kind]


async def entries(filters: MemoryFilter, limit: int, deps: Deps) -> Sequence[MemoryEntry]:
    return (await deps.store.read(lambda tx: tx.memory_browser.page_memories(filters, limit, 0)))[0]


async def titles(refs: Sequence[MemoryRef], deps: Deps) -> dict[MemoryRef, str]:
    return await deps.store.read(lambda tx: tx.memories.get_titles(refs))


# --- saved views ---------------------------------------------------------------------------------------------------


async def saved_views(page_name: str, deps: Deps) -> dict[str, str]:
    """Query strings by name, of one page."""
    return await deps.store.read(lambda tx: tx.saved_views.find(page_name))


async def save_view(page_name: str, name: str, query: str, user: str | None, deps: Deps) -> None:
    """Replaces a view of the same name. `user` is the user that the query names, with whom the view is erased."""

    def store(tx: Tx) -> None:
        views = tx.saved_views.find(page_name)
        if name not in views and len(views) >= MOST_VIEWS:
            raise BadInput(f"There are {MOST_VIEWS} views already: remove one first.")
        tx.saved_views.upsert(page_name, name, query, user)

    await deps.store.write(store)


async def delete_view(page_name: str, name: str, deps: Deps) -> None:
    await deps.store.write(lambda tx: tx.saved_views.delete(page_name, name))
