"""The commands about what agents did, as they are typed; what they do stands in `operations.py`."""
# ruff: noqa: PLC0415, PLR0913, PLR0917 - each imports its file when it runs; what can be said is a parameter

from typing import Annotated, Literal

import typer

from acumen.cli.options import AsJson, Key, Limit, Url, User, examples, server

app = typer.Typer()
lessons = typer.Typer()
app.add_typer(lessons, name="proposals")

Change = Literal["merge", "unmerge", "resolve", "archive", "reopen"]
Approval = Literal["pending", "approved", "rejected"]
Decision = Literal["approve", "edit", "reject"]
Lesson = Annotated[int, typer.Argument(min=1, help="The lesson's id, as `acumen proposals` shows it.")]


@app.command(
    epilog=examples("acumen failures", "acumen failures grp_1234 --change archive", "acumen failures grp_1234 --json")
)
def failures(
    group: Annotated[str | None, typer.Argument(help="A group, to be told all about it.")] = None,
    change: Annotated[Change | None, typer.Option(help="What to do with the group.")] = None,
    into: Annotated[str | None, typer.Option(help="The group to merge it into.")] = None,
    put_away: Annotated[bool, typer.Option("--put-away", help="Show resolved and archived ones instead.")] = False,
    limit: Limit = 50,
    url: Url = None,
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """List failures that are one and the same, or tell all about one group."""
    from acumen.cli import operations
    from acumen.errors import BadInput

    with server(url, key) as client:
        if change is None:
            operations.failures(client, group, archived=put_away, limit=limit, as_json=as_json)
        elif group is None:
            raise BadInput("Say which group to change: acumen failures GROUP --change …")
        else:
            operations.change(client, group, change, into, as_json=as_json)


@lessons.callback(
    invoke_without_command=True,
    epilog=examples("acumen proposals", "acumen proposals --approval approved", "acumen proposals approve 7"),
)
def proposals(
    context: typer.Context,
    approval: Annotated[Approval | None, typer.Option(help="Only those that stand so.")] = None,
    flagged: Annotated[bool, typer.Option("--flagged", help="Only those that deserve another look.")] = False,
    limit: Limit = 50,
    url: Url = None,
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """List the lessons that operations suggest; then approve, edit or reject them."""
    if context.invoked_subcommand is not None:
        return
    from acumen.cli import operations

    with server(url, key) as client:
        operations.proposals(client, approval, flagged=flagged, limit=limit, as_json=as_json)


@lessons.command(epilog=examples("acumen proposals approve 7"))
def approve(lesson: Lesson, url: Url = None, key: Key = None, as_json: AsJson = False) -> None:
    """Approve a lesson; agents are shown it from now on."""
    _decide(lesson, "approve", {}, url, key, as_json)


@lessons.command(epilog=examples("acumen proposals reject 7"))
def reject(lesson: Lesson, url: Url = None, key: Key = None, as_json: AsJson = False) -> None:
    """Reject a lesson; it is not proposed again."""
    _decide(lesson, "reject", {}, url, key, as_json)


@lessons.command(epilog=examples('acumen proposals edit 7 --content "Ask for at most 100 rows at once."'))
def edit(
    lesson: Lesson,
    content: Annotated[str | None, typer.Option(help="What the agent should do.")] = None,
    trigger: Annotated[str | None, typer.Option(help="When it applies.")] = None,
    url: Url = None,
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """Put a lesson into better words; it stays pending."""
    _decide(lesson, "edit", {"content": content, "trigger": trigger}, url, key, as_json)


def _decide(
    lesson: int, decision: Decision, words: dict[str, str | None], url: str | None, key: str | None, as_json: bool
) -> None:
    from acumen.cli import operations

    with server(url, key) as client:
        operations.decide(client, lesson, decision, words, as_json=as_json)


@app.command(
    epilog=examples("acumen tail", "acumen tail --status error --source mcp", "acumen tail --no-follow --json")
)
def tail(
    source: Annotated[str | None, typer.Option(help="Only of this source.")] = None,
    status: Annotated[Literal["ok", "error", "cancelled", "unknown"] | None, typer.Option(help="Only such.")] = None,
    endpoint: Annotated[str | None, typer.Option(help="Only calls of this endpoint or tool.")] = None,
    session: Annotated[str | None, typer.Option("--session", "-s", help="Only of this session.")] = None,
    user: User = None,
    lines: Annotated[int, typer.Option("--lines", "-n", min=1, max=1000, help="How many to begin with.")] = 10,
    follow: Annotated[bool, typer.Option("--follow/--no-follow", help="Wait for more as they come.")] = True,
    url: Url = None,
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """Watch operations as they come."""
    from acumen.cli import operations

    facets = {"source": source, "status": status, "endpoint": endpoint, "session_id": session, "user_id": user}
    with server(url, key) as client:
        operations.tail(client, facets, lines=lines, follow=follow, as_json=as_json)


@app.command(epilog=examples("acumen outcomes > outcomes.jsonl"))
def outcomes(url: Url = None, key: Key = None) -> None:
    """Print outcomes, verdicts and evaluations as JSON lines, oldest first."""
    from acumen.cli import operations

    with server(url, key) as client:
        operations.outcomes(client)


@app.command(epilog=examples("acumen purge --source rogue-agent", "acumen purge --session s1"))
def purge(
    op_id: Annotated[str | None, typer.Option("--operation", help="One operation.")] = None,
    session: Annotated[str | None, typer.Option("--session", "-s", help="All operations of a session.")] = None,
    source: Annotated[str | None, typer.Option(help="All operations of a source.")] = None,
    url: Url = None,
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """Remove operations and everything that was derived from them."""
    from acumen.cli import operations

    with server(url, key) as client:
        operations.purge(client, op_id, session, source, as_json=as_json)
