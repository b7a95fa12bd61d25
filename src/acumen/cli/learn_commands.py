"""The commands that make memories anew and move between their versions, as they are typed.

Each imports its file when it runs, so that none waits for the others.
"""
# ruff: noqa: PLC0415, PLR0913, PLR0917 - see above; and what can be said on the command line is a parameter

from datetime import datetime
from typing import Annotated, Literal

import typer

from acumen.cli.options import AsJson, Key, Url, User, examples, server

app = typer.Typer()
operations = typer.Typer(help="Watch and stop what runs in the background.", no_args_is_help=True)
app.add_typer(operations, name="operations")

Memories = Literal["profiles", "playbooks"]
What = Annotated[Memories, typer.Argument(help="Facts about users, or lessons learned from them.")]
Service = Annotated[str | None, typer.Argument(help="profile_generation, playbook_generation, …")]
AgentVersion = Annotated[str | None, typer.Option(help="Only this version of the agent (playbooks).")]
Name = Annotated[str | None, typer.Option(help="Only the extractor or the playbooks of this name.")]
OnlyAffected = Annotated[
    bool, typer.Option("--only-affected/--all", help="Only users who have something to change to, or everybody.")
]


@app.command(
    epilog=examples(
        "acumen rerun profiles --wait",
        "acumen rerun profiles --user ana --since 2026-01-01",
        "acumen rerun playbooks --agent-version v2 --wait --json",
        "",
        "What comes of it waits as pending: `acumen upgrade` makes it current.",
    )
)
def rerun(
    what: What,
    user: User = None,
    source: Annotated[str | None, typer.Option(help="Only what was said there.")] = None,
    since: Annotated[datetime | None, typer.Option(help="Only what came in from then on (UTC).")] = None,
    until: Annotated[datetime | None, typer.Option(help="Only what came in before then (UTC).")] = None,
    agent_version: AgentVersion = None,
    name: Name = None,
    wait: Annotated[bool, typer.Option("--wait", "-w", help="Wait for the end, and show how far it is.")] = False,
    url: Url = None,
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """Make memories anew from all that was said, or a part of it, in the background."""
    from acumen.cli import learning

    asked = {"user_id": user, "source": source, "start_time": since, "end_time": until}
    with server(url, key) as client:
        learning.rerun(client, what, asked, agent_version, name, wait=wait, as_json=as_json)


@app.command(epilog=examples("acumen upgrade profiles", "acumen upgrade playbooks --agent-version v2 --all --json"))
def upgrade(
    what: What,
    user: User = None,
    agent_version: AgentVersion = None,
    name: Name = None,
    only_affected: OnlyAffected = True,
    url: Url = None,
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """Make what a rerun left pending current. What was current is archived, what was archived before is deleted."""
    from acumen.cli import learning

    with server(url, key) as client:
        asked = {"user_id": user, "only_affected_users": only_affected}
        learning.upgrade(client, what, asked, agent_version, name, as_json=as_json)


@app.command(
    epilog=examples("acumen downgrade profiles", "acumen downgrade profiles --user ana", "acumen downgrade playbooks")
)
def downgrade(
    what: What,
    user: User = None,
    agent_version: AgentVersion = None,
    name: Name = None,
    only_affected: OnlyAffected = True,
    url: Url = None,
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """Go back to what was archived; what is current is archived instead."""
    from acumen.cli import learning

    with server(url, key) as client:
        asked = {"user_id": user, "only_affected_users": only_affected}
        learning.downgrade(client, what, asked, agent_version, name, as_json=as_json)


@operations.command(
    "status",
    epilog=examples("acumen operations status", "acumen operations status playbook_generation --wait"),
)
def operation_status(
    service: Service = None,
    wait: Annotated[bool, typer.Option("--wait", "-w", help="Wait for the end, and show how far it is.")] = False,
    url: Url = None,
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """Tell how far the last run of a service is, or of those that learn."""
    from acumen.cli import learning

    with server(url, key) as client:
        learning.status(client, service, wait=wait, as_json=as_json)


@operations.command(
    "cancel", epilog=examples("acumen operations cancel", "acumen operations cancel profile_generation")
)
def operation_cancel(service: Service = None, url: Url = None, key: Key = None, as_json: AsJson = False) -> None:
    """Stop what runs: the one named, or everything."""
    from acumen.cli import learning

    with server(url, key) as client:
        learning.cancel(client, service, as_json=as_json)
