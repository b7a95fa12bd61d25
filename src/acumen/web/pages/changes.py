"""The change feed with undo, and settling conflicts."""

from datetime import UTC, datetime

from starlette.responses import Response

from acumen.errors import BadInput, Conflict, NotFound
from acumen.model.ids import Millis, SessionId, UserId
from acumen.model.memories.change import ChangeFilter, ChangeKind
from acumen.model.memories.conflict import Keep
from acumen.review import changes, conflicts
from acumen.review.changes import Change
from acumen.web.diff import words_changed
from acumen.web.page import PER_PAGE, Visit, page
from acumen.web.pages.actions import LONGEST_REASON, done
from acumen_client.wire.shapes import Role

# Digits that always fit a 64-bit number.
LONGEST_ID = 18


@page("/changes")
async def feed(visit: Visit) -> Response:
    cursor = visit.param("cursor")
    listed = await changes.page(_query(visit), PER_PAGE, int(cursor) if _is_id(cursor) else None, visit.deps)
    return visit.html(
        "changes.html",
        changes=listed.changes,
        diffs={change.id: words_changed(change.before or "", change.after or "") for change in listed.changes},
        next=listed.next,
        filters={name: visit.param(name) for name in ("user", "kind", "since", "session", "cursor")},
    )


def _query(visit: Visit) -> ChangeFilter:
    kind, user, session = visit.param("kind"), visit.param("user"), visit.param("session")
    return ChangeFilter(
        user=UserId(user) if user else None,
        kinds=(ChangeKind(kind),) if kind in set(ChangeKind) else None,
        since=_day(visit.param("since")),
        session=SessionId(session) if session else None,
    )


def _day(text: str) -> Millis | None:
    """The start of a day (UTC)."""
    try:
        return Millis(int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)) if text else None
    except ValueError:
        raise BadInput(f"{text[:40]!r} is not a date. Use the format 2026-01-31.") from None


def _is_id(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= LONGEST_ID


# --- undo --------------------------------------------------------------------------------------------


@page("/changes/{id}/undo", Role.REVIEWER)
async def confirm(visit: Visit) -> Response:
    """A preview of the undo."""
    change = await changes.get(_change_id(visit), visit.deps)
    if change.refusal is not None:
        raise Conflict(f"Change {change.id} cannot be undone. {change.refusal}")
    return visit.html("undo.html", change=change, pieces=_diff(change))


def _diff(change: Change) -> object:
    """None when the text stays the same."""
    both = change.before and change.after
    return words_changed(change.after or "", change.before or "") if both and change.before != change.after else None


@page("/changes/{id}/undo", Role.REVIEWER, "POST")
async def undo(visit: Visit) -> Response:
    reason = visit.form.get("reason")[:LONGEST_REASON]
    undone = await changes.undo(_change_id(visit), visit.caller.actor, reason, visit.deps)
    return done(visit, undone.action)


def _change_id(visit: Visit) -> int:
    if not _is_id(visit.path_id):
        raise NotFound(f"There is no change {visit.path_id[:40]!r}.")
    return int(visit.path_id)


# --- conflicts -----------------------------------------------------------------------------------------------------


@page("/conflicts/{id}/settle", Role.REVIEWER, "POST")
async def settle(visit: Visit) -> Response:
    keep = visit.form.get("keep")
    if keep not in set(Keep):
        raise BadInput("Keep the newer memory, the older one, or both.")
    return done(visit, await conflicts.settle(visit.path_id, Keep(keep), visit.caller.actor, "", visit.deps))
