"""What language models cost: every question is written down, and a day has its budget."""

from msgspec import Struct
from msgspec.structs import replace

from acumen.deps import Deps
from acumen.model.ids import InteractionId, Millis, UserId
from acumen.model.jobs.events import Hour
from acumen.model.metering.llm_call import LlmCall
from acumen.model.times import DAY_MS
from acumen.storage.store import OrgStore, Tx


class StoredLedger(Struct, frozen=True):
    """An org's calls, in its database."""

    store: OrgStore

    async def spent_today(self) -> int:
        return await self.store.read(lambda tx: tx.llm_calls.get_spent(midnight(tx.at)).tokens)

    async def note(self, call: LlmCall) -> None:
        """A user who was erased while the model was thinking is not written down again."""

        def write(tx: Tx) -> None:
            gone = call.user_id is not None and not tx.conversations.find_after(
                UserId(call.user_id), InteractionId(0), 1
            )
            tx.llm_calls.add(replace(call, user_id=None, request_id=None) if gone else call)

        await self.store.write_shared(write)


def midnight(at: Millis) -> Millis:
    """When the day (UTC) began."""
    return Millis(at - at % DAY_MS)


async def expire(_event: Hour, deps: Deps) -> None:
    """Calls are kept as long as other counts are."""
    before = Millis(deps.now() - deps.settings.meter.keep_days * DAY_MS)
    await deps.store.write(lambda tx: tx.llm_calls.expire(before))
