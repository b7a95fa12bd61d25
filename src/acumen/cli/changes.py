"""`acumen changes`: what happened to memories and the words behind it, and undoing one change."""

from collections.abc import Sequence
from typing import Any

from acumen.cli.output import plain, show, table, when
from acumen.cli.review import TITLE, moment
from acumen.errors import BadInput
from acumen_client.client import Client
from acumen_client.wire.changes import MemoryChange, MemoryChangeKind


def listed(
    client: Client, kinds: Sequence[str], since: str | None, until: str | None, *, as_json: bool, **more: Any
) -> None:
    wanted = {"kinds": [_kind(name) for name in kinds] or None, "since": _time(since), "until": _time(until)}
    page = client.memory_changes(**wanted, **more)  # type: ignore[arg-type]
    headings = ["id", "when", "change", "user", "text", "quote", "by", "undo"]
    rows = [_row(change) for change in page.changes]
    older = f"\n\nOlder changes: --cursor {page.next_cursor}" if page.next_cursor else ""
    show(as_json, page, table(headings, rows) + older if rows else "No changes.")


def _kind(name: str) -> MemoryChangeKind:
    try:
        return MemoryChangeKind(name)
    except ValueError:
        raise BadInput(f"There is no kind of change {name!r}; use one of {', '.join(MemoryChangeKind)}.") from None


def _time(text: str | None) -> int | None:
    return None if text is None else moment(text)


def _row(change: MemoryChange) -> list[object]:
    quote = None if change.quote is None else f"“{_short(change.quote)}”"
    undo = "undone" if change.undone_by else "yes" if change.undoable else None
    about = [change.change, change.user_id, _texts(change), quote]
    return [change.change_id, when(change.at), *about, change.actor, undo]


def _texts(change: MemoryChange) -> str:
    """What the memory says; where something else says it now, both."""
    text = change.after or change.before
    if text is None:
        return "(erased)"
    if change.before and change.after and change.before != change.after:
        return f"{_short(change.before)} -> {_short(change.after)}"
    other = change.other
    if other is None:
        return _short(text)
    sign = "<>" if other.relation == "conflicts_with" else "->"
    return f"{_short(text)} {sign} {_short(other.text or f'{other.kind}:{other.id} (deleted)')}"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= TITLE else f"{line[: TITLE - 1].rstrip()}…"


def undo(client: Client, change_id: int, *, reason: str, as_json: bool) -> None:
    done = client.undo_memory_change(change_id=change_id, reason=reason)
    settle = f"\nSettle it with: acumen memory-review settle {done.conflict_id} newer" if done.conflict_id else ""
    back = f"\nUndo this with: acumen memory-review undo {done.action_id}"
    show(as_json, done, plain(f"{done.msg}.{settle}{back}"))
