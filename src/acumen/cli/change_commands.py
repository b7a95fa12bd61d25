"""The commands that list changes to memories and undo one, as they are typed."""
# ruff: noqa: PLC0415, PLR0913, PLR0917 - each imports its file when it runs; and what can be typed is a parameter

from typing import Annotated

import typer

from acumen.cli.options import AsJson, Key, Limit, Url, User, examples, server

app = typer.Typer()
changing = typer.Typer()
app.add_typer(changing, name="changes")


@changing.callback(
    invoke_without_command=True,
    epilog=examples(
        "acumen changes",
        "acumen changes --user ana --kind superseded --kind conflict --since 2026-01-31",
        "acumen changes --session s1 --json",
        "acumen changes undo 118",
    ),
)
def changes(
    context: typer.Context,
    user: User = None,
    kind: Annotated[list[str] | None, typer.Option("--kind", help="Filter by change, such as superseded.")] = None,
    since: Annotated[str | None, typer.Option(help="From this date or moment on, such as 2026-01-31.")] = None,
    until: Annotated[str | None, typer.Option(help="Before this date or moment.")] = None,
    session: Annotated[str | None, typer.Option(help="Filter by the session that caused it.")] = None,
    limit: Limit = 20,
    cursor: Annotated[int | None, typer.Option(min=1, help="Older than this change.")] = None,
    url: Url = None,
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """List what was learned, refined, superseded, put in conflict, forgotten or expired, newest first."""
    if context.invoked_subcommand is not None:
        return
    from acumen.cli import changes as room

    wanted = {"user_id": user, "session_id": session, "limit": limit, "cursor": cursor}
    with server(url, key) as client:
        room.listed(client, kind or [], since, until, as_json=as_json, **wanted)


@changing.command(epilog=examples("acumen changes undo 118", 'acumen changes undo 118 --reason "both are right"'))
def undo(
    change: Annotated[int, typer.Argument(metavar="ID", min=1, help="As `acumen changes` lists it.")],
    reason: Annotated[str, typer.Option(help="Why, for the log.")] = "",
    url: Url = None,
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """Undo one change of a memory, unless it was changed again since."""
    from acumen.cli import changes as room

    with server(url, key) as client:
        room.undo(client, change, reason=reason, as_json=as_json)
