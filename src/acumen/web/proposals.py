"""Lessons that operations suggest, each beside those that are near it; a person approves, edits or rejects."""

import json

from starlette.responses import RedirectResponse, Response

from acumen.errors import BadInput, NotFound
from acumen.meter import lessons
from acumen.model.ids import Kind, MemoryRef
from acumen.model.memories.playbook import Approval
from acumen.model.operations.operation import OperationFilter
from acumen.model.operations.proposal import About
from acumen.review import proposals
from acumen.review.proposals import ProposalFilter
from acumen.web.diff import words_changed
from acumen.web.page import PER_PAGE, Visit, page
from acumen.web.paths import ROOT
from acumen_client.wire.shapes import Role

EVIDENCE = 10
DONE = {"approve": "approved; agents are shown it from now on", "reject": "rejected", "edit": "edited; it waits on"}
WORDS = ("content", "trigger", "rationale", "pitfall")


@page("/proposals")
async def listed(visit: Visit) -> Response:
    approval = visit.choice("approval", *Approval, "any")
    about = visit.choice("about", "any", *About)
    wanted = ProposalFilter(
        approval=None if approval == "any" else Approval(approval),
        about=None if about == "any" else about,
        flagged=visit.choice("flagged", "no", "yes") == "yes",
    )
    found = await proposals.listed(wanted, visit.offset + PER_PAGE + 1, visit.deps)
    return visit.html(
        "proposals.html",
        found=found[visit.offset : visit.offset + PER_PAGE],
        more=len(found) > visit.offset + PER_PAGE,
        approval=approval,
        approvals=(*Approval, "any"),
        about=about,
        abouts=("any", *About),
        flagged=wanted.flagged,
    )


@page("/proposals/{id}")
async def proposal(visit: Visit) -> Response:
    told = await proposals.of_playbook(_number(visit), visit.deps)
    near = await proposals.similar_lessons(told, visit.deps)
    words = told.playbook.lesson.searchable
    evidence = OperationFilter(ids=told.proposal.evidence[:EVIDENCE])
    examples = await visit.deps.store.read(lambda tx: tx.operations.find(evidence, EVIDENCE))
    effect = await lessons.effect(_number(visit), visit.deps)
    return visit.html(
        "proposal.html",
        told=told,
        near=[(one, how, words_changed(one.lesson.searchable, words)) for one, how in near],
        examples=examples,
        effect=effect,
        ref=MemoryRef(Kind.AGENT_PLAYBOOK, str(told.playbook.id)),
    )


@page("/proposals/{id}", Role.REVIEWER, "POST")
async def decide(visit: Visit) -> Response:
    decision = visit.form.get("action")
    if decision not in DONE:
        raise BadInput(f"{decision[:40]!r} is nothing that can be said to a proposal.")
    given = {name: visit.form.get(name) or None for name in WORDS} if decision == "edit" else {}
    if decision == "edit" and not given["content"]:
        raise BadInput("A lesson without words says nothing: say what the agent should do.")
    done = await proposals.decide(_number(visit), decision, given, visit.caller.actor, visit.deps)
    if not visit.partial:
        return RedirectResponse(f"{ROOT}/proposals/{visit.path_id}", 303)
    said = f"The lesson is {DONE[decision]}." if done.id else "Nothing had to change."
    url = f"{ROOT}/actions/{done.id}/undo" if done.id else ""
    headers = {"HX-Trigger": json.dumps({"acumen:changed": {"count": 1}})}
    return visit.html("part/done.html", headers=headers, said=said, url=url, back="undo" if url else "")


def _number(visit: Visit) -> int:
    if not (visit.path_id.isascii() and visit.path_id.isdecimal() and len(visit.path_id) < 16):
        raise NotFound(f"There is no proposed lesson {visit.path_id[:40]}.")
    return int(visit.path_id)
