"""`acumen aggregate` and `acumen shared-lessons`: similar user playbooks become one, and a person approves it."""

import sys
import time
import uuid
from typing import Annotated

import typer

from acumen.cli.options import AgentVersion, Approval, Limit, Reply, Wait, examples, remote
from acumen.cli.output import table, when
from acumen.cli.remote.publish_search import line_of
from acumen_client.client import Client
from acumen_client.wire.aggregation import (
    AgentPlaybookSnapshot,
    PlaybookAggregationChangeLog,
    PlaybookAggregationOperation,
)
from acumen_client.wire.memories import AgentPlaybookView
from acumen_client.wire.shapes import PlaybookStatus

app = typer.Typer()
group = typer.Typer()
app.add_typer(group, name="shared-lessons")

POLL_SECONDS = 0.2
ENDED = ("succeeded", "failed")

Version = Annotated[str, typer.Option("--agent-version", help="Version of the agent.")]
LessonIds = Annotated[list[int], typer.Argument(metavar="ID...", min=1, help="Ids from `acumen shared-lessons`.")]


# --- aggregate ----------------------------------------------------------------------------------------------------


@app.command(epilog=examples("acumen aggregate --wait", "acumen aggregate --agent-version v2 --wait --json"))
@remote
def aggregate(
    client: Client,
    agent_version: Version = "agent-v0",
    wait: Wait = False,
    full: Annotated[bool, typer.Option("--full", help="Compare all lessons again, not only changed ones.")] = False,
) -> Reply:
    """Merge similar user playbooks into shared lessons. This also happens automatically."""
    request_id = f"cli_{uuid.uuid4().hex}"
    run = client.submit_playbook_aggregation(request_id=request_id, agent_version=agent_version, full=full)
    if wait:
        run = _ended(client, run)
    return Reply(run, _summary(run), failed=run.status == "failed")


def _ended(client: Client, run: PlaybookAggregationOperation) -> PlaybookAggregationOperation:
    """The run once it has ended; progress is shown on a terminal."""
    on_screen = sys.stderr.isatty()
    while run.status not in ENDED:
        if on_screen:
            typer.echo(f"\r{run.status}: {run.done} of {run.total} done ", err=True, nl=False)
        time.sleep(POLL_SECONDS)
        run = client.playbook_aggregation_operation(operation_id=run.operation_id)
    if on_screen:
        typer.echo("\r", err=True, nl=False)
    return run


def _summary(run: PlaybookAggregationOperation) -> str:
    result = run.result
    if run.status == "failed":
        return f"The aggregation failed: {run.error}"
    if result is None:
        return f"Started as {run.operation_id}; use --wait to see the result."
    if result.skipped:
        return f"Nothing to share: {result.skipped}."
    counts = (
        f"{result.user_playbooks_processed} user playbooks, {result.clusters_found} clusters: "
        f"{result.playbooks_generated} lessons added, {result.playbooks_updated} reworded, "
        f"{result.playbooks_grown} grown, {result.playbooks_removed} removed, {result.unchanged} unchanged"
    )
    withheld = f", {result.withheld} rejected before" if result.withheld else ""
    return f"{counts}{withheld}."


# --- lessons ------------------------------------------------------------------------------------------------------


@group.callback(
    invoke_without_command=True,
    epilog=examples(
        "acumen shared-lessons", "acumen shared-lessons --approval pending", "acumen shared-lessons approve 3 4"
    ),
)
@remote
def shared_lessons(
    client: Client,
    approval: Approval = None,
    agent_version: AgentVersion = None,
    limit: Limit = 100,
) -> Reply:
    """List, approve or reject lessons shared by all users."""
    statuses = [PlaybookStatus(approval)] if approval else None
    page = client.agent_playbooks(playbook_status_filter=statuses, agent_version=agent_version, limit=limit)
    rows = [_row(lesson) for lesson in page.agent_playbooks]
    headings = ["id", "approval", "version", "lesson", "created"]
    return Reply(page, table(headings, rows) if rows else "No shared lessons.")


def _row(lesson: AgentPlaybookView) -> list[object]:
    about = [lesson.agent_playbook_id, lesson.playbook_status, lesson.agent_version or None]
    return [*about, line_of(lesson), when(lesson.created_at)]


@group.command(epilog=examples("acumen shared-lessons approve 3 4"))
@remote
def approve(client: Client, ids: LessonIds) -> Reply:
    """Approve lessons. From now on they are injected for all users."""
    return _decide(client, ids, PlaybookStatus.APPROVED)


@group.command(epilog=examples("acumen shared-lessons reject 3"))
@remote
def reject(client: Client, ids: LessonIds) -> Reply:
    """Reject lessons. They leave search and are not proposed again from the same evidence."""
    return _decide(client, ids, PlaybookStatus.REJECTED)


def _decide(client: Client, ids: list[int], status: PlaybookStatus) -> Reply:
    for lesson in ids:
        client.update_agent_playbook_status(agent_playbook_id=lesson, playbook_status=status)
    value = {"agent_playbook_ids": ids, "playbook_status": status}
    return Reply(value, f"Lesson {', '.join(map(str, ids))}: {status}.")


@group.command(epilog=examples("acumen shared-lessons changes --agent-version v2"))
@remote
def changes(
    client: Client,
    agent_version: Version = "agent-v0",
    name: Annotated[str, typer.Option(help="Name of the playbook.")] = "playbook",
    limit: Limit = 20,
) -> Reply:
    """List what each aggregation added, reworded and removed, with the text at that time."""
    logs = client.playbook_aggregation_changes(agent_version=agent_version, playbook_name=name, limit=limit)
    lines = [line for log in logs.change_logs for line in _change_lines(log)]
    none = f"No aggregation changed lessons {name!r} of version {agent_version!r} yet; see --agent-version."
    return Reply(logs, "\n".join(lines) or none)


def _change_lines(log: PlaybookAggregationChangeLog) -> list[str]:
    added = [f"  + {_snapshot(lesson)}" for lesson in log.added_agent_playbooks]
    updated = [f"  ~ {_snapshot(update.before)} -> {update.after.content}" for update in log.updated_agent_playbooks]
    removed = [f"  - {_snapshot(lesson)}" for lesson in log.removed_agent_playbooks]
    return [f"{when(log.created_at)} ({log.operation_id})", *added, *updated, *removed]


def _snapshot(lesson: AgentPlaybookSnapshot) -> str:
    return f"{lesson.agent_playbook_id}: {lesson.content}"
