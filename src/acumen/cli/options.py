"""Options that several commands share, each worded once."""

from pathlib import Path
from typing import Annotated

import typer

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]

# --- which server, for the commands that speak to one -------------------------------------------------------------

Url = Annotated[
    str | None,
    typer.Option("--url", envvar="ACUMEN_URL", show_default="http://127.0.0.1:8061", help="The server to talk to."),
]
Key = Annotated[str | None, typer.Option("--key", envvar="ACUMEN_KEY", help="The key to show it, if it wants one.")]
User = Annotated[str | None, typer.Option("--user", "-u", help="The user that the agent serves.")]

# --- which database, for the commands that work on this machine ---------------------------------------------------

Data = Annotated[
    Path | None,
    typer.Option("--data", envvar="ACUMEN_DATA", show_default="~/.acumen", help="Folder of the embedded database."),
]
ConfigFile = Annotated[str | None, typer.Option("--config", envvar="ACUMEN_CONFIG", help="A TOML file with settings.")]


def examples(*lines: str) -> str:
    """The end of a command's help, each line kept as it is."""
    return "\n".join(["\b", "Examples:", *(f"  {line}" for line in lines)])
