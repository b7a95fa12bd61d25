"""The Python client of Acumen: publish what an agent did, recall what was learned."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from acumen_client.client import AsyncClient, Client, Retry
    from acumen_client.errors import (
        AcumenError,
        BadInput,
        Conflict,
        NotAllowed,
        NotAuthenticated,
        NotFound,
        ServerFailed,
        StorageFull,
        TooLarge,
        Unavailable,
    )
    from acumen_client.handles import strip_handles
    from acumen_client.session import AsyncSession, Session
    from acumen_client.wire.config import Config
    from acumen_client.wire.memories import NewAgentPlaybook, NewProfile, NewUserPlaybook
    from acumen_client.wire.observe import Citation, InteractionData, RetrievedLearning, ToolUsed
    from acumen_client.wire.shapes import Role

__version__ = "0.1.0"

__all__ = [
    "AcumenError",
    "AsyncClient",
    "AsyncSession",
    "BadInput",
    "Citation",
    "Client",
    "Config",
    "Conflict",
    "InteractionData",
    "NewAgentPlaybook",
    "NewProfile",
    "NewUserPlaybook",
    "NotAllowed",
    "NotAuthenticated",
    "NotFound",
    "RetrievedLearning",
    "Retry",
    "Role",
    "ServerFailed",
    "Session",
    "StorageFull",
    "TooLarge",
    "ToolUsed",
    "Unavailable",
    "strip_handles",
]

_HOMES = {
    "client": ("AsyncClient", "Client", "Retry"),
    "errors": (
        "AcumenError",
        "BadInput",
        "Conflict",
        "NotAllowed",
        "NotAuthenticated",
        "NotFound",
        "ServerFailed",
        "StorageFull",
        "TooLarge",
        "Unavailable",
    ),
    "handles": ("strip_handles",),
    "session": ("AsyncSession", "Session"),
    "wire.config": ("Config",),
    "wire.memories": ("NewAgentPlaybook", "NewProfile", "NewUserPlaybook"),
    "wire.observe": ("Citation", "InteractionData", "RetrievedLearning", "ToolUsed"),
    "wire.shapes": ("Role",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: a server that only wants the shapes never loads httpx."""
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)


def __dir__() -> list[str]:
    return sorted({"__all__", "__doc__", "__file__", "__name__", "__path__", "__version__", *__all__})
