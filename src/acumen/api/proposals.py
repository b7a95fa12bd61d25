"""Lessons that operations suggest, over REST."""

from acumen.api.call import Call, answers
from acumen.api.views import shaped
from acumen.meter import lessons
from acumen.meter.lessons import Rate
from acumen.model.memories.playbook import Approval
from acumen.model.operations.operation import OperationFilter
from acumen.review import proposals
from acumen.review.proposals import Proposed, WantedProposals
from acumen.review.purge import purge
from acumen_client.calls import Calls
from acumen_client.wire import failures as wire
from acumen_client.wire.operations import PurgeOperationsRequest, PurgeOperationsResponse


@answers(Calls.proposals)
async def get_proposals(asked: wire.GetProposalsRequest, call: Call) -> wire.GetProposalsResponse:
    approval = None if asked.approval is None else Approval(asked.approval)
    found = await proposals.listed(WantedProposals(approval, asked.about, asked.flagged), asked.limit, call.deps)
    return wire.GetProposalsResponse(proposals=[view(one) for one in found])


@answers(Calls.decide_proposal)
async def decide_proposal(asked: wire.DecideProposalRequest, call: Call) -> wire.DecideProposalResponse:
    words = {name: getattr(asked, name) for name in ("content", "trigger", "rationale", "pitfall")}
    done = await proposals.decide(asked.agent_playbook_id, asked.decision, words, call.caller.actor, call.deps)
    now = await proposals.of_playbook(asked.agent_playbook_id, call.deps)
    return wire.DecideProposalResponse(proposal=view(now), action_id=done.id or None)


@answers(Calls.lesson_effect)
async def lesson_effect(asked: wire.LessonEffectRequest, call: Call) -> wire.LessonEffectResponse:
    await call.app.counted()
    found = await lessons.effect(asked.agent_playbook_id, call.deps)
    difference, interval = found.difference or (None, None)
    return wire.LessonEffectResponse.model_validate(
        {
            "enough_data": found.enough,
            "shown": _rate(found.shown),
            "not_shown": _rate(found.not_shown),
            "before": _rate(found.before),
            "after": _rate(found.after),
            "difference": difference,
            "low": interval and interval.low,
            "high": interval and interval.high,
            "verdict": found.verdict,
        }
    )


@answers(Calls.purge_operations)
async def purge_operations(asked: PurgeOperationsRequest, call: Call) -> PurgeOperationsResponse:
    ids = None if asked.op_id is None else (asked.op_id,)
    gone = await purge(OperationFilter(ids=ids, session_id=asked.session_id, source=asked.source), call.deps)
    return PurgeOperationsResponse(
        operations=gone.operations, groups=gone.groups, proposals=len(gone.dropped), proposals_kept=len(gone.kept)
    )


def _rate(one: Rate) -> wire.RateView:
    interval = one.interval
    return wire.RateView(
        sessions=one.sessions,
        failed=one.failed,
        rate=one.share,
        low=None if interval is None else interval.low,
        high=None if interval is None else interval.high,
    )


def view(one: Proposed) -> wire.ProposalView:
    proposal, playbook = one.proposal, one.playbook
    return shaped(
        wire.ProposalView,
        proposal,
        **{name: getattr(playbook.lesson, name) for name in ("content", "trigger", "rationale", "pitfall")},
        agent_playbook_id=playbook.id,
        approval=playbook.approval,
        distinct_sessions=len(proposal.scopes),
        engine=playbook.origin.engine,
        hazards=list(one.hazards),
        similar=list(one.similar),
    )
