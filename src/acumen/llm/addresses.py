"""Which addresses the model of an organization may have: public ones, unless the operator allows others."""

import ipaddress
from collections.abc import Iterator
from urllib.parse import urlsplit

from acumen.errors import BadInput
from acumen.model.metering.llm_choice import LlmChoice
from acumen.settings import LlmSettings

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

# These name this machine without any lookup.
_LOCAL_NAMES = ("localhost", ".localhost", ".local", ".internal")


def check_choice(choice: LlmChoice, settings: LlmSettings) -> None:
    """BadInput for an address that is known to be private; names are looked up when they are called."""
    if not choice.url or settings.private_org_models:
        return
    host = (urlsplit(choice.url).hostname or "").rstrip(".")
    if host == _LOCAL_NAMES[0] or host.endswith(_LOCAL_NAMES[1:]) or not is_public(host):
        raise BadInput(
            f"api_base: {host} is an address of this machine or of a private network, where a model of an "
            "organization may not be. The operator can allow it with llm.private_org_models."
        )


def is_public(address: str) -> bool:
    """True for names: what they stand for is checked at each connection."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return True
    return all(each.is_global and not each.is_multicast for each in _meanings(parsed))


def _meanings(address: Address) -> Iterator[Address]:
    """The address, and those that it carries packets to."""
    yield address
    if isinstance(address, ipaddress.IPv6Address):
        inner = (address.ipv4_mapped, address.sixtofour, *(address.teredo or ()))
        yield from (carried for carried in inner if carried is not None)
        if address in _NAT64:
            yield ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)


_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
