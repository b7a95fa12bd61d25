"""`acumen tail`, `failures`, `outcomes` and `purge`: recorded tool calls and their outcomes."""

import json
import time
from collections.abc import Callable, Iterator
from typing import Annotated, Any, Literal, TypeVar

import typer
from pydantic import BaseModel

from acumen.cli.options import AsJson, Limit, Reply, Session, User, examples, remote
from acumen.cli.output import listed, when
from acumen.errors import BadInput
from acumen.model.plural import counted
from acumen.model.prompt_injection import visible
from acumen_client.client import Client
from acumen_client.wire.failures import FailureResponse, GroupState
from acumen_client.wire.operations import OperationView

app = typer.Typer()

POLL_SECONDS = 1.0
# Longest message in a line of `tail`.
MESSAGE = 200
_BARS = " ▁▂▃▄▅▆▇█"
# Records of one request.
PAGE = 1000
NOTHING = "No operations match; nothing was deleted."
M = TypeVar("M", bound=BaseModel)


# --- failures -------------------------------------------------------------------------------------------------------


@app.command(
    epilog=examples("acumen failures", "acumen failures grp_1234 --change archive", "acumen failures grp_1234 --json")
)
@remote
def failures(
    client: Client,
    group: Annotated[str | None, typer.Argument(metavar="GROUP", help="Id of a group, to show its details.")] = None,
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
            raise BadInput("--change requires a group: acumen failures GROUP --change …")
        _check_merge(change, into)
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
    total = counted(page.total, "failure group") if page.total else "No failure groups"
    return Reply(page, listed(headings, rows, f"{total}."))


def _check_merge(change: str, into: str | None) -> None:
    if change == "merge" and into is None:
        raise BadInput("--change merge requires --into GROUP.")
    if change != "merge" and into is not None:
        raise BadInput("--into can only be used with --change merge.")


def _details(failure: FailureResponse) -> str:
    group, proposal = failure.group, failure.proposal
    times = f"{counted(group.count, 'time')} in {counted(group.sessions, 'session')}"
    return "\n".join(
        [
            f"{group.group_id}  {group.state}  {times}",
            f"Call       {group.source}: {group.endpoint} ({group.error_type or 'no type'})",
            f"Failure    {group.template}",
            f"24 hours   {_trend(failure.hours, 'hour')}",
            f"30 days    {_trend(failure.days, 'day')}",
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


def _trend(counts: list[int], unit: str) -> str:
    """`unit`: hour or day."""
    highest = max(counts, default=0)
    bars = "".join(_BARS[-(-count * 8 // (highest or 1))] for count in counts).rstrip()
    return f"{bars}  at most {highest} per {unit}" if highest else f"0 per {unit}"


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
    if not (page.operations or follow or as_json):
        typer.echo("No tool calls yet.")
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


@app.command(
    epilog=examples(
        "acumen outcomes > outcomes.jsonl",
        "",
        "`kind` is `outcome`, `verdict` or `evaluation` for recorded operations, `session_outcome` for outcomes "
        "reported of sessions, and `session_evaluation` for graded sessions.",
    )
)
@remote
def outcomes(client: Client) -> None:
    """Export outcomes, verdicts and evaluations as JSON lines: of operations, then of sessions, oldest first."""
    empty = True
    for line in _outcome_lines(client):
        typer.echo(line)
        empty = False
    if empty:
        typer.echo("No outcomes.", err=True)


def _outcome_lines(client: Client) -> Iterator[str]:
    cursor = None
    while (page := client.export_outcomes(after=cursor)).operations:
        yield from (operation.model_dump_json(exclude_none=True) for operation in page.operations)
        cursor = page.cursor
    reported = _all_pages(lambda offset: client.session_outcomes(top_k=PAGE, offset=offset).session_outcomes)
    yield from (_kind_line("session_outcome", record) for record in reversed(reported))
    graded = _all_pages(
        lambda offset: client.evaluation_results(limit=PAGE, offset=offset).agent_success_evaluation_results
    )
    yield from (_kind_line("session_evaluation", result) for result in reversed(graded))


def _all_pages(page_at: Callable[[int], list[M]]) -> list[M]:
    records: list[M] = []
    while page := page_at(len(records)):
        records += page
    return records


def _kind_line(kind: str, record: BaseModel) -> str:
    return json.dumps({"kind": kind, **record.model_dump(mode="json", exclude_none=True)}, ensure_ascii=False)


@app.command(epilog=examples("acumen purge --source rogue-agent --dry-run", "acumen purge --session s1 --yes"))
@remote
def purge(
    client: Client,
    op_id: Annotated[str | None, typer.Option("--operation", help="Id of one operation.")] = None,
    session: Annotated[str | None, typer.Option("--session", "-s", help="All operations of a session.")] = None,
    source: Annotated[str | None, typer.Option(help="All operations of a source.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Count the operations; delete nothing.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,
) -> Reply:
    """Delete operations and everything derived from them. This cannot be undone."""
    if sum(option is not None for option in (op_id, session, source)) != 1:
        raise BadInput("Pass exactly one of --operation, --session and --source.")
    selected: dict[str, Any] = {"op_id": op_id, "session_id": session, "source": source}
    preview = client.purge_operations(**selected, dry_run=True)
    matching = counted(preview.operations, "operation")
    if dry_run or not preview.operations:
        return Reply(preview, f"Would delete {matching} and everything derived from them." if dry_run else NOTHING)
    if not yes:
        typer.confirm(f"Delete {matching} and everything derived from them? This cannot be undone.", abort=True)
    answer = client.purge_operations(**selected)
    deleted = [
        counted(answer.operations, "operation"),
        counted(answer.groups, "failure group"),
        counted(answer.proposals, "lesson"),
    ]
    remaining = counted(answer.proposals_kept, "lesson")
    return Reply(answer, f"Deleted {', '.join(deleted)}; {remaining} remain with less evidence.")
