"""The commands that look through memories, act on them and tell what they cost, as they are typed.

Each imports its file when it runs, so that none waits for the others.
"""
# ruff: noqa: PLC0415, PLR0913, PLR0917 - see above; and what can be said on the command line is a parameter

import time
from datetime import UTC, datetime
from typing import Annotated, Literal

import typer

from acumen.cli.options import AsJson, Key, Limit, Url, User, examples, server

app = typer.Typer()
stats = typer.Typer(help="What showing memories cost.", no_args_is_help=True)
app.add_typer(stats, name="stats")
reviewing = typer.Typer()
app.add_typer(reviewing, name="memory-review")

Doing = Literal[
    "archive",
    "restore",
    "edit",
    "supersede_by",
    "merge",
    "pin",
    "unpin",
    "snooze",
    "mark_useful",
    "dismiss",
    "change_scope",
    "delete",
]
Keep = Literal["newer", "older", "both"]
CostGroup = Literal["memory", "user", "agent_version", "day"]


@reviewing.callback(
    invoke_without_command=True,
    epilog=examples(
        "acumen memory-review --user ana",
        "acumen memory-review --all-users --days 90 --signal stale --signal duplicate",
        "acumen memory-review apply archive user_playbook:7 profile:prof_1 --dry-run",
        "acumen memory-review settle con_0123 newer",
        "acumen memory-review undo act_0123",
    ),
)
def memory_review(
    context: typer.Context,
    user: User = None,
    all_users: Annotated[bool, typer.Option("--all-users", help="Look through everyone's.")] = False,
    days: Annotated[int, typer.Option(min=1, help="How far back to look at their use.")] = 60,
    signal: Annotated[list[str] | None, typer.Option("--signal", help="Only these, such as stale.")] = None,
    limit: Limit = 100,
    url: Url = None,
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """List the memories that deserve a look, why, and what acting on them saves; then act, and undo."""
    if context.invoked_subcommand is not None:
        return
    from acumen.cli import review

    asked = {"all_users": all_users, "days": days, "signals": signal or [], "limit": limit, "as_json": as_json}
    with server(url, key) as client:
        review.memory_review(client, user, **asked)  # type: ignore[arg-type]


@reviewing.command(
    epilog=examples(
        "acumen memory-review apply archive user_playbook:7 user_playbook:9 --dry-run",
        "acumen memory-review apply merge user_playbook:7 user_playbook:9 --into 9",
        "acumen memory-review apply change_scope user_playbook:7 --everyone",
        'acumen memory-review apply edit profile:prof_1 --content "Lives in Oslo"',
    )
)
def apply(
    action: Annotated[Doing, typer.Argument(help="What to do.")],
    memories: Annotated[list[str], typer.Argument(metavar="[KIND:]ID...", help="As the review lists them.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only tell what would change.")] = False,
    reason: Annotated[str, typer.Option(help="Why, for the log.")] = "",
    into: Annotated[str | None, typer.Option(help="merge: the id of the one that stays.")] = None,
    by: Annotated[str | None, typer.Option(help="supersede_by: the id of the one that takes its place.")] = None,
    days: Annotated[int, typer.Option(min=1, help="snooze: for how long.")] = 30,
    content: Annotated[str | None, typer.Option(help="edit: what it says from now on.")] = None,
    everyone: Annotated[
        bool, typer.Option("--everyone", help="change_scope: a user's lesson becomes everyone's.")
    ] = False,
    agent_version: Annotated[str | None, typer.Option(help="change_scope: for agents of this version.")] = None,
    confirm: Annotated[str, typer.Option(help='delete: "delete" and how many.')] = "",
    url: Url = None,
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """Act on memories, in one step: what cannot change is named with the reason. All but a deletion can be undone."""
    from acumen.cli import review

    if action == "delete" and not confirm and not dry_run:
        confirm = review.typed_confirmation(len(memories))
    more = {
        "dry_run": dry_run,
        "reason": reason,
        "into": into,
        "superseded_by": by,
        "until": int(time.time()) + days * 86_400 if action == "snooze" else None,
        "changes": {"content": content} if content is not None else None,
        "scope": {"everyone": everyone, "agent_version": agent_version} if action == "change_scope" else None,
        # A look needs no oath.
        "confirm": f"delete {len(memories)}" if action == "delete" and dry_run else confirm,
    }
    with server(url, key) as client:
        review.apply(client, action, memories, as_json=as_json, **more)


@reviewing.command(epilog=examples("acumen memory-review undo act_0123"))
def undo(
    action: Annotated[str, typer.Argument(metavar="ACTION", help="Its id, as `apply` and `log` tell it.")],
    url: Url = None,
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """Take an action back, unless a newer change stands in the way."""
    from acumen.cli import review

    with server(url, key) as client:
        review.undo(client, action, as_json=as_json)


@reviewing.command(
    epilog=examples("acumen memory-review conflicts --user ana", "acumen memory-review conflicts --all-users --json")
)
def conflicts(
    user: User = None,
    all_users: Annotated[bool, typer.Option("--all-users", help="Those of all users.")] = False,
    limit: Limit = 100,
    url: Url = None,
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """List open conflicts between memories, with both texts and dates."""
    from acumen.cli import review

    with server(url, key) as client:
        review.conflicts(client, user, all_users=all_users, limit=limit, as_json=as_json)


@reviewing.command(
    epilog=examples("acumen memory-review settle con_0123 newer", "acumen memory-review settle con_0123 both")
)
def settle(
    conflict: Annotated[str, typer.Argument(metavar="CONFLICT", help="Its id, as `conflicts` lists it.")],
    keep: Annotated[Keep, typer.Argument(help="The memory that holds; the other is superseded.")],
    reason: Annotated[str, typer.Option(help="Why, for the log.")] = "",
    url: Url = None,
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """Settle a conflict: keep the newer memory, the older one, or both. It can be undone."""
    from acumen.cli import review

    with server(url, key) as client:
        review.settle(client, conflict, keep, reason=reason, as_json=as_json)


@reviewing.command(epilog=examples("acumen memory-review log"))
def log(limit: Limit = 20, url: Url = None, key: Key = None, as_json: AsJson = False) -> None:
    """List who did what to memories, the latest first."""
    from acumen.cli import review

    with server(url, key) as client:
        review.log(client, limit=limit, as_json=as_json)


@app.command(
    epilog=examples(
        "acumen explain inj_0123",
        "acumen explain inj_0123 --earlier 2026-01-01 --later 2026-02-01",
    )
)
def explain(
    injection: Annotated[str, typer.Argument(metavar="INJECTION", help="The id that every search answers with.")],
    earlier: Annotated[str | None, typer.Option(help="Ask again, as things stood then.")] = None,
    later: Annotated[str | None, typer.Option(help="And as they stood at this later time.")] = None,
    url: Url = None,
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """Show a past search again: what was asked, what was found and why, what was rendered."""
    from acumen.cli import review

    with server(url, key) as client:
        if earlier is None and later is None:
            review.explain(client, injection, as_json=as_json)
        else:
            now = datetime.now(UTC).isoformat()
            review.compare(client, injection, earlier or now, later or now, as_json=as_json)


@stats.command(epilog=examples("acumen stats costs", "acumen stats costs --by day --model gpt-5-mini"))
def costs(
    by: Annotated[CostGroup, typer.Option(help="What a price tag hangs on.")] = "memory",
    days: Annotated[int, typer.Option(min=1, help="How far back to count.")] = 30,
    model: Annotated[str | None, typer.Option(show_default="the server's", help="Whose price counts.")] = None,
    limit: Limit = 20,
    url: Url = None,
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """List what showing memories cost, and how much of it was never cited."""
    from acumen.cli import review

    with server(url, key) as client:
        review.costs(client, by=by, days=days, model=model, limit=limit, as_json=as_json)


@stats.command(epilog=examples("acumen stats injections", "acumen stats injections --days 7 --json"))
def injections(
    days: Annotated[int, typer.Option(min=1, help="How far back to count.")] = 30,
    limit: Limit = 20,
    url: Url = None,
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """List how often each memory was put before an agent, and the tokens it took."""
    from acumen.cli import review

    with server(url, key) as client:
        review.injections(client, days=days, limit=limit, as_json=as_json)
