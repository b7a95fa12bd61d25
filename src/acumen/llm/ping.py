"""Whether the configured model answers: the smallest question there is, asked once."""

from acumen.llm import prompt
from acumen.llm.gateway import Gateway
from acumen.llm.prompt import Shape
from acumen.model.metering.llm_call import LlmCall
from acumen.model.metering.llm_choice import LlmChoice
from acumen.settings import LlmSettings


class Ready(Shape):
    ready: bool


READY = prompt.load(__file__, "ping", Ready)


class _Unbilled:
    """There may be no database yet to write it down in."""

    async def spent_today(self) -> int:
        return 0

    async def note(self, call: LlmCall) -> None:
        pass


async def ping(settings: LlmSettings, within: float) -> str | None:
    """The name of the model that answered; None where none is configured; ModelUnavailable when it does not answer."""
    gateway = Gateway(settings.model_copy(update={"attempts": 1}))
    try:
        llm = gateway.of(LlmChoice(), _Unbilled())
        if llm is None:
            return None
        return (await llm.ask(READY.question({"hello": "Hello?"}, within=within))).origin.model
    finally:
        await gateway.close()
