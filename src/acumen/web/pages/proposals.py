"""Proposed lessons: the list, one next to similar lessons, and the decision."""

from starlette.responses import Response

from acumen.errors import BadInput, NotFound
from acumen.meter import lessons
from acumen.model.ids import Kind, MemoryRef
from acumen.model.memories.playbook import Approval
from acumen.model.operations.proposal import About
from acumen.review.operations import proposals
from acumen.review.operations.proposals import ProposalFilter
from acumen.web.diff import words_changed
from acumen.web.page import PER_PAGE, Visit, page
from acumen_client.wire.shapes import Role

EVIDENCE = 10
DONE = {
    "approve": "approved. Agents see it from now on.",
    "reject": "rejected.",
    "edit": "edited. It is still pending.",
}
FIELDS = ("content", "trigger", "rationale", "pitfall")


@page("/proposals")
async def listed(visit: Visit) -> Response:
    approval = visit.choice("approval", *Approval, "any")
    about = visit.choice("about", "any", *About)
    query = ProposalFilter(
        approval=None if approval == "any" else Approval(approval),
        about=None if about == "any" else about,
        flagged=visit.choice("flagged", "no", "yes") == "yes",
    )
    rows = await proposals.listed(query, visit.offset + PER_PAGE + 1, visit.deps)
    return visit.html(
        "proposals.html",
        proposals=rows[visit.offset : visit.offset + PER_PAGE],
        more=len(rows) > visit.offset + PER_PAGE,
        approval=approval,
        approvals=(*Approval, "any"),
        about=about,
        abouts=tuple(About),
        flagged=query.flagged,
    )


@page("/proposals/{id}")
async def proposal(visit: Visit) -> Response:
    proposed = await proposals.of_playbook(_playbook_id(visit), visit.deps)
    text = proposed.playbook.lesson.searchable
    similar = await proposals.similar_lessons(proposed, visit.deps)
    return visit.html(
        "proposal.html",
        proposed=proposed,
        similar=[(lesson, score, words_changed(lesson.lesson.searchable, text)) for lesson, score in similar],
        examples=await proposals.evidence(proposed.proposal, EVIDENCE, visit.deps),
        effect=await lessons.effect(_playbook_id(visit), visit.deps),
        ref=MemoryRef(Kind.AGENT_PLAYBOOK, str(proposed.playbook.id)),
    )


@page("/proposals/{id}", Role.REVIEWER, "POST")
async def decide(visit: Visit) -> Response:
    decision = visit.form.get("action")
    if decision not in DONE:
        raise BadInput(f"{decision[:40]!r} is not a decision on proposals.")
    fields = {name: visit.form.get(name) or None for name in FIELDS} if decision == "edit" else {}
    if decision == "edit" and not fields["content"]:
        raise BadInput("Enter an instruction.")
    action = await proposals.decide(_playbook_id(visit), decision, fields, visit.caller.actor, visit.deps)
    return visit.done(
        f"Lesson {DONE[decision]}" if action.id else "Nothing changed.", f"/proposals/{visit.path_id}", action.id
    )


def _playbook_id(visit: Visit) -> int:
    if not (visit.path_id.isascii() and visit.path_id.isdecimal() and len(visit.path_id) < 16):
        raise NotFound(f"There is no proposed lesson {visit.path_id[:40]}.")
    return int(visit.path_id)
