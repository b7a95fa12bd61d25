"""A model that an organization has configured is reached at public addresses only, whatever its name stands for."""

import socket

import pytest
from pydantic import BaseModel

from acumen.errors import BadInput, ModelFailed
from acumen.llm.addresses import check_choice, is_public
from acumen.llm.gateway import Gateway, Ledger
from acumen.llm.prompt import Prompt
from acumen.model.metering.llm_call import LlmCall
from acumen.model.metering.llm_choice import LlmChoice
from acumen.settings import LlmSettings
from tests.model_server import model_server, says

PRIVATE = ["127.0.0.1", "0.0.0.0", "10.0.0.8", "172.16.4.4", "192.168.1.1", "169.254.169.254", "100.100.100.200"]
PRIVATE += [
    "224.0.0.1",
    "::1",
    "::",
    "fe80::1",
    "fd00:ec2::254",
    "::ffff:127.0.0.1",
    "64:ff9b::7f00:1",
    "2002:7f00:1::",
]


@pytest.mark.parametrize("address", PRIVATE)
def test_an_address_of_this_machine_or_network_is_not_public(address: str):
    assert not is_public(address)


@pytest.mark.parametrize("address", ["8.8.8.8", "1.1.1.1", "2606:4700:4700::1111", "models.example.com"])
def test_other_addresses_and_names_are(address: str):
    assert is_public(address)


class Vote(BaseModel):
    worth_reading: bool


PROMPT = Prompt("vote", "---\nrole: gate\nwrites: 50\n---\nVote.\n---\n{{talk:200}}\n", Vote)


class Nowhere(Ledger):
    async def spent_today(self) -> int:
        return 0

    async def note(self, call: LlmCall) -> None: ...


# A name of this machine that says nothing of it: what it stands for is known only when it is looked up.
NUMBER = "2130706433"


@pytest.mark.parametrize("allowed", [False, True])
async def test_a_name_is_looked_up_and_checked_when_it_is_called(allowed: bool):
    assert socket.gethostbyname(NUMBER) == "127.0.0.1"
    async with model_server(says({"worth_reading": True})) as server:
        settings = LlmSettings(private_org_models=allowed, attempts=1)
        choice = LlmChoice("endpoint", server.url.replace("127.0.0.1", NUMBER), "sk-of-the-org", model="m")
        check_choice(choice, settings)  # before the call it looks like any name
        gateway = Gateway(settings)
        llm = gateway.of(choice, Nowhere())
        assert llm is not None
        try:
            if allowed:
                assert (await llm.ask(PROMPT.question({"talk": "hello"}))).value.worth_reading
            else:
                with pytest.raises(ModelFailed):
                    await llm.ask(PROMPT.question({"talk": "hello"}))
        finally:
            await gateway.close()

        assert bool(server.asked) is allowed


async def test_the_operators_own_address_is_free():
    async with model_server(says({"worth_reading": True})) as server:
        gateway = Gateway(LlmSettings(url=server.url, model="m"))
        llm = gateway.of(LlmChoice(), Nowhere())
        assert llm is not None
        try:
            assert (await llm.ask(PROMPT.question({"talk": "hello"}))).value.worth_reading
        finally:
            await gateway.close()


def test_an_org_is_told_which_setting_allows_a_private_address():
    with pytest.raises(BadInput, match="private_org_models"):
        check_choice(LlmChoice("endpoint", "http://localhost:11434/v1", "k"), LlmSettings())
