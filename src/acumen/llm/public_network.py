"""Connections to public addresses only. The address that was checked is the one that is connected to."""

import asyncio
import socket
from collections.abc import Iterable
from typing import Any

from httpcore2 import AsyncNetworkBackend, AsyncNetworkStream, ConnectError
from httpcore2._backends.auto import AutoBackend

from acumen.llm.addresses import is_public


class PublicNetwork(AsyncNetworkBackend):
    """Looks each name up itself, so that a name cannot mean another address between the check and the connection."""

    def __init__(self) -> None:
        self._network = AutoBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - of the protocol
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> AsyncNetworkStream:
        failure: Exception | None = None
        for address in await _public_addresses(host, port):
            try:
                return await self._network.connect_tcp(address, port, timeout, local_address, socket_options)
            except ConnectError as error:
                failure = error
        raise failure or ConnectError(f"{host} has no address")

    async def sleep(self, seconds: float) -> None:
        await self._network.sleep(seconds)


async def _public_addresses(host: str, port: int) -> list[str]:
    """ConnectError if one of them is not public."""
    try:
        infos = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise ConnectError(str(error)) from error
    addresses = list(dict.fromkeys(str(info[4][0]).partition("%")[0] for info in infos))
    if not all(map(is_public, addresses)):
        raise ConnectError("the address is of this machine or of a private network")
    return addresses
