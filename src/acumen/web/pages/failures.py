"""Failure groups, and one of them."""

from urllib.parse import quote

from starlette.responses import Response

from acumen.errors import BadInput
from acumen.model.operations.failure import FailureGroupFilter, GroupState
from acumen.review.operations import failures
from acumen.review.operations.failures import OPEN
from acumen.web.page import PER_PAGE, Visit, page
from acumen.web.paths import ROOT
from acumen_client.wire.shapes import Role

STATES = ("open", *GroupState, "any")
# The past tense of an action, and the action that undoes it.
DONE = {
    "merge": ("merged", "unmerge"),
    "unmerge": ("unmerged", ""),
    "resolve": ("resolved", "reopen"),
    "archive": ("archived until it escalates", "reopen"),
    "reopen": ("reopened", ""),
}


@page("/failures")
async def groups(visit: Visit) -> Response:
    state = visit.choice("state", *STATES)
    source, endpoint = visit.param("source") or None, visit.param("endpoint") or None
    states = OPEN if state == "open" else None if state == "any" else (GroupState(state),)
    query = FailureGroupFilter(states=states, source=source, endpoint=endpoint)
    rows, total = await failures.page_with_trends(query, PER_PAGE, visit.offset, visit.deps)
    return visit.html(
        "failures.html", rows=rows, total=total, state=state, states=STATES, source=source, endpoint=endpoint
    )


@page("/failures/{id}")
async def group(visit: Visit) -> Response:
    detail = await failures.detail(visit.path_id, visit.deps)
    return visit.html("failure.html", detail=detail, entry=detail.entry, group=detail.entry.group)


@page("/failures/{id}", Role.REVIEWER, "POST")
async def change(visit: Visit) -> Response:
    action = visit.form.get("action")
    if action not in DONE:
        raise BadInput(f"{action[:40]!r} is not an action on failure groups.")
    await failures.change(visit.path_id, action, visit.form.get("into") or None, visit.caller.actor, visit.deps)
    path = f"/failures/{quote(visit.path_id, safe='')}"
    word, undo = DONE[action]
    return visit.toast(f"Failure group {word}.", path, f"{ROOT}{path}" if undo else "", undo)
