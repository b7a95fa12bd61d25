"""`acumen rerun`, `versions` and `runs`: rebuilding memories, switching to the result, and progress."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Annotated, Any, Literal

import typer

from acumen.cli.options import Reply, User, Wait, examples, remote
from acumen.cli.output import table, when
from acumen.errors import BadInput
from acumen_client.client import Client
from acumen_client.wire.learn import GenerationStarted, OperationStatus, OperationStatusInfo

app = typer.Typer()
versions = typer.Typer(help="Activate rebuilt memories, or roll back.", no_args_is_help=True)
runs = typer.Typer(help="Show or cancel background runs.", no_args_is_help=True)
app.add_typer(versions, name="versions")
app.add_typer(runs, name="runs")

POLL_SECONDS = 0.5
SERVICES = {"profiles": "profile_generation", "playbooks": "playbook_generation"}

What = Annotated[
    Literal["profiles", "playbooks"], typer.Argument(metavar="WHAT", help="Facts about users, or user playbooks.")
]
SERVICE_HELP = "profile_generation, playbook_generation, playbook_aggregation or evaluation_regeneration."
Service = Annotated[str | None, typer.Argument(metavar="SERVICE", help=SERVICE_HELP)]
AgentVersion = Annotated[str | None, typer.Option(help="Filter by agent version (playbooks only).")]
Name = Annotated[str | None, typer.Option(help="Filter by extractor or playbook name.")]
OnlyAffected = Annotated[
    bool, typer.Option("--only-affected/--all", help="Only users with a version to switch to; --all includes everyone.")
]


@app.command(
    epilog=examples(
        "acumen rerun profiles --wait",
        "acumen rerun profiles --user ana --since 2026-01-01",
        "acumen rerun playbooks --agent-version v2 --wait --json",
        "",
        "The result is pending until `acumen versions promote` makes it current.",
    )
)
@remote
def rerun(
    client: Client,
    what: What,
    user: User = None,
    source: Annotated[str | None, typer.Option(help="Filter by source.")] = None,
    since: Annotated[datetime | None, typer.Option(help="On or after this date or time (UTC).")] = None,
    until: Annotated[datetime | None, typer.Option(help="Before this date or time (UTC).")] = None,
    agent_version: AgentVersion = None,
    name: Name = None,
    wait: Wait = False,
) -> Reply:
    """Rebuild memories from conversation history, in the background."""
    started: GenerationStarted
    if what == "profiles":
        _refuse_for_profiles(agent_version)
        names = [name] if name else None
        started = client.rerun_profiles(
            user_id=user, source=source, start_time=since, end_time=until, extractor_names=names
        )
    else:
        started = client.rerun_playbooks(
            user_id=user,
            source=source,
            start_time=since,
            end_time=until,
            agent_version=agent_version,
            playbook_name=name,
        )
    if wait:
        return _reply(_ended(client, SERVICES[what], started.run_id))
    return Reply(started, f"{started.msg} as {started.run_id}. Progress: `acumen runs status {SERVICES[what]}`.")


# --- versions -------------------------------------------------------------------------------------------------------


@app.command("upgrade", hidden=True)
@versions.command(epilog=examples("acumen versions promote profiles", "acumen versions promote playbooks --all --json"))
@remote
def promote(
    client: Client,
    what: What,
    user: User = None,
    agent_version: AgentVersion = None,
    name: Name = None,
    only_affected: OnlyAffected = True,
) -> Reply:
    """Make pending memories current. Current ones are archived, archived ones deleted."""
    move = client.upgrade_profiles if what == "profiles" else client.upgrade_user_playbooks
    return _moved(move, what, user, agent_version, name, only_affected)


@app.command("downgrade", hidden=True)
@versions.command(epilog=examples("acumen versions rollback profiles", "acumen versions rollback playbooks --user ana"))
@remote
def rollback(
    client: Client,
    what: What,
    user: User = None,
    agent_version: AgentVersion = None,
    name: Name = None,
    only_affected: OnlyAffected = True,
) -> Reply:
    """Make archived memories current again. Current ones are archived instead."""
    move = client.downgrade_profiles if what == "profiles" else client.downgrade_user_playbooks
    return _moved(move, what, user, agent_version, name, only_affected)


def _moved(
    move: Callable[..., Any], what: str, user: str | None, version: str | None, name: str | None, affected: bool
) -> Reply:
    fields = {"user_id": user, "only_affected_users": affected}
    if what == "profiles":
        _refuse_for_profiles(version or name)
    else:
        fields |= {"agent_version": version, "playbook_name": name}
    answer = move(**fields)
    return Reply(answer, f"{answer.message}.")


def _refuse_for_profiles(option: str | None) -> None:
    if option is not None:
        raise BadInput("Profiles have no agent version and no name: omit --agent-version and --name.")


# --- runs -----------------------------------------------------------------------------------------------------------


@runs.command(epilog=examples("acumen runs status", "acumen runs status playbook_generation --wait"))
@remote
def status(client: Client, service: Service = None, wait: Wait = False) -> Reply:
    """Show the progress of the last run of a service, or of all learning services."""
    if service is not None:
        run = _run(client, service)
        return _reply(_ended(client, service, run.run_id) if wait else run)
    answers = [client.operation_status(service_name=name).operation_status for name in SERVICES.values()]
    latest = [run for run in answers if run is not None]
    value = {"operations": [run.model_dump(mode="json", exclude_none=True) for run in latest]}
    return Reply(value, table(_HEADINGS, [_row(run) for run in latest]) if latest else "No runs yet.")


@runs.command(epilog=examples("acumen runs cancel", "acumen runs cancel profile_generation"))
@remote
def cancel(client: Client, service: Service = None) -> Reply:
    """Cancel a run, or all."""
    answer = client.cancel_operation(service_name=service)
    return Reply(answer, f"{answer.msg}.")


def _run(client: Client, service: str) -> OperationStatusInfo:
    answer = client.operation_status(service_name=service)
    if answer.operation_status is None:
        raise BadInput(f"{answer.msg}.")
    return answer.operation_status


def _ended(client: Client, service: str, run_id: str) -> OperationStatusInfo:
    """The run once it has ended; progress goes to stderr."""
    with _progress_bar() as advance:
        while True:
            run = _run(client, service)
            advance(run)
            if run.status is not OperationStatus.IN_PROGRESS or run.run_id != run_id:
                return run
            time.sleep(POLL_SECONDS)


@contextmanager
def _progress_bar() -> Iterator[Callable[[OperationStatusInfo], None]]:
    """Shown on a terminal only."""
    from rich.console import Console  # noqa: PLC0415 - only with --wait
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn  # noqa: PLC0415

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("users"))
    console = Console(stderr=True)
    with Progress(*columns, TimeElapsedColumn(), console=console, disable=not sys.stderr.isatty()) as progress:
        task = progress.add_task("rerun", total=None)

        def advance(run: OperationStatusInfo) -> None:
            done = run.processed_users + run.failed_users
            description = f"{run.service_name} {run.current_user_id or ''}".strip()
            progress.update(task, total=run.total_users, completed=done, description=description)

        yield advance


_HEADINGS = ["service", "mode", "status", "users", "failed", "memories", "turns", "started"]


def _row(run: OperationStatusInfo) -> list[object]:
    users = f"{run.processed_users}/{run.total_users}"
    generated, turns = run.stats.get("generated", 0), run.stats.get("interactions", 0)
    return [run.service_name, run.mode, run.state, users, run.failed_users, generated, turns, when(run.started_at)]


def _reply(run: OperationStatusInfo) -> Reply:
    failed = "".join(f"\n{user.user_id}: {user.error}" for user in run.failed_user_ids)
    error = f"\n\n{run.error_message}{failed}" if run.error_message else ""
    return Reply(run, table(_HEADINGS, [_row(run)]) + error, failed=run.status is OperationStatus.FAILED)
