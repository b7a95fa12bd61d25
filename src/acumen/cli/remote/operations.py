"""`acumen tail`, `failures`, `outcomes` and `purge`: recorded tool calls and what came of them."""

import time
from collections.abc import Iterator
from typing import Annotated, Any, Literal

import typer

from acumen.cli.options import AsJson, Limit, Reply, Session, User, examples, remote
from acumen.cli.output import counted, listed, when
from acumen.errors import BadInput
from acumen.model.prompt_injection import visible
from acumen_client.client import Client
from acumen_client.wire.failures import FailureResponse, GroupState
from acumen_client.wire.operations import OperationView

app = typer.Typer()

POLL_SECONDS = 1.0
# Longest message in a line of `tail`.
MESSAGE = 200
_BARS = " ▁▂▃▄▅▆▇█"


# --- failures -------------------------------------------------------------------------------------------------------


@app.command(
    epilog=examples("acumen failures", "acumen failures grp_1234 --change archive", "acumen failures grp_1234 --json")
)
@remote
def failures(
    client: Client,
    group: Annotated[str | None, typer.Argument(help="Id of a group, to show its details.")] = None,
    change: Annotated[
        Literal["merge", "unmerge", "resolve", "archive", "reopen"] | None, typer.Option(help="Change the group.")
    ] = None,
    into: Annotated[str | None, typer.Option(help="merge: the group to merge into.")] = None,
    closed: Annotated[bool, typer.Option("--closed", help="List resolved and archived groups instead.")] = False,
    put_away: Annotated[bool, typer.Option("--put-away", hidden=True)] = False,
    limit: Limit = 50,
) -> Reply:
    """List failure groups, or show one."""
    if change is not None:
        if group is None:
            raise BadInput("Name the group to change: acumen failures GROUP --change …")
        changed = client.change_failure(group_id=group, change=change, into=into)
        count = counted(changed.group.count, "failure")
        return Reply(changed, f"Group {changed.group.group_id}: {changed.group.state}, {count}.")
    if group is not None:
        failure = client.failure(group_id=group)
        return Reply(failure, visible(_details(failure)))
    states: list[GroupState] | None = ["resolved", "archived"] if closed or put_away else None
    page = client.failures(states=states, limit=limit)
    rows = [
        [row.group_id, row.state, row.count, row.sessions, when(row.last_seen), row.endpoint, row.template]
        for row in page.groups
    ]
    headings = ["group", "status", "count", "sessions", "last seen", "call", "failure"]
    return Reply(page, listed(headings, rows, f"{counted(page.total, 'failure group')}."))


def _details(failure: FailureResponse) -> str:
    group, proposal = failure.group, failure.proposal
    times = f"{counted(group.count, 'time')} in {counted(group.sessions, 'session')}"
    return "\n".join(
        [
            f"{group.group_id}  {group.state}  {times}",
            f"Call       {group.source}: {group.endpoint} ({group.error_type or 'no type'})",
            f"Failure    {group.template}",
            f"24 hours   {_trend(failure.hours)}",
            f"30 days    {_trend(failure.days)}",
            *([f"Flags      {', '.join(failure.hazards)}"] if failure.hazards else []),
            *(
                f"Analysis   [{analysis.engine}, {analysis.state}] {analysis.diagnosis.get('cause', '')}"
                for analysis in failure.analyses[:3]
            ),
            *(
                [f"Lesson     {proposal.agent_playbook_id} ({proposal.approval}) {proposal.content}"]
                if proposal
                else []
            ),
            "",
            *(
                f"  {when(example.received_at)}  {example.op_id}  {(example.error_message or '')[:120]!r}"
                for example in failure.examples
            ),
        ]
    )


def _trend(counts: list[int]) -> str:
    highest = max(counts, default=0)
    return "".join(_BARS[-(-count * 8 // (highest or 1))] for count in counts) + f"  max {highest}"


# --- tail -----------------------------------------------------------------------------------------------------------


@app.command(
    epilog=examples("acumen tail", "acumen tail --status error --source mcp", "acumen tail --no-follow --json")
)
@remote
def tail(
    client: Client,
    source: Annotated[str | None, typer.Option(help="Filter by source.")] = None,
    status: Annotated[
        Literal["ok", "error", "cancelled", "unknown"] | None, typer.Option(help="Filter by status.")
    ] = None,
    endpoint: Annotated[str | None, typer.Option(help="Filter by endpoint or tool.")] = None,
    session: Session = None,
    user: User = None,
    lines: Annotated[int, typer.Option("--lines", "-n", min=1, max=1000, help="Number of latest calls.")] = 10,
    follow: Annotated[bool, typer.Option("--follow/--no-follow", help="Wait for new calls.")] = True,
    as_json: AsJson = False,
) -> None:
    """Show tool calls live: the latest ones, then each new one until Ctrl-C."""
    filters: dict[str, Any] = {
        "source": source,
        "status": status,
        "endpoint": endpoint,
        "session_id": session,
        "user_id": user,
    }
    page = client.operations(**filters, limit=lines)
    cursor = page.cursor or "0."
    _show(reversed(page.operations), as_json=as_json)
    while follow:
        time.sleep(POLL_SECONDS)
        page = client.operations(**filters, after=cursor, limit=1000)
        cursor = page.cursor or cursor
        _show(iter(page.operations), as_json=as_json)


def _show(operations: Iterator[OperationView], *, as_json: bool) -> None:
    for operation in operations:
        typer.echo(operation.model_dump_json(exclude_none=True) if as_json else _line(operation))


def _line(operation: OperationView) -> str:
    duration = "" if operation.duration_ms is None else f" {operation.duration_ms:.0f} ms"
    message = (operation.error_message or operation.output_summary or operation.input_summary or "")[:MESSAGE]
    text = f"{operation.source} {operation.endpoint} {operation.status}{duration} {message}".replace("\n", " ")
    return f"{when(operation.received_at)}  {visible(text)}".rstrip()


# --- outcomes and purge ---------------------------------------------------------------------------------------------


@app.command(epilog=examples("acumen outcomes > outcomes.jsonl"))
@remote
def outcomes(client: Client) -> None:
    """Export outcomes, verdicts and evaluations as JSON lines, oldest first."""
    cursor = None
    while (page := client.export_outcomes(after=cursor)).operations:
        _show(iter(page.operations), as_json=True)
        cursor = page.cursor


@app.command(epilog=examples("acumen purge --source rogue-agent", "acumen purge --session s1"))
@remote
def purge(
    client: Client,
    op_id: Annotated[str | None, typer.Option("--operation", help="Id of one operation.")] = None,
    session: Annotated[str | None, typer.Option("--session", "-s", help="All operations of a session.")] = None,
    source: Annotated[str | None, typer.Option(help="All operations of a source.")] = None,
) -> Reply:
    """Delete operations and everything derived from them."""
    if sum(option is not None for option in (op_id, session, source)) != 1:
        raise BadInput("Pass exactly one of --operation, --session and --source.")
    answer = client.purge_operations(op_id=op_id, session_id=session, source=source)
    deleted = [
        counted(answer.operations, "operation"),
        counted(answer.groups, "failure group"),
        counted(answer.proposals, "lesson"),
    ]
    remaining = counted(answer.proposals_kept, "lesson")
    return Reply(answer, f"Deleted {', '.join(deleted)}; {remaining} remain with less evidence.")
