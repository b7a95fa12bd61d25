"""Failures that are one and the same: the list of their groups, and all about one of them."""

import json
from urllib.parse import quote

from starlette.responses import RedirectResponse, Response

from acumen.errors import BadInput
from acumen.model.operations.failure import FailureGroupFilter, GroupState
from acumen.review import failures
from acumen.review.failures import OPEN
from acumen.web.page import PER_PAGE, Visit, page
from acumen.web.paths import ROOT
from acumen_client.wire.shapes import Role

STATES = ("open", *GroupState, "any")
# What is done, in the past tense, and what takes it back.
DONE = {
    "merge": ("merged", "unmerge"),
    "unmerge": ("taken out of the merge", ""),
    "resolve": ("resolved", "reopen"),
    "archive": ("archived until it escalates", "reopen"),
    "reopen": ("open again", ""),
}


@page("/failures")
async def groups(visit: Visit) -> Response:
    state = visit.choice("state", *STATES)
    source, endpoint = visit.asked("source") or None, visit.asked("endpoint") or None
    states = OPEN if state == "open" else None if state == "any" else (GroupState(state),)
    query = FailureGroupFilter(states=states, source=source, endpoint=endpoint)

    rows, total = await failures.page_with_trends(query, PER_PAGE, visit.offset, visit.deps)
    return visit.html(
        "failures.html",
        rows=rows,
        total=total,
        state=state,
        states=STATES,
        source=source,
        endpoint=endpoint,
    )


@page("/failures/{id}")
async def group(visit: Visit) -> Response:
    detail = await failures.detail(visit.path_id, visit.deps)
    return visit.html("failure.html", detail=detail, entry=detail.entry, group=detail.entry.group)


@page("/failures/{id}", Role.REVIEWER, "POST")
async def change(visit: Visit) -> Response:
    doing = visit.form.get("action")
    if doing not in DONE:
        raise BadInput(f"{doing[:40]!r} is nothing that can be done to a group of failures.")
    await failures.change(visit.path_id, doing, visit.form.get("into") or None, visit.caller.actor, visit.deps)
    here = f"{ROOT}/failures/{quote(visit.path_id, safe='')}"
    if not visit.partial:
        return RedirectResponse(here, 303)
    word, back = DONE[doing]
    headers = {"HX-Trigger": json.dumps({"acumen:changed": {"count": 1}})}
    return visit.html("part/done.html", headers=headers, said=f"The group is {word}.", url=here, back=back)
