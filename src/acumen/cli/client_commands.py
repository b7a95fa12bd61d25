"""The commands that speak to a server, as they are typed; what they do stands in the files they name.

Each imports its file when it runs, so that none waits for the others.
"""
# ruff: noqa: PLC0415, PLR0913, PLR0917 - see above; and what can be said on the command line is a parameter

from pathlib import Path
from typing import Annotated, Literal

import typer

from acumen.cli.options import AsJson, Key, Limit, Url, User, examples, server

app = typer.Typer()
lessons = typer.Typer(help="Lessons shared by all users: list, approve, reject.", invoke_without_command=True)
app.add_typer(lessons, name="lessons")

Mode = Literal["hybrid", "fts", "vector"]
Ended = Literal["success", "failure", "unknown"]
Version = Annotated[str, typer.Option("--agent-version", help="Of which version of the agent.")]
LessonIds = Annotated[list[int], typer.Argument(metavar="ID...", min=1, help="As `acumen lessons` shows them.")]


@app.command(
    epilog=examples(
        'acumen publish --user ana "user: Deploy to production." "assistant: Deploying to us-east-1 now." '
        '"user: No, always use us-west-2." --wait',
        "acumen publish --user ana --session s1 --file turns.jsonl",
        "agent-log | acumen publish --user ana --stdin --json",
        "",
        "A file holds turns as JSON or JSON lines, whole publish bodies, or lines such as `user: hello`.",
    )
)
def publish(
    turns: Annotated[list[str] | None, typer.Argument(metavar='["SPEAKER: WORDS"]...', help="What was said.")] = None,
    user: User = None,
    session: Annotated[
        str | None, typer.Option("--session", "-s", show_default="a new one", help="The conversation it belongs to.")
    ] = None,
    file: Annotated[Path | None, typer.Option("--file", "-f", help="Read the turns from a file.")] = None,
    stdin: Annotated[bool, typer.Option("--stdin", help="Read the turns from standard input.")] = False,
    wait: Annotated[bool, typer.Option("--wait", "-w", help="Wait, and show what was learned.")] = False,
    finish: Annotated[bool, typer.Option("--finish", help="Say that the session is over.")] = False,
    source: Annotated[str | None, typer.Option(help="Where it was said.")] = None,
    agent_version: Annotated[str | None, typer.Option(help="Which version of the agent took part.")] = None,
    request_id: Annotated[str | None, typer.Option(help="Sent twice under one id, it is stored once.")] = None,
    url: Url = None,
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """Publish turns of a conversation. Success means that they are on disk."""
    from acumen.cli import talk
    from acumen.cli.turns import bodies

    said = {
        "user_id": user,
        "session_id": session,
        "source": source,
        "agent_version": agent_version,
        "request_id": request_id,
        "session_finished": finish or None,
    }
    about = {name: value for name, value in said.items() if value is not None}
    given = bodies(turns or [], file, stdin=stdin)
    # A server lets a publish wait a minute for its learning; its answer must still arrive.
    with server(url, key, timeout=75) as client:
        talk.publish(client, given, about, wait=wait, as_json=as_json)


@app.command(
    epilog=examples(
        'acumen search "which region do I deploy to" --user ana',
        'acumen search "how does she like her reports" -u ana --max-tokens 300 --context-only',
    )
)
def search(
    query: Annotated[str, typer.Argument(help="What the agent is about to do or answer.")],
    user: User = None,
    top_k: Annotated[int, typer.Option(min=1, max=100, help="At most this many of each kind.")] = 5,
    max_tokens: Annotated[int | None, typer.Option(min=0, show_default="the server's", help="Context budget.")] = None,
    mode: Annotated[Mode, typer.Option(help="By meaning and words, by words, or by meaning.")] = "hybrid",
    context_only: Annotated[bool, typer.Option("--context-only", help="Print only the text for the prompt.")] = False,
    count: Annotated[bool, typer.Option("--count/--no-count", help="Whether this counts as use by an agent.")] = True,
    url: Url = None,
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """Recall what is known that helps. Without --user only lessons shared by all users are found."""
    from acumen.cli import talk

    ask = {
        "query": query,
        "user_id": user,
        "top_k": top_k,
        "max_tokens": max_tokens,
        "search_mode": mode,
        "caller_type": "production_agent" if count else "internal",
    }
    with server(url, key) as client:
        talk.search(client, ask, context_only=context_only, as_json=as_json)


@app.command(epilog=examples("acumen status", "acumen status --watch", "acumen status --json"))
def status(
    watch: Annotated[bool, typer.Option("--watch", help="Look again every two seconds.")] = False,
    url: Url = None,
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """Show the jobs, the dead letters, the store and what it holds."""
    from acumen.cli import status as room

    with server(url, key) as client:
        room.run(client, watch=watch, as_json=as_json)


@app.command(epilog=examples("acumen sessions", "acumen sessions --user ana --limit 5", "acumen sessions --json"))
def sessions(
    user: User = None,
    limit: Limit = 20,
    url: Url = None,
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """List the latest sessions with how they ended, and why."""
    from acumen.cli import sessions as room

    with server(url, key) as client:
        room.listed(client, user, limit=limit, as_json=as_json)


@app.command(
    epilog=examples("acumen outcome s1 success", 'acumen outcome s1 failure --label "refund refused" --user ana')
)
def outcome(
    session: Annotated[str, typer.Argument(help="The session that ended.")],
    ended: Annotated[Ended, typer.Argument(help="How it ended.")],
    user: User = None,
    label: Annotated[str | None, typer.Option(help="What it was, in a few words.")] = None,
    value: Annotated[float | None, typer.Option(help="What it was worth.")] = None,
    url: Url = None,
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """State how a session ended. It goes before what any judge makes of it."""
    from acumen.cli import sessions as room

    with server(url, key) as client:
        room.state(client, session, ended, {"user_id": user, "label": label, "value": value}, as_json=as_json)


@app.command(epilog=examples("acumen aggregate --wait", "acumen aggregate --agent-version v2 --wait --json"))
def aggregate(
    agent_version: Version = "agent-v0",
    wait: Annotated[bool, typer.Option("--wait", "-w", help="Wait, and show what came of it.")] = False,
    full: Annotated[bool, typer.Option("--full", help="Compare every lesson again, not only changed ones.")] = False,
    url: Url = None,
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """Make one shared lesson of those that several users teach. It happens by itself, too."""
    from acumen.cli import lessons as room

    with server(url, key) as client:
        room.aggregate(client, agent_version, wait=wait, full=full, as_json=as_json)


@lessons.callback(epilog=examples("acumen lessons", "acumen lessons --approval pending", "acumen lessons approve 3 4"))
def list_lessons(
    context: typer.Context,
    approval: Annotated[
        Literal["pending", "approved", "rejected"] | None, typer.Option(help="Only those so far.")
    ] = None,
    agent_version: Annotated[str | None, typer.Option(help="Only of this version of the agent.")] = None,
    limit: Limit = 100,
    url: Url = None,
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """List the lessons shared by all users, with their approval; or decide on them."""
    from acumen.cli import lessons as room

    if context.invoked_subcommand is not None:
        return
    wanted = {"playbook_status_filter": approval, "agent_version": agent_version, "limit": limit}
    with server(url, key) as client:
        room.listed(client, wanted, as_json=as_json)


@lessons.command(epilog=examples("acumen lessons approve 3 4"))
def approve(ids: LessonIds, url: Url = None, key: Key = None, as_json: AsJson = False) -> None:
    """Say that lessons are right."""
    from acumen.cli import lessons as room
    from acumen_client.wire.shapes import PlaybookStatus

    with server(url, key) as client:
        room.decide(client, ids, PlaybookStatus.APPROVED, as_json=as_json)


@lessons.command(epilog=examples("acumen lessons reject 3"))
def reject(ids: LessonIds, url: Url = None, key: Key = None, as_json: AsJson = False) -> None:
    """Say that lessons are not to be shared. They leave search and do not come back from the same evidence."""
    from acumen.cli import lessons as room
    from acumen_client.wire.shapes import PlaybookStatus

    with server(url, key) as client:
        room.decide(client, ids, PlaybookStatus.REJECTED, as_json=as_json)


@lessons.command(epilog=examples("acumen lessons changes --agent-version v2"))
def changes(
    agent_version: Version = "agent-v0",
    name: Annotated[str, typer.Option(help="Of which playbook.")] = "playbook",
    limit: Limit = 20,
    url: Url = None,
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """Tell what aggregations added, reworded and removed, as it was then."""
    from acumen.cli import lessons as room

    with server(url, key) as client:
        room.changes(client, agent_version, name, limit=limit, as_json=as_json)
