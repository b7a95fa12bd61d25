"""Options that several commands share, and `remote`, which gives a command those of every call to a server."""

import inspect
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from msgspec import Struct
from pydantic import BaseModel

from acumen.cli.output import show

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]

# --- of commands that call a server ---------------------------------------------------------------------------------

Url = Annotated[
    str | None,
    typer.Option("--url", envvar="ACUMEN_URL", show_default="http://127.0.0.1:8061", help="Server address."),
]
Key = Annotated[str | None, typer.Option("--key", envvar="ACUMEN_KEY", help="API key.")]
User = Annotated[str | None, typer.Option("--user", "-u", help="User id.")]
AllUsers = Annotated[bool, typer.Option("--all-users", help="Include all users.")]
Session = Annotated[str | None, typer.Option("--session", "-s", help="Filter by session.")]
AgentVersion = Annotated[str | None, typer.Option(help="Filter by agent version.")]
Limit = Annotated[int, typer.Option(min=1, max=1000, help="Maximum number of results.")]
Days = Annotated[int, typer.Option(min=1, help="Days to look back.")]
Reason = Annotated[str, typer.Option(help="Reason, for the audit log.")]
Approval = Annotated[Literal["pending", "approved", "rejected"] | None, typer.Option(help="Filter by approval.")]
Wait = Annotated[bool, typer.Option("--wait", "-w", help="Wait for the end and show the result.")]

# A server lets a publish wait a minute for its learning; its answer must still arrive.
TIMEOUT_SECONDS = 75

# --- of commands that work on this machine --------------------------------------------------------------------------

Data = Annotated[
    Path | None,
    typer.Option("--data", envvar="ACUMEN_DATA", show_default="~/.acumen", help="Folder of the embedded database."),
]
ConfigFile = Annotated[str | None, typer.Option("--config", envvar="ACUMEN_CONFIG", help="TOML file with settings.")]
Host = Annotated[str | None, typer.Option(show_default="127.0.0.1", help="Address to listen on.")]
Port = Annotated[int | None, typer.Option(show_default="8061", help="Port to listen on; 0 chooses a free one.")]
Workers = Annotated[int | None, typer.Option(show_default="4", help="Number of jobs to run at once.")]


def examples(*lines: str) -> str:
    """The end of a command's help, each line kept as it is."""
    return "\n".join(["\b", "Examples:", *(f"  {line}" for line in lines)])


class Reply(Struct, frozen=True):
    """What a command prints: `value` as JSON or `text`. `failed` ends the process with 1."""

    value: BaseModel | dict[str, Any]
    text: str
    failed: bool = False


def remote(command: Callable[..., Reply | None]) -> Callable[..., None]:
    """Adds --url, --key and --json. The command takes a `client` first, and `as_json` only if it prints its own output.

    A command that has subcommands does not run when one of them is called.
    """
    parameters = list(inspect.signature(command).parameters.values())[1:]
    prints = any(parameter.name == "as_json" for parameter in parameters)
    options = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
        for name, default, annotation in (("url", None, Url), ("key", None, Key), ("as_json", False, AsJson))
        if not (prints and name == "as_json")
    ]
    options.append(inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context))

    @wraps(command)
    def run(*, context: typer.Context, url: str | None, key: str | None, as_json: bool, **arguments: Any) -> None:
        if context.invoked_subcommand is not None:
            return
        from acumen_client.client import Client  # noqa: PLC0415 - a command that only shows its help needs none

        with Client(url, key, timeout=TIMEOUT_SECONDS) as client:
            reply = command(client, **arguments, **({"as_json": as_json} if prints else {}))
        if reply is not None:
            show(as_json, reply.value, reply.text)
            if reply.failed:
                raise typer.Exit(1)

    by_keyword = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in parameters]
    run.__signature__ = inspect.Signature([*by_keyword, *options])  # type: ignore[attr-defined]
    return run
