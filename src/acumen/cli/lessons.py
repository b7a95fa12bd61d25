"""`acumen aggregate` and `acumen lessons`: what several users teach becomes one, and a person has the last word."""

import sys
import time
import uuid
from collections.abc import Sequence
from typing import Any

import typer

from acumen.cli.output import show, table, when
from acumen.cli.talk import line_of
from acumen.errors import Unavailable
from acumen_client.client import Client
from acumen_client.wire.aggregation import (
    AgentPlaybookSnapshot,
    PlaybookAggregationChangeLog,
    PlaybookAggregationOperation,
)
from acumen_client.wire.memories import AgentPlaybookView
from acumen_client.wire.shapes import PlaybookStatus

LOOK_EVERY_SECONDS = 0.2
OVER = ("succeeded", "failed")


# --- aggregate ----------------------------------------------------------------------------------------------------


def aggregate(client: Client, version: str, *, wait: bool, full: bool, as_json: bool) -> None:
    request_id = f"cli_{uuid.uuid4().hex}"
    operation = client.submit_playbook_aggregation(request_id=request_id, agent_version=version, full=full)
    if wait:
        operation = _watched(client, operation)
    show(as_json, operation, _aggregation_words(operation))
    if operation.status == "failed":
        raise Unavailable(f"The aggregation failed: {operation.error}")


def _watched(client: Client, operation: PlaybookAggregationOperation) -> PlaybookAggregationOperation:
    """How far it is, on one line that is written anew, for a person who looks."""
    on_screen = sys.stderr.isatty()
    while operation.status not in OVER:
        if on_screen:
            typer.echo(f"\r{operation.status}: {operation.done} of {operation.total} done ", err=True, nl=False)
        time.sleep(LOOK_EVERY_SECONDS)
        operation = client.playbook_aggregation_operation(operation_id=operation.operation_id)
    if on_screen:
        typer.echo("\r", err=True, nl=False)
    return operation


def _aggregation_words(operation: PlaybookAggregationOperation) -> str:
    made = operation.result
    if made is None:
        return f"Begun as {operation.operation_id}; --wait shows what comes of it."
    if made.skipped:
        return f"Nothing to share: {made.skipped}."
    counts = (
        f"{made.user_playbooks_processed} user playbooks, {made.clusters_found} clusters: "
        f"{made.playbooks_generated} lessons added, {made.playbooks_updated} reworded, {made.playbooks_grown} grown, "
        f"{made.playbooks_removed} removed, {made.unchanged} as they were"
    )
    withheld = f", {made.withheld} not wanted by a person" if made.withheld else ""
    return f"{counts}{withheld}."


# --- lessons ------------------------------------------------------------------------------------------------------


def listed(client: Client, wanted: dict[str, Any], *, as_json: bool) -> None:
    found = client.agent_playbooks(**wanted)
    rows = [_row(one) for one in found.agent_playbooks]
    text = table(["id", "approval", "version", "lesson", "since"], rows) if rows else "There are no shared lessons yet."
    show(as_json, found, text)


def _row(lesson: AgentPlaybookView) -> list[object]:
    since = when(lesson.created_at)
    return [lesson.agent_playbook_id, lesson.playbook_status, lesson.agent_version or None, line_of(lesson), since]


def decide(client: Client, ids: Sequence[int], verdict: PlaybookStatus, *, as_json: bool) -> None:
    for lesson in ids:
        client.update_agent_playbook_status(agent_playbook_id=lesson, playbook_status=verdict)
    named = ", ".join(map(str, ids))
    show(as_json, {"agent_playbook_ids": list(ids), "playbook_status": verdict}, f"Lesson {named}: {verdict}.")


def changes(client: Client, version: str, name: str, *, limit: int, as_json: bool) -> None:
    logs = client.playbook_aggregation_changes(agent_version=version, playbook_name=name, limit=limit)
    told = [line for log in logs.change_logs for line in _change_lines(log)]
    none = f"No aggregation has changed lessons {name!r} of version {version!r} yet; --agent-version names another."
    show(as_json, logs, "\n".join(told) or none)


def _change_lines(log: PlaybookAggregationChangeLog) -> list[str]:
    added = [f"  + {_said(one)}" for one in log.added_agent_playbooks]
    updated = [f"  ~ {_said(one.before)} -> {one.after.content}" for one in log.updated_agent_playbooks]
    removed = [f"  - {_said(one)}" for one in log.removed_agent_playbooks]
    return [f"{when(log.created_at)} ({log.operation_id})", *added, *updated, *removed]


def _said(one: AgentPlaybookSnapshot) -> str:
    return f"{one.agent_playbook_id}: {one.content}"
