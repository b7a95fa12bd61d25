"""`acumen failures`, `proposals`, `tail` and `outcomes`: what agents did, and what it teaches."""

import time
from collections.abc import Iterator
from typing import Any, Literal

import typer

from acumen.cli.output import show, table, when
from acumen.model.prompt_injection import visible
from acumen_client.client import Client
from acumen_client.wire.failures import FailureResponse, GroupState, ProposalView
from acumen_client.wire.operations import OperationView

Change = Literal["merge", "unmerge", "resolve", "archive", "reopen"]
Approval = Literal["pending", "approved", "rejected"]
Decision = Literal["approve", "edit", "reject"]

LOOK_EVERY_SECONDS = 1.0
_BARS = " ▁▂▃▄▅▆▇█"


def failures(client: Client, group_id: str | None, *, archived: bool, limit: int, as_json: bool) -> None:
    if group_id is not None:
        one = client.failure(group_id=group_id)
        show(as_json, one, _whole(one))
        return
    states: list[GroupState] | None = ["resolved", "archived"] if archived else None
    found = client.failures(states=states, limit=limit)
    rows = [
        [one.group_id, one.state, one.count, one.sessions, when(one.last_seen), one.endpoint, visible(one.template)]
        for one in found.groups
    ]
    listed = (
        table(["group", "state", "count", "sessions", "last seen", "call", "failure"], rows) + "\n\n" if rows else ""
    )
    show(as_json, found, f"{listed}{found.total} group(s) of failures.")


def change(client: Client, group_id: str, what: Change, into: str | None, *, as_json: bool) -> None:
    told = client.change_failure(group_id=group_id, change=what, into=into)
    show(as_json, told, f"Group {told.group.group_id} is {told.group.state}, with {told.group.count} failure(s).")


def _whole(one: FailureResponse) -> str:
    group = one.group
    lines = [
        f"{group.group_id}  {group.state}  {group.count} times in {group.sessions} session(s)",
        f"call       {visible(group.source)}: {visible(group.endpoint)} ({visible(group.error_type) or 'no type'})",
        f"failure    {visible(group.template)}",
        f"24 hours   {_course(one.hours)}",
        f"30 days    {_course(one.days)}",
        *([f"hazards    {', '.join(one.hazards)}"] if one.hazards else []),
        *(f"diagnosis  [{told.engine}, {told.state}] {told.diagnosis.get('cause', '')}" for told in one.analyses[:3]),
        *([_lesson(one.proposal)] if one.proposal else []),
        "",
        *(f"  {when(op.received_at)}  {op.op_id}  {visible(op.error_message or '')[:120]!r}" for op in one.examples),
    ]
    return "\n".join(lines)


def _course(counts: list[int]) -> str:
    most = max(counts, default=0) or 1
    return "".join(_BARS[-(-count * 8 // most)] for count in counts) + f"  at most {max(counts, default=0)}"


def _lesson(one: ProposalView) -> str:
    return f"lesson     {one.agent_playbook_id} ({one.approval}) {visible(one.content)}"


def proposals(client: Client, approval: Approval | None, *, flagged: bool, limit: int, as_json: bool) -> None:
    found = client.proposals(approval=approval, flagged=flagged, limit=limit)
    rows = [
        [
            one.agent_playbook_id,
            one.approval,
            one.about,
            f"{one.count} in {one.distinct_sessions}",
            f"{one.confidence:.2f}",
            visible(one.content),
            "; ".join([*([one.flag] if one.flag else []), *one.hazards]) or None,
        ]
        for one in found.proposals
    ]
    listed = table(["id", "approval", "from", "seen", "sure", "lesson", "look at"], rows) + "\n\n" if rows else ""
    show(as_json, found, f"{listed}{len(rows)} proposal(s).")


def decide(
    client: Client, playbook_id: int, decision: Decision, words: dict[str, str | None], *, as_json: bool
) -> None:
    told = client.decide_proposal(agent_playbook_id=playbook_id, decision=decision, **words)
    show(as_json, told, f"Lesson {playbook_id} is {told.proposal.approval}: {visible(told.proposal.content)}")


def tail(client: Client, facets: dict[str, Any], *, lines: int, follow: bool, as_json: bool) -> None:
    """The latest, oldest first; then each as it comes, until it is interrupted."""
    found = client.operations(**facets, limit=lines)
    cursor = found.cursor or "0."
    for one in reversed(found.operations):
        _tell(one, as_json=as_json)
    while follow:
        time.sleep(LOOK_EVERY_SECONDS)
        found = client.operations(**facets, after=cursor, limit=1000)
        cursor = found.cursor or cursor
        for one in found.operations:
            _tell(one, as_json=as_json)


def _tell(one: OperationView, *, as_json: bool) -> None:
    if as_json:
        typer.echo(one.model_dump_json(exclude_none=True))
        return
    took = "" if one.duration_ms is None else f" {one.duration_ms:.0f} ms"
    what = one.error_message or one.output_summary or one.input_summary or ""
    said = visible(f"{one.source} {one.endpoint} {one.status}{took} {what[:200]}").replace("\n", " ")
    typer.echo(f"{when(one.received_at)}  {said}".rstrip())


def outcomes(client: Client) -> None:
    """One line of JSON for each outcome, verdict and evaluation."""
    for one in _all_outcomes(client):
        typer.echo(one.model_dump_json(exclude_none=True))


def _all_outcomes(client: Client) -> Iterator[OperationView]:
    cursor = None
    while True:
        page = client.export_outcomes(after=cursor)
        yield from page.operations
        if not page.operations:
            return
        cursor = page.cursor


def purge(client: Client, op_id: str | None, session_id: str | None, source: str | None, *, as_json: bool) -> None:
    told = client.purge_operations(op_id=op_id, session_id=session_id, source=source)
    show(
        as_json,
        told,
        f"Removed {told.operations} operation(s), {told.groups} group(s) of failures, {told.proposals} lesson(s); "
        f"{told.proposals_kept} lesson(s) stay with less behind them.",
    )
