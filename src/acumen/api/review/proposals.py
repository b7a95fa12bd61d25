"""Endpoints of lessons proposed from operations."""

from acumen.api.call import Call, answers
from acumen.api.views import shaped
from acumen.deps import Deps
from acumen.errors import NotFound
from acumen.meter import lessons
from acumen.meter.lessons import Rate
from acumen.model.ids import Millis
from acumen.model.memories.playbook import Approval
from acumen.model.operations.operation import OperationFilter
from acumen.observe import operations
from acumen.review.operations import proposals
from acumen.review.operations.proposals import ProposalFilter, Proposed
from acumen.review.operations.purge import purge
from acumen_client.calls import Calls
from acumen_client.wire import failures as wire
from acumen_client.wire.operations import PurgeOperationsRequest, PurgeOperationsResponse

# Operations in one page while they are counted.
PAGE = 1_000


@answers(Calls.proposals)
async def get_proposals(request: wire.GetProposalsRequest, call: Call) -> wire.GetProposalsResponse:
    approval = None if request.approval is None else Approval(request.approval)
    proposed = await proposals.listed(
        ProposalFilter(approval, request.about, request.flagged), request.limit, call.deps
    )
    return wire.GetProposalsResponse(proposals=[view(proposal) for proposal in proposed])


@answers(Calls.decide_proposal)
async def decide_proposal(request: wire.DecideProposalRequest, call: Call) -> wire.DecideProposalResponse:
    words = {name: getattr(request, name) for name in ("content", "trigger", "rationale", "pitfall")}
    done = await proposals.decide(request.agent_playbook_id, request.decision, words, call.caller.actor, call.deps)
    now = await proposals.of_playbook(request.agent_playbook_id, call.deps)
    return wire.DecideProposalResponse(proposal=view(now), action_id=done.id or None)


@answers(Calls.lesson_effect)
async def lesson_effect(request: wire.LessonEffectRequest, call: Call) -> wire.LessonEffectResponse:
    await call.app.flush_usage()
    effect = await lessons.effect(request.agent_playbook_id, call.deps)
    difference, interval = effect.difference or (None, None)
    rates = {name: _rate(getattr(effect, name)) for name in ("shown", "not_shown", "before", "after")}
    about = {"enough_data": effect.enough, "difference": difference, "verdict": effect.verdict}
    return shaped(wire.LessonEffectResponse, interval, **rates, **about)


@answers(Calls.purge_operations)
async def purge_operations(request: PurgeOperationsRequest, call: Call) -> PurgeOperationsResponse:
    ids = None if request.op_id is None else (request.op_id,)
    query = OperationFilter(ids=ids, session_id=request.session_id, source=request.source)
    if request.op_id is not None and not await operations.find(query, 1, call.deps):
        raise NotFound(f"No operation {request.op_id!r}.")
    if request.dry_run:
        return PurgeOperationsResponse(operations=await _count(query, call.deps), groups=0, proposals=0)
    gone = await purge(query, call.deps)
    return PurgeOperationsResponse(
        operations=gone.operations, groups=gone.groups, proposals=len(gone.dropped), proposals_kept=len(gone.remaining)
    )


async def _count(query: OperationFilter, deps: Deps) -> int:
    count, at, op_id = 0, Millis(0), ""
    while page := await operations.find_after(at, op_id, query, PAGE, deps):
        count += len(page)
        at, op_id = page[-1].received_at, page[-1].id
    return count


def _rate(rate: Rate) -> wire.RateView:
    return shaped(wire.RateView, rate, rate.interval, rate=rate.share)


def view(proposed: Proposed) -> wire.ProposalView:
    proposal, playbook = proposed.proposal, proposed.playbook
    return shaped(
        wire.ProposalView,
        proposal,
        playbook.lesson,
        playbook.origin,
        agent_playbook_id=playbook.id,
        approval=playbook.approval,
        distinct_sessions=len(proposal.scopes),
        hazards=list(proposed.hazards),
        similar=list(proposed.similar),
    )
