"""Options that several commands share, each worded once."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from acumen_client.client import Client

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]

# --- which server, for the commands that speak to one -------------------------------------------------------------

Url = Annotated[
    str | None,
    typer.Option("--url", envvar="ACUMEN_URL", show_default="http://127.0.0.1:8061", help="The server to talk to."),
]
Key = Annotated[str | None, typer.Option("--key", envvar="ACUMEN_KEY", help="The key to show it, if it wants one.")]
User = Annotated[str | None, typer.Option("--user", "-u", help="The user that the agent serves.")]
Limit = Annotated[int, typer.Option(min=1, max=1000, help="At most this many.")]

# --- which database, for the commands that work on this machine ---------------------------------------------------

Data = Annotated[
    Path | None,
    typer.Option("--data", envvar="ACUMEN_DATA", show_default="~/.acumen", help="Folder of the embedded database."),
]
ConfigFile = Annotated[str | None, typer.Option("--config", envvar="ACUMEN_CONFIG", help="A TOML file with settings.")]


def examples(*lines: str) -> str:
    """The end of a command's help, each line kept as it is."""
    return "\n".join(["\b", "Examples:", *(f"  {line}" for line in lines)])


@contextmanager
def server(url: str | None, key: str | None, **more: Any) -> "Iterator[Client]":
    """A client of the server that the command line names; only the commands that speak to one load it."""
    from acumen_client.client import Client  # noqa: PLC0415 - see above

    with Client(url, key, **more) as client:
        yield client
