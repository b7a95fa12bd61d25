"""After an erasure: the bytes of erased rows leave the files too, now or as soon as no reader needs them."""

import asyncio

from acumen.deps import Deps
from acumen.model.ids import Millis
from acumen.model.jobs.events import Erased
from acumen.model.times import MINUTE_MS, SECOND_MS
from acumen.storage.store import Tx

# A reader that keeps the bytes may go soon; an open one costs other writers a quarter of a second each time.
AGAIN_MS = 5 * SECOND_MS


def schedule(tx: Tx, delay_ms: int = MINUTE_MS) -> None:
    """Scrub after the transaction, with others of the same minute; survives a restart."""
    tx.jobs.add(Erased(), Millis(tx.at + delay_ms))


async def scrub_now(deps: Deps) -> bool:
    """False while a reader needs the erased bytes. The job that the erasure scheduled then tries again."""
    await asyncio.to_thread(deps.index.erase, deps.org)
    return await deps.store.scrub()


async def carry_on(_event: Erased, deps: Deps) -> None:
    if not await deps.store.scrub():
        await deps.store.write(lambda tx: schedule(tx, AGAIN_MS), hold_org=False)
