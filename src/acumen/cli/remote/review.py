"""`acumen memory-review`: which memories need review, acting on them, undoing it, and settling conflicts."""

import time
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from acumen.cli.options import AllUsers, Days, Limit, Reason, Reply, User, examples, remote
from acumen.cli.output import TITLE, actor_name, listed, table, when
from acumen.cli.remote.input import member_of
from acumen.errors import BadInput
from acumen.model.prompt_injection import visible
from acumen_client.client import Client
from acumen_client.wire.review import (
    ConflictChoice,
    MemoryConflict,
    MemoryReviewCandidate,
    ReviewAction,
    ReviewActionEntry,
    ReviewedItem,
    ReviewItem,
    ReviewMemoriesResponse,
    ReviewSignal,
)
from acumen_client.wire.shapes import MemoryKind

app = typer.Typer()
group = typer.Typer()
app.add_typer(group, name="memory-review")

DAY_SECONDS = 86_400


# --- the queue ------------------------------------------------------------------------------------------------------


@group.callback(
    invoke_without_command=True,
    epilog=examples(
        "acumen memory-review --user ana",
        "acumen memory-review --all-users --days 90 --signal stale --signal duplicate",
        "acumen memory-review apply archive user_playbook:7 profile:prof_1 --dry-run",
        "acumen memory-review settle con_0123 newer",
        "acumen memory-review undo act_0123",
    ),
)
@remote
def memory_review(
    client: Client,
    user: User = None,
    all_users: AllUsers = False,
    days: Days = 60,
    signal: Annotated[list[str] | None, typer.Option("--signal", help="Filter by signal, such as stale.")] = None,
    limit: Limit = 100,
) -> Reply:
    """List memories that need review, act on them, undo."""
    _require_scope(user, all_users=all_users)
    page = client.memory_review(
        user_id=user,
        include_all_users=all_users,
        days_back=days,
        signal_filter=[member_of(ReviewSignal, name, "signal") for name in signal or []] or None,
        limit=limit,
    )
    headings = ["score", "memory", "user", "text", "signals", "injections", "cited", "wasted", "saved/day", "reason"]
    rows = [_candidate(candidate) for candidate in page.candidates]
    saving = f" Acting on all of them saves about {page.saving_tokens_per_day:.0f} tokens/day." if rows else ""
    return Reply(page, listed(headings, rows, f"{page.msg}.{saving}"))


def _require_scope(user: str | None, *, all_users: bool) -> None:
    if user is None and not all_users:
        raise BadInput("Name a user with --user NAME, or pass --all-users.")


def _candidate(candidate: MemoryReviewCandidate) -> list[object]:
    return [
        candidate.score,
        f"{candidate.entity_type}:{candidate.entity_id}",
        candidate.user_id,
        candidate.title[:TITLE],
        ", ".join(candidate.signals),
        candidate.injection_count,
        candidate.cited_injection_count,
        candidate.wasted_tokens,
        f"{candidate.saving_tokens_per_day:.1f}",
        "; ".join(candidate.reasons.values()),
    ]


# --- actions --------------------------------------------------------------------------------------------------------


@group.command(
    epilog=examples(
        "acumen memory-review apply archive user_playbook:7 user_playbook:9 --dry-run",
        "acumen memory-review apply merge user_playbook:7 user_playbook:9 --into 9",
        "acumen memory-review apply change_scope user_playbook:7 --everyone",
        'acumen memory-review apply edit profile:prof_1 --content "Lives in Oslo" --tag travel',
    )
)
@remote
def apply(
    client: Client,
    action: Annotated[ReviewAction, typer.Argument(metavar="ACTION", help="Action.")],
    memories: Annotated[list[str], typer.Argument(metavar="[KIND:]ID", help="Memories, as the review lists them.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Preview; change nothing.")] = False,
    reason: Reason = "",
    into: Annotated[str | None, typer.Option(help="merge: id of the memory to keep.")] = None,
    by: Annotated[str | None, typer.Option(help="supersede_by: id of the memory that replaces it.")] = None,
    days: Annotated[int, typer.Option(min=1, help="snooze: number of days.")] = 30,
    content: Annotated[str | None, typer.Option(help="edit: new text.")] = None,
    tag: Annotated[list[str] | None, typer.Option("--tag", help="edit: new tags, replacing the current ones.")] = None,
    everyone: Annotated[
        bool, typer.Option("--everyone", help="change_scope: share a user's lesson with all users.")
    ] = False,
    agent_version: Annotated[str | None, typer.Option(help="change_scope: agent version it is for.")] = None,
    confirm: Annotated[str, typer.Option(help='delete: "delete" and the number of memories.')] = "",
) -> Reply:
    """Apply an action. Prints what changed and the reason for each skipped memory. Only `delete` cannot be undone."""
    _check_options(action, into=into, by=by, edited=bool(content or tag), scoped=everyone or agent_version is not None)
    confirmation = f"delete {len(memories)}"
    if action is ReviewAction.DELETE and not confirm:
        confirm = confirmation if dry_run else _prompt(confirmation)
    changes = {name: value for name, value in (("content", content), ("tags", tag)) if value is not None}
    scope = {"everyone": everyone, "agent_version": agent_version}
    fields: dict[str, Any] = {
        "dry_run": dry_run,
        "reason": reason,
        "into": into,
        "superseded_by": by,
        "until": int(time.time()) + days * DAY_SECONDS if action is ReviewAction.SNOOZE else None,
        "changes": changes or None,
        "scope": scope if action is ReviewAction.CHANGE_SCOPE else None,
        "confirm": confirm,
    }
    options = {name: value for name, value in fields.items() if value not in (None, "")}
    answer = client.review_memories(action=action, items=[_item(name) for name in memories], **options)
    return _reply(answer, failed=not any(item.changed for item in answer.items))


def _check_options(action: ReviewAction, *, into: str | None, by: str | None, edited: bool, scoped: bool) -> None:
    if action is ReviewAction.MERGE and into is None:
        raise BadInput("--into is required for merge.")
    if action is ReviewAction.SUPERSEDE_BY and by is None:
        raise BadInput("--by is required for supersede_by.")
    if action is ReviewAction.EDIT and not edited:
        raise BadInput("Pass --content or --tag.")
    if action is ReviewAction.CHANGE_SCOPE and not scoped:
        raise BadInput("Pass --everyone or --agent-version.")


def _prompt(confirmation: str) -> str:
    question = f"Deleted memories cannot be restored. Type {confirmation!r} to confirm"
    return str(typer.prompt(question, default="", show_default=False))


def _item(name: str) -> ReviewItem:
    """`profile:ID`, `user_playbook:7`, `agent_playbook:7`. Without a kind, a number is a user playbook."""
    kind, colon, memory_id = name.partition(":")
    if not colon:
        kind, memory_id = ("user_playbook" if name.isdecimal() else "profile"), name
    if kind not in tuple(MemoryKind) or not memory_id:
        raise BadInput(f"{name!r} is not a memory: write it as the review lists it, such as user_playbook:7.")
    return ReviewItem(kind=MemoryKind(kind), id=memory_id)


def _reply(answer: ReviewMemoriesResponse, *, failed: bool = False) -> Reply:
    undo_line = [f"Undo this with: acumen memory-review undo {answer.action_id}"] if answer.action_id else []
    return Reply(answer, "\n".join([*map(_changed, answer.items), f"{answer.msg}.", *undo_line]), failed)


def _changed(item: ReviewedItem) -> str:
    name = f"{item.kind}:{item.id}"
    if not item.changed:
        return visible(f"{name}  unchanged: {item.why}")
    changes = ", ".join(f"{field}: {before!r} -> {after!r}" for field, (before, after) in item.changes.items())
    return visible(f"{name}  {changes or 'deleted'}")


@group.command(epilog=examples("acumen memory-review undo act_0123"))
@remote
def undo(
    client: Client,
    action: Annotated[str, typer.Argument(metavar="ACTION", help="Id from `apply` or `log`.")],
) -> Reply:
    """Undo an action, unless a memory was changed again since."""
    return _reply(client.undo_review(action_id=action))


@group.command(epilog=examples("acumen memory-review log"))
@remote
def log(client: Client, limit: Limit = 20) -> Reply:
    """Show the audit log: who changed which memories, latest first."""
    page = client.review_actions(limit=limit)
    headings = ["when", "action", "by", "changed", "memories", "reason", "id", "undone by"]
    return Reply(page, listed(headings, [_entry(entry) for entry in page.actions], "") or "No activity yet.")


def _entry(entry: ReviewActionEntry) -> list[object]:
    names = _names([f"{item.kind}:{item.id}" for item in entry.items])
    about = [when(entry.at), entry.action, actor_name(entry.actor), entry.changed_count, names]
    return [*about, entry.reason, entry.action_id, entry.undone_by]


def _names(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


# --- conflicts ------------------------------------------------------------------------------------------------------


@group.command(
    epilog=examples("acumen memory-review conflicts --user ana", "acumen memory-review conflicts --all-users --json")
)
@remote
def conflicts(client: Client, user: User = None, all_users: AllUsers = False, limit: Limit = 100) -> Reply:
    """List open conflicts between memories, with both texts and dates."""
    _require_scope(user, all_users=all_users)
    page = client.memory_conflicts(user_id=user, include_all_users=all_users, limit=limit)
    headings = ["conflict", "user", "newer", "date", "older", "date", "quote"]
    rows = [_conflict(conflict) for conflict in page.conflicts]
    return Reply(page, table(headings, rows) if rows else "No open conflicts.")


def _conflict(conflict: MemoryConflict) -> list[object]:
    sides = [part for side in (conflict.newer, conflict.older) for part in (side.text[:TITLE], when(side.at))]
    quote = None if conflict.quote is None else f"“{conflict.quote[:TITLE]}”"
    return [conflict.conflict_id, conflict.user_id, *sides, quote]


@group.command(
    epilog=examples("acumen memory-review settle con_0123 newer", "acumen memory-review settle con_0123 both")
)
@remote
def settle(
    client: Client,
    conflict: Annotated[str, typer.Argument(metavar="CONFLICT", help="Id from `conflicts`.")],
    keep: Annotated[ConflictChoice, typer.Argument(metavar="KEEP", help="Memory to keep.")],
    reason: Reason = "",
) -> Reply:
    """Settle a conflict: keep the newer memory, the older one, or both. It can be undone."""
    return _reply(client.settle_conflict(conflict_id=conflict, keep=keep, reason=reason))
