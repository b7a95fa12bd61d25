"""`acumen changes`: what happened to memories, the words that caused it, and undoing one change."""

from typing import Annotated, Any

import typer

from acumen.cli.options import Limit, Reason, Reply, User, examples, remote
from acumen.cli.output import actor_name, short, table, when
from acumen.cli.remote.input import member_of, moment
from acumen.model.prompt_injection import visible
from acumen_client.client import Client
from acumen_client.wire.changes import MemoryChange, MemoryChangeKind

app = typer.Typer()
group = typer.Typer()
app.add_typer(group, name="changes")


@group.callback(
    invoke_without_command=True,
    epilog=examples(
        "acumen changes",
        "acumen changes --user ana --kind superseded --kind conflict --since 2026-01-31",
        "acumen changes --session s1 --json",
        "acumen changes undo 118",
    ),
)
@remote
def changes(
    client: Client,
    user: User = None,
    kind: Annotated[list[str] | None, typer.Option("--kind", help="Filter by kind, such as superseded.")] = None,
    since: Annotated[str | None, typer.Option(help="On or after this date or time (UTC), such as 2026-01-31.")] = None,
    until: Annotated[str | None, typer.Option(help="Before this date or time (UTC).")] = None,
    session: Annotated[str | None, typer.Option(help="Filter by the session that caused it.")] = None,
    limit: Limit = 20,
    cursor: Annotated[int | None, typer.Option(min=1, help="List changes older than this id.")] = None,
) -> Reply:
    """List changes to memories, or undo one. Learned, refined, superseded, in conflict, forgotten, expired."""
    page = client.memory_changes(
        user_id=user,
        kinds=[member_of(MemoryChangeKind, name, "kind of change") for name in kind or []] or None,
        since=moment(since) if since else None,
        until=moment(until) if until else None,
        session_id=session,
        limit=limit,
        cursor=cursor,
    )
    headings = ["id", "when", "change", "user", "text", "quote", "by", "undo"]
    rows = [_row(change) for change in page.changes]
    older = f"\n\nOlder changes: --cursor {page.next_cursor}" if page.next_cursor else ""
    return Reply(page, table(headings, rows) + older if rows else "No changes.")


def _row(change: MemoryChange) -> list[object]:
    quote = None if change.quote is None else f"“{short(change.quote)}”"
    undo = "undone" if change.undone_by else "yes" if change.undoable else None
    about: list[Any] = [change.change, change.user_id, _texts(change), quote]
    return [change.change_id, when(change.at), *about, actor_name(change.actor), undo]


def _texts(change: MemoryChange) -> str:
    """The text of the memory; both texts where it changed or where another memory replaced it."""
    text = change.after or change.before
    if text is None:
        return "(erased)"
    if change.before and change.after and change.before != change.after:
        return f"{short(change.before)} -> {short(change.after)}"
    related = change.other
    if related is None:
        return short(text)
    sign = "<>" if related.relation == "conflicts_with" else "->"
    return f"{short(text)} {sign} {short(related.text or f'{related.kind}:{related.id} (deleted)')}"


@group.command(epilog=examples("acumen changes undo 118", 'acumen changes undo 118 --reason "both are right"'))
@remote
def undo(
    client: Client,
    change: Annotated[int, typer.Argument(metavar="ID", min=1, help="Id from `acumen changes`.")],
    reason: Reason = "",
) -> Reply:
    """Undo one change of a memory, unless it was changed again since."""
    answer = client.undo_memory_change(change_id=change, reason=reason)
    settle = f"\nSettle it with: acumen memory-review settle {answer.conflict_id} newer" if answer.conflict_id else ""
    return Reply(
        answer, visible(f"{answer.msg}.{settle}\nUndo this with: acumen memory-review undo {answer.action_id}")
    )
