"""What a handler receives, and the registry of handlers."""

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from msgspec import Struct
from pydantic import BaseModel

from acumen.app import App
from acumen.auth.authenticator import Caller, KeyAuthenticator
from acumen.deps import Deps
from acumen_client.endpoint import Endpoint

A = TypeVar("A", bound=BaseModel)
Q = TypeVar("Q", bound=BaseModel)


class Call(Struct, frozen=True):
    app: App
    keys: KeyAuthenticator
    caller: Caller
    deps: Deps


Handler = Callable[[Any, Call], Awaitable[BaseModel]]
HANDLERS: dict[str, Handler] = {}


def answers(
    endpoint: Endpoint[..., A],
) -> Callable[[Callable[[Q, Call], Awaitable[A]]], Callable[[Q, Call], Awaitable[A]]]:
    """Registers the handler of an endpoint; the type checker verifies the type of its answer."""

    def register(handler: Callable[[Q, Call], Awaitable[A]]) -> Callable[[Q, Call], Awaitable[A]]:
        HANDLERS[endpoint.name] = handler
        return handler

    return register
