"""`acumen rerun`, `upgrade`, `downgrade` and `operations`: memories made anew, their versions, and what runs."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import typer

from acumen.cli.output import show, table, when
from acumen.errors import BadInput
from acumen_client.client import Client
from acumen_client.wire.learn import GenerationStarted, OperationStatus, OperationStatusInfo

LOOK_EVERY_SECONDS = 0.5
SERVICES = {"profiles": "profile_generation", "playbooks": "playbook_generation"}


def rerun(
    client: Client,
    what: str,
    asked: dict[str, Any],
    agent_version: str | None,
    name: str | None,
    *,
    wait: bool,
    as_json: bool,
) -> None:
    """Ends with 1 when it was waited for and not all of it succeeded."""
    started: GenerationStarted
    if what == "profiles":
        _refuse_version(agent_version)
        started = client.rerun_profiles(**asked, extractor_names=[name] if name else None)
    else:
        started = client.rerun_playbooks(**asked, agent_version=agent_version, playbook_name=name)
    if wait:
        _show(_ended(client, SERVICES[what], started.run_id), as_json=as_json)
    else:
        more = f"`acumen operations status {SERVICES[what]}` tells how far it is."
        show(as_json, started, f"{started.msg} as {started.run_id}. {more}")


def upgrade(
    client: Client, what: str, asked: dict[str, Any], agent_version: str | None, name: str | None, *, as_json: bool
) -> None:
    done = _versions(what, client.upgrade_profiles, client.upgrade_user_playbooks)(asked, agent_version, name)
    show(as_json, done, f"{done.message}.")


def downgrade(
    client: Client, what: str, asked: dict[str, Any], agent_version: str | None, name: str | None, *, as_json: bool
) -> None:
    done = _versions(what, client.downgrade_profiles, client.downgrade_user_playbooks)(asked, agent_version, name)
    show(as_json, done, f"{done.message}.")


def _versions(what: str, of_profiles: Callable[..., Any], of_playbooks: Callable[..., Any]) -> Callable[..., Any]:
    def move(asked: dict[str, Any], agent_version: str | None, name: str | None) -> Any:
        if what == "playbooks":
            return of_playbooks(**asked, agent_version=agent_version, playbook_name=name)
        _refuse_version(agent_version or name)
        return of_profiles(**asked)

    return move


def _refuse_version(given: str | None) -> None:
    if given is not None:
        raise BadInput("Facts about users have no agent version and no name: leave --agent-version and --name out.")


def status(client: Client, service: str | None, *, wait: bool, as_json: bool) -> None:
    if service is not None:
        found = _operation(client, service)
        _show(_ended(client, service, found.run_id) if wait else found, as_json=as_json)
        return
    listed = [client.operation_status(service_name=one).operation_status for one in SERVICES.values()]
    known = [one for one in listed if one is not None]
    told = {"operations": [one.model_dump(mode="json", exclude_none=True) for one in known]}
    rows = [_row(one) for one in known]
    show(as_json, told, table(_HEADINGS, rows) if rows else "Nothing has been run yet.")


def cancel(client: Client, service: str | None, *, as_json: bool) -> None:
    done = client.cancel_operation(service_name=service)
    show(as_json, done, f"{done.msg}.")


def _operation(client: Client, service: str) -> OperationStatusInfo:
    found = client.operation_status(service_name=service)
    if found.operation_status is None:
        raise BadInput(f"{found.msg}.")
    return found.operation_status


def _ended(client: Client, service: str, run_id: str) -> OperationStatusInfo:
    """The run, once it is over; how far it is goes to stderr meanwhile."""
    with _bar() as advance:
        while True:
            found = _operation(client, service)
            advance(found)
            if found.status is not OperationStatus.IN_PROGRESS or found.run_id != run_id:
                return found
            time.sleep(LOOK_EVERY_SECONDS)


@contextmanager
def _bar() -> Iterator[Callable[[OperationStatusInfo], None]]:
    """A bar where somebody looks, nothing where nobody does."""
    from rich.console import Console  # noqa: PLC0415 - who does not wait should not load Rich
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn  # noqa: PLC0415

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("users"))
    console = Console(stderr=True)
    with Progress(*columns, TimeElapsedColumn(), console=console, disable=not sys.stderr.isatty()) as progress:
        task = progress.add_task("rerun", total=None)

        def advance(found: OperationStatusInfo) -> None:
            done = found.processed_users + found.failed_users
            description = f"{found.service_name} {found.current_user_id or ''}".strip()
            progress.update(task, total=found.total_users, completed=done, description=description)

        yield advance


_HEADINGS = ["service", "mode", "state", "users", "failed", "made", "read", "began"]


def _row(found: OperationStatusInfo) -> list[object]:
    users = f"{found.processed_users}/{found.total_users}"
    made, read = found.stats.get("generated", 0), found.stats.get("interactions", 0)
    began = when(found.started_at)
    return [found.service_name, found.mode, found.state, users, found.failed_users, made, read, began]


def _show(found: OperationStatusInfo, *, as_json: bool) -> None:
    failed = "".join(f"\n{one.user_id}: {one.error}" for one in found.failed_user_ids)
    error = f"\n\n{found.error_message}{failed}" if found.error_message else ""
    show(as_json, found, table(_HEADINGS, [_row(found)]) + error)
    if found.status is OperationStatus.FAILED:
        raise typer.Exit(1)
